"""Type aliases of what users pass to robots, worlds and their frames.

The union `Shape` is beside its classes, in `geometry.shapes`; `posewise.typing`
re-exports all public aliases.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import jax
import numpy as np

if TYPE_CHECKING:
    # A function of arrays returns the kind of array (NumPy or JAX) that it was given,
    # which a union cannot express: a type checker would reject NumPy-only methods.
    Array: TypeAlias = Any
else:
    Array = np.ndarray | jax.Array
"""A NumPy or JAX array; functions annotated with it return the kind they are given."""

FrameName: TypeAlias = str
"""Name of a frame; "world" is the fixed origin unless a frame carries that name."""
Frames: TypeAlias = str | Sequence[str]
"""One name, or a list of names, of frames or joints."""
VectorLike: TypeAlias = Sequence[float] | np.ndarray | jax.Array
"""Numbers (n,): a list, a tuple or an array."""
MatrixLike: TypeAlias = Sequence[Sequence[float]] | np.ndarray | jax.Array
"""Numbers (m, n): nested lists or an array."""
FeatureOption: TypeAlias = float | VectorLike | MatrixLike | None
"""Value of a keyword of a feature: order, target, scale, or an option of its symbol."""
PoseLike: TypeAlias = VectorLike
"""A pose (7,): position [m], then the quaternion, `(px, py, pz, w, x, y, z)`."""
RGBA: TypeAlias = Sequence[float] | np.ndarray
"""A colour, RGB or RGBA, each number from 0 to 1."""
StrPath: TypeAlias = str | os.PathLike[str]
"""The path of a file or folder."""
Axis: TypeAlias = Literal["x", "y", "z"]
"""A coordinate axis of a frame."""
RegionKind: TypeAlias = Literal["cavity", "support"]
"""Kind of a region of an object: a space inside it, or a face that supports others."""
JointTypeName: TypeAlias = (
    Literal[
        "hingeX",
        "hingeY",
        "hingeZ",
        "hinge",
        "transX",
        "transY",
        "transZ",
        "transXY",
        "trans3",
        "transXYPhi",
        "phiTransXY",
        "transYPhi",
        "universal",
        "quatBall",
        "free",
        "XBall",
        "rigid",
        "revolute",
        "continuous",
        "prismatic",
        "planar",
        "floating",
        "fixed",
    ]
    | str
)
"""Name of a joint type, rai's or URDF's; other strings are rai's generic joints."""
ModelName: TypeAlias = Literal[
    "panda",
    "ur5e",
    "planar3",
    "mobile",
    "box",
    "cylinder",
    "mug",
    "tray",
    "shelf",
    "table",
    "cupboard",
    "microwave",
    "apartment",
]
"""Name of one of the models in `robots/data`."""

"""Parts of a world: frames with a constant origin, a joint and shapes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

import numpy as np

from ..geometry.shapes import Shape
from ..kinematics.joint_types import joint_dim
from ..kinematics.transforms import IDENTITY


@dataclass(frozen=True)
class ContactMask:
    """Shapes of the same model that a shape may touch, by classes of shapes."""

    model: int
    """Number of the model."""
    number: int
    """Number of the class that the shape is of."""
    met: int
    """Bits of the classes that it may touch, the lowest for class 0."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape rigidly fixed in a frame."""

    shape: Shape
    pose: np.ndarray = field(default_factory=IDENTITY.copy)
    """Pose of the shape in its frame (7,)."""
    collision: bool = True
    """Whether the shape takes part in distances and collisions."""
    visual: bool = True
    """Whether the shape is drawn."""
    color: tuple[float, ...] | None = None
    """RGBA, 0 to 1."""
    mask: ContactMask | None = None
    """Shapes of its model that it may touch; None: all that its frame may."""

    def may_touch(self, other: "Geometry") -> bool:
        """Whether the masks let two shapes touch; those of other models always may."""
        a, b = self.mask, other.mask
        if a is None or b is None or a.model != b.model:
            return True
        return bool(a.met >> b.number & 1)


@dataclass(frozen=True, eq=False)
class Joint:
    """The motion of a frame relative to its constant origin."""

    type: str
    """Name of a joint type, rai's or URDF's; see `JOINT_TYPES`."""
    name: str
    """Name of the joint; that of the frame where the file gives none."""
    axis: np.ndarray | None = None
    """Unit axis (3,) of hinge, revolute, continuous, prismatic, planar; None: x."""
    limits: np.ndarray | None = None
    """(2, dim), lower row first, ±inf where unlimited; None: no limits at all."""
    q: np.ndarray | None = None
    """Value at definition (dim,): the home of homing costs; None: the zero pose."""
    mimic: str | None = None
    """Name of the joint that this one follows: q = multiplier · q_followed + offset."""
    multiplier: float = 1.0
    offset: float = 0.0
    scale: float = 1.0
    """Factor of q (rai's joint_scale): the motion is evaluated at scale · q. A mimic
    joint has that of the joint it follows."""
    active: bool = True
    """Whether q has the joint's value; False: locked, the value is constant."""
    velocity: np.ndarray | None = None
    """Largest speed (dim,) [rad/s, m/s]."""
    effort: np.ndarray | None = None
    """Largest force or torque (dim,) [N, Nm]."""
    acceleration: np.ndarray | None = None
    """Largest acceleration and deceleration (dim,) [rad/s², m/s²]."""
    jerk: np.ndarray | None = None
    """Largest jerk (dim,) [rad/s³, m/s³]."""

    @property
    def dim(self) -> int:
        """Number of coordinates in q."""
        return joint_dim(self.type)


MAX_SHOWN_SHAPES = 3
"""Number of shapes that the text of a frame names; more make it longer."""


class DrawnBody(NamedTuple):
    """The body that a frame belonged to before a frame of its world was attached."""

    root: str
    """Name of its uppermost frame then."""
    color: tuple[float, ...]
    """RGBA of its shapes that have no colour, 0 to 1."""


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """A coordinate frame: X_W_frame = X_W_parent · origin · joint(q)."""

    name: str
    parent: int | None = None
    """Index of the parent in the list of frames; None: fixed in the world."""
    origin: np.ndarray = field(default_factory=IDENTITY.copy)
    """Constant pose in the parent (7,), before the joint's motion."""
    joint: Joint | None = None
    geometries: tuple[Geometry, ...] = ()
    contact: int = 0
    """rai's flag: 0 never collides; -k ignores links above, see `Config.pairs`."""
    mass: float | None = None
    com: np.ndarray | None = None
    """Centre of mass in the frame (3,); None: the origin."""
    inertia: np.ndarray | None = None
    """(3, 3) about the centre of mass, in the frame's axes; None: from the shapes."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """Metadata: all other attributes of the file."""
    missing_shapes: tuple[str, ...] = ()
    """Shapes for collision in its file that could not be used."""
    unfitted: tuple[Geometry, ...] = ()
    """The shapes before `fit_collisions` replaced some of them; empty: none were."""
    body: DrawnBody | None = None
    """The body that keeps its colour and its name; None: no frame was attached yet."""
    is_part_of_model: bool = False
    """Whether its model attaches it to its parent, and no user does."""

    def __repr__(self) -> str:
        parent = "the world" if self.parent is None else f"frame {self.parent}"
        joint = "no joint" if self.joint is None else f"joint {self.joint.type}"
        shapes = [type(geometry.shape).__name__ for geometry in self.geometries]
        if len(shapes) > MAX_SHOWN_SHAPES:
            shapes = [*shapes[:MAX_SHOWN_SHAPES], f"{len(self.geometries)} in all"]
        position = ", ".join(f"{x:.4g}" for x in self.origin[:3])
        return (
            f"Frame({self.name!r} in {parent} at [{position}], {joint},"
            f" {', '.join(shapes) or 'no shape'})"
        )

    @property
    def shape(self) -> Shape | None:
        """The first shape, or None."""
        return self.geometries[0].shape if self.geometries else None


class FrameFields(TypedDict, total=False):
    """Fields of a `Frame` that an edit replaces."""

    name: str
    parent: int | None
    origin: np.ndarray
    joint: Joint | None
    geometries: tuple[Geometry, ...]
    contact: int
    mass: float | None
    com: np.ndarray | None
    inertia: np.ndarray | None
    attributes: dict[str, Any]
    missing_shapes: tuple[str, ...]
    unfitted: tuple[Geometry, ...]
    body: DrawnBody | None
    is_part_of_model: bool


@dataclass(frozen=True, eq=False)
class NamedState:
    """Values of some joints under a name, such as "home"."""

    name: str
    group: str
    """Name of the group of joints, as in SRDF files."""
    values: Mapping[str, np.ndarray]
    """Coordinates (dim,) by joint."""

    @property
    def full_name(self) -> str:
        """The name that tells equal names of several groups apart."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, eq=False)
class Model:
    """Result of a loader: frames in file order, joint values and ignored pairs."""

    frames: tuple[Frame, ...]
    q: dict[int, np.ndarray] = field(default_factory=dict)
    """Joint values by frame index where they differ from `Joint.q`."""
    ignored: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Pairs of frame indices, the lower first, that never collide, each with its reason
    ("Adjacent", "User", …)."""
    named_states: tuple[NamedState, ...] = ()

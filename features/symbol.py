"""Feature symbols: pure functions of a few poses, or of joint values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.robots.config import Config

from .errors import FeatureError
from .vectors import VectorForm

PERIOD = "period"
"""Name of the param that holds the period of each row's difference to its target; not
an argument of the symbol's function."""


class Pose(NamedTuple):
    """A frame's pose in the world, as a feature function sees it."""

    R: Float[jax.Array, "3 3"]
    """Rotation matrix, frame to world."""
    p: Float[jax.Array, "3"]
    """Position in the world [m]."""
    quaternion: Float[jax.Array, "4"]
    """Unit quaternion `(w, x, y, z)`, its sign continuous over slices."""


# Symbols are keys of program caches and hold dicts, which have no hash: so they hash
# and compare by identity.
@dataclass(frozen=True, eq=False)
class Symbol:
    """A feature symbol: a function `fn` and its calling convention.

    `window` and `input_kind` select how `fn` is called:

    - on poses, window 0: `fn(pose_1, …, pose_m, **params)`;
    - on poses, window k: `fn(poses_oldest, …, poses_newest, tau=…, **params)`, tau the
      time between the slices [s]: one number for window 1, two for window 2;
    - on joints: the same with joint values (n,) in place of poses; and with `K=…`
      where `uses_kinematics` is set.
    """

    fn: Callable[..., Any]
    name: str = ""
    frames: tuple[int, int | None] = (1, 1)
    """Smallest and largest number of frames; None: any number."""
    dim: int | None = None
    """D, unless it depends on the frames."""
    unit: str = ""
    input_kind: Literal["poses", "joints"] = "poses"
    """Kind of the inputs of `fn`; with "joints", frames are joint names (none: all)."""
    window: int = 0
    """Lowest order: number of older slices that `fn` itself reads."""
    divides_by_tau: bool = True
    """Whether higher orders are divided by tau, so that they are rates."""
    is_nonnegative: bool = False
    """Whether values are never negative, so that φ = 0 is the same as φ <= 0."""
    quaternion_rows: slice | None = None
    """Rows that are a quaternion, whose sign is free."""
    uses_quaternions: bool = False
    """Whether `fn` reads the quaternions of its poses."""
    uses_kinematics: bool = False
    """Whether `fn` gets the world's `Kinematics` as `K`."""
    options: Mapping[str, float | tuple[float, ...] | None] = field(
        default_factory=dict
    )
    """Numbers, or lists of numbers, that a user may set, with defaults."""
    params: Callable[..., dict[str, np.ndarray]] | None = None
    """`(C, frames, **options)` to the arrays that `fn` needs besides poses."""
    reads_origins: bool = True
    """Whether `params` or `resolve` reads constant poses of frames, so that both are
    called again when a frame has been moved."""
    coordinates: Callable[[Config, Sequence[str]], np.ndarray] | None = None
    """Selects the entries of q that `fn` reads; None: those of the named joints."""
    is_custom: bool = False
    """Whether `fn` is a user's, which may read anything and is traced for each use."""
    rows_per_coordinate: int = 0
    """Number of rows that depend on one coordinate only, in the order of coordinates;
    0: rows depend on several coordinates."""
    is_periodic: bool = False
    """Whether each row is a coordinate, so that of a joint that turns without end its
    difference to a target is modulo a full turn."""
    takes_frame_stack: bool = False
    """Whether `fn` gets all frames at once: `fn(R, p, **params)`, R (m, 3, 3)."""
    reads_nodes: bool = False
    """Whether `fn` gets the nodes of the tree and the world as its frames, and arrays
    of bodies on the frames of the world; see `pairs.tables.on_nodes`."""
    value_and_wrenches: Callable[..., Any] | None = None
    """`fn` with derivatives, for a symbol that takes a frame stack: `(R, p, **params)`
    to y (D,), force and moment (D, m, 3). If None, `fn` is differentiated. For many
    instances R and p have a leading axis, and all params may have one too."""
    pair_sum: tuple[Any, Callable[[dict], dict]] | None = None
    """For a symbol with `value_and_wrenches` and without smoothing: the types of its
    pairs, and a function from its params to those of `sum_near_pairs`."""
    pair_margins: Callable[[Config, np.ndarray], np.ndarray] | None = None
    """The required distance of each pair of frame indices [m], for a symbol over all
    pairs whose margins are no options."""
    vector_form: VectorForm | None = None
    """`fn` in the form of `vectors.py`, in which many symbols are one computation."""
    resolve: Callable[..., Any] | None = None
    """`(C, frames, **options)` to the symbol to use in a world, the indices of the
    frames that it reads, and its params: for symbols that depend on shapes."""
    unprojected: "Symbol | None" = None
    """The feature before a built-in projection, used when scale or target have its
    dimension."""

    @property
    def depends_on_origins(self) -> bool:
        """Whether the symbol has params that depend on constant poses of frames."""
        has_params = self.params is not None or self.resolve is not None
        return has_params and self.reads_origins


Arrays: TypeAlias = dict[str, np.ndarray]
"""Params of a symbol by name; they are data of its compiled program."""
TracedArrays: TypeAlias = Mapping[str, Array]
"""The same numbers inside a program, where integers may be constants."""
Resolved: TypeAlias = tuple[Symbol, np.ndarray, Arrays]
"""A symbol, the indices of its frames, and its params; see `Symbol.resolve`."""


def unresolved(*args: object, **params: object) -> jax.Array:
    """Raise an error: the function of a symbol before it is resolved in a world.

    Raises:
        FeatureError: always.
    """
    raise FeatureError(
        "This symbol has a function only in a given world; use Feature.eval or KOMO."
    )

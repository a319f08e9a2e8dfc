"""What a feature symbol is: a pure function of a few poses, or of joint values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from .vectors import VectorForm

if TYPE_CHECKING:
    from posewise.robots.config import Config

    from .feature import Feature


class Pose(NamedTuple):
    """A frame's pose in the world, as a feature function sees it."""

    R: Float[jax.Array, "3 3"]
    """Rotation matrix, frame to world."""
    p: Float[jax.Array, "3"]
    """Position in the world [m]."""
    quaternion: Float[jax.Array, "4"]
    """Unit quaternion `(w, x, y, z)`, its sign continuous over slices."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """A feature symbol; calling conventions of `fn` by `window` and `input_kind`:

    - of poses, window 0: `fn(pose_1, …, pose_m, **params)`;
    - of poses, window k: `fn(poses_oldest, …, poses_newest, tau=…, **params)`, tau the
      time between the slices [s]: one number for window 1, two for window 2;
    - of joints: the same with joint values (n,) in place of poses; and with `K=…`
      where `uses_kinematics` is set.
    """

    fn: Callable[..., Any]
    name: str = ""
    frames: tuple[int, int | None] = (1, 1)
    """Least and largest number of frames; None: any number."""
    dim: int | None = None
    """D, where it does not depend on the frames."""
    unit: str = ""
    input_kind: str = "poses"
    """"poses" or "joints" (then the frames are joint names, none: all)."""
    window: int = 0
    """Lowest order: number of older slices that the function itself looks at."""
    divides_by_tau: bool = True
    """Higher orders are divided by tau."""
    is_nonnegative: bool = False
    """Never below zero: it is zero where it does not exceed zero."""
    quaternion_rows: slice | None = None
    """Rows of a quaternion, of which the sign means nothing."""
    uses_quaternions: bool = False
    """The function uses quaternions."""
    uses_kinematics: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """Numbers a user may set, with defaults."""
    params: Callable[..., dict[str, np.ndarray]] | None = None
    """`(C, frames, **options)` to the arrays that `fn` needs besides poses."""
    coordinates: "Callable[[Config, Sequence[str]], np.ndarray] | None" = None
    """Which entries of q a joint symbol reads; None: those of the named joints."""
    rows_per_coordinate: int = 0
    """Of a joint symbol: so many rows for each coordinate, in order, look at it alone;
    0: rows look at several."""
    takes_frame_stack: bool = False
    """The function gets all frames at once: `fn(R, p, **params)`, R (m, 3, 3)."""
    value_and_wrenches: Callable[..., Any] | None = None
    """`fn` with derivatives, of a stacked symbol: `(R, p, **params)` to y (D,), force
    and moment (D, m, 3); without it, `fn` is differentiated. Of many instances R and p
    have a leading axis, and so may all params."""
    pair_sum: tuple[Any, Callable[[dict], dict]] | None = None
    """For a symbol with `value_and_wrenches` whose params contain `reach`: the types of
    its pairs, and a function from its params to those of `sum_near_pairs`."""
    vector_form: VectorForm | None = None
    """`fn` of poses in other words, by which many such symbols are one computation."""
    resolve: Callable[..., Any] | None = None
    """`(C, frames, **options)` to the symbol to be used in a world, the indices of the
    frames it looks at, and its params: for what depends on the frames' shapes."""
    unprojected: "Symbol | None" = None
    """The feature before a built-in projection, used when scale or target have its
    dimension."""

    def on(self, frames: Any = (), **options: Any) -> "Feature":
        """This symbol on frames: see `posewise.Feature`."""
        from .feature import Feature

        return Feature(self, frames, **options)

"""Feature symbols: pure functions of a few poses, or of joint values.

What they are functions of is their class; see `symbol_kinds`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import jax
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.robots.config import Config
from posewise.robots.kinematics.forward import Kinematics

from .linearized_feature import FeatureInputs, LinearizedFeature
from .pair_types import PairTypes
from .vectors import VectorForm

PERIOD = "period"
"""Name of the param that holds the period of each row's difference to its target; not
an argument of the symbol's function."""

Arrays: TypeAlias = dict[str, np.ndarray]
"""Params of a symbol by name; they are data of its compiled program."""
TracedArrays: TypeAlias = Mapping[str, Array]
"""The same numbers inside a program, where integers may be constants."""


ValueAndWrenches: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]
"""y (D,), force and moment (D, m, 3) of a `StackSymbol`."""
PairSumParams: TypeAlias = tuple[PairTypes, Callable[[TracedArrays], TracedArrays]]
"""Types of the pairs of a sum, and a function from a symbol's params to the sum's."""


class Pose(NamedTuple):
    """A frame's pose in the world, as a feature function sees it."""

    R: Float[jax.Array, "3 3"]
    """Rotation matrix, frame to world."""
    p: Float[jax.Array, "3"]
    """Position in the world [m]."""
    quaternion: Float[jax.Array, "4"]
    """Unit quaternion `(w, x, y, z)`, its sign continuous over slices."""


class Resolved(NamedTuple):
    """A symbol in a world: its function, and the arrays that it reads."""

    symbol: "Symbol"
    frames: np.ndarray
    """Indices of its frames; of nodes where `Symbol.reads_nodes`."""
    params: Arrays
    coordinates: np.ndarray = np.zeros(0, int)
    """Indices into q of the joint values that it reads."""


# Symbols are keys of program caches and hold dicts, which have no hash: so they hash
# and compare by identity.
@dataclass(frozen=True, eq=False)
class Symbol(ABC):
    """A feature symbol: a function `fn` and its calling convention.

    With `window` k the function gets its inputs in k + 1 slices, oldest first, and the
    argument `tau`, the time between them [s]: one number for window 1, else k.
    """

    fn: Callable[..., Any]
    name: str = ""
    frames: tuple[int, int | None] = (1, 1)
    """Smallest and largest number of frames; None: any number."""
    dim: int | None = None
    """D, unless it depends on the frames."""
    unit: str = ""
    window: int = 0
    """Lowest order: number of older slices that `fn` itself reads."""
    divides_by_tau: bool = True
    """Whether higher orders are divided by tau, so that they are rates."""
    is_nonnegative: bool = False
    """Whether values are never negative, so that φ = 0 is the same as φ <= 0."""
    options: Mapping[str, float | tuple[float, ...] | None] = field(
        default_factory=dict
    )
    """Numbers, or lists of numbers, that a user may set, with defaults."""
    params: Callable[..., Arrays] | None = None
    """`(C, frames, **options)` to the arrays that `fn` needs besides its inputs."""
    reads_origins: bool = True
    """Whether the arrays follow from constant poses of frames, so that they are made
    again when a frame has been moved."""

    takes_joints: ClassVar[bool] = False
    """Whether `frames` are names of joints, none for all of them."""

    # What only some classes have; they have fields of these names.

    @property
    def uses_quaternions(self) -> bool:
        """Whether `fn` reads the quaternions of its poses."""
        return False

    @property
    def quaternion_rows(self) -> slice | None:
        """Rows that are a quaternion, whose sign is free."""
        return None

    @property
    def vector_form(self) -> VectorForm | None:
        """The function in a form in which many symbols are one computation."""
        return None

    @property
    def rows_per_coordinate(self) -> int:
        """Number of rows of each coordinate, on which they depend alone; else 0."""
        return 0

    @property
    def shares_params(self) -> bool:
        """Whether params are large, so that those that are equal are kept once."""
        return False

    @property
    def reads_nodes(self) -> bool:
        """Whether the nodes of the tree are its frames; see `StackSymbol`."""
        return False

    @property
    def pair_sum(self) -> PairSumParams | None:
        """Types and params of a sum over near pairs; see `StackSymbol`."""
        return None

    @property
    def pair_margins(self) -> Callable[[Config, np.ndarray], np.ndarray] | None:
        """Required distances of pairs that are no options; see `WorldSymbol`."""
        return None

    @property
    def depends_on_origins(self) -> bool:
        """Whether the symbol has params that depend on constant poses of frames."""
        return self.params is not None and self.reads_origins

    def resolve_in(
        self, C: Config, frames: Sequence[str], order: int, options: Mapping[str, Any]
    ) -> Resolved:
        """Return what is evaluated in a world: here the symbol on its frames.

        Args:
            C: the world.
            frames: names of frames, or of joints.
            order: of the feature.
            options: all of them, with the user's values.
        """
        indices = np.array([C.index(name) for name in frames], int)
        return Resolved(self, indices, self._arrays(C, frames, options))

    @abstractmethod
    def evaluate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> Float[jax.Array, " rows"]:
        """Return φ of one window: of the inputs in `window + 1` slices.

        Args:
            x: inputs in the window.
            params: arrays of the symbol, and perhaps `PERIOD`.
            K: kinematics of the world, if the symbol uses them.
        """

    @abstractmethod
    def differentiate(
        self, x: FeatureInputs, params: TracedArrays, K: Kinematics | None
    ) -> tuple[jax.Array, ...]:
        """Return φ of one window and its derivatives (rows, slices, …).

        They are those by which `as_wrenches` knows its inputs.
        """

    @abstractmethod
    def as_wrenches(
        self, x: FeatureInputs, y: jax.Array, *slopes: jax.Array
    ) -> LinearizedFeature:
        """Return derivatives of `differentiate` as wrenches on frames.

        One instance, or many along a first axis; and any number of slices.
        """

    def _time(self, tau: Array) -> dict[str, Array]:
        """Return the argument of a function of several slices."""
        if not self.window:
            return {}
        return {"tau": tau[0] if self.window == 1 else tau}

    def _arrays(
        self, C: Config, frames: Sequence[str], options: Mapping[str, Any]
    ) -> Arrays:
        """Return the arrays that `fn` needs besides its inputs."""
        return {} if self.params is None else self.params(C, frames, **options)

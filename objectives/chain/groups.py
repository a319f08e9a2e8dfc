"""Groups of features that are evaluated as one batch, and the data of a problem."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from jaxtyping import Float

from posewise.features.evaluate import is_pair_sum
from posewise.features.symbol import Symbol
from posewise.features.symbol_kinds import StackSymbol
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.typing import Array


@dataclass(frozen=True)
class FeatureGroup:
    """Static structure that instances share to be evaluated as one batch."""

    symbol: Symbol
    order: int
    num_frames: int
    num_coordinates: int
    scale_shape: tuple[int, ...]
    """Shape of the scale: (D,) for factors, (D, k) for a matrix."""
    param_shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """Shape of each parameter of the symbol, by name."""
    capacity: int = 0
    """Number of instances, rounded up to a bucket."""
    num_param_sets: int = 0
    """Number of sets of parameters, of which each instance uses one; 0: as many as
    instances."""
    is_single_column: bool = False
    """Whether each row depends on only one tangent column, which is not shared."""
    is_between: bool = False
    """Whether instances are between slices, each a function of two of them."""

    @property
    def num_rows(self) -> int:
        """Rows of each instance."""
        return self.scale_shape[0]

    @property
    def window(self) -> int:
        """Number of slices that each row depends on."""
        return 2 if self.is_between else self.order + 1

    @property
    def is_heavy(self) -> bool:
        """Whether the group compiles to as much code as several others."""
        return isinstance(self.symbol, StackSymbol)

    def can_merge_with(self, other: "FeatureGroup") -> bool:
        """Return whether one computation of both groups is less code than two.

        That holds for vectors of the same order, and for sums over pairs of the same
        types.
        """
        if self.symbol.vector_form and other.symbol.vector_form:
            return self.order == other.order
        return not self._pair_types.isdisjoint(other._pair_types)

    @property
    def _pair_types(self) -> frozenset[Any]:
        """Types of the pairs of a sum over pairs; empty for other symbols."""
        names = [name for name, _ in self.param_shapes]
        if self.symbol.pair_sum is None or not is_pair_sum(
            self.symbol, self.order, names
        ):
            return frozenset()
        return frozenset(self.symbol.pair_sum[0].kinds)


def merge_groups(groups: Iterable[tuple[int, FeatureGroup]]) -> list[list[int]]:
    """Return indices of groups in lists, each of which is one computation."""
    merged: list[list[tuple[int, FeatureGroup]]] = []
    for index, group in groups:
        for members in merged:
            if any(group.can_merge_with(other) for _, other in members):
                members.append((index, group))
                break
        else:
            merged.append([(index, group)])
    return [[index for index, _ in members] for members in merged]


class FeatureBatch(NamedTuple):
    """Data of the instances of one group; instances that pad it have scale 0."""

    frames: Array
    """Indices (n, window, m) of the frames in each slice of the window, oldest first.
    """
    coordinates: Array
    """Indices (n, k) into q of symbols that take joint values."""
    params: dict[str, Array]
    """Parameters of the symbol."""
    param_set: Array
    """Index (n,) of the set of parameters; see `FeatureGroup.num_param_sets`."""
    scale: Array
    target: Array
    slices: Array
    """Last slice (n,) of each window."""
    types: Array
    """EQ, INEQ or SOS (n,)."""
    fractions: Array
    """Fraction (n,) of the way from the slice before, between slices; else empty."""


class ChainData(NamedTuple):
    """All numbers of a problem, which may vary without recompiling."""

    K: Kinematics
    prefix: Array
    """Coordinates (k_order, nq) before slice 0."""
    tau: Float[jax.Array, " T"]
    """Duration of the step into each slice [s]."""
    limits: Float[jax.Array, "2 slices nq"]
    """Limits in each slice, or once for all slices."""
    batches: tuple[FeatureBatch, ...]

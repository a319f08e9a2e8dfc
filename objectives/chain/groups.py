"""What is evaluated as one batch, and the numbers of a problem over slices."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from jaxtyping import Float

from posewise.features.evaluate import is_pair_sum
from posewise.features.symbol import Symbol
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.typing import Array


@dataclass(frozen=True)
class FeatureGroup:
    """What instances share to be evaluated as one batch."""

    symbol: Symbol
    order: int
    frames: int
    coordinates: int
    scale: tuple[int, ...]
    params: tuple[tuple[str, tuple[int, ...]], ...]
    capacity: int = 0
    groundings: int = 0
    """How many sets of params there are, of which instances use one; 0: each its own.
    """
    single: bool = False
    """Whether each row depends on one tangent column only, of those not shared."""

    @property
    def heavy(self) -> bool:
        """It is as much code as several others."""
        return self.symbol.takes_frame_stack

    def shares_with(self, other: "FeatureGroup") -> bool:
        """Whether both are less code as one computation: vectors, sums over pairs."""
        if self.symbol.vector_form and other.symbol.vector_form:
            return self.order == other.order
        return not self._pairs.isdisjoint(other._pairs)

    @property
    def _pairs(self) -> frozenset[Any]:
        """Of a sum over pairs, the kinds of these."""
        names = [name for name, _ in self.params]
        if self.symbol.pair_sum is None or not is_pair_sum(
            self.symbol, self.order, names
        ):
            return frozenset()
        return frozenset(self.symbol.pair_sum[0])


def merge_groups(kinds: Iterable[tuple[int, FeatureGroup]]) -> list[list[int]]:
    """Places of kinds in groups, each of which is one computation."""
    groups: list[list[tuple[int, FeatureGroup]]] = []
    for place in kinds:
        shares = lambda group, kind=place[1]: any(kind.shares_with(k) for _, k in group)
        own = next(filter(shares, groups), None)
        if own is None:
            groups.append(own := [])
        own.append(place)
    return [[i for i, _ in group] for group in groups]


class FeatureBatch(NamedTuple):
    """Data of the instances of one kind; those beyond the last one have scale 0."""

    frames: Array
    """(n, window, m): of each slice of the window, oldest first."""
    coordinates: Array
    params: dict[str, Array]
    own: Array
    """Which of the params an instance uses; see `FeatureGroup.groundings`."""
    scale: Array
    target: Array
    last: Array
    kind: Array


class ChainData(NamedTuple):
    """Everything that may vary without compiling anew."""

    K: Kinematics
    prefix: Array
    tau: Float[jax.Array, " T"]
    """Time from the slice before to each slice [s]."""
    limits: Float[jax.Array, "2 slices nq"]
    """Of each slice, or once for all."""
    batches: tuple[FeatureBatch, ...]

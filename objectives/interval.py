"""What can be added to a KOMO: the slices it holds on, and what it is made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.robots.config import Config

from .objective import OT, ObjectiveError, select_slices, slice_index

Slices = tuple[int, ...]
ObjectiveSpecs = Iterable[tuple[Feature, OT, Slices]]


@dataclass(frozen=True)
class SliceInterval:
    """The consecutive slices that `times` select, as statements see them."""

    slices: Slices
    """All of them, at least one."""
    slices_per_phase: int
    tau: Float[np.ndarray, " T"]
    """Time from the slice before to each slice of the path [s]."""
    starts_at_present: bool = False
    """The times begin at the present state, one slice before the first."""

    @property
    def first(self) -> Slices:
        """The first slice alone."""
        return self.slices[:1]

    @property
    def last(self) -> Slices:
        """The last slice alone."""
        return self.slices[-1:]

    def extended_back(self, phases: float) -> Slices:
        """The slices, and before them those of so many phases."""
        lead = int(phases * self.slices_per_phase + 0.5)
        start = max(self.slices[0] - lead, 0)
        return tuple(range(start, self.slices[-1] + 1))

    def duration(self, slices: Slices) -> float:
        """Time of the steps into these slices [s]."""
        return float(self.tau[list(slices)].sum())

    def steps(self, what: str) -> Slices:
        """Slices of which the velocities, backward differences, lie within the span.

        Raises:
            ObjectiveError: for a single time.
        """
        steps = self.slices if self.starts_at_present else self.slices[1:]
        if not steps:
            raise ObjectiveError(
                f"{what}: times select slice {self.slices[0]} alone, expected an"
                " interval of two or more slices; give times=[from, to]."
            )
        return steps


def select_interval(
    times: Any, slices_per_phase: int, tau: Float[np.ndarray, " T"], what: str
) -> SliceInterval:
    """The span that times select, see `select_slices`; all slices: from the present.

    Raises:
        ObjectiveError: when no slice is selected.
    """
    slices = select_slices(times, slices_per_phase, len(tau), what)
    given = np.ravel([] if times is None else times).astype(float)
    interval = len(given) == 2 and given[0] >= 0
    present = not len(given) or (
        interval and slice_index(given[0], slices_per_phase) < 0
    )
    return SliceInterval(slices, slices_per_phase, tau, bool(present))


class Alternative(NamedTuple):
    """One of several ways to make a statement true."""

    name: str
    """For reports; "" where there is only one."""
    objectives: Sequence[tuple[Feature, OT, Slices]]


class SupportsObjectives(Protocol):
    """Presets, predicates, formulas: whatever means a few objectives in a world."""

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """Yield the features, their types, and their slices in the selected interval.

        Most hold on `interval.slices`; some at its ends, on its steps, or before it.
        """
        ...


def alternatives_of(what: Any, C: Config, span: SliceInterval) -> Sequence[Alternative]:
    """The ways of a statement: of `ways(C, span)` where it has several, or the one."""
    if hasattr(what, "alternatives"):
        return what.alternatives(C, span)
    return [Alternative("", tuple(what.objectives(C, span)))]

"""What can be added to a KOMO: the slices it holds on, and what it is made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.robots.config import Config

from .objective import OT, ObjectiveError, selected_slices, slice_of

Slices = tuple[int, ...]
Objectives = Iterable[tuple[Feature, OT, Slices]]


@dataclass(frozen=True)
class Span:
    """The consecutive slices that `times` select, as statements see them."""

    slices: Slices
    """All of them, at least one."""
    slices_per_phase: int
    tau: Float[np.ndarray, " T"]
    """Time from the slice before to each slice of the path [s]."""
    from_present: bool = False
    """The times begin at the present state, one slice before the first."""

    @property
    def first(self) -> Slices:
        """The first slice alone."""
        return self.slices[:1]

    @property
    def last(self) -> Slices:
        """The last slice alone."""
        return self.slices[-1:]

    def led_by(self, phases: float) -> Slices:
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
        steps = self.slices if self.from_present else self.slices[1:]
        if not steps:
            raise ObjectiveError(
                f"{what}: times select slice {self.slices[0]} alone, expected an"
                " interval of two or more slices; give times=[from, to]."
            )
        return steps


def span_of(
    times: Any, slices_per_phase: int, tau: Float[np.ndarray, " T"], what: str
) -> Span:
    """The span that times select, see `selected_slices`; all slices: from the present.

    Raises:
        ObjectiveError: when no slice is selected.
    """
    slices = selected_slices(times, slices_per_phase, len(tau), what)
    given = np.ravel([] if times is None else times).astype(float)
    interval = len(given) == 2 and given[0] >= 0
    present = not len(given) or (interval and slice_of(given[0], slices_per_phase) < 0)
    return Span(slices, slices_per_phase, tau, bool(present))


class Way(NamedTuple):
    """One of several ways to make a statement true."""

    name: str
    """For reports; "" where there is only one."""
    objectives: Sequence[tuple[Feature, OT, Slices]]


class Statement(Protocol):
    """Presets, predicates, formulas: whatever means a few objectives in a world."""

    def objectives(self, C: Config, span: Span) -> Objectives:
        """Features, what they mean, and on which slices, for times that select `span`.

        Most hold on `span.slices`; some at its ends, on its steps, or before it.
        """
        ...


def ways_of(what: Any, C: Config, span: Span) -> Sequence[Way]:
    """The ways of a statement: of `ways(C, span)` where it has several, or the one."""
    if hasattr(what, "ways"):
        return what.ways(C, span)
    return [Way("", tuple(what.objectives(C, span)))]

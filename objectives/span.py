"""What can be added to a KOMO: the slices it holds on, and what it is made of."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ..features import Feature
from ..robots.config import Config
from .objective import OT, ObjectiveError

Slices = tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """The consecutive slices that `times` select, as statements see them."""

    slices: Slices
    """All of them, at least one."""
    slices_per_phase: int
    tau: float
    """Time between slices [s]."""

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

    def steps(self, what: str) -> Slices:
        """The slices after the first: velocities there are those within the span.

        Raises:
            ObjectiveError: for a single slice.
        """
        if len(self.slices) < 2:
            raise ObjectiveError(
                f"{what}: times select slice {self.slices[0]} alone, expected an"
                " interval of two or more slices; give times=[from, to]."
            )
        return self.slices[1:]


class Statement(Protocol):
    """Presets, predicates, formulas: whatever means a few objectives in a world."""

    def objectives(self, C: Config, span: Span) -> Iterable[tuple[Feature, OT, Slices]]:
        """Features, what they mean, and on which slices, for times that select `span`.

        Most hold on `span.slices`; some at its ends, on its steps, or before it.
        """
        ...

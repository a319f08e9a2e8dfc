"""Intervals of slices, and the protocol of all that `KOMO.add` accepts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.robots.config import Config

from .objective import OT, Objective, ObjectiveError, select_slices, slice_index
from .typing import Slices as Slices
from .typing import Times

ObjectiveSpec: TypeAlias = tuple[Feature, OT, Slices]
"""A feature, its type, and the slices on which it holds."""
ObjectiveSpecs: TypeAlias = Iterable[ObjectiveSpec]


@dataclass(frozen=True)
class SliceInterval:
    """The consecutive slices that `times` select, as constraints see them."""

    slices: Slices
    """All selected slices, at least one."""
    slices_per_phase: int
    initial_tau: Float[np.ndarray, " T"]
    """Duration of the step into each slice of the path [s], at first if it is free."""
    starts_at_present: bool = False
    """Whether the interval begins at the present state, one step before slice 0."""
    has_free_durations: bool = False
    """Whether durations are variables; see `KOMO.free_durations`."""

    @property
    def T(self) -> int:
        """Number of slices of the path."""
        return len(self.initial_tau)

    @property
    def tau(self) -> Float[np.ndarray, " T"]:
        """Duration of the step into each slice of the path [s].

        Raises:
            ObjectiveError: if durations are variables.
        """
        if self.has_free_durations:
            raise ObjectiveError(
                "This constraint counts in seconds, but the durations of the problem"
                " are variables; leave free_durations() out."
            )
        return self.initial_tau

    @property
    def first(self) -> Slices:
        """The first slice alone."""
        return self.slices[:1]

    @property
    def last(self) -> Slices:
        """The last slice alone."""
        return self.slices[-1:]

    def extended_back(self, phases: float) -> Slices:
        """Return the slices, preceded by the slices of a duration in phases."""
        lead = int(phases * self.slices_per_phase + 0.5)
        start = max(self.slices[0] - lead, 0)
        return tuple(range(start, self.slices[-1] + 1))

    def duration(self, slices: Slices) -> float:
        """Return the total duration of the steps into slices [s]."""
        return float(self.tau[list(slices)].sum())

    def steps(self, label: str) -> Slices:
        """Return the slices whose velocities lie within the interval.

        Velocities are backward differences, so the first slice is left out unless the
        interval begins at the present state.

        Raises:
            ObjectiveError: for an interval of a single slice.
        """
        steps = self.slices if self.starts_at_present else self.slices[1:]
        if not steps:
            raise ObjectiveError(
                f"{label}: times select slice {self.slices[0]} alone, expected an"
                " interval of two or more slices; give times=[from, to]."
            )
        return steps


def select_interval(
    times: Times,
    slices_per_phase: int,
    tau: Float[np.ndarray, " T"],
    label: str,
    has_free_durations: bool = False,
) -> SliceInterval:
    """Return the interval that times select; see `select_slices`.

    Raises:
        ObjectiveError: when no slice is selected.
    """
    slices = select_slices(times, slices_per_phase, len(tau), label)
    values = np.ravel([] if times is None else times).astype(float)
    is_interval = len(values) == 2 and values[0] >= 0
    starts_at_present = not len(values) or (
        is_interval and slice_index(values[0], slices_per_phase) < 0
    )
    return SliceInterval(
        slices, slices_per_phase, tau, bool(starts_at_present), has_free_durations
    )


class Alternative(NamedTuple):
    """One of several ways to satisfy a constraint."""

    name: str
    """For reports; "" for the only alternative."""
    objectives: Sequence[ObjectiveSpec]


@dataclass(frozen=True, eq=False)
class ResolvedAlternative:
    """An alternative as objectives of a problem."""

    name: str
    objectives: tuple[Objective, ...]


@dataclass(frozen=True, eq=False)
class AddedConstraint:
    """A constraint of a problem, and what it was when it was added."""

    constraint: "SupportsObjectives"
    times: Times
    alternatives: tuple[ResolvedAlternative, ...]
    structure_key: tuple[object, ...]
    """Structure of the world then, see `Config.structure_key`."""


Choice: TypeAlias = tuple[ResolvedAlternative, ...]
"""Alternatives of a constraint, of which one has to hold."""


@runtime_checkable
class SupportsObjectives(Protocol):
    """A preset, a predicate or a formula: a constraint made of objectives.

    A class with several alternatives also has a method `alternatives` of the same
    arguments, which returns a list of `Alternative`.
    """

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """Yield features, their types and their slices, in the selected interval.

        Most hold on `interval.slices`; some at its ends, on its steps, or before it.
        """
        ...


def alternatives_of(
    constraint: SupportsObjectives, C: Config, interval: SliceInterval
) -> Sequence[Alternative]:
    """Return the alternatives of a constraint, or its objectives as the only one."""
    if hasattr(constraint, "alternatives"):
        return constraint.alternatives(C, interval)
    return [Alternative("", tuple(constraint.objectives(C, interval)))]

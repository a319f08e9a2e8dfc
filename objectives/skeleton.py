"""Skeletons: what happens in which phase, stated once for waypoints and for paths.

After Toussaint, "Logic-geometric programming: an optimization-based approach to
combined task and motion planning" (IJCAI 2015): a skeleton is the discrete part of a
plan, and implies a continuous problem at each level of detail.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, get_args

import numpy as np

from posewise.features.typing import Order
from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.typing import FrameName

from .komo import KOMO
from .presets.preset import Preset
from .problem.objective_builder import resolve_interval
from .templates import add_motion_costs, without_overlaps
from .terms.interval import SupportsObjectives
from .terms.objective import ObjectiveError
from .terms.typing import ContactKind, ModeKind

EntryLike: TypeAlias = (
    tuple[Sequence[float], ModeKind | ContactKind, Sequence[FrameName]]
    | tuple[Sequence[float], SupportsObjectives]
)
"""An entry as users write it: times, and a mode or contact with its frames, or a
preset, a predicate or a formula."""

MODES: tuple[ModeKind, ...] = get_args(ModeKind)
CONTACTS: tuple[ContactKind, ...] = get_args(ContactKind)
NUM_FINAL_PHASES = 2
"""Phases of `Skeleton.final` (count): that before the last one, and the last one. With
more, frames would have to come to where they are before the last phase."""


@dataclass(frozen=True)
class SkeletonMode:
    """A frame that another one carries from a time on."""

    times: tuple[float, ...]
    """[t], or [from, to]; in phases, as for all entries. An end may be inf."""
    kind: ModeKind
    parent: FrameName
    frame: FrameName


@dataclass(frozen=True)
class SkeletonContact:
    """A contact of two frames, with forces."""

    times: tuple[float, ...]
    kind: ContactKind
    a: FrameName
    b: FrameName


@dataclass(frozen=True)
class SkeletonConstraint:
    """A preset, a predicate or a formula."""

    times: tuple[float, ...]
    constraint: SupportsObjectives


SkeletonPart: TypeAlias = SkeletonMode | SkeletonContact | SkeletonConstraint


@dataclass(frozen=True)
class Skeleton:
    """Modes, contacts and constraints over phases: `Skeleton([(times, …), …])`.

    Entries are `(times, mode, [parent, frame])` with a mode of `KOMO.add_mode_switch`,
    `(times, contact, [a, b])` with a kind of `KOMO.add_contact` and the friction of the
    frames, or `(times, constraint)` with a preset, a predicate or a formula. Times are
    [t] or [a, b], in phases; an end of inf stands for the last phase, [] for the whole
    path.

    Raises:
        ObjectiveError: for what is no entry, and for unknown modes and contacts.
    """

    entries: Sequence[EntryLike]
    parts: tuple[SkeletonPart, ...] = field(init=False, repr=False)
    """The entries, checked."""

    def __post_init__(self) -> None:
        parts = tuple(_parse(entry) for entry in self.entries)
        object.__setattr__(self, "parts", parts)

    @property
    def modes(self) -> tuple[SkeletonMode, ...]:
        """The modes, in the order of their beginnings."""
        modes = [part for part in self.parts if isinstance(part, SkeletonMode)]
        return tuple(sorted(modes, key=lambda mode: mode.times[0]))

    @property
    def phases(self) -> float:
        """The last time that an entry names, at least 1 [phases]."""
        times = [t for part in self.parts for t in part.times]
        return max([t for t in times if math.isfinite(t)], default=1.0)

    def add_to(self, komo: KOMO, *, collisions: bool = False) -> None:
        """Add all modes, contacts and constraints to a problem.

        Presets whose features exceed the order of the problem are left out, such as
        accelerations in a problem of waypoints.

        Args:
            komo: a problem of at least as many phases.
            collisions: whether loose objects must not overlap for predicates; see
                `KOMO.add`.

        Raises:
            ConfigError: for unknown frames, or shapes that do not fit.
            ObjectiveError: as `KOMO.add` and `KOMO.add_mode_switch`.
        """
        last = komo.T / komo.slices_per_phase
        for mode in self.modes:
            times = [min(t, last) for t in mode.times]
            komo.add_mode_switch(times, mode.kind, [mode.parent, mode.frame])
        for part in self.parts:
            times = [min(t, last) for t in part.times]
            if isinstance(part, SkeletonContact):
                komo.add_contact(times, part.a, part.b, kind=part.kind)
            elif isinstance(part, SkeletonConstraint):
                _add_constraint(komo, part.constraint, times, collisions)

    def waypoints(
        self,
        C: Config,
        *,
        motion: float = 0.1,
        homing: float = 0.01,
        collisions: bool = True,
    ) -> KOMO:
        """Return the problem of one configuration at the end of each phase.

        Args:
            C: the world.
            motion: scale of the differences between configurations.
            homing: scale of the distance from home.
            collisions: whether frames must not overlap.
        """
        return self._problem(C, 1, 1, motion, homing, collisions)

    def path(
        self,
        C: Config,
        slices_per_phase: int = 30,
        *,
        acceleration: float = 1.0,
        homing: float = 0.01,
        collisions: bool = True,
    ) -> KOMO:
        """Return the problem of a path.

        Args:
            C: the world.
            slices_per_phase: number of slices (count).
            acceleration: scale of the cost of acceleration.
            homing: scale of the distance from home.
            collisions: whether frames must not overlap.
        """
        return self._problem(C, slices_per_phase, 2, acceleration, homing, collisions)

    def _problem(
        self,
        C: Config,
        slices: int,
        order: Order,
        motion: float,
        homing: float,
        collisions: bool,
    ) -> KOMO:
        komo = KOMO(C, self.phases, slices, order)
        add_motion_costs(komo, order, motion, homing)
        self.add_to(komo)
        return without_overlaps(komo, collisions)

    def final(
        self,
        C: Config,
        *,
        motion: float = 0.01,
        homing: float = 0.01,
        collisions: bool = True,
    ) -> KOMO:
        """Return the problem of the last waypoint alone, a bound of all others.

        It has two slices: in the first, frames have the modes of the phase before the
        last, at any pose that their modes allow, however they came there. If it has no
        solution, the skeleton has none.

        Args:
            C: the world.
            motion: scale of the differences between configurations.
            homing: scale of the distance from home.
            collisions: whether frames must not overlap in the last slice.
        """
        komo = KOMO(C, NUM_FINAL_PHASES, 1, 1)
        add_motion_costs(komo, 1, motion, homing)
        self.add_final_to(komo)
        return without_overlaps(komo, collisions)

    def add_final_to(self, komo: KOMO) -> None:
        """Add what holds in the last waypoint to a problem of two slices; see `final`.

        Args:
            komo: a problem of two phases of one slice each, and of order 1.

        Raises:
            ConfigError: see `add_to`.
            ObjectiveError: see `add_to`.
        """
        last = self.phases
        before = {m.frame: m for m in self.modes if m.times[0] <= last - 1}
        for mode in before.values():
            # Without the rows that keep the frame from jumping: it may come from
            # anywhere.
            frames = [mode.parent, mode.frame]
            komo.add_mode_switch([1.0], mode.kind, frames, scale=0.0)
        for mode in self.modes:
            if mode.times[0] > last - 1:
                komo.add_mode_switch([2.0], mode.kind, [mode.parent, mode.frame])
        for part in self.parts:
            if part.times and part.times[-1] < last:
                continue
            if isinstance(part, SkeletonContact):
                komo.add_contact([2.0], part.a, part.b, kind=part.kind)
            elif isinstance(part, SkeletonConstraint):
                _add_constraint(komo, part.constraint, [2.0], collisions=False)


def _add_constraint(
    komo: KOMO,
    constraint: SupportsObjectives,
    times: list[float],
    collisions: bool,
) -> None:
    """Add a constraint, unless it is a preset that exceeds the problem's order."""
    if isinstance(constraint, Preset):
        interval = resolve_interval(komo.spec, times, constraint.name)
        rows = constraint.objectives(komo.world, interval)
        if any(feature.order > komo.k_order for feature, _, _ in rows):
            return
    komo.add(constraint, times, collisions=collisions)


def _parse(entry: EntryLike) -> SkeletonPart:
    """Return an entry, checked.

    Raises:
        ObjectiveError: if it is none.
    """
    is_tuple = isinstance(entry, tuple) and len(entry) in (2, 3)
    if not is_tuple or isinstance(entry[1], str) != (len(entry) == 3):
        raise ObjectiveError(
            f"{entry!r} is no entry of a skeleton, expected (times, mode, [parent,"
            " frame]), (times, contact, [a, b]), or (times, preset), with times [t] or"
            " [a, b]."
        )
    times = tuple(np.ravel(entry[0]).astype(float).tolist())
    if len(times) > 2 or not all(t >= 0 for t in times):
        raise ObjectiveError(
            f"Times of the entry {entry!r} are {entry[0]!r}, expected [t] or [a, b],"
            " phases >= 0."
        )
    if len(entry) == 2:
        if not isinstance(entry[1], SupportsObjectives):
            raise ObjectiveError(
                f"{entry[1]!r} has no objectives(), expected a preset, a predicate or"
                " a formula."
            )
        return SkeletonConstraint(times, entry[1])
    names = entry[2]
    if isinstance(names, str) or len(names) != 2:
        raise ObjectiveError(
            f"The entry {entry!r} names {names!r}, expected two frames."
        )
    for mode in MODES:
        if mode == entry[1] and times:
            return SkeletonMode(times, mode, *names)
    for contact in CONTACTS:
        if contact == entry[1]:
            return SkeletonContact(times, contact, *names)
    if entry[1] in MODES:
        raise ObjectiveError(f"The mode of the entry {entry!r} needs a time.")
    raise ObjectiveError(unknown_name("mode or contact", entry[1], [*MODES, *CONTACTS]))

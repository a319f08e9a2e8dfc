"""Plans: the path of a robot through all steps, and what is known of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from posewise.objectives.report.filming import film_slices, film_worlds
from posewise.objectives.report.viewing import view_worlds
from posewise.objectives.terms.objective import ObjectiveError
from posewise.objectives.trajectory.trajectory import Trajectory
from posewise.robots.config import Config
from posewise.robots.typing import FrameName, StrPath
from posewise.robots.validation import integer
from posewise.robots.visual.viewer import View

from .hand import Hand
from .object_paths import coordinates_along
from .outcome import Choice
from .segment import MotionSegment, speed_limits
from .step_types import Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class MotionStatus(Enum):
    """The end of planning."""

    SOLVED = "All steps are done, each path is certified, and each effect holds."
    FAILED = "A step could not be done; the steps before it are planned."
    INTERRUPTED = "An interrupt ended planning; the first steps are planned."
    TIME_LIMIT = "A time limit ended planning; the first steps are planned."

    @property
    def is_stopped(self) -> bool:
        """Whether an interrupt or a time limit ended planning."""
        return self in (MotionStatus.INTERRUPTED, MotionStatus.TIME_LIMIT)


@dataclass(frozen=True, eq=False)
class StepResult:
    """One step of a plan."""

    step: Step
    choice: Choice
    """The values that the step left open."""
    segments: tuple[MotionSegment, ...]
    """The paths of the step."""
    effect: bool
    """Whether its effect holds at its end, by the exact predicates."""
    reason: str
    """Why the effect holds or does not."""


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A motion through some steps, or as many of them as could be planned."""

    status: MotionStatus
    steps: tuple[StepResult, ...]
    """The steps that are planned."""
    start: Config = field(repr=False)
    """The world at the start."""
    world: Config = field(repr=False)
    """The world at the end; what a hand holds then is attached to it."""
    joints: tuple[str, ...]
    """Names of the joints of the robot."""
    hands: tuple[Hand, ...] = ()
    """Hands of the robot."""
    reason: str = ""
    """Why planning failed, in a sentence; empty if it did not."""
    seconds: float = 0.0
    """Time that planning took [s]."""
    doubts: tuple[str, ...] = ()
    """Sentences on what is very likely not meant, such as objects in the air."""

    @property
    def solved(self) -> bool:
        """Whether all steps are done."""
        return self.status is MotionStatus.SOLVED

    @cached_property
    def segments(self) -> tuple[MotionSegment, ...]:
        """The paths of all steps, one after the other."""
        return tuple(s for result in self.steps for s in result.segments)

    @property
    def is_certified(self) -> bool:
        """Whether it is proven that all paths keep their distances."""
        return all(segment.is_certified for segment in self.segments)

    @cached_property
    def path(self) -> Float[np.ndarray, "T n"]:
        """Coordinates of the robot in all slices, the start included."""
        paths = [segment.solution.path for segment in self.segments]
        start = self.start.q[self.start.joints.coordinates(list(self.joints))]
        return np.concatenate([start[None], *paths])

    @cached_property
    def whole_path(self) -> Float[np.ndarray, "T nq"]:
        """Coordinates of the world at the start in all slices, objects included."""
        rows = [self.start.q[None]]
        for segment in self.segments:
            path = segment.solution.path
            names = segment.solution.config.joints.coordinate_names
            slices = np.arange(len(path), dtype=float)
            rows.append(coordinates_along(self.start, segment, names, path, slices))
        return np.concatenate(rows)

    @cached_property
    def times(self) -> Float[np.ndarray, " T"]:
        """Time of each slice since the start [s]."""
        tau = [segment.solution.tau for segment in self.segments]
        return np.cumsum(np.concatenate([np.zeros(1), *tau]))

    def world_at(self, t: int) -> Config:
        """Return the world in a slice of `path` (-1: the last), with what is held.

        For the world at a time in seconds take the slice nearest to it,
        `abs(plan.times - seconds).argmin()`.

        Raises:
            ObjectiveError: for a slice that does not exist.
        """
        T = len(self.path)
        expected = (
            f"a slice of the path from 0 to {T - 1} (-1: the last). Slice"
            " abs(plan.times - s).argmin() is the one nearest to s seconds, and"
            " plan.resample(dt) has the joints at a fixed rate"
        )
        t = integer("t", t, expected, lambda t: -T <= t < T, ObjectiveError) % T
        if t == 0:
            return self.start.copy()
        for segment in self.segments:
            if t <= len(segment.solution.path):
                return segment.world_at(t - 1)
            t -= len(segment.solution.path)
        raise IndexError(t)

    def resample(self, dt: float) -> Trajectory:
        """Return the certified motion at a fixed rate; velocities jump at slices.

        Its `others` have the row of `path`, and the coordinates of what is moved.

        Args:
            dt: time between samples [s].
        """
        parts = [s.solution.resample(dt) for s in self.segments]
        return self._with_objects(parts)

    def retime(self, *, deviation: float = 0.002, dt: float = 0.001) -> Trajectory:
        """Return the fastest motion within the limits of the joints, by segments.

        The certificate of the plan does not cover the deviation from its path. Its
        `others` are those of `resample`.

        Args:
            deviation: see `Solution.retime`.
            dt: time between samples [s].
        """
        limits = [speed_limits(s.solution.config) for s in self.segments]
        parts = [
            s.solution.retime(limit, deviation=deviation, dt=dt)
            for s, limit in zip(self.segments, limits, strict=True)
        ]
        return self._with_objects(parts)

    def _with_objects(self, parts: Sequence[Trajectory]) -> Trajectory:
        """Return the segments' trajectories in one, with what is moved."""
        first, rows, places = 0, [], []
        for segment, part in zip(self.segments, parts, strict=True):
            slices = part.others["slice"]
            rows.append(
                coordinates_along(
                    self.start, segment, part.joint_names, part.positions, slices
                )
            )
            # Row 0 of the path is the start, which is slice -1 of the first segment.
            places.append(first + slices + 1)
            first += len(segment.solution.path)
        joined = _joined(parts)
        whole, place = _without_first_rows(rows), _without_first_rows(places)
        names = self.start.joints.coordinate_names
        others = {"slice": place}
        for k in np.flatnonzero(np.ptp(whole, axis=0) > 0):
            if names[k] not in joined.joint_names:
                others[names[k]] = whole[:, k]
        return replace(joined, others=others)

    def film(
        self,
        file: StrPath | None = None,
        slices: int | Sequence[int] = 6,
        view: tuple[float, float] = (25.0, -55.0),
        frames: Sequence[FrameName] | None = None,
        camera: str | None = None,
    ) -> "Figure":
        """Return a figure of the world in some slices; see `Solution.film`."""
        chosen = film_slices(slices, len(self.path))
        titles = [f"{self.times[t]:.1f} s" for t in chosen]
        return film_worlds(
            [self.world_at(t) for t in chosen], titles, view, frames, file, camera
        )

    def view(self, browser: bool = True) -> View:
        """Show the motion in the browser, with a play bar; see `Solution.view`."""
        worlds = [self.world_at(t) for t in range(len(self.path))]
        return view_worlds(worlds, np.diff(self.times, prepend=0.0), browser)

    def report(self) -> str:
        """Return the steps with what was chosen, and why they hold or failed."""
        lines = [f"{self.status.name}: {self.status.value}"]
        for result in self.steps:
            names = ", ".join(s.name for s in result.segments)
            lines.append(f"{result.step}: {names or 'nothing moves'}")
            choice = result.choice
            if choice.grasp is not None:
                lines.append(f"  {choice.hand}: {choice.grasp.name}")
            lines.append(f"  {'+' if result.effect else '-'} {result.reason}")
        lines += [self.reason] if self.reason else []
        return "\n".join([*lines, *(f"! {doubt}" for doubt in self.doubts)])


def _joined(parts: Sequence[Trajectory]) -> Trajectory:
    """Return trajectories one after the other; each begins where the last one ends.

    Raises:
        ObjectiveError: without any.
    """
    if not parts:
        raise ObjectiveError(
            "Nothing moves in this plan, so that it has no trajectory."
        )
    starts = np.cumsum([0.0, *(part.times[-1] for part in parts[:-1])])
    first, later = parts[0], parts[1:]

    def joined(name: str) -> np.ndarray:
        return _without_first_rows([getattr(part, name) for part in parts])

    times = [part.times[1:] + t for part, t in zip(later, starts[1:], strict=True)]
    return Trajectory(
        joint_names=first.joint_names,
        times=np.concatenate([first.times, *times]),
        positions=joined("positions"),
        velocities=joined("velocities"),
        accelerations=joined("accelerations"),
        deviation=max(part.deviation for part in parts),
    )


def _without_first_rows(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return rows one after the other, each part but the first without its first."""
    return np.concatenate([*parts[:1], *(part[1:] for part in parts[1:])])

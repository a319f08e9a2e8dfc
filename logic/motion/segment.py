"""Segments: certified paths between two keyframes, in which nothing changes hands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.features import FS
from posewise.objectives.clearance.path_clearance import PathClearance
from posewise.objectives.komo import KOMO
from posewise.objectives.solution.solution import Solution
from posewise.objectives.solve.stops import pass_on_stop
from posewise.objectives.terms.objective import OT
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..formulas.predicate import Predicate
from .course import COURSE_ROWS, HandCourse, follow_course
from .keyframes import MARGIN, SELF_MARGIN, TouchingPairs


@dataclass(frozen=True, slots=True)
class PathSearch:
    """Choices of the search for paths and their ends, varied in docs/evidence.md."""

    slices: int = 16
    """Number of slices of a path. With more a path may bend more often, and takes
    longer to find."""
    starts: int = 4
    """Number of starts; all but the first take detours that a planner finds. More of
    them find paths more often, and take longer. It is also that of the search for a
    configuration in which a predicate holds."""


PATH_SEARCH = PathSearch()


@dataclass(frozen=True, slots=True)
class PathDurations:
    """Choices of the durations of paths, varied in docs/evidence.md."""

    default_speed: float = 0.5
    """Largest speed of joints without a speed limit, such as those of a base [m/s,
    rad/s]; paths of a larger one are shorter in time."""
    mean_speed_fraction: float = 0.4
    """Mean speed of the fastest joint, as a fraction of its limit; with a larger one
    paths are shorter in time, and their fastest slices nearer to the limit."""
    least: float = 0.4
    """Shortest duration of a path [s]; a longer one slows down the shortest motions."""
    least_at_door: float = 2.0
    """The same where a door or a drawer is moved [s]. With less, what lies in it
    slides."""


PATH_DURATIONS = PathDurations()


class Leg(NamedTuple):
    """A path that is to be found."""

    name: str
    end: Float[np.ndarray, " nq"]
    """Configuration at its end."""
    touching: TouchingPairs = ()
    """Pairs that may touch."""
    course: HandCourse | None = None
    """HandCourse that the hand follows; None: any."""
    hand: FrameName | None = None
    """Link of the hand that opens or closes."""
    passive: str | None = None
    """Name of a joint that moves along the course, such as that of a door."""


@dataclass(frozen=True, eq=False)
class MotionSegment:
    """A path of the robot, in a world in which nothing is grasped or let go."""

    name: str
    """Name of the motion: "approach", "lift", …"""
    step: int
    """Number of the step that it belongs to."""
    solution: Solution = field(repr=False)
    """The path of the robot's joints."""
    world: Config = field(repr=False)
    """The world at its start, with what hands hold attached to them."""
    touching: TouchingPairs = ()
    """Pairs that may touch on it."""
    hand: FrameName | None = None
    """Link of the hand that opens or closes on it; None: none does."""
    passive: Mapping[str, Float[np.ndarray, " T"]] = field(default_factory=dict)
    """Values, in each slice, of joints that are moved but not the robot's own."""

    @property
    def is_certified(self) -> bool:
        """Whether it is proven that all distances are kept on the whole path."""
        return self.solution.feasible

    def world_at(self, t: int) -> Config:
        """Return the world in a slice."""
        world = self.world.copy()
        world.q = self.solution.path[t]
        for joint, values in self.passive.items():
            world.set_joint(joint, values[t])
        return world

    def clearance(self, range: float = 0.02) -> PathClearance:
        """Return the least distance of each pair along the path; see `Solution`."""
        return self.solution.clearance(range)


def solve_segment(
    world: Config,
    X: Config,
    leg: Leg,
    step: int,
    holds: Sequence[Predicate] = (),
    seed: int = 0,
) -> MotionSegment:
    """Return a path from the present state of a planning world, at rest at both ends.

    Args:
        world: the world, with what hands hold.
        X: its planning world.
        leg: what is to be found.
        step: number of the step.
        holds: predicates that hold in all slices.
        seed: of the starts.
    """
    end = leg.end
    durations, slices = PATH_DURATIONS, PATH_SEARCH.slices
    least = durations.least if leg.passive is None else durations.least_at_door
    komo = KOMO(X, 1, slices, 2, _duration(X, end, least))
    komo.add_control_objective(2, 0.1)
    komo.add_objective([1], FS.qItself, [], OT.eq, target=end, scale=100.0)
    komo.add_objective([1], FS.qItself, [], OT.eq, order=1)
    for predicate in holds:
        komo.add(predicate)
    follow_course(komo, leg.course)
    allow = [(a, b, None) for a, b in leg.touching]
    komo.avoid_collisions(MARGIN, SELF_MARGIN, allow=allow)
    # The straight path is the smoothest. Where it is free, there is nothing to search,
    # and from a path that just keeps a margin solves now and then move far.
    komo.initialize(_straight(X.q, end))
    solution = komo.solve(seed, 1, progress=False, max_iterations=1)
    if not solution.feasible:
        komo.initialize_waypoints(end[None])
        pass_on_stop([solution])
        solution = komo.solve(seed, PATH_SEARCH.starts, progress=False)
    pass_on_stop([solution])
    segment = MotionSegment(leg.name, step, solution, world, leg.touching, leg.hand)
    if leg.passive is None or leg.course is None:
        return segment
    first = float(world.joints.value(leg.passive)[0])
    moved = [leg.course.progress(world, segment.world_at(t)) for t in range(slices)]
    return replace(segment, passive={leg.passive: first + np.array(moved)})


def course_deviation(segment: MotionSegment, course: HandCourse) -> float:
    """Return how far a hand comes off its course on a path, also between slices [m]."""
    ends, places = np.append(0.0, segment.solution.times), COURSE_ROWS.places_per_step
    fractions = np.arange(places) / places
    times = (ends[:-1, None] + fractions * np.diff(ends)[:, None]).ravel()
    world, largest = segment.world.copy(), 0.0
    for q in segment.solution.at_time(times):
        world.q = q
        largest = max(largest, course.deviation(segment.world, world))
    return largest


def _straight(
    start: Float[np.ndarray, " nq"], end: Float[np.ndarray, " nq"]
) -> Float[np.ndarray, "T nq"]:
    """Return the straight path of least acceleration, at rest at both ends."""
    # The last two slices are the same, so that the path ends at rest.
    slices = PATH_SEARCH.slices
    s = np.minimum(np.arange(1, slices + 1) / (slices - 1), 1.0)[:, None]
    return start + (3 * s**2 - 2 * s**3) * (end - start)


def speed_limits(C: Config) -> Float[np.ndarray, " nq"]:
    """Return the largest speed of each coordinate, also of those without a limit."""
    limits = C.joints.max_velocity
    return np.where(np.isfinite(limits), limits, PATH_DURATIONS.default_speed)


def _duration(X: Config, end: Float[np.ndarray, " nq"], least: float) -> float:
    """Return a duration that the slowest joint can keep [s]."""
    speed = PATH_DURATIONS.mean_speed_fraction * speed_limits(X)
    return max(float((np.abs(end - X.q) / speed).max()), least)

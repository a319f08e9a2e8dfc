"""Paths that are planned and certified, and not optimized.

Slices that equations single out are goals, and so is the last one. Configurations of a
goal are looked for all at once, and the way leads to the first that is reached.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from posewise.compilation.progress import break_silence
from posewise.features import FS
from posewise.solvers import ProgressReporter, Status
from posewise.solvers.deadline import check_deadline, no_time_limit

from ..clearance.avoidance import BUFFER
from ..planning.constrained_search import constrained_rrt_connect, shorten_on_equations
from ..planning.free_space import SPACING, FreeSpace, free_space_with
from ..planning.planned_starts import (
    is_on_equations,
    movable_coordinates,
    passed_points,
    starts_far_outside,
    turned_coordinates,
)
from ..planning.planner import Planner
from ..planning.plugged_search import plugged_search
from ..planning.rrt_connect import MAX_ROUNDS, SearchResult, rrt_connect
from ..planning.shortcuts import points_with_corners, shorten
from ..problem.spec import (
    ProblemCache,
    ProblemSpec,
    initial_paths,
    mode_sequence,
    required_distances,
    whole_path,
)
from ..solution.solution import Solution
from ..terms.objective import OT, Objective, ObjectiveError
from .given_path import solved_path_as_solution
from .goal_configurations import GOAL_SEARCH, Projection, goal_configurations
from .goal_starts import straight
from .settings import SolveSettings
from .stops import mark_stopped, stop_sentence


@dataclass(frozen=True, slots=True)
class PlanSearch:
    """Choices of planned paths, varied in docs/evidence.md."""

    shortcut_rounds: int = 15
    """Rounds in which a planned path is made shorter (count). Fewer leave more
    detours."""
    max_constrained_rounds: int = 100
    """Rounds of planning on equations (count), each a tenth of a second. With more,
    goals that cannot be reached are told later; ways round a wall take up to 35."""
    constrained_shortcut_rounds: int = 6
    """The same as `shortcut_rounds` on equations (count). More take longer than the
    search, since each step is projected."""
    attempts: int = 4
    """Number of times that a path is planned until one is certified (count)."""
    added_distance: float = 3e-3
    """Distance that each attempt keeps beyond that of the one before [m], as a path may
    come nearer between the places that are checked. Larger ones close narrow ways."""


PLAN_SEARCH = PlanSearch()


def plan_path(
    spec: ProblemSpec,
    settings: SolveSettings,
    findings: tuple[str, ...] = (),
    planner: Planner | None = None,
) -> Solution:
    """Return a certified path from goal to goal, or one to the nearest place found.

    Args:
        spec: the problem.
        settings: seed, tolerance and progress.
        findings: on the problem, for reports.
        planner: a planner that is plugged in; None: posewise's search.

    Raises:
        ObjectiveError: for a problem that is not about the path of one mode, or keeps
            no distances between slices; with a planner, for equations on the way.
    """
    began, posed = time.perf_counter(), _posed_problem(spec)
    if planner is not None and is_on_equations(posed):
        raise ObjectiveError(
            "A planner that is plugged in leads through all free configurations, and"
            " equations of this problem hold in several slices: leave `planner` out,"
            " for the search that keeps them on the way."
        )
    initial = initial_paths(spec, settings.seed, 1)[0]
    best = solved_path_as_solution(posed, initial, settings.tolerance)
    if not best.feasible:
        best = replace(best, status=Status.INFEASIBLE)
        path_planner = _PathPlanner(spec, settings, planner)
        try:
            with break_silence("planning", settings.progress is True):
                for solution in path_planner.solutions(
                    posed, whole_path(spec, initial)
                ):
                    best = solution
                    if best.feasible:
                        break
        except KeyboardInterrupt:
            (best,) = mark_stopped([best], stop_sentence(0, 1))
    seconds = time.perf_counter() - began
    return replace(best, seconds=seconds, findings=findings)


def why_not_planned(spec: ProblemSpec) -> str:
    """Return why there is no plan for a problem; empty: there may be one."""
    for what, parts in (
        ("mode switches", spec.switches),
        ("contact forces", spec.contacts),
        ("prescribed motions", spec.courses),
    ):
        if parts:
            return (
                f"plan() is for paths without {what}, and this problem has"
                f" {len(parts)}: call solve()."
            )
    if not spec.needs_certificate:
        return (
            "plan() is for paths that keep distances between slices, and this problem"
            " asks for none: call avoid_collisions() first, on a path with k_order of 1"
            " or more."
        )
    if starts_far_outside(spec):
        return (
            "plan() leads through configurations within limits, and the start is far"
            " outside of them: give angles in radians and lengths in metres, and see"
            " Config.limits."
        )
    if not _goal_objectives(spec):
        return (
            "plan() leads to goals, and no constraint of this problem is about one:"
            " add an objective of type eq or ineq and order 0."
        )
    return ""


def _goal_objectives(spec: ProblemSpec) -> tuple[Objective, ...]:
    return tuple(
        o
        for o in spec.objectives
        if o.type is not OT.sos and not o.feature.order and not o.is_avoidance
    )


def _posed_problem(spec: ProblemSpec) -> ProblemSpec:
    """Return the problem without costs, and without what it asks of velocities.

    Distances are up to the check of the whole path.

    Raises:
        ObjectiveError: see `plan_path`.
    """
    if reason := why_not_planned(spec):
        raise ObjectiveError(reason)
    cache, objectives = ProblemCache(modes=spec.cache.modes), _goal_objectives(spec)
    return replace(
        spec, objectives=objectives, room=(), k_order=0, durations=(), cache=cache
    )


class _PathPlanner:
    """Searches for the whole path of a problem of one mode."""

    def __init__(
        self, spec: ProblemSpec, settings: SolveSettings, planner: Planner | None
    ) -> None:
        self.spec, self.settings, self.planner = spec, settings, planner
        self.report_progress = ProgressReporter(settings.progress)
        self.world = mode_sequence(spec).world
        self.K = self.world.tree.model.unnamed_kinematics
        self.parts = required_distances(spec)
        self.passed = np.flatnonzero(passed_points(spec)).tolist()
        self.way_objectives = [
            o
            for o in _goal_objectives(spec)
            if len(o.slices) > 1 and o.feature.symbol is not FS.jointLimits.symbol
        ]
        self.bounds_way = any(o.type is OT.ineq for o in self.way_objectives)
        self._goals: dict[tuple[int, bytes], np.ndarray] = {}

    def solutions(
        self, posed: ProblemSpec, points: Float[np.ndarray, "points nq"]
    ) -> Iterator[Solution]:
        """Yield planned paths, each further one if that before was not certified.

        Args:
            posed: the problem that they solve.
            points: the initial path with its start.

        Raises:
            KeyboardInterrupt: for an interrupt or a deadline.
        """
        for attempt in range(PLAN_SEARCH.attempts):
            path, plan = self.plan(points, attempt)
            planned = solved_path_as_solution(posed, path[1:], self.settings.tolerance)
            if not planned.feasible:
                status = Status.NOT_FOUND if plan.missing else Status.INFEASIBLE
                planned = replace(planned, status=status)
            # Half a way is worth less than the whole one of an attempt before.
            if planned.feasible or not (plan.is_stopped and attempt):
                yield planned
            if plan.is_stopped:
                check_deadline()
                raise KeyboardInterrupt
            may_meet_bounds = not attempt and self.bounds_way
            if plan.missing or planned.keeps_distances and not may_meet_bounds:
                break

    def plan(
        self, points: Float[np.ndarray, "points nq"], attempt: int
    ) -> tuple[Float[np.ndarray, "points nq"], SearchResult]:
        """Return a path from goal to goal, and the last search.

        Where a goal is not reached, the path ends at the nearest place to it.

        Args:
            points: the initial path with its start.
            attempt: number of plans before: each keeps more distance than the one
                before, and is checked at twice as many places.
        """
        points, plan = points.copy(), SearchResult(points[:1], 0.0)
        rng = np.random.default_rng((self.settings.seed, attempt))
        added = BUFFER + attempt * PLAN_SEARCH.added_distance
        for first, last in pairwise(self.passed):
            start, goals = points[first], self.goals(points[last], points[first], last)
            if not len(goals):
                points[first:] = start
                return points, SearchResult(start[None], np.inf)
            if not self.parts:  # nothing can collide
                segment = straight(self.K.tree, start, goals[0], last - first)
                points[first : last + 1] = segment
                continue
            required = self.parts[0].required[first:last].min(0) + added
            ends = np.vstack([start, goals])
            movable = movable_coordinates(self.spec, ends)
            spacing = SPACING / 2**attempt
            space = free_space_with(
                self.K, self.parts[0], required, ends, movable, spacing=spacing
            )
            projection = self._projection(space, start, first, last, attempt)
            if self.planner is not None:
                plan = plugged_search(self.planner, space, start, goals, rng)
            elif projection is None:
                plan = rrt_connect(space, start, goals, rng, MAX_ROUNDS)
            else:
                rounds = PLAN_SEARCH.max_constrained_rounds
                plan = constrained_rrt_connect(
                    space, projection, start, goals, rng, rounds
                )
            corners = plan.corners
            try:
                if projection is None:
                    corners = shorten(space, corners, rng, PLAN_SEARCH.shortcut_rounds)
                else:
                    rounds = PLAN_SEARCH.constrained_shortcut_rounds
                    corners = shorten_on_equations(
                        space, projection, corners, rng, rounds
                    )
            except KeyboardInterrupt:  # the way is not lost
                plan = plan._replace(is_stopped=True)
            count = last - first + 1
            points[first : last + 1] = points_with_corners(space, corners, count)
            if projection is not None:
                with no_time_limit():
                    between, is_met = projection(points[first + 1 : last])
                points[np.arange(first + 1, last)[is_met]] = between[is_met]
            if plan.missing or plan.is_stopped:
                points[last:] = points[last]
                break
        return points, plan

    def _projection(
        self,
        space: FreeSpace,
        start: Float[np.ndarray, " nq"],
        first: int,
        last: int,
        attempt: int,
    ) -> Projection | None:
        """Return the projection onto what all points between two of them demand.

        None: they demand nothing but limits, or not all the same, or only inequalities,
        which the first attempt may meet as it is, and all of a plugged-in planner.

        Args:
            space: the free space.
            start: the configuration at the first point.
            first: index of that point.
            last: index of the last point, which is a goal.
            attempt: number of plans before.
        """
        demands = [
            [o for o in self.way_objectives if t in o.slices]
            for t in range(first, last - 1)
        ]
        if not demands or not demands[0] or any(d != demands[0] for d in demands):
            return None
        is_tried = not attempt or self.planner is not None
        if is_tried and all(o.type is OT.ineq for o in demands[0]):
            return None
        joints = self.world.joint_names
        stay = np.setdiff1d(np.arange(self.world.nq), space.moving)
        locked = [
            name
            for name in joints
            if np.isin(self.world.joints.coordinates([name]), stay).any()
        ]
        return Projection(self.spec, start, first, self.settings.tolerance, locked)

    def goals(
        self, q: Float[np.ndarray, " nq"], before: Float[np.ndarray, " nq"], point: int
    ) -> Float[np.ndarray, "n nq"]:
        """Return configurations that meet what is demanded at a point of the path.

        Args:
            q: the initial path's configuration there.
            before: where the way to it begins.
            point: index of the point, 0 for the start.
        """
        key = point, before.tobytes()
        if key not in self._goals:
            stay = turned_coordinates(self.spec)
            locked = [
                name
                for name in self.world.joint_names
                if np.isin(self.world.joints.coordinates([name]), stay).any()
            ]
            self._goals[key] = goal_configurations(
                self.spec,
                q,
                before,
                point - 1,
                GOAL_SEARCH.candidates,
                self.settings,
                self.report_progress,
                locked,
            )
        return self._goals[key]

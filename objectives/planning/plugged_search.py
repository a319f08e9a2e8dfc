"""Searches by planners that are plugged in, with results as of posewise's search."""

from typing import get_args

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.errors import unknown_name
from posewise.solvers.deadline import (
    check_deadline,
    passed_deadline,
    remaining_seconds,
)

from ..terms.objective import ObjectiveError
from .free_space import FreeSpace
from .ompl_planner import OmplPlanner
from .planner import Planner, PlannerLike, PlannerName, PlanningTask
from .rrt_connect import SearchResult, nearest_to_goals
from .tree_growth import trees_from

MAX_SEARCH_SECONDS = 30.0
"""Longest time that a planner is told to take [s]. With more, goals that cannot be
reached are told later; with less, slow planners find fewer paths."""
MAX_END_DIFFERENCE = 1e-3
"""Difference from the start or a goal up to which the end of a path is taken for it
[rad, m]. With less, paths of planners that round or step are refused; with more, the
first and last motions are other ones than a planner has checked."""


def resolve_planner(planner: PlannerLike) -> Planner | None:
    """Return a planner; None: posewise's search.

    Raises:
        ObjectiveError: for anything but a planner or the name of one.
        ImportError: without the package of a planner; names the extra.
    """
    if planner == "ompl":
        return OmplPlanner()
    if planner == "rrt-connect":
        return None
    if isinstance(planner, str):
        raise ObjectiveError(unknown_name("planner", planner, get_args(PlannerName)))
    if isinstance(planner, type) or not isinstance(planner, Planner):
        raise ObjectiveError(
            f"planner is {planner!r}, expected one of the names"
            f" {', '.join(map(repr, get_args(PlannerName)))}, or an object with a"
            " method plan(task); see posewise.Planner."
        )
    return planner


def plugged_search(
    planner: Planner,
    space: FreeSpace,
    start: Float[np.ndarray, " nq"],
    goals: Float[np.ndarray, "n nq"],
    rng: np.random.Generator,
) -> SearchResult:
    """Return a path by a planner; the start alone, if it finds none.

    Args:
        planner: the planner.
        space: the free space.
        start: the first configuration, a free one.
        goals: free configurations, any of which may be the last one.
        rng: source of randomness.

    Raises:
        ObjectiveError: for a path of another form, or with other ends.
    """

    def whole(x: Float[np.ndarray, "n dof"]) -> Float[np.ndarray, "n nq"]:
        q = np.tile(start, (len(x), 1))
        q[:, space.moving] = x
        return q

    def are_free_motions(
        a: Float[np.ndarray, "n dof"], b: Float[np.ndarray, "n dof"]
    ) -> Bool[np.ndarray, " n"]:
        check_deadline()
        return space.reachable(whole(a), whole(b)) >= 1

    low, high = space.limits
    task = PlanningTask(
        np.clip(start[space.moving], low, high),
        np.clip(goals[:, space.moving], low, high),
        space.limits.copy(),
        lambda x: are_free_motions(x, x),
        are_free_motions,
        min(remaining_seconds(), MAX_SEARCH_SECONDS),
        int(rng.integers(1, 2**31)),
    )
    nothing = nearest_to_goals(space, trees_from(start, goals), goals)
    try:
        path = planner.plan(task)
    except KeyboardInterrupt:
        return nothing._replace(is_stopped=True)
    if path is None:
        return nothing._replace(is_stopped=passed_deadline() is not None)
    path = _checked(path, task)
    goal = np.abs(task.goals - path[-1]).max(1).argmin()
    # The ends are those asked for, which need not be quite within the limits.
    return SearchResult(np.vstack([start, whole(path[1:-1]), goals[goal]]), 0.0)


def _checked(
    path: Float[np.ndarray, "k dof"], task: PlanningTask
) -> Float[np.ndarray, "k dof"]:
    """Return a path from the start to a goal, as an array.

    Raises:
        ObjectiveError: for what is none.
    """
    path = np.asarray(path, float)
    if path.ndim != 2 or path.shape[1:] != task.start.shape or len(path) < 2:
        raise ObjectiveError(
            f"The planner returned an array of shape {path.shape}, expected"
            f" (k, {len(task.start)}) with k of 2 or more: configurations from the"
            " start to a goal."
        )
    if not np.isfinite(path).all():
        raise ObjectiveError(
            "The planner returned a path with numbers that are not finite; return None"
            " where there is no path."
        )
    from_start = np.abs(path[0] - task.start).max()
    from_goal = np.abs(path[-1] - task.goals).max(1).min()
    if max(from_start, from_goal) > MAX_END_DIFFERENCE:
        raise ObjectiveError(
            f"The planner returned a path that begins {from_start:.2g} from the start"
            f" and ends {from_goal:.2g} from the nearest goal, in the coordinate that"
            " differs most; expected the start and a goal themselves."
        )
    return path

"""Detours: a path with its colliding stretches replaced by planned, free ones."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.forward import Kinematics
from posewise.solvers.deadline import check_deadline

from ..clearance.motion_model import MotionPart
from .free_space import free_space_with
from .rrt_connect import MAX_ROUNDS, rrt_connect
from .shortcuts import points_with_corners, shorten

SHORTCUT_ROUNDS = 4
"""Rounds in which a planned path is made shorter (count)."""


def with_detours(
    K: Kinematics,
    parts: Sequence[MotionPart],
    path: Float[np.ndarray, "points nq"],
    fixed: Bool[np.ndarray, " points"],
    movable: Callable[[Float[np.ndarray, "2 nq"]], Int[np.ndarray, " n"]],
    rng: np.random.Generator,
    max_rounds: int = MAX_ROUNDS,
) -> Float[np.ndarray, "points nq"] | None:
    """Return a path with a way round obstacles in place of each colliding stretch.

    None: nothing collides, or no detour was found. A stretch begins and ends at
    configurations that are fixed; pairs that are too near there may be as near on the
    way. Its points are spread evenly over the planned path.

    Args:
        K: kinematics of the world.
        parts: what is required in each mode.
        path: configurations, with the start as the first one.
        fixed: which of them a path has to pass, such as waypoints.
        movable: from both ends of a detour to the coordinates that move on it.
        rng: source of randomness.
        max_rounds: of the search for each detour.

    Raises:
        KeyboardInterrupt: for an interrupt; TimeLimitReached for a deadline.
    """
    path, is_changed = path.copy(), False
    for part in parts:
        points = np.arange(part.segments[0], part.segments[-1] + 2)
        for first, last in _stretches(points, fixed):
            ends = path[[first, last]]
            rows = slice(first - points[0], last - points[0])
            required = part.required[rows].min(0)
            space = free_space_with(K, part, required, ends, movable(ends))
            if space.is_free_path(path[first : last + 1]):
                continue
            plan = rrt_connect(space, ends[0], ends[1:], rng, max_rounds)
            if plan.is_stopped:
                check_deadline()
                raise KeyboardInterrupt
            if not plan.missing:
                corners = shorten(space, plan.corners, rng, SHORTCUT_ROUNDS)
                count = last - first + 1
                path[first : last + 1] = points_with_corners(space, corners, count)
                is_changed = True
    return path if is_changed else None


def _stretches(
    points: Int[np.ndarray, " n"], fixed: Bool[np.ndarray, " all"]
) -> Iterator[tuple[int, int]]:
    """Yield the first and last points of the stretches between fixed points."""
    ends = [points[0], *points[1:-1][fixed[points[1:-1]]], points[-1]]
    for first, last in zip(ends[:-1], ends[1:], strict=True):
        yield int(first), int(last)

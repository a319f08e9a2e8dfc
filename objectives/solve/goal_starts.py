"""Initial paths through configurations that meet what single slices demand.

A path that is pulled to its goal slice by slice ends where a joint is at its limit, or
a closed chain is stretched, though other configurations meet the goal. They are solved
for by themselves, from random states; the nearest ones are taken first.
"""

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.kinematics.manifold import difference, integrate
from posewise.robots.kinematics.tree import KinematicTree
from posewise.solvers.interruptible import ProgressCallback

from ..planning.planned_starts import passed_points
from ..problem.spec import CompiledProblem, ProblemSpec, mode_sequence, whole_path
from .goal_configurations import GOAL_SEARCH, goal_configurations
from .settings import SolveSettings


def goal_paths(
    spec: ProblemSpec,
    compiled: CompiledProblem,
    x: Float[np.ndarray, "T nq"],
    settings: SolveSettings,
    report_progress: ProgressCallback,
) -> list[Float[np.ndarray, "T nq"]]:
    """Return paths straight from goal to goal, those to the nearest first.

    Slices in which equations single out a place are goals, and so is the last one.
    There is no path if no configuration is found for one of them.

    Args:
        spec: the problem.
        compiled: the problem for the solver.
        x: a path of the solved world, whose shared coordinates are kept.
        settings: of the solve.
        report_progress: see `solve_interruptible`.
    """
    if spec.contacts:
        return []
    tree = mode_sequence(spec).world.kinematics().tree
    goals = np.flatnonzero(passed_points(spec))
    start = whole_path(spec, x)
    paths = [start]
    for first, last in zip(goals[:-1].tolist(), goals[1:].tolist(), strict=True):
        longer = []
        for points in paths:
            configurations = goal_configurations(
                spec,
                start[last],
                points[first],
                last - 1,
                max(GOAL_SEARCH.candidates // len(paths), 2),
                settings,
                report_progress,
            )
            for goal in configurations[: GOAL_SEARCH.candidates // len(paths)]:
                longer.append(points.copy())
                segment = straight(tree, points[first], goal, last - first)
                longer[-1][first : last + 1] = segment
        paths = longer
        if not paths:
            return []
    return [points[1:] for points in paths]


def straight(
    tree: KinematicTree,
    start: Float[np.ndarray, " nq"],
    goal: Float[np.ndarray, " nq"],
    steps: int,
) -> Float[np.ndarray, "points nq"]:
    """Return configurations from a start to a goal in equal steps."""
    step = np.arange(steps + 1)[:, None] / steps * difference(tree, start, goal)
    return integrate(tree, np.tile(start, (steps + 1, 1)), step)


def row_types(compiled: CompiledProblem) -> Int[np.ndarray, " rows"]:
    """Return the type of each of all concatenated rows: EQ, INEQ or SOS."""
    groups = zip(compiled.chain.groups, compiled.data.batches, strict=True)
    return np.concatenate(
        [np.repeat(np.asarray(b.types), group.num_rows) for group, b in groups]
    )

"""Configurations that meet what a single slice of a path demands, many at once.

Those of a goal are looked for from many states; those on the way are near given ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from posewise.features import FS, Feature
from posewise.robots.kinematics.manifold import difference
from posewise.robots.kinematics.tree import KinematicTree
from posewise.solvers import Status
from posewise.solvers.deadline import check_deadline
from posewise.solvers.interruptible import ProgressCallback

from ..chain.builder import without_slack
from ..planning.constrained_search import SAME_DISTANCE
from ..planning.projection import project_rows
from ..problem.spec import ProblemSpec, compile_chain, initial_paths, mode_sequence
from ..terms.objective import OT, Objective
from .problem_batch import make_problem_batch
from .settings import SolveSettings, make_settings
from .start_batches import solve_problems

PROJECTION_BATCH_SIZE = 32
"""Number of configurations that are projected at a time (count). More waste more work
where few are asked for; fewer vectorise worse."""
TARGET_SHARE = 0.1
"""Share of the tolerance at which a projection ends [1], since rounding may not decide
whether what it returns meets all demands. Smaller ones take more steps."""


@dataclass(frozen=True, slots=True)
class GoalSearch:
    """Choices of the search for configurations of goals, varied in docs/evidence.md."""

    candidates: int = 24
    """Number of states from which a goal's configurations are solved for (count), for
    which the program is made, and largest number of paths from goal to goal. Fewer miss
    the configuration to which a way leads; more take longer."""
    nearness_scale: float = 0.1
    """Scale of the distance to the configuration before, as a cost [1/rad]. A larger
    one outweighs the goal at first."""


GOAL_SEARCH = GoalSearch()


def goal_configurations(
    spec: ProblemSpec,
    q: Float[np.ndarray, " nq"],
    before: Float[np.ndarray, " nq"],
    t: int,
    count: int,
    settings: SolveSettings,
    report_progress: ProgressCallback,
    locked: Sequence[str] = (),
) -> Float[np.ndarray, "n nq"]:
    """Return configurations that meet what a slice demands, the nearest first.

    Args:
        spec: the problem.
        q: a configuration of the solved world, whose shared coordinates are kept.
        before: the configuration that they should be near.
        t: the slice.
        count: number of states from which they are solved for, even, and at most
            `GoalSearch.candidates`.
        settings: seed and tolerance.
        report_progress: see `solve_problems`.
        locked: names of joints that keep their values.

    Raises:
        KeyboardInterrupt: for an interrupt, or once the deadline has passed.
    """
    alone = _slice_problem(spec, q, before, t, locked)
    columns = mode_sequence(spec).world.joints.coordinates(alone.config.joint_names)
    # A path that missed its goal may end near what leads there, or far astray.
    states = []
    for state in (q, before):
        alone.config.q = state[columns]
        states.append(initial_paths(alone, settings.seed, count // 2))
    starts = np.concatenate(states)
    alone = replace(alone, sampler=lambda seed, n: starts[:n])
    ends = solve_problems(
        make_problem_batch([alone], {}),
        [0],
        make_settings(alone, settings.tolerance, False, {}, starts=len(starts)),
        report_progress,
        program_size=GOAL_SEARCH.candidates,
    ).result
    if (np.asarray(ends.status) == Status.INTERRUPTED).any():
        raise KeyboardInterrupt
    check_deadline()
    is_met = np.asarray(ends.violation) <= settings.tolerance
    configurations = np.tile(q, (int(is_met.sum()), 1))
    configurations[:, columns] = np.asarray(ends.x)[is_met, 0]
    tree = mode_sequence(spec).world.kinematics().tree
    return _nearest_first(tree, before, configurations)


class Projection:
    """Moves configurations onto what a slice demands, nearly by the shortest way.

    Args:
        spec: the problem.
        q: a configuration of the solved world, whose shared coordinates are kept.
        t: the slice.
        tolerance: largest violation that counts as satisfied, in scaled units.
        locked: names of joints that keep their values.
    """

    def __init__(
        self,
        spec: ProblemSpec,
        q: Float[np.ndarray, " nq"],
        t: int,
        tolerance: float,
        locked: Sequence[str],
    ) -> None:
        alone = _slice_problem(spec, q, q, t, locked)
        demands = tuple(o for o in alone.objectives if o.type is not OT.sos)
        compiled = compile_chain(replace(alone, objectives=demands))
        self.chain, self.data = compiled.chain, without_slack(compiled.data)
        self.columns = mode_sequence(spec).world.joints.coordinates(
            alone.config.joint_names
        )
        self.tolerance = tolerance

    def __call__(
        self, q: Float[np.ndarray, "n nq"]
    ) -> tuple[Float[np.ndarray, "n nq"], Bool[np.ndarray, " n"]]:
        """Return configurations near those given, and which of them meet the demands.

        Raises:
            KeyboardInterrupt: once the deadline has passed.
        """
        projected, is_met = q.copy(), np.zeros(len(q), bool)
        tolerance = np.asarray(TARGET_SHARE * self.tolerance, self.data.prefix.dtype)
        for first in range(0, len(q), PROJECTION_BATCH_SIZE):
            check_deadline()
            rows = np.arange(first, min(first + PROJECTION_BATCH_SIZE, len(q)))
            padded = np.resize(rows, PROJECTION_BATCH_SIZE)
            starts = q[padded[:, None], self.columns].astype(self.data.prefix.dtype)
            x, violation = project_rows(
                self.chain, self.data, starts[:, None], tolerance
            )
            projected[rows[:, None], self.columns] = x[: len(rows), 0]
            is_met[rows] = violation[: len(rows)] <= self.tolerance
        return projected, is_met


def _slice_problem(
    spec: ProblemSpec,
    q: Float[np.ndarray, " nq"],
    before: Float[np.ndarray, " nq"],
    t: int,
    locked: Sequence[str],
) -> ProblemSpec:
    """Return the demands of a slice as a separate problem, in the world of its mode."""
    mode = mode_sequence(spec).at(t)
    world = mode.config.copy()
    world.q = q
    if mode.joints is not None:
        world.lock([name for name in world.joint_names if name not in mode.joints])
    if locked:
        world.lock([name for name in world.joint_names if name in locked])
    near = before[mode.config.joints.coordinates(world.joint_names)]
    cost = Feature(FS.qItself, (), scale=GOAL_SEARCH.nearness_scale, target=near)
    objectives = [Objective("nearness", cost, OT.sos, (0,))]
    for o in spec.objectives:
        is_posed = not o.feature.order and o.fraction is None
        if is_posed and o.type is not OT.sos and t in o.slices:
            feature = mode.on_active_frames(o.feature)
            objectives.append(replace(o, feature=feature, slices=(0,), weights=None))
    return ProblemSpec(world, 1, 1, 0, np.ones(1), tuple(objectives))


def _nearest_first(
    tree: KinematicTree, before: Float[np.ndarray, " nq"], configurations: np.ndarray
) -> np.ndarray:
    """Return configurations (n, nq) by their distance to one, each once."""
    if not len(configurations):
        return configurations
    start = np.broadcast_to(before, configurations.shape)
    far = np.abs(difference(tree, start, configurations)).max(1)
    result: list[np.ndarray] = []
    for q in configurations[np.argsort(far, kind="stable")]:
        if all(np.abs(difference(tree, q, p)).max() > SAME_DISTANCE for p in result):
            result.append(q)
    return np.array(result)

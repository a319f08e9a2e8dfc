"""Keyframes: configurations in which hands are at given poses and nothing collides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from posewise.features import FS
from posewise.objectives.clearance.avoidance import (
    CollisionAvoidance,
    accepted_distances,
)
from posewise.objectives.komo import KOMO
from posewise.objectives.solve.stops import pass_on_stop
from posewise.objectives.terms.objective import OT
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from .free_poses import are_free
from .robot import Robot

TouchingPairs: TypeAlias = tuple[tuple[FrameName, FrameName], ...]
"""Pairs of frames or objects that may touch."""
MARGIN = 5e-3
"""Least distance of all other pairs on paths [m]; with a larger one hands find less
room in narrow places."""
SELF_MARGIN = 1e-3
"""Least distance of the robot's own links [m]; with a larger one arms can be folded
less."""


@dataclass(frozen=True, slots=True)
class KeyframeSearch:
    """Choices of the search for keyframes, varied in docs/evidence.md."""

    margin: float = 7e-3
    """Least distance of all pairs but those of the robot's own links [m]: more than on
    paths, so that the paths between keyframes have room."""
    position_scale: float = 100.0
    """Scale of the rows of position, so that objects are put down within 0.01 mm, and
    of joints that stay [1/m, 1/rad]; with a smaller one they move more."""
    rotation_scale: float = 30.0
    """Scale of the rows of orientation [1]; with a larger one hands are turned less at
    the end of a solve."""
    change_scale: float = 0.3
    """Scale of the cost of the way from the configuration before [1/rad, 1/m]; a larger
    one keeps configurations nearer to it."""
    batch_size: int = 16
    """Number of problems that are solved at a time, the last one repeated: another
    number would compile another program. A larger one wastes more where few remain."""
    max_iterations: int = 80
    """Number of steps after which a start is given up. Few need more than 30."""


KEYFRAME_SEARCH = KeyframeSearch()


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A configuration of a planning world."""

    q: Float[np.ndarray, " nq"]
    cost: float
    """Squared distance from the configuration before."""


def solve_keyframes(
    X: Config,
    robot: Robot,
    link: FrameName,
    poses: Sequence[Float[np.ndarray, "7"]],
    starts: Sequence[Float[np.ndarray, " nq"]],
    touching: TouchingPairs = (),
    fixed: Sequence[str] = (),
) -> list[Keyframe | None]:
    """Return a configuration for each pose of a link, None where none was found.

    All problems share one program. The joint of each gripper stays as in the start.

    Args:
        X: a planning world; its state is the configuration before.
        robot: the robot.
        link: that is brought to the poses.
        poses: in the world.
        starts: configuration from which each problem starts.
        touching: pairs that may touch.
        fixed: names of further joints that stay as in the start.
    """
    search = KEYFRAME_SEARCH
    keyframes: list[Keyframe | None] = [None] * len(poses)
    first, goals = np.array(starts).reshape(-1, X.nq), np.array(poses).reshape(-1, 7)
    # Most poses are no good for the hand alone.
    pairs = X.pairs.indices()
    least = _accepted(X, pairs, touching)
    free = np.flatnonzero(are_free(X, link, goals, first, pairs, least))
    first, goals = first[free], goals[free]
    if not len(free):
        return keyframes
    komo = KOMO(X)
    position = komo.add_objective(
        None, FS.position, [link], OT.eq, scale=search.position_scale
    )
    axes = [
        komo.add_objective(None, symbol, [link], OT.eq, scale=search.rotation_scale)
        for symbol in (FS.vectorX, FS.vectorY, FS.vectorZ)
    ]
    joints = list(robot.joints)
    change = komo.add_objective(
        None, FS.qItself, joints, OT.sos, scale=search.change_scale
    )
    # Which joints stay is data, so that one program serves.
    fingers = [hand.joint for hand in robot.hands]
    stays = np.isin(np.arange(X.nq), X.joints.coordinates([*fingers, *fixed]))
    stay = komo.add_objective(
        None, FS.qItself, joints, OT.eq, scale=search.position_scale * stays
    )
    komo.avoid_collisions(
        search.margin, SELF_MARGIN, allow=[(a, b, None) for a, b in touching]
    )
    R = quat_to_matrix(goals[:, 3:])
    targets = {position: goals[:, :3], change: first, stay: first}
    targets |= {axis: R[:, :, k] for k, axis in enumerate(axes)}
    for k in range(0, len(free), search.batch_size):
        rows = np.minimum(np.arange(k, k + search.batch_size), len(free) - 1)
        solutions = komo.solve_batch(
            {objective: target[rows] for objective, target in targets.items()},
            initial_paths=list(first[rows]),
            progress=False,
            max_iterations=search.max_iterations,
        )
        pass_on_stop(solutions)
        # The last rows repeat one.
        for row, s in zip(
            range(k, min(k + search.batch_size, len(free))), solutions, strict=False
        ):
            if s.feasible:
                cost = float(((s.q - first[row]) ** 2).sum())
                keyframes[free[row]] = Keyframe(s.q, cost)
    return keyframes


def _accepted(
    X: Config, pairs: Int[np.ndarray, "n 2"], touching: TouchingPairs
) -> Float[np.ndarray, " n"]:
    """Return the distance that each pair has in keyframes at least [m]."""
    avoidance = CollisionAvoidance(KEYFRAME_SEARCH.margin, SELF_MARGIN)
    names = frozenset(frozenset(pair) for pair in touching)
    return accepted_distances(avoidance.required(X, pairs, names))

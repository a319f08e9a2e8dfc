"""Poses of an object in which predicates hold, to put it down there."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product

import numpy as np
from jaxtyping import Float

from posewise.objectives.placement import solve_placement
from posewise.objectives.solve.stops import pass_on_stop
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..bddl.placement_candidates import PlacementCandidates
from ..errors import PredicateError
from ..exact.support import OnTopOf
from ..formulas.predicate import Predicate
from ..planning.dnf_search import branches, object_names

ROUNDS = 3
"""Number of times that surfaces are sampled, in all orientations; the first that finds
poses is the last."""
MAX_PLACES = 32
"""Number of poses that are kept, spread out. With fewer a hand fits at none of them now
and then, with more each grasp is checked longer."""
TURN_DISTANCE = 0.1
"""Distance that counts as much as a turn by half when poses are spread out [m]."""
MAX_BRANCHES = 4
"""Number of alternatives of a formula that are tried."""
EDGE = 0.015
"""Least distance of a centre of mass from the edge of what is below it [m]."""
STARTS = 24
"""Number of starts of an optimised placement."""


def find_places(
    C: Config, robot: FrameName, obj: FrameName, predicate: Predicate, seed: int
) -> list[Float[np.ndarray, "7"]]:
    """Return poses of an object, turned about the vertical, in which a predicate holds.

    Surfaces are sampled, as for BDDL's goals; where that finds none, the placement is
    optimised. The robot is in nothing's way.

    Args:
        C: the world, with the object on a free joint, in the orientation it keeps.
        robot: root of the robot.
        obj: the object.
        predicate: that is to hold.
        seed: of the samples.
    """
    world = C.copy()
    chosen = islice(branches(predicate, C), MAX_BRANCHES)
    # Places at an edge hold by the rules, but tip over when they are touched.
    for branch, is_steady in product(list(chosen), (True, False)):
        literals = [p for p in branch.literals if obj in object_names(p)]

        def is_good(
            pose: Float[np.ndarray, "7"],
            is_steady: bool = is_steady,
            literals: Sequence[Predicate] = literals,
        ) -> bool:
            """Return whether the predicate holds, and the object is steady if asked."""
            holds = _holds_at(C, obj, pose, predicate)
            return holds and (not is_steady or _is_steady(C, obj, pose, literals))

        for k in range(ROUNDS):
            candidates = PlacementCandidates(world, obj, (), (robot,))
            rng = np.random.default_rng(seed + k)
            poses = np.array([*candidates.poses(literals, rng, False)]).reshape(-1, 7)
            is_likely = predicate.admits_poses(C, obj, poses)
            for likely in (poses[is_likely], poses[~is_likely]):
                if places := _spread(likely, is_good):
                    return places
    return list(_optimised(C, obj, predicate, seed))


def _spread(
    poses: Float[np.ndarray, "n 7"], is_good: Callable[[Float[np.ndarray, "7"]], bool]
) -> list[Float[np.ndarray, "7"]]:
    """Return good poses: the first, and each time the farthest from all before it."""
    points, quaternions = poses[:, :3], poses[:, 3:]
    chosen: list[Float[np.ndarray, "7"]] = []
    # Of each pose from the chosen ones; below 0 once it was tried.
    distance = np.full(len(poses), np.inf)
    while len(chosen) < MAX_PLACES and (distance >= 0).any():
        k = int(distance.argmax())
        distance[k] = -1.0
        if is_good(poses[k]):
            chosen.append(poses[k])
            turned = 1 - np.abs(quaternions @ quaternions[k])
            away = np.linalg.norm(points - points[k], axis=1) + TURN_DISTANCE * turned
            distance = np.minimum(distance, away)
    return chosen


def _holds_at(
    C: Config, obj: FrameName, pose: Float[np.ndarray, "7"], predicate: Predicate
) -> bool:
    X = C.copy()
    X.set_pose(obj, pose)
    return predicate.holds(X)


def _is_steady(
    C: Config,
    obj: FrameName,
    pose: Float[np.ndarray, "7"],
    literals: Sequence[Predicate],
) -> bool:
    """Return whether an object stays on what it stands on, moved a little."""
    X, others = C.copy(), {n for p in literals for n in object_names(p)} - {obj}
    X.set_pose(obj, pose)
    on = [p for p in (OnTopOf(obj, other) for other in others) if p.holds(X)]
    for x, y in ((EDGE, 0), (-EDGE, 0), (0, EDGE), (0, -EDGE)):
        X.set_pose(obj, np.concatenate([pose[:3] + [x, y, 0], pose[3:]]))
        if not all(p.holds(X) for p in on):
            return False
    return True


def _optimised(
    C: Config, obj: FrameName, predicate: Predicate, seed: int
) -> Iterator[Float[np.ndarray, "7"]]:
    """Yield poses that the solver finds, in any orientation."""
    try:
        placements = solve_placement(
            C, [predicate], [obj], starts=STARTS, seed=seed, progress=False
        )
    except PredicateError:
        return
    pass_on_stop([placement.solution for placement in placements])
    for placement in placements:
        pose = placement.poses[obj]
        if placement.feasible and _holds_at(C, obj, pose, predicate):
            yield pose

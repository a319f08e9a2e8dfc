"""Poses of an object in which predicates hold, to put it down there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product

import numpy as np
from jaxtyping import Bool, Float

from posewise.objectives.placement import solve_placement
from posewise.objectives.placement.hints import admits_poses
from posewise.objectives.solve.stops import pass_on_stop
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..bddl.placement_candidates import PlacementCandidates
from ..errors import PredicateError
from ..exact.contact import CONTACT_TOLERANCE
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import are_within_at, find_object
from ..planning.dnf_search import branches, object_names
from ..predicates.support import OnTopOf


@dataclass(frozen=True, slots=True)
class GoalPoseSampling:
    """Choices of the search for places of objects, varied in docs/evidence.md."""

    max_poses: int = 32
    """Number of poses that are kept, spread out. With fewer a hand fits at none of them
    now and then, with more each grasp is checked longer."""
    turn_distance: float = 0.1
    """Distance that counts as much as a turn by half when poses are spread out [m];
    with a larger one they differ more in orientation, and less in position."""
    max_branches: int = 4
    """Number of alternatives of a formula that are tried; more take longer where none
    can hold."""
    edge_distance: float = 0.015
    """Least distance of a centre of mass from the edge of what is below it [m]; nearer
    ones are taken only where there are no others."""
    placement_starts: int = 24
    """Number of starts of an optimised placement; more find rare poses more often, and
    take longer."""


GOAL_POSE_SAMPLING = GoalPoseSampling()


def find_goal_poses(
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
    holds = partial(_holds_at, C, obj, predicate)
    chosen = islice(branches(predicate, C), GOAL_POSE_SAMPLING.max_branches)
    # Places at an edge hold by the rules, but tip over when they are touched.
    for branch, is_steady in product(list(chosen), (True, False)):
        literals = [p for p in branch.literals if obj in object_names(p)]
        candidates = PlacementCandidates(world, obj, (), (robot,))
        rng = np.random.default_rng(seed)
        poses = np.array([*candidates.poses(literals, rng, False)]).reshape(-1, 7)
        if is_steady and len(poses):
            poses = poses[_are_steady(C, obj, poses, literals)]
        # Most of those that are no good as starts do not hold.
        is_likely = admits_poses(predicate, C, obj, poses)
        for likely in (poses[is_likely], poses[~is_likely]):
            if places := _spread(likely, holds):
                return places
    return list(_optimised(C, obj, predicate, seed))


def _spread(
    poses: Float[np.ndarray, "n 7"], holds: Callable[[Float[np.ndarray, "7"]], bool]
) -> list[Float[np.ndarray, "7"]]:
    """Return poses that hold, spread out.

    It is the first, and each time the one farthest from all before it.
    """
    points, quaternions = poses[:, :3], poses[:, 3:]
    chosen: list[Float[np.ndarray, "7"]] = []
    # Of each pose from the chosen ones; below 0 once it was tried.
    distance = np.full(len(poses), np.inf)
    while len(chosen) < GOAL_POSE_SAMPLING.max_poses and (distance >= 0).any():
        k = int(distance.argmax())
        distance[k] = -1.0
        if holds(poses[k]):
            chosen.append(poses[k])
            turned = 1 - np.abs(quaternions @ quaternions[k])
            away = np.linalg.norm(points - points[k], axis=1)
            away += GOAL_POSE_SAMPLING.turn_distance * turned
            distance = np.minimum(distance, away)
    return chosen


def _holds_at(
    C: Config, obj: FrameName, predicate: Predicate, pose: Float[np.ndarray, "7"]
) -> bool:
    X = C.copy()
    X.set_pose(obj, pose)
    return predicate.holds(X)


def _are_steady(
    C: Config,
    obj: FrameName,
    poses: Float[np.ndarray, "n 7"],
    literals: Sequence[Predicate],
) -> Bool[np.ndarray, " n"]:
    """Return at which poses an object stays on what it stands on, moved a little."""
    others = {n for p in literals for n in object_names(p)} - {obj}
    shifts = np.zeros((4, 7))
    sides = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
    shifts[:, :2] = GOAL_POSE_SAMPLING.edge_distance * sides
    steady = np.ones(len(poses), bool)
    for other in others:
        steady &= ~_stands_on(C, obj, other, poses) | np.all(
            [_stands_on(C, obj, other, poses + shift) for shift in shifts], axis=0
        )
    return steady


def _stands_on(
    C: Config, obj: FrameName, other: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses an object is above another one, and touches it."""
    is_above = admits_poses(OnTopOf(obj, other), C, obj, poses)
    upper, lower = find_object(C, obj, other), find_object(C, other, obj)
    is_above[is_above] = are_within_at(upper, poses[is_above], lower, CONTACT_TOLERANCE)
    return is_above


def _optimised(
    C: Config, obj: FrameName, predicate: Predicate, seed: int
) -> Iterator[Float[np.ndarray, "7"]]:
    """Yield poses that the solver finds, in any orientation."""
    try:
        starts = GOAL_POSE_SAMPLING.placement_starts
        placements = solve_placement(
            C, [predicate], [obj], starts=starts, seed=seed, progress=False
        )
    except PredicateError:
        return
    pass_on_stop([placement.solution for placement in placements])
    for placement in placements:
        pose = placement.poses[obj]
        if placement.feasible and _holds_at(C, obj, predicate, pose):
            yield pose

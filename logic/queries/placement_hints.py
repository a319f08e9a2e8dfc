"""Hints of queries for the starts of placements: ghosts of arms, and views."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.objectives.placement.hints import (
    Witnesses,
    add_witnesses,
    admits_poses,
    improve_starts,
)
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from .blocking import Blocking
from .ghost_arm import add_ghost_arm, arm_with_ghost, move_ghost_arm
from .reachable import Reachable, target_poses_at
from .serial_chain import SerialChain
from .visibility_sampling import sees_box
from .visible import Visible


@add_witnesses.register(Reachable)
@add_witnesses.register(Blocking)
def add_reaching_arm(
    predicate: Reachable | Blocking, C: Config, world: Config
) -> Witnesses:
    """Add the ghost of the arm that reaches for the target."""
    arm = SerialChain.of(C, predicate.robot, predicate.tip)
    return add_ghost_arm(arm, predicate.target, world)


@improve_starts.register(Reachable)
@improve_starts.register(Blocking)
def bring_arm_to_target(
    predicate: Reachable | Blocking, C: Config, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Return starts in which the ghost of the arm is near the target."""
    target = predicate.target
    arm, copies = arm_with_ghost(C, predicate.robot, predicate.tip, target)
    goals = target_poses_at(C, target, q)
    if isinstance(predicate, Blocking) and predicate.grasp is not None:
        goals[:, 3:] = predicate.grasp
    oriented = predicate.angle_tolerance is not None
    return move_ghost_arm(C, copies, arm.tip, q, goals, oriented)


@admits_poses.register(Visible)
def poses_in_view(
    predicate: Visible, C: Config, name: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses the camera sees the box around the object."""
    if name != predicate.object:
        return np.ones(len(poses), bool)
    return sees_box(C, name, predicate.camera, poses)

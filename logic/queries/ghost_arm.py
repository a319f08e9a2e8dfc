"""Ghost arms: bare copies of arms that reach for targets in the arms' place.

The statement that an arm can reach a place is about configurations in which the arm is
not. A solver whose variables include the joints of a ghost arm finds one of them, and
whatever is true of the present state remains true.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.objectives.placement.hints import Witnesses
from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import subtree
from .query_arguments import Target
from .serial_chain import SerialChain, bare_model

GHOST_STARTS = 4
"""Number of starts of the inverse kinematics from each start of a solver; more find a
configuration more often, and take longer."""


def add_ghost_arm(arm: SerialChain, target: Target, world: Config) -> Witnesses:
    """Add the ghost of an arm that reaches for a target to a world, if it is missing.

    Args:
        arm: of a world in which its joints move.
        target: see `Reachable`.
        world: a copy of that world, in which they may be locked.

    Returns:
        For the ghost arm, the joints of the arm mapped to their copies.
    """
    C, first, prefix = arm.C, arm.first_moving, _prefix(arm.tip, target)
    chain = arm.chain[arm.chain.index(first) :]
    if not find_ghost_arm(world, arm.tip, target):
        frames = dict.fromkeys((*chain, *subtree(C, first, object_frames(C))))
        parent = C.frames[first].parent
        base = "world" if parent is None else C.frames[parent].name
        world.add_model(bare_model(C, list(frames), chain), prefix, base)
    joints = {}
    for i in chain:
        joint = world.frame(prefix + C.frames[i].name).joint
        if joint is not None and joint.active and joint.mimic is None:
            original: Any = C.frames[i].joint
            joints[original.name] = joint.name
    return {prefix: joints}


def find_ghost_arm(C: Config, tip: FrameName, target: Target) -> dict[str, str]:
    """Return the ghost of the arm with a tip that reaches for a target.

    Returns:
        Names of the arm's frames, from the first that moves, mapped to their copies;
        empty without a ghost.
    """
    prefix, names = _prefix(tip, target), C.frame_names
    return {n[len(prefix) :]: n for n in names if n.startswith(prefix)}


def arm_with_ghost(
    C: Config, robot: str, tip: FrameName | None, target: Target
) -> tuple[SerialChain, dict[str, str]]:
    """Return an arm and its ghost that reaches for a target, see `find_ghost_arm`.

    Without a ghost, the arm itself must have moving joints.

    Raises:
        ConfigError: see `SerialChain.of`.
    """
    arm = SerialChain.between(C, robot, tip)
    copies = find_ghost_arm(C, arm.tip, target)
    return (arm, copies) if copies else (SerialChain.of(C, robot, tip), {})


def move_ghost_arm(
    C: Config,
    copies: dict[str, str],
    tip: FrameName,
    q: Float[np.ndarray, "n nq"],
    goals: Float[np.ndarray, "n 7"],
    oriented: bool,
) -> Float[np.ndarray, "n nq"]:
    """Return configurations in which a ghost arm is near goals, by inverse kinematics.

    Args:
        C: the world.
        copies: the ghost, see `find_ghost_arm`.
        tip: of the arm.
        q: configurations; all other coordinates stay.
        goals: one for each configuration, in the world.
        oriented: whether the orientation of the goals counts.
    """
    parent = C.frame(next(iter(copies.values()))).parent
    base = "world" if parent is None else C.frames[parent].name
    arm, q = SerialChain.between(C, base, copies[tip]), q.copy()
    local = pose_multiply(pose_inverse(frame_poses_at(C, base, q)), goals)
    q[:, arm.coordinates] = np.concatenate(arm.solve(local, oriented, GHOST_STARTS, 0))
    return q


def frame_poses_at(
    C: Config, frame: FrameName, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n 7"]:
    """Return the poses of a frame in the world at some configurations."""
    if frame == "world":
        return np.tile(IDENTITY, (len(q), 1))
    i = C.index(frame)
    positions = C.forward_pass(q).frames.p[:, i]
    return np.concatenate([positions, C.joints.quaternions_at(q)[:, i]], -1)


def object_frames(C: Config) -> set[int]:
    """Return the root frames of all objects, which do not belong to a robot."""
    return {C.index(name) for name in C.objects}


def _prefix(tip: FrameName, target: Target) -> str:
    return f"{tip} to {target}: "

"""Shadows: bare copies of arms that reach for targets while the arms stay as they are.

That an arm can get to a place is a claim about configurations it is not in. A solver
that has the joints of a shadow among its variables finds one of them, and whatever is
true of the present state remains so.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import IDENTITY, pose_inverse, pose_multiply

from ..formulas.predicate import Witnesses
from ..geometry.frame_groups import subtree
from .serial_chain import SerialChain, bare_model

GHOST_STARTS = 4
"""Of the inverse kinematics from each start of a solver."""


def add_ghost_arm(arm: SerialChain, target: Any, world: Config) -> Witnesses:
    """Add to a world the shadow of an arm that reaches for a target, once.

    Args:
        arm: of a world in which its joints move.
        target: see `Reachable`.
        world: a copy of that, in which they may be locked.

    Returns:
        By what it is, the joints of the arm with those of the shadow.
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
            own: Any = C.frames[i].joint
            joints[own.name] = joint.name
    return {prefix: joints}


def find_ghost_arm(C: Config, tip: str, target: Any) -> dict[str, str]:
    """The shadow of the arm with that tip that reaches for a target: by the names of
    the arm's frames, from the first that moves on, those of their copies; {}: none.
    """
    prefix, names = _prefix(tip, target), C.frame_names
    return {n[len(prefix) :]: n for n in names if n.startswith(prefix)}


def arm_with_ghost(
    C: Config, robot: str, tip: str | None, target: Any
) -> tuple[SerialChain, dict[str, str]]:
    """An arm and its shadow that reaches for a target; with none the arm must move.

    Raises:
        ConfigError: see `SerialChain.of`.
    """
    arm = SerialChain.between(C, robot, tip)
    copies = find_ghost_arm(C, arm.tip, target)
    return (arm, copies) if copies else (SerialChain.of(C, robot, tip), {})


def move_ghost_arm(
    C: Config,
    copies: dict[str, str],
    tip: str,
    q: Float[np.ndarray, "n nq"],
    goals: Float[np.ndarray, "n 7"],
    turned: bool,
) -> Float[np.ndarray, "n nq"]:
    """Coordinates of a world in which a shadow is near goals, by inverse kinematics.

    Args:
        C: the world.
        copies: the shadow.
        tip: of the arm.
        q: all other coordinates are as there.
        goals: one for each, in the world.
        turned: their orientation counts.
    """
    parent = C.frame(next(iter(copies.values()))).parent
    base = "world" if parent is None else C.frames[parent].name
    arm, q = SerialChain.between(C, base, copies[tip]), q.copy()
    local = pose_multiply(pose_inverse(frame_poses_at(C, base, q)), goals)
    q[:, arm.coordinates] = np.concatenate(arm.solve(local, turned, GHOST_STARTS, 0))
    return q


def frame_poses_at(
    C: Config, frame: str, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n 7"]:
    """Poses of a frame in the world at some coordinates."""
    if frame == "world":
        return np.tile(IDENTITY, (len(q), 1))
    i = C.index(frame)
    return np.concatenate(
        [C.forward_pass(q).frames.p[:, i], C.quaternions_at(q)[:, i]], -1
    )


def object_frames(C: Config) -> set[int]:
    """Root frames of all objects, where what is a robot's ends."""
    return {C.index(name) for name in C.objects}


def _prefix(tip: str, target: Any) -> str:
    return f"{tip} to {target}: "

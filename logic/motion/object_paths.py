"""Coordinates of the whole world along a segment, objects included."""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from .segment import MotionSegment


def coordinates_along(
    start: Config,
    segment: MotionSegment,
    names: tuple[str, ...],
    positions: Float[np.ndarray, "n joints"],
    slices: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "n nq"]:
    """Return the coordinates of the world at the start of a plan, along a segment.

    Objects on free joints are where the segment has them, held or not.

    Args:
        start: the world at the start of the plan.
        segment: the segment.
        names: of the robot's coordinates.
        positions: of the robot's coordinates.
        slices: place of each row in the segment, in slices, -1 at its start.
    """
    world = segment.world.copy()
    world.joints.select([*world.joint_names, *segment.passive])
    states = np.tile(world.q, (len(positions), 1))
    states[:, [world.joints.coordinate_names.index(name) for name in names]] = positions
    for joint, values in segment.passive.items():
        first = world.joints.value(joint)
        knots = np.concatenate([first, values])
        moved = np.interp(slices, np.arange(len(knots)) - 1.0, knots)
        states[:, world.joints.coordinates([joint])] = moved[:, None]
    poses = np.concatenate(
        [world.forward_pass(states).frames.p, world.joints.quaternions_at(states)], -1
    )
    rows = np.tile(start.q, (len(positions), 1))
    for name in start.joint_names:
        columns, frame = start.joints.coordinates([name]), start.tree.joint_frame(name)
        moving_frame = start.frames[frame]
        if name in world.joint_names:
            rows[:, columns] = states[:, world.joints.coordinates([name])]
        elif start.tree.joint(frame).type == "free":
            # The frame's pose is that of its parent, times its origin, times q.
            up = np.asarray(moving_frame.origin, float)
            if moving_frame.parent is not None:
                parent = world.index(start.frames[moving_frame.parent].name)
                up = pose_multiply(poses[:, parent], up)
            moved = poses[:, world.index(moving_frame.name)]
            rows[:, columns] = pose_multiply(pose_inverse(up), moved)
        else:
            rows[:, columns] = world.joints.value(name)
    return rows

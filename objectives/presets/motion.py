"""Presets for straight approaches, for rest, and for simple targets.

The x axis of a gripper frame is the line along which the fingers close, and its z axis
points from the fingers back to the palm. Presets that constrain velocities need a KOMO
with `k_order >= 1`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.typing import FrameName, Frames, VectorLike
from posewise.robots.validation import float_array

from ..terms.interval import ObjectiveSpecs, SliceInterval, Slices
from ..terms.objective import OT, ObjectiveError
from .helpers import check_length, middle_steps, min_clearance, projection
from .preset import Preset, make_preset


def retract(gripper: FrameName, distance: float = 0.03) -> Preset:
    """Constrain a gripper to retreat straight along its own z axis, without turning.

    In the steps of the interval the gripper does not rotate (equality, x10, rad/s),
    does not move along its x and y axes (equality, x10, m/s), and never moves against
    its z axis (inequality, x10, m/s). In the middle half of the steps it has at least
    the constant speed that covers the distance (inequality, x10, m/s), so that with
    three steps or more it may begin and end at rest.

    Args:
        gripper: frame of the gripper.
        distance: least travel [m].

    Raises:
        ObjectiveError: for a distance < 0; on adding, for times that are no interval.
    """
    check_length("retract: distance", distance)

    return make_preset("retract", _retract_rows, gripper=gripper, distance=distance)


def _retract_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    distance: float,
) -> ObjectiveSpecs:
    steps = interval.steps("retract")
    return _straight_motion(gripper, distance, 1.0, interval, steps)


def approach(gripper: FrameName, distance: float = 0.03) -> Preset:
    """Constrain a gripper to approach straight against its z axis; see `retract`.

    Args:
        gripper: frame of the gripper.
        distance: least travel [m].

    Raises:
        ObjectiveError: for a distance < 0; on adding, for times that are no interval.
    """
    check_length("approach: distance", distance)

    return make_preset("approach", _approach_rows, gripper=gripper, distance=distance)


def _approach_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    distance: float,
) -> ObjectiveSpecs:
    steps = interval.steps("approach")
    return _straight_motion(gripper, distance, -1.0, interval, steps)


def _straight_motion(
    gripper: FrameName,
    distance: float,
    sign: float,
    interval: SliceInterval,
    steps: Slices,
) -> ObjectiveSpecs:
    """Yield a motion along the gripper's z axis (sign 1) or against it (-1)."""
    yield Feature(FS.angularVel, gripper, scale=10.0), OT.eq, steps
    lateral = 10 * projection("xy")
    yield Feature(FS.bodyVel, gripper, scale=lateral), OT.eq, steps
    along = -10 * sign * projection("z")
    yield Feature(FS.bodyVel, gripper, scale=along), OT.ineq, steps
    middle = middle_steps(steps)
    speed = sign * distance / interval.duration(middle)
    fast = Feature(FS.bodyVel, gripper, scale=along, target=[0, 0, speed])
    yield fast, OT.ineq, middle


def freeze_joint(joints: Frames = ()) -> Preset:
    """Constrain joints to keep their coordinates throughout an interval.

    Velocities of the coordinates are zero in its steps (equality, x10, rad/s or m/s).
    An interval from time 0 begins at the present state.

    Args:
        joints: names of joints; empty for all joints.
    """

    return make_preset("freeze_joint", _freeze_joint_rows, joints=joints)


def _freeze_joint_rows(
    C: Config,
    interval: SliceInterval,
    joints: Frames,
) -> ObjectiveSpecs:
    still = Feature(FS.qItself, joints, order=1, scale=10.0)
    yield still, OT.eq, interval.steps("freeze_joint")


def freeze_relative_pose(frame: FrameName, relative_to: FrameName) -> Preset:
    """Constrain a frame to keep its pose in another one throughout an interval.

    Velocities of the relative position and quaternion are zero in its steps (equality,
    x10, m/s and 1/s).

    Args:
        frame: frame whose pose is constant.
        relative_to: frame in which the pose is measured.
    """

    return make_preset(
        "freeze_relative_pose",
        _freeze_relative_pose_rows,
        frame=frame,
        relative_to=relative_to,
    )


def _freeze_relative_pose_rows(
    C: Config,
    interval: SliceInterval,
    frame: FrameName,
    relative_to: FrameName,
) -> ObjectiveSpecs:
    pair = (frame, relative_to)
    still = Feature(FS.poseRel, pair, order=1, scale=10.0)
    yield still, OT.eq, interval.steps("freeze_relative_pose")


def stop(joints: Frames = ()) -> Preset:
    """Constrain joints to be at rest: zero velocities on the slices [rad/s, m/s].

    Args:
        joints: names of joints; empty for all joints.
    """

    return make_preset("stop", _stop_rows, joints=joints)


def _stop_rows(
    C: Config,
    interval: SliceInterval,
    joints: Frames,
) -> ObjectiveSpecs:
    yield Feature(FS.qItself, joints, order=1), OT.eq, interval.slices


def no_collisions(
    pairs: Sequence[tuple[FrameName, FrameName]], margin: float = 0.001
) -> Preset:
    """Constrain pairs of frames to keep a margin: one inequality for each (x10, m).

    Args:
        pairs: pairs of names of frames with collision shapes, e.g.
            `[("palm", "box")]`.
        margin: least signed distance [m].

    Raises:
        ObjectiveError: for anything but pairs of names, or a margin < 0.
    """
    check_length("no_collisions: margin", margin)
    try:
        are_pairs = len(pairs) > 0 and all(
            len(pair) == 2 and not isinstance(pair, str) for pair in pairs
        )
    except TypeError:
        are_pairs = False
    if not are_pairs:
        raise ObjectiveError(
            f"no_collisions: pairs is {pairs!r}, expected pairs of names, e.g."
            " [('palm', 'box')]."
        )

    return make_preset(
        "no_collisions",
        _no_collisions_rows,
        pairs=tuple(map(tuple, pairs)),
        margin=margin,
    )


def _no_collisions_rows(
    C: Config,
    interval: SliceInterval,
    pairs: Sequence[tuple[FrameName, FrameName]],
    margin: float,
) -> ObjectiveSpecs:
    for a, b in pairs:
        yield min_clearance(a, b, margin), OT.ineq, interval.slices


def target_relative_xy_position(
    frame: FrameName, relative_to: FrameName, position: VectorLike
) -> Preset:
    """Constrain the x and y of a frame in another one; z is free.

    Args:
        frame: frame whose origin is constrained (equality, x10, m).
        relative_to: frame in which the position is measured.
        position: x and y (2,) [m].

    Raises:
        ObjectiveError: for a position that is not two finite numbers.
    """
    xy = _vector("target_relative_xy_position: position", position, 2)

    return make_preset(
        "target_relative_xy_position",
        _target_relative_xy_position_rows,
        frame=frame,
        relative_to=relative_to,
        position=tuple(xy.tolist()),
    )


def _target_relative_xy_position_rows(
    C: Config,
    interval: SliceInterval,
    frame: FrameName,
    relative_to: FrameName,
    position: tuple[float, ...],
) -> ObjectiveSpecs:
    place = Feature(
        FS.positionRel,
        (frame, relative_to),
        scale=10 * projection("xy"),
        target=[*position, 0.0],
    )
    yield place, OT.eq, interval.slices


def target_x_orientation(frame: FrameName, vector: VectorLike) -> Preset:
    """Constrain the x axis of a frame to a direction in the world (equality, x10).

    Args:
        frame: frame whose x axis is constrained.
        vector: direction in the world (3,), of any length > 0.

    Raises:
        ObjectiveError: for a vector that is not three finite numbers, or is zero.
    """
    direction = _vector("target_x_orientation: vector", vector, 3)
    if not direction.any():
        raise ObjectiveError(
            "target_x_orientation: vector is zero, expected a direction."
        )

    return make_preset(
        "target_x_orientation",
        _target_x_orientation_rows,
        frame=frame,
        vector=tuple(direction.tolist()),
    )


def _target_x_orientation_rows(
    C: Config,
    interval: SliceInterval,
    frame: FrameName,
    vector: tuple[float, ...],
) -> ObjectiveSpecs:
    unit = np.array(vector) / np.linalg.norm(vector)
    along = Feature(FS.vectorX, frame, scale=10.0, target=unit)
    yield along, OT.eq, interval.slices


def _vector(argument: str, value: VectorLike, size: int) -> Float[np.ndarray, " n"]:
    """Return an argument as a new array of finite numbers, or raise."""
    vector = float_array(argument, value, f"{size} numbers", ObjectiveError)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ObjectiveError(
            f"{argument} is {value!r}, expected {size} finite numbers."
        )
    return np.array(vector)

"""Presets for pushing objects, and for pulling them by a touch from above.

The x axis of a gripper frame is the line along which the fingers close, and its z axis
points from the fingers back to the palm. All presets here constrain velocities, so they
need a KOMO with `k_order >= 1` and an interval.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature, Pose
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..terms.interval import ObjectiveSpecs, SliceInterval, Slices
from ..terms.objective import OT
from .helpers import check_length, middle_steps, min_clearance, projection
from .preset import Preset, make_preset


def straight_push(gripper: FrameName, object: FrameName, gap: float = 0.025) -> Preset:
    """Constrain a gripper to push an object straight, orthogonally to its z axis.

    The push is along `f = z_object × x_gripper`. In the first slice the gripper is
    `gap` from the object's surface (equality, x10, m), at least 2 cm behind the
    object's origin along f (inequality, x10, m), and neither beside nor above it
    (equality, x10, m); its x axis is orthogonal to the object's z axis (equality), and
    its y axis is between f and z_object (inner products with both >= 0.2). In all steps
    of the interval the gripper does not rotate (equality, x10, rad/s), the object keeps
    its pose in the gripper (equality, x10, m/s and 1/s), the gripper does not move
    along its x axis, nor the object along its z axis (equality, x10, m/s), and the
    object does not move backwards along f (inequality, x10, m/s).

    Args:
        gripper: frame of the gripper, with a shape or a Marker.
        object: movable frame with a shape.
        gap: signed distance of gripper and object while pushing [m].

    Raises:
        ObjectiveError: for a gap < 0; on adding, for times that are no interval.
        ConfigError: on adding, for frames without shapes.
    """
    check_length("straight_push: gap", gap)

    return make_preset(
        "straight_push", _straight_push_rows, gripper=gripper, object=object, gap=gap
    )


def _straight_push_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    object: FrameName,
    gap: float,
) -> ObjectiveSpecs:
    steps, start = interval.steps("straight_push"), interval.first
    pair = (gripper, object)
    x, z = 10 * projection("x"), 10 * projection("z")
    rows = np.diag([10.0, 10, 10, 1, 1, 1])
    yield min_clearance(*pair, gap), OT.eq, start
    yield Feature(push_stance, pair, scale=rows[[0, 2, 3]]), OT.eq, start
    behind = Feature(
        push_stance,
        pair,
        scale=rows[[1, 4, 5]] * [1, 1, 1, 1, -1, -1],
        target=[0, -0.02, 0, 0, 0.2, 0.2],
    )
    yield behind, OT.ineq, start
    yield Feature(FS.angularVel, gripper, scale=10.0), OT.eq, steps
    yield Feature(FS.poseRel, pair, order=1, scale=10.0), OT.eq, steps
    yield Feature(FS.bodyVel, gripper, scale=x), OT.eq, steps
    yield Feature(FS.bodyVel, object, scale=z), OT.eq, steps
    yield Feature(push_progress, pair, order=1, scale=-10.0), OT.ineq, steps


def push_stance(gripper: Pose, pushed: Pose) -> Float[jax.Array, "6"]:
    """Return the gripper's position [m] and axes relative to a push of an object.

    Rows: the offset from the object's origin to the gripper's along x_gripper, f and
    z_object, where `f = z_object × x_gripper` is the direction of the push;
    x_gripper · z_object; y_gripper · f; y_gripper · z_object.
    """
    side, up = gripper.R[:, 0], pushed.R[:, 2]
    ahead = jnp.cross(up, side)
    offset, y = gripper.p - pushed.p, gripper.R[:, 1]
    pairs = [(offset, side), (offset, ahead), (offset, up)]
    pairs += [(side, up), (y, ahead), (y, up)]
    return jnp.stack([jnp.sum(a * b) for a, b in pairs])


def push_progress(gripper: Pose, pushed: Pose) -> Float[jax.Array, "1"]:
    """Return the object's world position along the push [m]; see `push_stance`."""
    return jnp.sum(pushed.p * jnp.cross(pushed.R[:, 2], gripper.R[:, 0]))[None]


def retract_push(gripper: FrameName, distance: float = 0.03) -> Preset:
    """Constrain a gripper to leave a pushed object: backwards and up, without turning.

    In the steps of the interval the gripper does not rotate (equality, x10, rad/s) and
    does not move along its x axis (equality, x10, m/s). In the middle half of the steps
    it has at least the constant speed that covers the distance, against its y axis, and
    the same along its z axis (inequality, x10, m/s).

    Args:
        gripper: frame of the gripper.
        distance: least travel along each of the two axes [m].

    Raises:
        ObjectiveError: for a distance < 0; on adding, for times that are no interval.
    """
    check_length("retract_push: distance", distance)

    return make_preset(
        "retract_push", _retract_push_rows, gripper=gripper, distance=distance
    )


def _retract_push_rows(
    C: Config, interval: SliceInterval, gripper: FrameName, distance: float
) -> ObjectiveSpecs:
    steps = interval.steps("retract_push")
    return _push_travel(gripper, distance, 1.0, interval, steps)


def approach_push(gripper: FrameName, distance: float = 0.03) -> Preset:
    """Constrain a gripper to come down to a push from behind; see `retract_push`.

    Args:
        gripper: frame of the gripper.
        distance: least travel along each of the two axes [m].

    Raises:
        ObjectiveError: for a distance < 0; on adding, for times that are no interval.
    """
    check_length("approach_push: distance", distance)

    return make_preset(
        "approach_push", _approach_push_rows, gripper=gripper, distance=distance
    )


def _approach_push_rows(
    C: Config, interval: SliceInterval, gripper: FrameName, distance: float
) -> ObjectiveSpecs:
    steps = interval.steps("approach_push")
    return _push_travel(gripper, distance, -1.0, interval, steps)


def _push_travel(
    gripper: FrameName,
    distance: float,
    sign: float,
    interval: SliceInterval,
    steps: Slices,
) -> ObjectiveSpecs:
    """Yield a motion backwards and up (sign 1), or forwards and down (-1)."""
    yield Feature(FS.angularVel, gripper, scale=10.0), OT.eq, steps
    yield Feature(FS.bodyVel, gripper, scale=10 * projection("x")), OT.eq, steps
    middle = middle_steps(steps)
    speed = distance / interval.duration(middle)
    # Row y: v <= -speed; row z: v >= speed; for an approach with both signs opposite.
    rows = 10 * sign * np.array([[0.0, 1, 0], [0, 0, -1]])
    travel = sign * speed * np.array([0.0, -1, 1])
    fast = Feature(FS.bodyVel, gripper, scale=rows, target=travel)
    yield fast, OT.ineq, middle


def pull(gripper: FrameName, object: FrameName, gap: float = 0.005) -> Preset:
    """Constrain a gripper to move an object sideways by touching it from above.

    In the first slice the gripper is above the object's origin (equality, x10, m) and
    `gap` from its surface (equality, x10, m). In the first and last slice the z axes of
    gripper and object point up (equality, x10). In all steps of the interval the object
    keeps its pose in the gripper (equality, x10, m/s and 1/s) and does not move along
    its z axis (equality, x10, m/s).

    Args:
        gripper: frame of the gripper, with a shape or a Marker.
        object: movable frame with a shape.
        gap: signed distance of gripper and object while pulling [m].

    Raises:
        ObjectiveError: for a gap < 0; on adding, for times that are no interval.
        ConfigError: on adding, for frames without shapes.
    """
    check_length("pull: gap", gap)

    return make_preset("pull", _pull_rows, gripper=gripper, object=object, gap=gap)


def _pull_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    object: FrameName,
    gap: float,
) -> ObjectiveSpecs:
    steps, start = interval.steps("pull"), interval.first
    pair = (gripper, object)
    above = Feature(FS.positionRel, pair, scale=10 * projection("xy"))
    yield above, OT.eq, start
    yield min_clearance(*pair, gap), OT.eq, start
    for frame in pair:
        upright = Feature(FS.vectorZ, frame, scale=10.0, target=[0, 0, 1])
        yield upright, OT.eq, start + interval.last
    yield Feature(FS.poseRel, pair, order=1, scale=10.0), OT.eq, steps
    level = Feature(FS.bodyVel, object, scale=10 * projection("z"))
    yield level, OT.eq, steps

"""Presets of relations between frames: touch, places on and in boxes, equal poses.

They are the words of skeletons, see `posewise.Skeleton`, and hold in all slices of the
interval. Shapes are centred at the origin of their frames.
"""

import numpy as np

from posewise.features import FS, Feature
from posewise.features.regions import centered_shape
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Box, Capsule, Cylinder
from posewise.robots.typing import Axis, FrameName

from ..terms.interval import ObjectiveSpecs, SliceInterval
from ..terms.objective import OT
from .contact_constraints import force_unit
from .helpers import (
    AXES,
    check_choice,
    inside_box,
    min_clearance,
    orthogonal_axes,
    other_axes,
    outer_size,
    projection,
)
from .preset import Preset, make_preset


def touch(a: FrameName, b: FrameName) -> Preset:
    """Constrain two shapes to touch: a signed distance of 0 (equality, x10, m).

    Args:
        a: frame with a shape.
        b: another frame with a shape.
    """
    return make_preset("touch", _touch_rows, a=a, b=b)


def _touch_rows(
    C: Config, interval: SliceInterval, a: FrameName, b: FrameName
) -> ObjectiveSpecs:
    yield min_clearance(a, b, 0.0), OT.eq, interval.slices


def above(frame: FrameName, box: FrameName) -> Preset:
    """Constrain a frame to be over a box: within its sides (inequality, x10, m).

    Args:
        frame: frame whose origin is constrained; its height is free.
        box: frame with a Box.
    """
    return make_preset("above", _above_rows, frame=frame, box=box)


def _above_rows(
    C: Config, interval: SliceInterval, frame: FrameName, box: FrameName
) -> ObjectiveSpecs:
    yield Feature(FS.aboveBox, (frame, box), scale=10.0), OT.ineq, interval.slices


def inside(frame: FrameName, box: FrameName) -> Preset:
    """Constrain the origin of a frame to be in a box (inequality, x10, m).

    It is at least 1 cm from the faces.

    Args:
        frame: frame whose origin is constrained.
        box: frame with a Box.
    """
    return make_preset("inside", _inside_rows, frame=frame, box=box)


def _inside_rows(
    C: Config, interval: SliceInterval, frame: FrameName, box: FrameName
) -> ObjectiveSpecs:
    yield Feature(FS.insideBox, (frame, box), scale=10.0), OT.ineq, interval.slices


def oppose(finger_a: FrameName, finger_b: FrameName, object: FrameName) -> Preset:
    """Constrain two fingers to be on opposite sides of an object (equality, x10, m).

    Args:
        finger_a: frame with a shape.
        finger_b: frame with a shape.
        object: frame with a shape.
    """
    return make_preset("oppose", _oppose_rows, frames=(finger_a, finger_b, object))


def _oppose_rows(
    C: Config, interval: SliceInterval, frames: tuple[FrameName, ...]
) -> ObjectiveSpecs:
    yield Feature(FS.oppose, frames, scale=10.0), OT.eq, interval.slices


def same_pose(a: FrameName, b: FrameName) -> Preset:
    """Constrain two frames to coincide (equality, x10, m and 1)."""
    return make_preset("same_pose", _same_pose_rows, a=a, b=b)


def _same_pose_rows(
    C: Config, interval: SliceInterval, a: FrameName, b: FrameName
) -> ObjectiveSpecs:
    yield Feature(FS.poseDiff, (a, b), scale=10.0), OT.eq, interval.slices


def same_position(a: FrameName, b: FrameName) -> Preset:
    """Constrain the origins of two frames to coincide (equality, x10, m)."""
    return make_preset("same_position", _same_position_rows, a=a, b=b)


def _same_position_rows(
    C: Config, interval: SliceInterval, a: FrameName, b: FrameName
) -> ObjectiveSpecs:
    yield Feature(FS.positionDiff, (a, b), scale=10.0), OT.eq, interval.slices


def on_axis(frame: FrameName, relative_to: FrameName, axis: Axis = "y") -> Preset:
    """Constrain a frame to have another one's axes, and its origin to one of them.

    Args:
        frame: frame that is constrained (equality, x10, m and 1).
        relative_to: frame whose axis its origin is on.
        axis: "x", "y" or "z".

    Raises:
        ObjectiveError: for another axis.
    """
    check_choice("on_axis: axis", axis, tuple(AXES))

    return make_preset(
        "on_axis", _on_axis_rows, frame=frame, relative_to=relative_to, axis=axis
    )


def _on_axis_rows(
    C: Config,
    interval: SliceInterval,
    frame: FrameName,
    relative_to: FrameName,
    axis: Axis,
) -> ObjectiveSpecs:
    pair = (frame, relative_to)
    across = 10 * projection(other_axes(axis))
    yield Feature(FS.positionRel, pair, scale=across), OT.eq, interval.slices
    yield Feature(FS.quaternionDiff, pair, scale=10.0), OT.eq, interval.slices


def centered_along(
    frame: FrameName, relative_to: FrameName, axis: Axis = "y"
) -> Preset:
    """Constrain one coordinate of a frame in another one to 0 (equality, x10, m).

    Args:
        frame: frame whose origin is constrained.
        relative_to: frame in which the coordinate is measured.
        axis: "x", "y" or "z".

    Raises:
        ObjectiveError: for another axis.
    """
    check_choice("centered_along: axis", axis, tuple(AXES))

    return make_preset(
        "centered_along",
        _centered_along_rows,
        frame=frame,
        relative_to=relative_to,
        axis=axis,
    )


def _centered_along_rows(
    C: Config,
    interval: SliceInterval,
    frame: FrameName,
    relative_to: FrameName,
    axis: Axis,
) -> ObjectiveSpecs:
    pair, row = (frame, relative_to), 10 * projection(axis)
    yield Feature(FS.positionRel, pair, scale=row), OT.eq, interval.slices


def touch_face(frame: FrameName, box: FrameName, axis: Axis) -> Preset:
    """Constrain the origin of a frame to a face of a box, with z along its normal.

    The face is that on the positive side of the axis. The origin is in its plane
    (equality, x10, m) and within its edges (inequality, x10, m), and the z axis of the
    frame is the outward normal (equality, inner products with the other axes, and with
    the normal an inequality).

    Args:
        frame: frame that is constrained.
        box: frame with a Box.
        axis: "x", "y" or "z": the axis of the box that is normal to the face.

    Raises:
        ObjectiveError: for another axis.
        ConfigError: on adding, for a frame without a Box.
    """
    check_choice("touch_face: axis", axis, tuple(AXES))

    return make_preset("touch_face", _touch_face_rows, frame=frame, box=box, axis=axis)


def _touch_face_rows(
    C: Config,
    interval: SliceInterval,
    frame: FrameName,
    box: FrameName,
    axis: Axis,
) -> ObjectiveSpecs:
    half = outer_size(C, "touch_face: box", box, (Box,)) / 2
    yield from _on_face(frame, box, axis, half, half[AXES.index(axis)], interval)


def _on_face(
    frame: FrameName,
    box: FrameName,
    axis: str,
    half: np.ndarray,
    distance: float,
    interval: SliceInterval,
) -> ObjectiveSpecs:
    """Yield rows of a frame over a face of half sizes, z along its normal."""
    slices, plane, k = interval.slices, other_axes(axis), AXES.index(axis)
    offset = distance * np.eye(3)[k]
    row = 10 * projection(axis)
    place = Feature(FS.positionRel, (frame, box), scale=row, target=offset)
    yield place, OT.eq, slices
    for side in inside_box(frame, box, plane, half):
        yield side, OT.ineq, slices
    yield orthogonal_axes(frame, "z", box, plane), OT.eq, slices
    # The other sign is orthogonal, too.
    outward = Feature(FS.vectorZRel, (frame, box), scale=-projection(axis))
    yield outward, OT.ineq, slices


def resting_on(object: FrameName, support: FrameName, direction: Axis = "z") -> Preset:
    """Constrain an object to stand on a face of a box; a capsule lies on it.

    The face is that on the positive side of the direction, an axis of the support. The
    z axis of the object is its outward normal; that of a capsule is orthogonal to it.
    The object's origin is within the edges of the face (inequality, x10, m), at the
    height at which the surfaces touch (equality, x10, m).

    Args:
        object: frame with a Box, a Cylinder or a Capsule.
        support: frame with a Box.
        direction: "x", "y" or "z".

    Raises:
        ObjectiveError: for another direction.
        ConfigError: on adding, for frames without these shapes.
    """
    check_choice("resting_on: direction", direction, tuple(AXES))

    return make_preset(
        "resting_on",
        _resting_on_rows,
        object=object,
        support=support,
        direction=direction,
    )


def _resting_on_rows(
    C: Config,
    interval: SliceInterval,
    object: FrameName,
    support: FrameName,
    direction: Axis,
) -> ObjectiveSpecs:
    half = outer_size(C, "resting_on: support", support, (Box,)) / 2
    top = half[AXES.index(direction)]
    kinds = (Box, Cylinder, Capsule)
    shape = centered_shape(C, object, kinds, "Box, Cylinder or Capsule")
    if not isinstance(shape, Capsule):
        height = top + outer_size(C, "resting_on: object", object)[2] / 2
        yield from _on_face(object, support, direction, half, height, interval)
        return
    slices, normal = interval.slices, np.eye(3)[AXES.index(direction)]
    height = Feature(
        FS.positionRel,
        (object, support),
        scale=10 * projection(direction),
        target=(top + shape.radius) * normal,
    )
    yield height, OT.eq, slices
    for side in inside_box(object, support, other_axes(direction), half):
        yield side, OT.ineq, slices
    yield orthogonal_axes(object, "z", support, direction), OT.eq, slices


def orthogonal_x(a: FrameName, b: FrameName) -> Preset:
    """Make the x axes of two frames orthogonal, as a cost: their inner product."""
    return make_preset("orthogonal_x", _orthogonal_x_rows, a=a, b=b)


def _orthogonal_x_rows(
    C: Config, interval: SliceInterval, a: FrameName, b: FrameName
) -> ObjectiveSpecs:
    yield Feature(FS.scalarProductXX, (a, b)), OT.sos, interval.slices


def vertical(frame: FrameName) -> Preset:
    """Constrain the z axis of a frame to point up in the world (equality, x10)."""
    return make_preset("vertical", _vertical_rows, frame=frame)


def _vertical_rows(
    C: Config, interval: SliceInterval, frame: FrameName
) -> ObjectiveSpecs:
    up = Feature(FS.vectorZ, frame, scale=10.0, target=[0, 0, 1])
    yield up, OT.eq, interval.slices


def force_balance(object: FrameName) -> Preset:
    """Constrain the forces of contacts on an object to carry its weight at rest.

    Force and torque (equality, N and N m) count as parts of the object's weight.

    Args:
        object: frame with a mass, in contact by `KOMO.add_contact`.
    """
    return make_preset("force_balance", _force_balance_rows, object=object)


def _force_balance_rows(
    C: Config, interval: SliceInterval, object: FrameName
) -> ObjectiveSpecs:
    weight = force_unit(C, (object, object))
    balance = Feature(FS.totalForce, object, scale=1 / weight)
    yield balance, OT.eq, interval.slices

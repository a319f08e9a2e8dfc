"""Presets for grasping boxes and cylinders, and for placing boxes on tables.

The x axis of a gripper frame is the line along which the fingers close, and its z axis
points from the fingers back to the palm. The shape of an object is centred at the
origin of its frame. Positions hold at the given times; orientations hold from 0.2
phases before, and the clearance of the palm from 0.3 phases before, so that the
gripper arrives aligned.
"""

from typing import get_args

import numpy as np

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Box, Capsule, Cylinder
from posewise.robots.typing import Axis, FrameName

from ..terms.interval import ObjectiveSpecs, SliceInterval
from ..terms.objective import OT
from ..terms.typing import AxisPair, SignedAxis
from .helpers import (
    AXES,
    check_choice,
    check_length,
    inside_box,
    min_clearance,
    orthogonal_axes,
    other_axes,
    outer_size,
    projection,
)
from .preset import Preset, make_preset

ALIGNMENT_LEAD_TIME = 0.2
"""Time before the interval from which orientations hold [phases]."""
CLEARANCE_LEAD_TIME = 0.3
"""Time before the interval from which the palm keeps its clearance [phases]."""
PALM_CLEARANCE = 0.001
"""Least signed distance of the palm from what it must not touch [m]; more keeps it
farther away."""


def grasp_top_box(
    gripper: FrameName, box: FrameName, direction: AxisPair = "xz"
) -> Preset:
    """Constrain a gripper to a box's centre, aligned with the axes of the box.

    Axes are aligned up to their signs. The rows are equalities: the three differences
    of position in the world (x10, m), and three inner products of axes.

    Args:
        gripper: frame of the gripper.
        box: frame of the box; it needs no shape.
        direction: the box's axis along the gripper's x (the line of the fingers), then
            the box's axis along the gripper's z; with "xz" the fingers close along x
            and the gripper comes from above.

    Raises:
        ObjectiveError: if `direction` is not two different axes.
    """
    check_choice("grasp_top_box: direction", direction, get_args(AxisPair))

    return make_preset(
        "grasp_top_box",
        _grasp_top_box_rows,
        gripper=gripper,
        box=box,
        direction=direction,
    )


def _grasp_top_box_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    box: FrameName,
    direction: AxisPair,
) -> ObjectiveSpecs:
    pair = (gripper, box)
    yield Feature(FS.positionDiff, pair, scale=10.0), OT.eq, interval.slices
    approach = interval.extended_back(ALIGNMENT_LEAD_TIME)
    closing, _ = direction
    third = other_axes(direction)
    yield orthogonal_axes(gripper, "z", box, closing + third), OT.eq, approach
    yield orthogonal_axes(gripper, "x", box, third), OT.eq, approach


def grasp_box(
    gripper: FrameName,
    box: FrameName,
    palm: FrameName,
    direction: Axis = "x",
    margin: float = 0.02,
) -> Preset:
    """Constrain the fingers to close on two opposite faces of a box.

    The gripper is in the middle plane between the faces (equality, x10, m), at least
    the margin inside their edges (inequality, x10, m; at the middle of faces smaller
    than twice the margin), and its x axis is along the normal of the faces, up to sign
    (equality, two inner products of axes). The signed distance of the palm from the
    box is at least 1 mm (inequality, x10, m).

    Args:
        gripper: frame of the gripper.
        box: frame with a Box.
        palm: frame with a shape, or a Marker.
        direction: "x", "y" or "z": the axis of the box that is normal to the faces.
        margin: least distance from the edges of the faces [m].

    Raises:
        ObjectiveError: for another direction, or a margin < 0.
        ConfigError: on adding, for a frame without a Box.
    """
    check_choice("grasp_box: direction", direction, tuple(AXES))
    check_length("grasp_box: margin", margin)

    return make_preset(
        "grasp_box",
        _grasp_box_rows,
        gripper=gripper,
        box=box,
        palm=palm,
        direction=direction,
        margin=margin,
    )


def _grasp_box_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    box: FrameName,
    palm: FrameName,
    direction: Axis,
    margin: float,
) -> ObjectiveSpecs:
    pair = (gripper, box)
    size = outer_size(C, "grasp_box: box", box, (Box,))
    plane = other_axes(direction)
    middle = 10 * projection(direction)
    yield Feature(FS.positionRel, pair, scale=middle), OT.eq, interval.slices
    for side in inside_box(*pair, plane, np.maximum(size / 2 - margin, 0.0)):
        yield side, OT.ineq, interval.slices
    aligned = orthogonal_axes(gripper, "x", box, plane)
    yield aligned, OT.eq, interval.extended_back(ALIGNMENT_LEAD_TIME)
    palm_clear = min_clearance(palm, box, PALM_CLEARANCE)
    yield palm_clear, OT.ineq, interval.extended_back(CLEARANCE_LEAD_TIME)


def grasp_cylinder(
    gripper: FrameName, cylinder: FrameName, palm: FrameName, margin: float = 0.02
) -> Preset:
    """Constrain the fingers to close across a cylinder, or a capsule.

    The gripper is on the cylinder's axis (equality, x10, m), at least the margin from
    the ends (inequality, x10, m; at the middle of a cylinder shorter than twice the
    margin), and its x axis is orthogonal to the cylinder's axis (equality). The ends of
    a capsule are those of its straight part. The signed distance of the palm from the
    cylinder is at least 1 mm (inequality, x10, m).

    Args:
        gripper: frame of the gripper.
        cylinder: frame with a Cylinder or a Capsule.
        palm: frame with a shape, or a Marker.
        margin: least distance from the ends [m].

    Raises:
        ObjectiveError: for a margin < 0.
        ConfigError: on adding, for a frame with neither.
    """
    check_length("grasp_cylinder: margin", margin)

    return make_preset(
        "grasp_cylinder",
        _grasp_cylinder_rows,
        gripper=gripper,
        cylinder=cylinder,
        palm=palm,
        margin=margin,
    )


def _grasp_cylinder_rows(
    C: Config,
    interval: SliceInterval,
    gripper: FrameName,
    cylinder: FrameName,
    palm: FrameName,
    margin: float,
) -> ObjectiveSpecs:
    pair = (gripper, cylinder)
    kinds = (Cylinder, Capsule)
    size = outer_size(C, "grasp_cylinder: cylinder", cylinder, kinds)
    across = 10 * projection("xy")
    yield Feature(FS.positionRel, pair, scale=across), OT.eq, interval.slices
    for end in inside_box(*pair, "z", np.maximum(size / 2 - margin, 0.0)):
        yield end, OT.ineq, interval.slices
    aligned = orthogonal_axes(gripper, "x", cylinder, "z")
    yield aligned, OT.eq, interval.extended_back(ALIGNMENT_LEAD_TIME)
    palm_clear = min_clearance(palm, cylinder, PALM_CLEARANCE)
    yield palm_clear, OT.ineq, interval.extended_back(CLEARANCE_LEAD_TIME)


def place_box(
    box: FrameName,
    table: FrameName,
    palm: FrameName | None,
    direction: SignedAxis = "z",
    margin: float = 0.02,
) -> Preset:
    """Constrain a box (or cylinder) to stand on a table's top face.

    Positions are in the table's frame, whose z axis points up. Along z the centres are
    half the sum of both heights apart (equality, x10, m). The object's centre is at
    least the margin inside the edges of the top face (inequality, x10, m; at the middle
    of a face smaller than twice the margin). The chosen axis of the object points up
    (equality of unit vectors). The signed distance of the palm from the table is at
    least 1 mm (inequality, x10, m).

    Args:
        box: frame with a Box or a Cylinder.
        table: frame with a Box.
        palm: frame with a shape, or a Marker; None: no clearance of a palm.
        direction: "x", "y", "z", "-x", "-y" or "-z": the axis of the box that points
            up.
        margin: least distance from the edges of the table's top face [m].

    Raises:
        ObjectiveError: for another direction, or a margin < 0.
        ConfigError: on adding, for frames without these shapes.
    """
    check_choice("place_box: direction", direction, get_args(SignedAxis))
    check_length("place_box: margin", margin)

    return make_preset(
        "place_box",
        _place_box_rows,
        box=box,
        table=table,
        palm=palm,
        direction=direction,
        margin=margin,
    )


def _place_box_rows(
    C: Config,
    interval: SliceInterval,
    box: FrameName,
    table: FrameName,
    palm: FrameName | None,
    direction: SignedAxis,
    margin: float,
) -> ObjectiveSpecs:
    pair = (box, table)
    axis = direction[-1]
    size = outer_size(C, "place_box: box", box)
    top = outer_size(C, "place_box: table", table, (Box,))
    center_height = (size[AXES.index(axis)] + top[2]) / 2
    height = Feature(
        FS.positionRel,
        pair,
        scale=10 * projection("z"),
        target=[0, 0, center_height],
    )
    yield height, OT.eq, interval.slices
    for side in inside_box(*pair, "xy", np.maximum(top / 2 - margin, 0.0)):
        yield side, OT.ineq, interval.slices
    sign = -1.0 if direction.startswith("-") else 1.0
    upright = sign * projection(axis)[0]
    up = Feature(FS.vectorZRel, (table, box), target=upright)
    yield up, OT.eq, interval.extended_back(ALIGNMENT_LEAD_TIME)
    if palm is not None:
        palm_clear = min_clearance(palm, table, PALM_CLEARANCE)
        yield palm_clear, OT.ineq, interval.extended_back(CLEARANCE_LEAD_TIME)

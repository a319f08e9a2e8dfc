"""Presets of holding and standing: grasps of boxes and cylinders, places on a table.

A gripper frame has its x along the line on which the fingers close, and its z pointing
from the fingers back to the palm. Objects are frames with their shape at the origin.
Positions hold at the times given; orientations already 0.2 phases before, and the
palm's clearance 0.3 phases before.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Box, Cylinder

from ..interval import ObjectiveSpecs, SliceInterval
from ..objective import OT
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

ALIGNMENT_LEAD = 0.2
CLEARANCE_LEAD = 0.3
PALM_CLEARANCE = 0.001


@dataclass(frozen=True)
class grasp_top_box:
    """The gripper in a box's centre, its axes along the box's axes, up to signs.

    Equalities: the three differences of position in the world (x10, m), and three
    products of axes.

    Args:
        gripper: its frame.
        box: a frame; its shape does not matter.
        direction: two axes of the box: along the gripper's x (the fingers' line), then
            along the gripper's z ("xz": the fingers close along x, from above).

    Raises:
        ObjectiveError: for a direction that is not two different axes.
    """

    gripper: Any
    box: Any
    direction: Any = "xz"

    def __post_init__(self) -> None:
        choices = tuple(a + b for a, b in permutations(AXES, 2))
        check_choice("grasp_top_box: direction", self.direction, choices)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        pair = (self.gripper, self.box)
        yield Feature(FS.positionDiff, pair, scale=10.0), OT.eq, interval.slices
        lead = interval.extended_back(ALIGNMENT_LEAD)
        closing, _ = self.direction
        third = other_axes(self.direction)
        yield orthogonal_axes(self.gripper, "z", self.box, closing + third), OT.eq, lead
        yield orthogonal_axes(self.gripper, "x", self.box, third), OT.eq, lead


@dataclass(frozen=True)
class grasp_box:
    """The fingers close on two opposite faces of a box.

    The gripper is in the middle plane between the faces (x10, m), within them less the
    margin (x10, m; in their middle where they are smaller), and its x is along the
    faces' normal, up to sign (two products of axes). The palm is 1 mm or more from the
    box (x10, m).

    Args:
        gripper: its frame.
        box: a frame with a Box.
        palm: a frame with a shape, or a Marker.
        direction: "x", "y" or "z": the normal of the faces, an axis of the box.
        margin: how far within the faces [m].

    Raises:
        ObjectiveError: for another direction, or a margin < 0.
        ConfigError: on adding, for a frame without a Box.
    """

    gripper: Any
    box: Any
    palm: Any
    direction: Any = "x"
    margin: Any = 0.02

    def __post_init__(self) -> None:
        check_choice("grasp_box: direction", self.direction, tuple(AXES))
        check_length("grasp_box: margin", self.margin)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        pair = (self.gripper, self.box)
        size = outer_size(C, "grasp_box: box", self.box, (Box,))
        plane = other_axes(self.direction)
        middle = 10 * projection(self.direction)
        yield Feature(FS.positionRel, pair, scale=middle), OT.eq, interval.slices
        for side in inside_box(*pair, plane, np.maximum(size / 2 - self.margin, 0.0)):
            yield side, OT.ineq, interval.slices
        aligned = orthogonal_axes(self.gripper, "x", self.box, plane)
        yield aligned, OT.eq, interval.extended_back(ALIGNMENT_LEAD)
        yield (
            min_clearance(self.palm, self.box, PALM_CLEARANCE),
            OT.ineq,
            interval.extended_back(CLEARANCE_LEAD),
        )


@dataclass(frozen=True)
class grasp_cylinder:
    """The fingers close across a cylinder.

    The gripper is on the cylinder's axis (x10, m), the margin or more from its ends
    (x10, m; in the middle where it is shorter), and its x is orthogonal to that axis.
    The palm is 1 mm or more from the cylinder (x10, m).

    Args:
        gripper: its frame.
        cylinder: a frame with a Cylinder.
        palm: a frame with a shape, or a Marker.
        margin: how far from the ends [m].

    Raises:
        ObjectiveError: for a margin < 0.
        ConfigError: on adding, for a frame without a Cylinder.
    """

    gripper: Any
    cylinder: Any
    palm: Any
    margin: Any = 0.02

    def __post_init__(self) -> None:
        check_length("grasp_cylinder: margin", self.margin)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        pair = (self.gripper, self.cylinder)
        what = "grasp_cylinder: cylinder"
        size = outer_size(C, what, self.cylinder, (Cylinder,))
        across = 10 * projection("xy")
        yield Feature(FS.positionRel, pair, scale=across), OT.eq, interval.slices
        for end in inside_box(*pair, "z", np.maximum(size / 2 - self.margin, 0.0)):
            yield end, OT.ineq, interval.slices
        aligned = orthogonal_axes(self.gripper, "x", self.cylinder, "z")
        yield aligned, OT.eq, interval.extended_back(ALIGNMENT_LEAD)
        yield (
            min_clearance(self.palm, self.cylinder, PALM_CLEARANCE),
            OT.ineq,
            interval.extended_back(CLEARANCE_LEAD),
        )


@dataclass(frozen=True)
class place_box:
    """A box (or cylinder) stands on a table's top face, on a chosen side of its own.

    All in the table's frame, of which z is up: the centres are half of both heights
    apart along z (equality, x10, m); the object's centre is within the top face less
    the margin (x10, m; in its middle where that is smaller); the chosen axis of the
    object points up (equality of unit vectors). The palm is 1 mm or more from the table
    (x10, m).

    Args:
        box: a frame with a Box or a Cylinder.
        table: a frame with a Box.
        palm: a frame with a shape, or a Marker.
        direction: "x", "y", "z", "-x", "-y" or "-z": the box's axis that points up.
        margin: how far within the table's top face [m].

    Raises:
        ObjectiveError: for another direction, or a margin < 0.
        ConfigError: on adding, for frames without these shapes.
    """

    box: Any
    table: Any
    palm: Any
    direction: Any = "z"
    margin: Any = 0.02

    def __post_init__(self) -> None:
        choices = (*AXES, *(f"-{a}" for a in AXES))
        check_choice("place_box: direction", self.direction, choices)
        check_length("place_box: margin", self.margin)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        pair = (self.box, self.table)
        axis = self.direction[-1]
        size = outer_size(C, "place_box: box", self.box)
        top = outer_size(C, "place_box: table", self.table, (Box,))
        apart_z = (size[AXES.index(axis)] + top[2]) / 2
        height = Feature(
            FS.positionRel, pair, scale=10 * projection("z"), target=[0, 0, apart_z]
        )
        yield height, OT.eq, interval.slices
        for side in inside_box(*pair, "xy", np.maximum(top / 2 - self.margin, 0.0)):
            yield side, OT.ineq, interval.slices
        sign = -1.0 if self.direction.startswith("-") else 1.0
        upright = sign * projection(axis)[0]
        up = Feature(FS.vectorZRel, (self.table, self.box), target=upright)
        yield up, OT.eq, interval.extended_back(ALIGNMENT_LEAD)
        yield (
            min_clearance(self.palm, self.table, PALM_CLEARANCE),
            OT.ineq,
            interval.extended_back(CLEARANCE_LEAD),
        )

"""Constraints of MoveIt as objectives: of joints, positions and orientations.

A region in which a link's point must be stands for the largest box inside it, so that
the rows are sound: what meets them meets MoveIt's constraint.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.robots.config import Config

from ..objective import OT
from .messages import Message
from .shapes import IDENTITY, KINDS

EXACT = 2e-3
"""Tolerance up to which a constraint is an equality, met at its middle [m, rad]."""
FREE = 3.0
"""Tolerance of a rotation about an axis from which it is free [rad]."""

TypedFeature = tuple[Feature, OT]


@dataclass(frozen=True, eq=False)
class HelperPose:
    """A frame without a joint that constraints refer to."""

    name: str
    parent: str
    pose: Float[np.ndarray, "7"]


@dataclass(frozen=True, eq=False)
class Goal:
    """Objectives of `moveit_msgs/Constraints`, and what they need."""

    features: tuple[TypedFeature, ...]
    helpers: tuple[HelperPose, ...]
    joints: tuple[str, ...]
    """Names of joints that move the links and joints in question."""


def read_goal(C: Config, message: Message, label: str, skipped: list[str]) -> Goal:
    """Return the objectives of constraints.

    Args:
        C: the world.
        message: a `moveit_msgs/Constraints`.
        label: begins the names of helper frames.
        skipped: gets a phrase for each constraint that cannot be used.
    """
    features: list[TypedFeature] = []
    helpers: list[HelperPose] = []
    joints: dict[str, None] = {}
    for constraint in message.messages("joint_constraints"):
        name = constraint.text("joint_name")
        if name not in C.joint_names:
            skipped.append(f"the goal of joint {name!r}, which does not move here")
            continue
        joints[name] = None
        features += _joint_rows(C, name, constraint)
    for kind, rows in (("position", _position_rows), ("orientation", _rotation_rows)):
        for constraint in message.messages(f"{kind}_constraints"):
            link = constraint.text("link_name")
            if link not in C.frame_names:
                skipped.append(f"{constraint.key} of unknown link {link!r}")
                continue
            joints |= dict.fromkeys(moving_joints(C, link))
            name = f"{label} {kind} {len(helpers)}"
            found = rows(link, name, constraint, skipped)
            features += found[0]
            helpers += found[1]
    return Goal(tuple(features), tuple(helpers), tuple(joints))


def moving_joints(C: Config, frame: str) -> list[str]:
    """Return the names of the joints of q that move a frame."""
    i: int | None = C.index(frame)
    names = []
    while i is not None:
        joint = C.frames[i].joint
        if joint is not None and joint.name in C.joint_names:
            names.append(joint.name)
        i = C.frames[i].parent
    return names[::-1]


def _joint_rows(C: Config, name: str, message: Message) -> Iterator[TypedFeature]:
    value = message.number("position")
    above, below = message.number("tolerance_above"), message.number("tolerance_below")
    turns = np.isfinite(C.periods[C.coordinates([name])]).all()
    if max(above, below) <= EXACT or turns:
        yield Feature(FS.qItself, name, target=value), OT.eq
        return
    yield Feature(FS.qItself, name, target=value + above), OT.ineq
    yield Feature(FS.qItself, name, target=value - below, scale=-1.0), OT.ineq


def _position_rows(
    link: str, label: str, message: Message, skipped: list[str]
) -> tuple[list[TypedFeature], list[HelperPose]]:
    region = message.message("constraint_region")
    bodies = region.messages("primitives")
    if len(bodies) != 1 or region.value("meshes", []):
        skipped.append(f"{message.key}: only regions of one primitive are read")
        return [], []
    poses = [m.pose() for m in region.messages("primitive_poses")] or [IDENTITY]
    half = _inner_box(bodies[0])
    parent = message.message("header").text("frame_id").lstrip("/") or "world"
    offset = np.array([*message.vector("target_point_offset"), 1.0, 0, 0, 0])
    point, middle = f"{label} point", f"{label} region"
    helpers = [HelperPose(point, link, offset), HelperPose(middle, parent, poses[0])]
    pair = [point, middle]
    if half.max() <= EXACT:
        return [(Feature(FS.positionRel, pair), OT.eq)], helpers
    sides = [(Feature(FS.positionRel, pair, target=half), OT.ineq)]
    sides += [(Feature(FS.positionRel, pair, target=-half, scale=-1.0), OT.ineq)]
    return sides, helpers


def _inner_box(message: Message) -> Float[np.ndarray, "3"]:
    """Return half the sizes of the largest box inside a primitive."""
    kind = message.value("type", 1)
    name = KINDS.get(kind, str(kind)).lower()
    sizes = message.numbers("dimensions").reshape(-1)
    if name == "box" and len(sizes) == 3:
        return sizes / 2
    if name == "sphere" and len(sizes) == 1:
        return np.full(3, sizes[0] / np.sqrt(3))
    if name == "cylinder" and len(sizes) == 2:
        side = sizes[1] / np.sqrt(2)
        return np.array([side, side, sizes[0] / 2])
    raise message.fail("type", "a box, a sphere or a cylinder with its dimensions")


def _rotation_rows(
    link: str, label: str, message: Message, skipped: list[str]
) -> tuple[list[TypedFeature], list[HelperPose]]:
    orientation = message.pose(position="", orientation="orientation")
    parent = message.message("header").text("frame_id").lstrip("/") or "world"
    helper = HelperPose(label, parent, orientation)
    message.value("parameterization")
    limits = np.array(
        [message.number(f"absolute_{axis}_axis_tolerance") for axis in "xyz"]
    )
    free = limits >= FREE
    if free.all():
        return [], []
    if limits.max() <= EXACT:
        return [(Feature(FS.quaternionDiff, [link, label]), OT.eq)], [helper]
    if free.sum() == 1:
        # Free about one axis: that axis may tilt by the smaller of the others.
        axis = int(np.flatnonzero(free)[0])
        least = float(np.cos(limits[~free].min()))
        symbol = (FS.scalarProductXX, FS.scalarProductYY, FS.scalarProductZZ)[axis]
        tilt = Feature(symbol, [link, label], scale=-1.0, target=least)
        return [(tilt, OT.ineq)], [helper]
    # The rotation vector from the goal to the link, row by row, below its tolerances.
    rows = np.eye(6)[3:][~free]
    target = np.concatenate([np.zeros(3), limits])
    pair = [link, label]
    upper = Feature(FS.poseLog, pair, scale=rows, target=target)
    lower = Feature(FS.poseLog, pair, scale=-rows, target=-target)
    return [(upper, OT.ineq), (lower, OT.ineq)], [helper]


def put_helpers(C: Config, goal: Goal) -> None:
    """Add the frames that a goal refers to; unknown parents are the world."""
    for helper in goal.helpers:
        parent = helper.parent if helper.parent in C.frame_names else "world"
        C.add_frame(helper.name, parent, pose=helper.pose)

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
from posewise.robots.kinematics.transforms import pose_multiply, quat_to_matrix

from ..terms.objective import OT
from .messages import Message
from .scene import PlanningScene
from .shapes import IDENTITY, kind_of_primitive

EQUALITY_TOLERANCE = 2e-3
"""Tolerance up to which a constraint is an equality, met at its middle [m, rad]. A
larger one gives more equalities."""
FEASIBILITY_TOLERANCE = 1e-3
"""Excess of a feasible row over its bound [m, rad]; bounds are tighter by it, so that
a feasible path meets the constraint."""
MAX_SCALE = 10.0
"""Largest scale of an equality (factor), for tolerances far below that of the solver;
a larger one meets them more closely, and makes problems harder."""
MAX_NORM_ERROR = 1e-3
"""Largest error of the norm of a quaternion, relative to 1; MoveIt ignores quaternions
of a larger one."""
EULER_ANGLES, ROTATION_VECTOR = 0, 1
"""Parameterizations of the tolerances of orientations."""

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
            link_features, link_helpers = rows(link, name, constraint, skipped)
            features += link_features
            helpers += link_helpers
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
    turns = np.isfinite(C.joints.periods[C.joints.coordinates([name])]).all()
    if max(above, below) <= EQUALITY_TOLERANCE or turns:
        yield Feature(FS.qItself, name, target=value), OT.eq
        return
    upper, lower = value + above, value - below
    margin = FEASIBILITY_TOLERANCE
    yield Feature(FS.qItself, name, target=upper - margin), OT.ineq
    yield Feature(FS.qItself, name, target=lower + margin, scale=-1.0), OT.ineq


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
    if half.max() <= EQUALITY_TOLERANCE:
        return [(Feature(FS.positionRel, pair), OT.eq)], helpers
    half = np.maximum(half - FEASIBILITY_TOLERANCE, 0.0)
    sides = [(Feature(FS.positionRel, pair, target=half), OT.ineq)]
    sides += [(Feature(FS.positionRel, pair, target=-half, scale=-1.0), OT.ineq)]
    return sides, helpers


def _inner_box(message: Message) -> Float[np.ndarray, "3"]:
    """Return half the sizes of the largest box inside a primitive."""
    name = kind_of_primitive(message)
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
    orientation = _orientation(message, skipped)
    parent = message.message("header").text("frame_id").lstrip("/") or "world"
    helper, pair = HelperPose(label, parent, orientation), [link, label]
    limits = np.array(
        [abs(message.number(f"absolute_{axis}_axis_tolerance")) for axis in "xyz"]
    )
    is_vector = message.value("parameterization", EULER_ANGLES) == ROTATION_VECTOR
    ranges = np.array([np.pi, np.pi if is_vector else np.pi / 2, np.pi])
    bound, exact = limits < ranges - EQUALITY_TOLERANCE, limits <= EQUALITY_TOLERANCE
    if not bound.any():
        return [], []
    if exact.all():
        scale = 2 * _tightening(limits.min())
        return [(Feature(FS.quaternionDiff, pair, scale=scale), OT.eq)], [helper]
    symbol, rows = FS.eulerXYZ, np.eye(3)
    if is_vector:
        # MoveIt compares the components in the frame of the header.
        symbol = FS.poseLog
        rows = np.hstack([np.zeros((3, 3)), quat_to_matrix(orientation[3:])])
    features: list[TypedFeature] = []
    if exact.any():
        scales = np.array([[_tightening(limit)] for limit in limits[exact]])
        features.append((Feature(symbol, pair, scale=scales * rows[exact]), OT.eq))
    if (bounded := bound & ~exact).any():
        selected = rows[bounded]
        # Rows are orthonormal, so that their scaled target is the limit.
        target = selected.T @ (limits[bounded] - FEASIBILITY_TOLERANCE)
        for sign in (1.0, -1.0):
            row = Feature(symbol, pair, scale=sign * selected, target=sign * target)
            features.append((row, OT.ineq))
    return features, [helper]


def _orientation(message: Message, skipped: list[str]) -> Float[np.ndarray, "7"]:
    """Return the pose of a constraint's orientation; MoveIt refuses to normalise."""
    norm = float(np.linalg.norm(message.vector("orientation", "xyzw")))
    if abs(norm - 1.0) <= MAX_NORM_ERROR:
        return message.pose(position="", orientation="orientation")
    skipped.append(
        f"{message.key}.orientation, a quaternion of norm {norm:.3g} (no rotation, as"
        " in MoveIt)"
    )
    return IDENTITY


def _tightening(tolerance: float) -> float:
    """Return the scale of an equality that makes the solver keep a tolerance."""
    return float(np.clip(FEASIBILITY_TOLERANCE / max(tolerance, 1e-9), 1.0, MAX_SCALE))


def put_helpers(scene: PlanningScene, goal: Goal) -> None:
    """Add the frames that a goal refers to, to the world of a scene's robot."""
    for helper in goal.helpers:
        parent, pose = helper.parent, helper.pose
        if parent not in scene.robot.frame_names:
            place = scene.frame_pose(parent)
            if place is None:
                scene.skipped.append(
                    f"the unknown frame {parent!r} of {helper.name} (the world, now)"
                )
                place = IDENTITY
            parent, pose = "world", pose_multiply(place, pose)
        scene.robot.add_frame(helper.name, parent, pose=pose)

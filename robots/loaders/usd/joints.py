"""Reader of the joints of USD: what they connect, their axes, limits and values."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import LoadError
from ...kinematics.joint_types import joint_dim, value_from_pose
from ...kinematics.transforms import (
    IDENTITY,
    make_pose,
    pose_inverse,
    pose_multiply,
    quat_multiply,
    quat_to_matrix,
)
from ...validation import MAX_NUMBER, is_bounded, open_bounds
from ...world.frame import Joint
from .pxr_extra import Pxr
from .transforms import StageTransforms, read_quaternion

JOINT_TYPE_NAMES = {
    "PhysicsRevoluteJoint": "hinge",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "quatBall",
    "PhysicsFixedJoint": "fixed",
}
"""Types of joints by the types of prims; all others are left out."""
MIN_VALUE = 1e-6
"""Least value of a joint that is not 0 [m or rad]; smaller ones are the rounding of
float32, in which USD has joints."""


@dataclass(frozen=True, eq=False)
class ReadJoint:
    """A joint between two prims; None stands for the world."""

    parent: Any | None
    child: Any
    at_parent: Float[np.ndarray, "7"]
    """Pose in the world of the joint's frame in the parent."""
    at_child: Float[np.ndarray, "7"]
    """Pose in the world of the joint's frame in the child."""
    joint: Joint | None
    """The joint, its axis in `at_child`; None: the two are fixed to each other."""
    collides: bool
    """Whether the two bodies may touch."""


def read_joint(pxr: Pxr, prim: Any, transforms: StageTransforms) -> ReadJoint | str:
    """Return a joint, or why it is left out."""
    kind = JOINT_TYPE_NAMES.get(str(prim.GetTypeName()))
    if kind is None:
        return f"joints of type {prim.GetTypeName()} are not read"
    physics = pxr.UsdPhysics.Joint(prim)
    ends = [
        _target(prim, rel) for rel in (physics.GetBody0Rel(), physics.GetBody1Rel())
    ]
    if isinstance(ends[0], str) or isinstance(ends[1], str):
        return "it connects prims that do not exist"
    places = [
        _place(end, getattr(physics, f"GetLocalPos{k}Attr")().Get(),
               getattr(physics, f"GetLocalRot{k}Attr")().Get(), transforms)
        for k, end in enumerate(ends)
    ]  # fmt: skip
    is_turned = ends[1] is None
    if is_turned:
        ends, places = ends[::-1], places[::-1]
    if ends[1] is None:
        return "it connects nothing"
    joint = None
    if kind != "fixed":
        joint = _read_motion(pxr, prim, kind, places, transforms.unit, is_turned)
    enabled = physics.GetCollisionEnabledAttr().Get()
    return ReadJoint(ends[0], ends[1], places[0], places[1], joint, bool(enabled))


def _target(prim: Any, relation: Any) -> Any:
    """Return the prim that a relation names; None for none, a text for a lost one."""
    paths = relation.GetTargets()
    if not paths:
        return None
    target = prim.GetStage().GetPrimAtPath(paths[0])
    return target if target else str(paths[0])


def _place(
    body: Any | None, position: Any, rotation: Any, transforms: StageTransforms
) -> Float[np.ndarray, "7"]:
    """Return the pose in the world of the frame of a joint in a body."""
    local = np.zeros(3) if position is None else np.array(position, float)
    quaternion = read_quaternion(rotation)
    quaternion = IDENTITY[3:] if quaternion is None else quaternion
    stage = transforms.stage
    prim = stage.GetPseudoRoot() if body is None else body
    transform, pose = transforms.affine(prim), transforms.pose(prim)
    if not is_bounded(local):
        raise LoadError(
            f"{transforms.label}: a joint is at {local.tolist()}, expected finite"
            f" numbers of at most {MAX_NUMBER:g} in size."
        )
    place = transform[:, :3] @ local + transform[:, 3]
    return make_pose(place, np.asarray(quat_multiply(pose[3:], quaternion)))


def _read_motion(
    pxr: Pxr,
    prim: Any,
    kind: str,
    places: list[np.ndarray],
    unit: float,
    is_turned: bool,
) -> Joint:
    """Return the joint with its value, about or along an axis of its frames."""
    stated = prim.GetCustomDataByKey("posewise") or {}
    name = str(stated.get("name", prim.GetName()))
    motion = np.asarray(pose_multiply(pose_inverse(places[0]), places[1]))
    if joint_dim(kind) > 1:
        return Joint(kind, name, q=motion[3:])
    slides = kind == "prismatic"
    typed = (pxr.UsdPhysics.PrismaticJoint if slides else pxr.UsdPhysics.RevoluteJoint)(
        prim
    )
    axis = np.eye(3)["XYZ".index(str(typed.GetAxisAttr().Get()))]
    sides = [a.Get() for a in (typed.GetLowerLimitAttr(), typed.GetUpperLimitAttr())]
    bounds = np.array([
        infinite if side is None else float(side)
        for side, infinite in zip(sides, (-np.inf, np.inf), strict=True)
    ])  # fmt: skip
    bounds = open_bounds(bounds * unit if slides else np.deg2rad(bounds))
    if is_turned:
        axis = -axis
    position = value_from_pose(kind, axis, motion)[0]
    is_open = np.isnan(bounds).any() or bounds[0] > bounds[1] or np.isinf(bounds).all()
    joint = Joint(
        kind,
        name,
        axis=axis,
        limits=None if is_open else bounds[:, None],
        q=position if abs(position[0]) > MIN_VALUE else None,
    )
    relation = stated.get("mimic")
    if relation:
        joint = replace(
            joint,
            mimic=str(relation["joint"]),
            multiplier=float(relation["multiplier"]),
            offset=float(relation["offset"]),
        )
    return joint


def moved_axis(joint: Joint, pose: Float[np.ndarray, "7"]) -> Joint:
    """Return a joint with its axis in a frame in which its own frame has a pose."""
    if joint.axis is None:
        return joint
    return replace(joint, axis=quat_to_matrix(pose[3:]) @ joint.axis)

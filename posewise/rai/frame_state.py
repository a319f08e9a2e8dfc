"""Poses of frames beyond what their joints reach, as rai's frame states allow."""

from collections.abc import Mapping

import numpy as np

import posewise as pw
from posewise.robots.kinematics.joint_types import joint_type, value_from_pose
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply
from posewise.robots.world.frame import Joint
from posewise.robots.world.kinematics_builder import topological_order

REACHED_DISTANCE = 1e-9
"""Distance of a pose within which a joint reaches it [m, rad]; a larger one leaves more
poses to the joint alone."""


def place_frames(
    C: pw.Config, poses: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Put frames at world poses, and return the origins of joints that cannot go there.

    Args:
        C: the world, which changes.
        poses: world pose (7,) by frame; quaternions are normalized.
    """
    displaced = {}
    # Parents first, because children move along.
    for i in topological_order(C.frames):
        name = C.frames[i].name
        if name not in poses:
            continue
        pose = np.array(poses[name], float)
        pose[3:] /= np.linalg.norm(pose[3:])
        frame = C.frame(name)
        if frame.joint is not None and frame.joint.dim and frame.joint.mimic is None:
            _set_nearest(C, name, frame.joint, pose)
        now = C.pose(name)
        if _distance(now, pose) > REACHED_DISTANCE:
            if frame.joint is not None:
                displaced[name] = np.asarray(frame.origin)
            C.replace_frame(name, origin=_origin(C, name, now, pose))
    return displaced


def _set_nearest(C: pw.Config, name: str, joint: Joint, pose: np.ndarray) -> None:
    """Set the joint to the value that is nearest to a world pose."""
    frame = C.frame(name)
    in_parent = _in_parent(C, name, pose)
    motion = pose_multiply(pose_inverse(np.asarray(frame.origin)), in_parent)
    value, _ = value_from_pose(joint.type, joint.axis, motion)
    is_scaled = joint.scale != 1.0 and not joint_type(joint.type).balls
    C.set_joint(joint.name, value / joint.scale if is_scaled else value)


def _origin(C: pw.Config, name: str, now: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return the origin that brings a frame from its pose to another one."""
    before = pose_multiply(
        pose_inverse(np.asarray(C.frame(name).origin)), _in_parent(C, name, now)
    )
    target = _in_parent(C, name, pose)
    return np.asarray(pose_multiply(target, pose_inverse(before)))


def _in_parent(C: pw.Config, name: str, pose: np.ndarray) -> np.ndarray:
    parent = C.frame(name).parent
    if parent is None:
        return pose
    return np.asarray(pose_multiply(pose_inverse(C.pose(parent)), pose))


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference of two poses, whatever the quaternions' signs."""
    sign = 1.0 if a[3:] @ b[3:] >= 0 else -1.0
    return float(max(abs(a[:3] - b[:3]).max(), abs(a[3:] - sign * b[3:]).max()))

"""Parallel grippers of a robot, found by their joints."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.objectives.placement.stable_poses import collision_points
from posewise.robots.config import Config
from posewise.robots.contact.hands import subtree_indices
from posewise.robots.kinematics.transforms import (
    make_pose,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.world.mimic_joints import resolve_mimics

from .grasp import GRASP_SAMPLING

SLIDING = ("prismatic", "transX", "transY", "transZ")
"""Types of the joints of parallel fingers."""


@dataclass(frozen=True, eq=False)
class Hand:
    """A parallel gripper: a link on which two coupled fingers slide.

    The gripper's frame is that of `posewise.presets`: the fingers close along x, and z
    points from the fingers to the palm.
    """

    link: str
    """Name of the link that carries the fingers."""
    fingers: tuple[str, str]
    """Names of the links of both fingers."""
    joint: str
    """Name of the joint that drives them."""
    frame: Float[np.ndarray, "7"]
    """Pose of the gripper's frame in the link."""
    finger_length: float
    """Distance from the palm to the gripper's frame [m]."""
    closed: float
    """Value of the joint at which the fingers touch each other."""
    slope: float
    """Change of the distance between the fingers with the joint [1]."""
    max_width: float
    """Largest distance between the fingers [m]."""

    def joint_value(self, width: float) -> float:
        """Return the value of the joint at a distance between the fingers [m]."""
        return self.closed + min(width, self.max_width) / self.slope

    def pose(self, C: Config) -> Float[np.ndarray, "7"]:
        """Return the world pose of the gripper's frame."""
        return pose_multiply(C.pose(self.link), self.frame)

    def link_pose(self, gripper: Float[np.ndarray, "7"]) -> Float[np.ndarray, "7"]:
        """Return the pose of the link that brings the gripper's frame to a pose."""
        return pose_multiply(gripper, pose_inverse(self.frame))


def find_hands(C: Config, frames: Collection[int]) -> tuple[Hand, ...]:
    """Return the parallel grippers among the frames of a robot, in their order."""
    relations = resolve_mimics(C.frames)
    groups: dict[tuple[int, int], list[int]] = {}
    for i in sorted(frames):
        frame = C.frames[i]
        is_finger = frame.joint is not None and frame.joint.type in SLIDING
        if is_finger and frame.parent is not None:
            groups.setdefault((frame.parent, relations[i].source), []).append(i)
    pairs = [(palm, two) for (palm, _), two in groups.items() if len(two) == 2]
    return tuple(_hand(C, palm, two) for palm, two in pairs)


def _hand(C: Config, palm: int, fingers: Sequence[int]) -> Hand:
    """Return the gripper of a link and two fingers, measured at two openings."""
    X, names = C.copy(), C.frame_names
    source = resolve_mimics(C.frames)[fingers[0]].source
    joint = C.tree.joint(source)
    left, right = (names[i] for i in fingers)
    limits = np.zeros((2, 1)) if joint.limits is None else joint.limits
    widths = []
    for value in limits[:, 0]:
        X.set_joint(joint.name, value)
        widths.append(X.signed_distance(left, right)[0])
    slope = (widths[1] - widths[0]) / max(float(np.ptp(limits)), 1e-9)
    X.set_joint(joint.name, float(limits[int(np.argmax(widths)), 0]))
    X_palm_world = pose_inverse(X.pose(names[palm]))
    points = [_points_in(X, name, X_palm_world) for name in (left, right)]
    centres = [p.mean(0) for p in points]
    closing = centres[1] - centres[0]
    closing /= np.linalg.norm(closing)
    middle = (centres[0] + centres[1]) / 2
    ahead = middle - closing * (closing @ middle)
    ahead /= np.linalg.norm(ahead)
    tips = min(float((p @ ahead).max()) for p in points)
    palm_points = _own_points(X, palm, fingers, X_palm_world)
    front = float((palm_points @ ahead).max()) if len(palm_points) else 0.0
    depth = tips - min(GRASP_SAMPLING.pad_depth, (tips - front) / 2)
    R = np.stack([closing, np.cross(-ahead, closing), -ahead], -1)
    origin = middle + ahead * (depth - ahead @ middle)
    return Hand(
        link=names[palm],
        fingers=(left, right),
        joint=joint.name,
        frame=make_pose(origin, matrix_to_quat(R)),
        finger_length=depth - front,
        closed=float(limits[0, 0] - widths[0] / slope),
        slope=slope,
        max_width=max(widths),
    )


def _points_in(
    C: Config, name: str, X_AW: Float[np.ndarray, "7"]
) -> Float[np.ndarray, "n 3"]:
    """Return points around a frame and what is attached to it, in another frame."""
    pose = pose_multiply(X_AW, C.pose(name))
    return collision_points(C, name) @ quat_to_matrix(pose[3:]).T + pose[:3]


def _own_points(
    C: Config, palm: int, fingers: Sequence[int], X_AW: Float[np.ndarray, "7"]
) -> Float[np.ndarray, "n 3"]:
    """Return points around a palm without its fingers, in its own frame."""
    X = C.copy()
    for i in fingers:
        for k in subtree_indices(C.tree, i):
            X.set_shape(C.frames[k].name, None)
    return _points_in(X, C.frames[palm].name, X_AW)

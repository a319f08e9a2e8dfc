"""Poses of a frame, with rai's getters and chained setters."""

from dataclasses import replace
from typing import TypeVar

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import (
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.typing import MatrixLike, PoseLike, VectorLike

from .frame_text import parse_frame
from .quaternion import Quaternion

FrameT = TypeVar("FrameT", bound="FrameWithPoses")
"""The class of a frame, which its setters return."""


class FrameWithPoses:
    """Frame of a world, by its name; setters return the frame."""

    def __init__(self, world: pw.Config, name: str) -> None:
        self.world = world
        self._name = name

    @property
    def name(self) -> str:
        """Name of the frame; setting it renames the frame, and a joint so called."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        joint = self.world.frame(self._name).joint
        if joint is not None and joint.name == self._name:
            joint = replace(joint, name=name)
        self.world.replace_frame(self._name, name=name, joint=joint)
        self._name = name

    def __repr__(self) -> str:
        return f"Frame({self.name!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FrameWithPoses):
            return False
        return self.world is other.world and self.name == other.name

    def __hash__(self) -> int:
        return hash((id(self.world), self.name))

    @property
    def ID(self) -> int:
        """Index of the frame in the frame state."""
        return self.world.index(self.name)

    def getPose(self, relativeTo: "FrameWithPoses | None" = None) -> np.ndarray:
        """Return the pose (7,) in the world or another frame."""
        pose = self.world.pose(self.name)
        if relativeTo is None:
            return pose
        return np.asarray(pose_multiply(pose_inverse(relativeTo.getPose()), pose))

    def getPosition(self, relativeTo: "FrameWithPoses | None" = None) -> np.ndarray:
        """Return the position (3,) [m] in the world or another frame."""
        return self.getPose(relativeTo)[:3]

    def getQuaternion(self, relativeTo: "FrameWithPoses | None" = None) -> np.ndarray:
        """Return the quaternion `(w, x, y, z)` in the world or another frame."""
        return self.getPose(relativeTo)[3:]

    def getRotationMatrix(self) -> np.ndarray:
        """Return the rotation matrix (3, 3) from the frame to the world."""
        return np.asarray(quat_to_matrix(self.getQuaternion()))

    def getRelativePose(self) -> np.ndarray:
        """Return the pose (7,) in the parent."""
        return self.getPose(self._parent())

    def getRelativePosition(self) -> np.ndarray:
        """Return the position (3,) [m] in the parent."""
        return self.getRelativePose()[:3]

    def getRelativeQuaternion(self) -> np.ndarray:
        """Return the quaternion (4,) in the parent."""
        return self.getRelativePose()[3:]

    def setPose(self: FrameT, pose: PoseLike) -> FrameT:
        """Set the world pose (7,), whose quaternion is normalized.

        The subtree moves along.
        """
        self.world.set_pose(self.name, _normalized(pose))
        return self

    def setPosition(self: FrameT, position: VectorLike) -> FrameT:
        """Set the world position (3,)."""
        return self.setPose(np.concatenate([np.ravel(position), self.getQuaternion()]))

    def setQuaternion(self: FrameT, quaternion: VectorLike) -> FrameT:
        """Set the world orientation (4,), which is normalized."""
        return self.setPose(np.concatenate([self.getPosition(), np.ravel(quaternion)]))

    def setRelativePose(self: FrameT, pose: PoseLike) -> FrameT:
        """Set the pose (7,) in the parent, whose quaternion is normalized."""
        parent = self._parent()
        if parent is None:
            return self.setPose(pose)
        self.world.set_pose(self.name, _normalized(pose), relative_to=parent.name)
        return self

    def setRelativePosition(self: FrameT, position: VectorLike) -> FrameT:
        """Set the position (3,) in the parent."""
        return self.setRelativePose(
            np.concatenate([np.ravel(position), self.getRelativeQuaternion()])
        )

    def setRelativeQuaternion(self: FrameT, quaternion: VectorLike) -> FrameT:
        """Set the orientation (4,) in the parent, which is normalized."""
        return self.setRelativePose(
            np.concatenate([self.getRelativePosition(), np.ravel(quaternion)])
        )

    def setPoseByText(self: FrameT, text: str) -> FrameT:
        """Set the world pose by rai's text, such as `"t(0 0 .5) d(30 1 0 0)"`."""
        return self.setPose(parse_frame("pose", f'Q: "{text}"').frames[0].origin)

    def setRelativePoseByText(self: FrameT, text: str) -> FrameT:
        """Set the pose in the parent by rai's text."""
        origin = parse_frame("pose", f'Q: "{text}"').frames[0].origin
        return self.setRelativePose(origin)

    def getTransform(self, relativeTo: "FrameWithPoses | None" = None) -> np.ndarray:
        """Return the pose in the world or another frame as a matrix (4, 4)."""
        return _matrix(self.getPose(relativeTo))

    def getRelativeTransform(self) -> np.ndarray:
        """Return the pose in the parent as a matrix (4, 4)."""
        return _matrix(self.getRelativePose())

    def setRotationMatrix(self: FrameT, R: MatrixLike) -> FrameT:
        """Set the world orientation by a rotation matrix (3, 3)."""
        return self.setQuaternion(_quaternion(R))

    def setRelativeRotationMatrix(self: FrameT, R: MatrixLike) -> FrameT:
        """Set the orientation in the parent by a rotation matrix (3, 3)."""
        return self.setRelativeQuaternion(_quaternion(R))

    def trans_rel2world(self, point: VectorLike) -> np.ndarray:
        """Return the world position (3,) of a point (3,) in the frame [m]."""
        return self.getPosition() + self.getRotationMatrix() @ np.ravel(point)

    def get_Jacobian_pos(self, world_pos_optional: VectorLike = ()) -> np.ndarray:
        """Return derivatives (3, n) of a position by the joint state.

        Args:
            world_pos_optional: a point (3,) in the world that moves with the frame, or
                nothing for the frame's origin [m].
        """
        J = self.world.eval(pw.FS.position, self.name)[1]
        if not np.size(world_pos_optional):
            return J
        arm = np.ravel(world_pos_optional) - self.getPosition()
        return J + np.cross(self.get_Jacobian_angular(), arm, axis=0)

    def get_Jacobian_angular(self) -> np.ndarray:
        """Return the angular velocity (3, n) of each entry of the joint state."""
        quaternion, J = self.world.eval(pw.FS.quaternion, self.name)
        return Quaternion().set(quaternion).getJacobian() @ J

    def _parent(self) -> "FrameWithPoses | None":
        parent = self.world.frame(self.name).parent
        if parent is None:
            return None
        return FrameWithPoses(self.world, self.world.frames[parent].name)


def _matrix(pose: np.ndarray) -> np.ndarray:
    transform = np.eye(4)
    transform[:3, :3] = quat_to_matrix(pose[3:])
    transform[:3, 3] = pose[:3]
    return transform


def _normalized(pose: PoseLike) -> PoseLike:
    """Return a pose with a quaternion of length 1, as rai does with any numbers.

    What is no pose is returned unchanged, for the error of the world.
    """
    if isinstance(pose, str):
        return pose
    values = np.ravel(np.asarray(pose, float))
    length = np.linalg.norm(values[3:])
    if values.shape != (7,) or not 0 < length < np.inf:
        return pose
    return np.concatenate([values[:3], values[3:] / length])


def _quaternion(R: MatrixLike) -> np.ndarray:
    return np.asarray(matrix_to_quat(np.reshape(R, (3, 3))))

"""Frames with rai's getters and chained setters."""

from enum import Enum
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.typing import MatrixLike, VectorLike

from .coverage import Absent
from .enums import JT
from .frame_poses import FrameT
from .frame_shapes import FrameShapes
from .writing import frame_dict

_URDF_JOINTS = {
    "revolute": JT.hinge,
    "continuous": JT.hinge,
    "planar": JT.transXYPhi,
    "floating": JT.free,
    "fixed": JT.rigid,
}


class Frame(FrameShapes, Absent):
    """Frame of a world, by its name; setters return the frame."""

    def setJoint(
        self: FrameT,
        jointType: Enum,
        limits: VectorLike | MatrixLike = (),
        axis: VectorLike = (),
        scale: float = 1.0,
        mimic: "Frame | None" = None,
    ) -> FrameT:
        """Attach the frame by a joint at its present pose; `JT.none` fixes it.

        Args:
            jointType: a `JT`.
            limits: lower limits, then upper limits; (2, n) or flat.
            axis: axis of a `JT.hinge`.
            scale: -1 to invert a mimic joint, otherwise 1.
            mimic: frame whose joint this joint follows.

        Raises:
            ConfigError: for another scale of a joint that mimics no other.
        """
        if scale != 1.0 and mimic is None:
            raise pw.ConfigError(
                f"setJoint of {self.name!r}: scale is {scale}, expected 1 for a joint"
                " without mimic; scale its limits instead."
            )
        self.world.joints.set_type(
            self.name,
            None if jointType is JT.none else jointType.name,
            axis=axis if np.size(axis) else None,
            limits=np.reshape(limits, (2, -1)) if np.size(limits) else None,
            mimic=None if mimic is None else mimic.name,
            multiplier=scale,
        )
        return self

    def setJointState(self: FrameT, q: float | VectorLike) -> FrameT:
        """Set the value of the frame's joint."""
        self.world.set_joint(self.name, q)
        return self

    def getJointState(self) -> np.ndarray:
        """Return the value of the frame's joint."""
        return self.world.joints.value(self.name)

    def getJointType(self) -> Enum:
        """Return the `JT` of the joint; `generic` for joints without a name in rai."""
        joint = self.world.frame(self.name).joint
        if joint is None:
            return JT.none
        known = dict(JT.__members__) | _URDF_JOINTS
        return known.get(joint.type, JT.generic)

    def getJointQIndex(self) -> int:
        """Return the place of the joint in the joint state, -1 if it has none."""
        i = self.ID
        joint = self.world.frame(i).joint
        if joint is None or not joint.active or joint.dim == 0:
            return -1
        return int(self.world.joints.coordinates(joint.mimic or joint.name)[0])

    def getParent(self) -> "Frame | None":
        """Return the parent frame, or None for a root."""
        parent = self._parent()
        return None if parent is None else Frame(self.world, parent.name)

    def getChildren(self) -> list["Frame"]:
        """Return the frames attached to this frame."""
        return [Frame(self.world, n) for n in self.world.children(self.name)]

    def getSubtree(self) -> list["Frame"]:
        """Return the frame and all frames below it, depth first."""
        below = [f for child in self.getChildren() for f in child.getSubtree()]
        return [Frame(self.world, self.name), *below]

    def setParent(
        self: FrameT,
        parent: "Frame",
        keepAbsolutePose_and_adaptRelativePose: bool = False,
        checkForLoop: bool = False,
    ) -> FrameT:
        """Attach the frame rigidly to another parent.

        Args:
            parent: the new parent.
            keepAbsolutePose_and_adaptRelativePose: whether the frame keeps its world
                pose instead of its pose in the parent.
            checkForLoop: ignored, because loops always raise an error.
        """
        relative = self.getRelativePose()
        self.world.attach(parent.name, self.name)
        if not keepAbsolutePose_and_adaptRelativePose:
            self.setRelativePose(relative)
        return self

    def unLink(self: FrameT) -> FrameT:
        """Detach the frame from its parent; it keeps its world pose."""
        self.world.detach(self.name, joint=None)
        return self

    def setAttributes(self: FrameT, attributes: dict[str, Any]) -> FrameT:
        """Add or replace metadata."""
        self.world.set_attributes(self.name, **attributes)
        return self

    def asDict(self) -> dict[str, Any]:
        """Return what defines the frame: its pose, joint, shape and attributes."""
        joint, shape = self.getJointType().name, self.getShapeType().name
        size = self.getSize().tolist()
        return frame_dict(self.world, self.name, joint, shape, size)

"""States of robots in messages of MoveIt."""

import numpy as np

from posewise.robots.config import Config

from .messages import Message
from .shapes import IDENTITY


def set_state(C: Config, state: Message, skipped: list[str]) -> None:
    """Set the joints of a `RobotState`; followers keep to their leaders."""
    joints = state.message("joint_state")
    names, values = joints.names("name"), joints.numbers("position").reshape(-1)
    if len(values) != len(names):
        raise joints.fail("position", f"{len(names)} numbers, one for each name")
    by_name = {f.joint.name: f.joint for f in C.frames if f.joint is not None}
    unknown = []
    for name, value in zip(names, values.tolist(), strict=True):
        joint = by_name.get(name)
        if joint is None or joint.dim != 1:
            unknown.append(name)
        elif joint.mimic is None:
            C.set_joint(name, value)
    if unknown and by_name:
        skipped.append(f"values of joints that the world lacks: {', '.join(unknown)}")
    multi = state.message("multi_dof_joint_state")
    for name, transform in zip(
        multi.names("joint_names"), multi.messages("transforms"), strict=False
    ):
        pose = transform.pose("translation", "rotation")
        joint = by_name.get(name)
        if joint is not None and joint.type in ("free", "floating"):
            C.set_joint(name, pose)
        elif not np.allclose(pose, IDENTITY):
            skipped.append(
                f"the pose of joint {name!r}; add the robot on a free joint, or at that"
                " pose"
            )

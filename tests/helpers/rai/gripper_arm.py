"""An arm of two links with a gripper, as a graph file of rai."""

from pathlib import Path

import posewise.rai as ry

ARM = """
base: { X: [0, 0, .5], multibody }
shoulder(base): { joint: hingeY, q: .3, mass: 1 }
upper(shoulder): { Q: "t(.2 0 0) d(90 0 1 0)", shape: capsule, size: [.4, .04] }
elbow(shoulder): { pre: [.4, 0, 0], joint: hingeY, q: -.4, mass: 1 }
lower(elbow): { Q: "t(.2 0 0) d(90 0 1 0)", shape: capsule, size: [.3, .03] }
l_gripper(elbow): { Q: [.4, 0, 0] }
left(l_gripper): { joint: transY, q: .04, limits: [0, .05], joint_active: false,
  mass: .1 }
left_pad(left): { shape: ssBox, size: [.04, .01, .04, .002], contact: 1 }
right(l_gripper): { joint: transY, mimic: left, joint_scale: -1, joint_active: false }
right_pad(right): { shape: ssBox, size: [.04, .01, .04, .002], contact: 1 }
"""  # fmt: skip


def gripper_arm(folder: Path, more: str = "") -> ry.Config:
    """Return the arm, read from a file in a folder, with more frames in rai's text."""
    C, file = ry.Config(), folder / "arm.g"
    file.write_text(ARM + more, encoding="utf-8")
    C.addFile(file)
    return C

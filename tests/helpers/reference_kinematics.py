"""Plain NumPy forward kinematics of a model, and files of other packages for it."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest

from posewise.robots.kinematics.joint_types import joint_transform, neutral_value
from posewise.robots.kinematics.transforms import pose_multiply, quat_to_matrix
from posewise.robots.loaders.urdf.reader import read_urdf
from posewise.robots.world.frame import Joint, Model

SITE = Path(sysconfig.get_paths()["purelib"])
EXAMPLES = SITE / "cmeel.prefix/share/example-robot-data/robots"
BULLET = SITE / "pybullet_data"
FILES = [
    EXAMPLES / "panda_description/urdf/panda.urdf",
    EXAMPLES / "ur_description/urdf/ur5_robot.urdf",
    EXAMPLES / "pr2_description/urdf/pr2.urdf",
    EXAMPLES / "tiago_description/robots/tiago.urdf",
    EXAMPLES / "xarm_description/urdf/xarm7.urdf",
    BULLET / "kuka_iiwa/model.urdf",
    BULLET / "franka_panda/panda.urdf",
    BULLET / "xarm/xarm6_with_gripper.urdf",
]


def foreign(path: Path) -> Model:
    """Return the model of a file of another package, or skip the test."""
    if not path.exists():
        pytest.skip(f"{path.name}: example-robot-data or pybullet is not installed")
    return read_urdf(path)


def random_values(model: Model, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a random value of every free joint; quaternions have unit length."""
    values = {}
    for frame in model.frames:
        joint = frame.joint
        if joint is None or joint.mimic is not None or not joint.active:
            continue
        q = rng.uniform(-1.5, 1.5, joint.dim)
        for start in [i for i in np.flatnonzero(neutral_value(joint.type))]:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        values[joint.name] = q
    return values


def joint_values(model: Model, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values of all joints: those in `values`, else home; mimics follow."""
    joints = {f.joint.name: f.joint for f in model.frames if f.joint is not None}

    def value(name: str) -> np.ndarray:
        joint = joints[name]
        if joint.mimic is not None:
            return joint.multiplier * value(joint.mimic) + joint.offset
        if name in values and joint.active:
            return np.asarray(values[name], float)
        return neutral_value(joint.type) if joint.q is None else joint.q

    return {name: value(name) for name in joints}


def frame_poses(model: Model, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the world poses (7,) of all frames by name, at `joint_values`."""
    everything = joint_values(model, values)
    poses: list[np.ndarray] = []
    for frame in model.frames:
        X = frame.origin
        if frame.parent is not None:
            X = pose_multiply(poses[frame.parent], X)
        joint = frame.joint
        if joint is not None:
            q = _scale(model, joint) * everything[joint.name]
            X = pose_multiply(X, joint_transform(joint.type, joint.axis, q))
        poses.append(X)
    return {f.name: X for f, X in zip(model.frames, poses, strict=True)}


def _scale(model: Model, joint: Joint) -> float:
    """Return the scale of the joint that a joint finally follows."""
    joints = {f.joint.name: f.joint for f in model.frames if f.joint is not None}
    while joint.mimic is not None:
        joint = joints[joint.mimic]
    return joint.scale


def matrix(X: np.ndarray) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of a pose."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = quat_to_matrix(X[3:]), X[:3]
    return T

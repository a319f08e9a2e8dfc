"""A plain NumPy walk over a model's frames, for tests of loaders."""

import numpy as np

from posewise.robots.frame import Model
from posewise.robots.joints import joint_dim, motion, zero_value
from posewise.robots.transforms import pose_multiply, quat_to_matrix


def free_joints(model: Model) -> dict[str, int]:
    """Dimension of each joint that is neither locked nor mimics, by name."""
    joints = [f.joint for f in model.frames if f.joint is not None]
    return {
        j.name: joint_dim(j.type) for j in joints if j.active and j.mimic is None
    }


def random_values(model: Model, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A random value of every free joint; quaternions have unit length."""
    values = {}
    for frame in model.frames:
        joint = frame.joint
        if joint is None or joint.mimic is not None or not joint.active:
            continue
        q = rng.uniform(-1.5, 1.5, joint.dim)
        for start in [i for i in np.flatnonzero(zero_value(joint.type))]:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        values[joint.name] = q
    return values


def frame_poses(model: Model, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """World poses (7,) of all frames by name; missing values are the home ones."""
    joints = {f.joint.name: f.joint for f in model.frames if f.joint is not None}

    def value(name: str) -> np.ndarray:
        joint = joints[name]
        if joint.mimic is not None:
            return joint.multiplier * value(joint.mimic) + joint.offset
        if name in values and joint.active:
            return np.asarray(values[name], float)
        return zero_value(joint.type) if joint.q is None else joint.q

    poses: list[np.ndarray] = []
    for frame in model.frames:
        X = frame.origin
        if frame.parent is not None:
            X = pose_multiply(poses[frame.parent], X)
        joint = frame.joint
        if joint is not None:
            q = joint.scale * value(joint.name)
            X = pose_multiply(X, motion(joint.type, joint.axis, q))
        poses.append(X)
    return {f.name: X for f, X in zip(model.frames, poses, strict=True)}


def matrix(X: np.ndarray) -> np.ndarray:
    """The homogeneous matrix (4, 4) of a pose."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = quat_to_matrix(X[3:]), X[:3]
    return T

"""Random worlds with every kind of joint, for tests of derivatives."""

import numpy as np

import posewise as pw
from posewise.robots.kinematics.joint_types import JOINT_TYPES, joint_transform
from posewise.robots.kinematics.transforms import IDENTITY, pose_multiply

TYPES = [t for t in JOINT_TYPES if t not in ("rigid", "fixed")]


def random_pose(rng: np.random.Generator, reach: float = 0.5) -> np.ndarray:
    """A pose with a uniformly random rotation."""
    quaternion = rng.normal(size=4)
    position = rng.uniform(-reach, reach, 3)
    return np.concatenate([position, quaternion / np.linalg.norm(quaternion)])


def random_tree(seed: int, joints: int = 8, types=TYPES) -> pw.Config:
    """A tree of random joints with offsets, two mimics, shapes and masses."""
    rng = np.random.default_rng(seed)
    C = pw.Config()
    names = ["world"]
    for k in range(joints):
        kind = types[(seed + k) % len(types)] if k < len(types) else rng.choice(types)
        axis = dict(axis=rng.normal(size=3)) if JOINT_TYPES[kind].needs_axis else {}
        parent = names[rng.integers(len(names))]
        C.add_frame(f"a{k}", parent, pose=random_pose(rng), mass=rng.uniform(0.1, 2))
        C.add_frame(f"j{k}", f"a{k}", joint=kind, **axis)
        C.add_frame(
            f"f{k}",
            f"j{k}",
            pose=random_pose(rng),
            mass=rng.uniform(0.1, 2),
            shape=pw.Box(rng.uniform(0.1, 0.5, 3), rounding=0.01),
        )
        names += [f"j{k}", f"f{k}"]
    single = [n for n in C.joint_names if C.joints.coordinates(n).size == 1]
    for k, followed in enumerate(single[:2]):
        C.add_frame(
            f"m{k}",
            names[-1],
            joint="hinge",
            axis=rng.normal(size=3),
            mimic=followed,
            multiplier=rng.uniform(-2, 2),
            offset=0.1,
        )
        C.add_frame(f"n{k}", f"m{k}", pose=random_pose(rng), mass=1.0)
    C.q = random_q(C, rng)
    return C


def random_q(C: pw.Config, rng: np.random.Generator, slices: int | None = None):
    """Random coordinates; quaternions are near unit length but not exactly."""
    q = rng.uniform(-1, 1, (slices or 1, C.nq))
    for first in C.joints.quaternions:
        block = rng.normal(size=4) + 0.1 * rng.normal(size=(slices or 1, 4))
        length = rng.uniform(0.8, 1.2, (slices or 1, 1))
        part = block / np.linalg.norm(block, axis=1, keepdims=True)
        q[:, first : first + 4] = part * length
    return q if slices else q[0]


def central_differences(fn, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The Jacobian of a NumPy function, columns last."""
    x = np.asarray(x, float)
    columns = []
    for i in range(x.size):
        d = np.zeros(x.size)
        d[i] = step
        d = d.reshape(x.shape)
        columns.append((fn(x + d) - fn(x - d)) / (2 * step))
    return np.stack(columns, -1)


def plain_poses(C) -> np.ndarray:
    """World poses by walking the frames one by one."""
    poses: list[np.ndarray] = []
    for frame in C.frames:
        up = IDENTITY if frame.parent is None else poses[frame.parent]
        pose = pose_multiply(up, frame.origin)
        if frame.joint is not None and frame.joint.dim:
            value = C.joints.value(frame.joint.name)
            step = joint_transform(frame.joint.type, frame.joint.axis, value)
            pose = pose_multiply(pose, step)
        poses.append(pose)
    return np.array(poses)

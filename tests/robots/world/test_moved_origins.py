"""Kinematics as functions of origins: against worlds that are built with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.transforms import quat_normalize
from tests.helpers.worlds import random_pose, random_q, random_tree

ARRAYS = [n for n in Kinematics.__dataclass_fields__ if n not in ("tree", "names")]


def rebuilt(C: pw.Config, origins: dict[str, np.ndarray]) -> pw.Config:
    """Return the world with frames of these origins."""
    other = C.copy()
    for name, pose in origins.items():
        unit = [*pose[:3], *quat_normalize(np.asarray(pose[3:]))]
        other.replace_frame(name, origin=np.array(unit))
    return other


@pytest.mark.parametrize("seed", range(6))
def test_arrays_are_those_of_a_world_with_these_origins(seed):
    C = random_tree(seed, joints=12)
    rng = np.random.default_rng(seed)
    for frames in (rng.permutation([f.name for f in C.frames])[:3] for _ in range(4)):
        origins = {str(name): random_pose(rng) for name in frames}
        moved, other = C.kinematics(origins), rebuilt(C, origins).kinematics()
        for name in ARRAYS:
            a, b = getattr(moved, name), getattr(other, name)
            if "quat" in name:  # the sign of a quaternion is free
                a, b = np.abs((a * b).sum(-1)), np.abs((b * b).sum(-1))
            np.testing.assert_allclose(a, b, atol=1e-12, err_msg=f"{name} {frames}")
        q = random_q(C, rng)
        np.testing.assert_allclose(
            moved.forward_pass(q).frames.p, other.forward_pass(q).frames.p, atol=1e-12
        )


def test_a_locked_joint_carries_what_is_behind_it():
    C = pw.load("panda")
    C.lock(["panda_joint3"])
    origins = {"panda_link3": random_pose(np.random.default_rng(0))}
    moved, other = C.kinematics(origins), rebuilt(C, origins).kinematics()
    np.testing.assert_allclose(
        moved.poses(C.q)[:, :3], other.poses(C.q)[:, :3], atol=1e-12
    )


@pytest.mark.long
def test_poses_are_differentiable_by_origins():
    C = random_tree(3, joints=6)
    rng = np.random.default_rng(0)
    q, pose = random_q(C, rng), random_pose(rng)
    # a quaternion of any length stands for its rotation
    pose[3:] *= 1.3

    @jax.jit
    def positions(pose):
        return C.kinematics({"j1": pose}).forward_pass(jnp.asarray(q)).frames.p

    forward, reverse = jax.jacfwd(positions)(pose), jax.jacrev(positions)(pose)
    steps = 1e-6 * np.eye(7)
    differences = [(positions(pose + h) - positions(pose - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(forward, np.stack(differences, -1), atol=1e-7)
    np.testing.assert_allclose(forward, reverse, atol=1e-12)
    assert np.abs(forward).max() > 0.1


@pytest.mark.parametrize(
    ("origins", "says"),
    [
        ({"tip": np.zeros(7)}, "No frame 'tip'"),
        ({"panda_hand": np.zeros(3)}, r"origin of 'panda_hand' has shape \(3,\)"),
        ({"world": np.zeros(7)}, "The world itself cannot be changed"),
    ],
)
def test_what_is_no_origin(origins, says):
    with pytest.raises(pw.ConfigError, match=says):
        pw.load("panda").kinematics(origins)

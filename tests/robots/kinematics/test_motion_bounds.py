"""Bounds of motion between two configurations, against points sampled on the way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.moving_worlds import JOINTS, MORE_JOINTS, moved_q, segment_points
from helpers.worlds import random_tree

import posewise as pw
from posewise.robots.kinematics.forward import forward_pass_nodes
from posewise.robots.kinematics.manifold import difference
from posewise.robots.kinematics.motion_bounds import dof_rates, motion_bounds

RADIUS = 0.3
SAMPLES = 401


def bounds_of_all_frames(C: pw.Config, q, step, radius):
    """Return the bounds of balls about all frames, forward and back along a step."""
    K = C.kinematics()
    _, twists = forward_pass_nodes(K, jnp.asarray(q[None]))
    centers = jnp.asarray(K.forward_pass(q[None]).frames.p[:, :-1])
    n = centers.shape[1]
    return motion_bounds(
        K,
        twists,
        dof_rates(K, jnp.asarray(step[None])),
        centers,
        np.full((1, n), radius),
        K.dof_mask[:-1],
    )


def sampled_motion(C: pw.Config, path, rng):
    """Return the length and the largest second difference of points of all frames.

    The points are on spheres about the frames. Second differences are by the fraction
    of half of the path.
    """
    frames = C.kinematics().forward_pass(path).frames
    R, p = np.asarray(frames.R)[:, :-1], np.asarray(frames.p)[:, :-1]
    lengths, curvatures = [], []
    for _ in range(6):
        direction = rng.normal(size=3)
        x = p + R @ (RADIUS * direction / np.linalg.norm(direction))
        middle = len(x) // 2
        parts = np.linalg.norm(np.diff(x, axis=0), axis=-1)
        lengths.append(np.maximum(parts[:middle].sum(0), parts[middle:].sum(0)))
        bend = np.linalg.norm(np.diff(x, 2, axis=0), axis=-1).max(0)
        curvatures.append(bend * middle**2)
    return np.max(lengths, 0), np.max(curvatures, 0)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("types", [JOINTS, MORE_JOINTS, ["hinge"] * 3], ids=str)
@pytest.mark.parametrize("size", [0.05, 0.5])
def test_no_point_moves_or_bends_more(types, size):
    """Mimics, slides, planar, universal, ball and free joints."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        C = random_tree(seed, len(types) + 1, types)
        other = moved_q(C, rng, C.q, size)
        path = segment_points(C, C.q, other, SAMPLES)
        middle = path[SAMPLES // 2]
        step = difference(C.kinematics().tree, middle, other)
        bounds = bounds_of_all_frames(C, middle, step, RADIUS)
        length, curvature = sampled_motion(C, path, rng)
        assert (length <= bounds.displacement[0].sum(-1) + 1e-9).all()
        assert (curvature <= bounds.curvature[0].sum(-1) * (1 + 1e-6) + 1e-6).all()
        # Of no use if they were far too large.
        moves = length > 1e-9
        ratio = bounds.displacement[0].sum(-1)[moves] / length[moves]
        assert np.median(ratio) < 6


def test_single_joints_are_bounded_exactly():
    """A slide moves all points as far; a hinge most those farthest from its axis."""
    C = pw.Config()
    C.add_frame("slide", joint="transX")
    C.add_frame("hinge", joint="hingeZ")
    C.add_frame("tip", "hinge", position=[0.6, 0.8, 5.0])
    q, step = np.array([0.1, 0.2]), np.array([0.3, -0.2])
    bounds = bounds_of_all_frames(C, q, step, RADIUS)
    slide, tip = C.index("slide"), C.index("tip")
    np.testing.assert_allclose(bounds.displacement[0, slide], [0.3, 0])
    np.testing.assert_allclose(bounds.displacement[0, tip], [0, 0.2 * (1 + RADIUS)])
    np.testing.assert_allclose(bounds.curvature[0, slide], 0)
    np.testing.assert_allclose(bounds.curvature[0, tip], [0, 0.2**2 * (1 + RADIUS)])


def test_balls_that_turn_about_their_centre_do_not_move():
    C = pw.Config()
    C.add_frame("ball", joint="free", pose=[1, 2, 3, 1, 0, 0, 0])
    turn = np.array([0, 0, 0, 0.5, 0.2, -0.4])
    bounds = bounds_of_all_frames(C, C.q, turn, 0.0)
    np.testing.assert_allclose(bounds.displacement, 0, atol=1e-12)
    within_reach = bounds_of_all_frames(C, C.q, turn, 2.0)
    assert (
        2 * np.linalg.norm(turn) <= within_reach.displacement.sum() <= 2.0 * 1.1 + 1e-9
    )


@pytest.mark.long
def test_bounds_hold_in_float32_and_under_jit():
    C = random_tree(1, 5, JOINTS)
    other = moved_q(C, np.random.default_rng(0), C.q, 0.2)
    step = difference(C.kinematics().tree, C.q, other)
    exact = bounds_of_all_frames(C, C.q, step, RADIUS)
    K = C.kinematics()

    @jax.jit
    def single(q, step):
        _, twists = forward_pass_nodes(K, q)
        centers = K.forward_pass(q).frames.p[:, :-1]
        radii = np.full((1, centers.shape[1]), RADIUS, np.float32)
        rates = dof_rates(K, step)
        return motion_bounds(K, twists, rates, centers, radii, K.dof_mask[:-1])

    got = single(np.float32(C.q[None]), np.float32(step[None]))
    for a, b in zip(got, exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

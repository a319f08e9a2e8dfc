"""Boxes with parallel faces that cross without a corner above the other's face."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from posewise.collision import Body, Box, contact

COUNT = 300


def rotation_matrices(angles):
    c, s, one, zero = np.cos(angles), np.sin(angles), np.ones_like(angles), 0 * angles
    rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
    return np.moveaxis(np.array(rows), -1, 0)


def crossing_boxes(gap):
    """Plates, and strips above them at any angle, often across a corner."""
    rng = np.random.default_rng(0)
    half_a = rng.uniform([0.3, 0.3, 0.05], [0.6, 0.6, 0.2], (COUNT, 3))
    half_b = rng.uniform([0.02, 0.5, 0.02], [0.1, 1.5, 0.2], (COUNT, 3))
    p_b = rng.uniform(-0.8, 0.8, (COUNT, 3))
    p_b[:, 2] = half_a[:, 2] + half_b[:, 2] + gap
    R_b = rotation_matrices(rng.uniform(-np.pi, np.pi, COUNT))
    radii = np.zeros(COUNT)
    world = rotation_matrices(np.full(COUNT, 0.3))
    a = Body(Box(half_a), radii, world, np.zeros((COUNT, 3)))
    b = Body(Box(half_b), radii, world @ R_b, np.einsum("nij,nj->ni", world, p_b))
    return a, b


def solve_pair(a, b, i):
    A = np.concatenate([a.R[i], -b.R[i]], 1)
    half = np.concatenate([a.core.half[i], b.core.half[i]])
    x = lsq_linear(A, b.p[i] - a.p[i], (-half, half), tol=1e-14).x
    return np.linalg.norm(A @ x - b.p[i] + a.p[i])


def distance_outside(body, points):
    """Return the distance by which points are outside [m]."""
    local = np.einsum("nji,nj->ni", body.R, points - body.p)
    return np.maximum(np.abs(local) - body.core.half, 0).max(-1)


@pytest.mark.sampled
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("gap", [1e-4, 0.05, -1e-3])
def test_parallel_faces(gap, swap):
    pair = crossing_boxes(gap)[:: -1 if swap else 1]
    out = contact(*(Body(Box(jnp.asarray(x.core.half)), *x[1:]) for x in pair))
    a, b = pair
    if gap > 0:
        want = [solve_pair(a, b, i) for i in range(COUNT)]
        np.testing.assert_allclose(out.distance, want, atol=1e-7)
        assert (np.abs(np.array(want) - gap) < 1e-7).mean() > 0.3
    assert distance_outside(a, out.point_a).max() < 1e-9
    assert distance_outside(b, out.point_b).max() < 1e-9
    between = np.asarray(out.point_a - out.point_b)
    want = np.asarray(out.distance)[:, None] * np.asarray(out.normal)
    np.testing.assert_allclose(between, want, atol=1e-9)

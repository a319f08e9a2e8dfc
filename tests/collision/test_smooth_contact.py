"""Smoothed contacts: within their bound of the exact ones, and without kinks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.collision_cases import (
    CORE_PAIRS,
    bodies,
    box,
    pair_name,
    random_pairs,
    solve,
    tangent,
    transform_body,
)
from scipy.spatial.transform import Rotation

from posewise.collision import (
    Box,
    HalfSpace,
    Hull,
    contact,
    smooth_contact,
    smoothing_excess,
)

TAU = 3e-3
FEW = {(Box, Box), (Hull, HalfSpace)}
"""Kinds that the quick tests look at: compiling takes seconds each."""
every_pair = pytest.mark.parametrize(
    "cores",
    [
        pytest.param(c, marks=() if c in FEW else pytest.mark.slow, id=pair_name(c))
        for c in CORE_PAIRS
    ],
)


@jax.jit
def smoothed(a, b, da, db, tau):
    return jax.jvp(lambda a, b: smooth_contact(a, b, tau), (a, b), (da, db))


def soft_distance(a, b, da=None, db=None, tau=TAU):
    """Smoothed contacts and their rates, as arrays of NumPy."""
    out = smoothed(a, b, da or tangent(a), db or tangent(b), tau)
    return jax.tree.map(np.asarray, out)


@pytest.mark.sampled
@every_pair
def test_smooth_distance_is_below_the_exact_one_by_at_most_the_bound(cores):
    a, b = random_pairs(cores, seed=5)
    exact = solve(a, b).distance
    bound = smoothing_excess(a.core) + smoothing_excess(b.core)
    for tau in (1e-2, TAU, 3e-4):
        out = soft_distance(a, b, tau=tau)[0]
        lack = exact - out.distance
        assert np.isfinite(out.normal).all()
        assert lack.min() >= -1e-9
        assert lack.max() <= bound * tau + 1e-9


@every_pair
def test_smooth_derivatives_are_finite_differences(cores):
    a, b = random_pairs(cores, seed=6)
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(2, len(a.p), 3))
    h = 1e-6
    moved = lambda s: a._replace(
        R=Rotation.from_rotvec(s * w).as_matrix() @ a.R, p=a.p + s * v
    )
    out, rate = soft_distance(a, b, tangent(a, w, v))
    plus, minus = (soft_distance(moved(s), b)[0] for s in (h, -h))
    # where two normals are about as high, the walk may change from one to the other
    same = np.abs(plus.normal - minus.normal).max(-1) < 1e-3
    assert same.mean() > 0.95
    slope = (plus.distance - minus.distance) / (2 * h)
    assert rate.distance[same] == pytest.approx(slope[same], abs=1e-5)
    if cores[1] is not HalfSpace:
        turn = (plus.normal - minus.normal)[same] / (2 * h)
        size = 1 + np.abs(turn)
        assert np.abs((rate.normal[same] - turn) / size).max() < 1e-2


@pytest.mark.slow
def test_smooth_gradient_is_continuous_at_parallel_faces():
    """A plate 2 cm under a box that tilts: the exact slope jumps from +0.2 to -0.2."""
    tilts = np.linspace(-1e-4, 1e-4, 21)
    n = len(tilts)
    R = Rotation.from_rotvec(tilts[:, None] * [1, 0, 0]).as_matrix()
    top = bodies([box([0.3, 0.2, 0.1])] * n, R, np.tile([0, 0, 0.12], (n, 1)))
    plate = bodies(
        [box([1, 1, 0.1])] * n, np.tile(np.eye(3), (n, 1, 1)), [[0, 0, -0.1]] * n
    )
    rate = soft_distance(top, plate, tangent(top, [1, 0, 0]))[1]
    assert np.abs(np.diff(rate.distance)).max() < 1e-2
    assert rate.distance[n // 2] == pytest.approx(0, abs=1e-9)
    distance = lambda a: contact(a, plate).distance
    exact = jax.jvp(distance, (top,), (tangent(top, [1, 0, 0]),))[1]
    assert np.ptp(exact) > 0.3


def test_smooth_contact_is_symmetric_and_invariant():
    a, b = random_pairs((Hull, HalfSpace), seed=8)
    one = soft_distance(a, b)[0]
    turned = soft_distance(b, a)[0]
    assert turned.distance == pytest.approx(one.distance, abs=1e-9)
    move = Rotation.from_rotvec([0.3, -1.0, 2.0]).as_matrix(), np.array([1.0, 2, 3])
    moved = [transform_body(x, *move) for x in (a, b)]
    other = soft_distance(*moved)[0]
    assert np.mean(np.abs(other.distance - one.distance) < 1e-7) > 0.97


@pytest.mark.slow
def test_smooth_contact_in_single_precision():
    a, b = random_pairs((Box, Box), seed=9)
    cast = lambda x: jax.tree.map(lambda y: jnp.asarray(y, jnp.float32), x)
    out = smooth_contact(cast(a), cast(b), jnp.float32(TAU))
    lack = solve(a, b).distance - np.asarray(out.distance, float)
    bound = (smoothing_excess(a.core) + smoothing_excess(b.core)) * TAU
    assert lack.min() > -1e-4 and lack.max() < bound + 1e-4

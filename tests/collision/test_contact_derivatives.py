"""Derivatives of contacts against finite differences and closed forms, and at kinks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.collision_cases import (
    CORE_PAIRS,
    PAIRS,
    batch_cases,
    box,
    capsule,
    directional_derivative,
    displace,
    group_by_cores,
    has_curved_core,
    pair_name,
    random_pairs,
    reference_case,
    rotation,
    select_rows,
    solve,
    sphere,
    tangent,
    velocities,
)

from posewise.collision import (
    Body,
    Box,
    BoxPlusEllipsoid,
    HalfSpace,
    Hull,
    Segment,
    contact,
)

every_pair = pytest.mark.parametrize("cores", CORE_PAIRS, ids=pair_name)

# -- derivatives -----------------------------------------------------------------------


def differences(a, b, velocity, h):
    """Forward and backward differences of everything in a contact, and its value."""
    (da, wa), (db, wb) = velocity
    contacts = [
        solve(displace(a, da, wa, k * h), displace(b, db, wb, k * h)) for k in (-1, 1)
    ]
    mid = solve(a, b)
    per = lambda x, y: jax.tree.map(lambda x, y: (y - x) / h, x, y)
    return per(mid, contacts[1]), per(contacts[0], mid)


@every_pair
@pytest.mark.parametrize("sizes", [False, True], ids=["poses", "sizes"])
def test_derivatives_are_finite_differences(cores, sizes):
    a, b = random_pairs(cores, seed=2)
    velocity = velocities(a, b, seed=3, sizes=sizes)
    (da, _), (db, _) = velocity
    out, got = directional_derivative(a, b, da, db)
    h = 1e-4 if has_curved_core(cores) else 1e-5
    forward, backward = differences(a, b, velocity, h)
    for name, limit, jump, share in (
        ("distance", 2e-5 if has_curved_core(cores) else 2e-7, 0.05, 0.9),
        ("normal", 2e-2 if has_curved_core(cores) else 2e-5, 0.3, 0.7),
        ("point_a", 2e-2 if has_curved_core(cores) else 2e-5, 0.3, 0.7),
        ("point_b", 2e-2 if has_curved_core(cores) else 2e-5, 0.3, 0.7),
    ):
        f, b_, g = (
            getattr(x, name).reshape(PAIRS, -1) for x in (forward, backward, got)
        )
        assert np.isfinite(g).all()
        smooth = np.abs(f - b_).max(1) < jump * (1 + np.abs(f).max(1))
        assert smooth.mean() >= share, (name, smooth.mean())
        # between the one-sided differences, which a kink within h sets apart
        beyond = np.maximum(np.minimum(f, b_) - g, g - np.maximum(f, b_))
        error = np.maximum(beyond, 0).max(1) / (1 + np.abs(f).max(1))
        bad = smooth & (error > limit)
        # differences of curved bodies' deep overlaps see their last digits
        few = 0.07 if has_curved_core(cores) else 0.0
        assert bad.mean() <= few, (name, [(i, error[i]) for i in np.nonzero(bad)[0]])


@pytest.mark.sampled
@pytest.mark.parametrize(
    "cores",
    [
        (Segment, Segment),
        (Segment, Box),
        (Box, Box),
        (Box, BoxPlusEllipsoid),
        (Segment, Hull),
        (Hull, HalfSpace),
    ],
    ids=pair_name,
)
def test_second_derivatives(cores):
    """Second derivatives of all parts are differences of first ones."""
    a, b = random_pairs(cores, seed=4)
    one, two = (velocities(a, b, seed, sizes=False) for seed in (5, 6))
    spin = lambda body, w: rotate_body(body, w)

    def first(x, y, velocity):
        return jax.jvp(contact, (x, y), velocity)[1]

    def rates(x, y):
        """The velocity `one` of bodies that have moved."""
        return tuple(
            by._replace(R=spin(body, w))
            for body, (by, w) in zip((x, y), one, strict=True)
        )

    @jax.jit
    def second(x, y, along):
        return jax.jvp(lambda x, y: first(x, y, rates(x, y)), (x, y), along)

    _, got = second(a, b, tuple(by for by, _ in two))
    # contacts of curved bodies have fewer digits
    h, limit = (1e-4, 5e-3) if has_curved_core(cores) else (1e-6, 1e-4)
    slopes = []
    for k in (-1, 0, 1):
        x, y = (
            displace(body, by, w, k * h)
            for body, (by, w) in zip((a, b), two, strict=True)
        )
        slopes.append(directional_derivative(x, y, *map(np_body, rates(x, y)))[1])
    for name in ("distance", "point_a", "point_b", "normal"):
        before, middle, after, second_rate = (
            np.asarray(getattr(x, name)).reshape(PAIRS, -1) for x in (*slopes, got)
        )
        forward, backward = (after - middle) / h, (middle - before) / h
        size = 1 + np.abs(forward).max(1)
        smooth = np.abs(forward - backward).max(1) < 0.05 * size
        assert smooth.mean() > 0.7
        assert np.isfinite(second_rate).all()
        error = np.abs(second_rate - (forward + backward) / 2).max(1) / size
        bad = smooth & (error > limit)
        assert not bad.any(), (name, [(i, error[i]) for i in np.nonzero(bad)[0]])


def rotate_body(body, w):
    """Rate of R when turning by w."""
    turned = jnp.cross(jnp.asarray(w)[:, None, :], jnp.swapaxes(body.R, -1, -2))
    return jnp.swapaxes(turned, -1, -2)


def np_body(body: Body) -> Body:
    return jax.tree.map(np.asarray, body)


def test_hessian_of_two_balls():
    """|p_a - p_b| has the Hessian (I - n nᵀ) / |p_a - p_b|."""
    R = jnp.eye(3)
    p = jnp.array([0.3, -0.2, 0.5])

    def distance(p):
        a = Body(Segment(jnp.array(0.0)), jnp.array(0.1), R, p)
        b = Body(Segment(jnp.array(0.0)), jnp.array(0.2), R, jnp.zeros(3))
        return contact(a, b).distance

    n = p / jnp.linalg.norm(p)
    expected = (jnp.eye(3) - jnp.outer(n, n)) / jnp.linalg.norm(p)
    np.testing.assert_allclose(jax.jit(jax.hessian(distance))(p), expected, atol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "cores", [(Segment, Box), (Box, Box), (BoxPlusEllipsoid, HalfSpace)], ids=pair_name
)
def test_gradient_is_the_transposed_derivative(cores):
    """Reverse mode, which optimisers use, beside forward mode."""
    a, b = random_pairs(cores, seed=7)
    weights = np.random.default_rng(8).normal(size=(PAIRS, 10))

    @jax.jit
    def gradient(a, b):
        def total(a, b):
            d, x, y, n = contact(a, b)
            w = weights
            out = w[:, 0] * d + jnp.sum(w[:, 1:4] * x + w[:, 4:7] * y, -1)
            return jnp.sum(out + jnp.sum(w[:, 7:] * n, -1))

        return jax.grad(total, (0, 1))(a, b)

    grad = gradient(a, b)
    velocity = velocities(a, b, seed=9, sizes=False)
    (da, _), (db, _) = velocity
    _, t = directional_derivative(a, b, da, db)
    stack = np.concatenate([t.distance[:, None], t.point_a, t.point_b, t.normal], 1)
    forward = np.sum(weights * stack)
    pairs = zip(jax.tree.leaves(grad), jax.tree.leaves((da, db)), strict=True)
    backward = sum(np.sum(g * v) for g, v in pairs)
    assert backward == pytest.approx(forward, rel=1e-9)


# -- kinks -----------------------------------------------------------------------------


def kinks():
    """Pairs at a kink, all of them polytopes and segments with poses at hand."""
    up = lambda z: np.array([0.0, 0.0, z])
    I = np.eye(3)
    plate = box([1.0, 1.0, 0.1])
    return {
        "box over plate": ((box([0.3, 0.2, 0.1]), I, up(0.22)), (plate, I, up(0))),
        "box in plate": ((box([0.3, 0.2, 0.1]), I, up(0.19)), (plate, I, up(0))),
        "rounded box over plate": (
            (box([0.3, 0.2, 0.1], 0.02), I, up(0.22)),
            (plate, I, up(0)),
        ),
        "parallel capsules": (
            (capsule(0.3, 0.05), I, np.array([0.2, 0, 0])),
            (capsule(0.2, 0.05), I, up(0.1)),
        ),
        "overlapping parallel capsules": (
            (capsule(0.3, 0.2), I, np.array([0.2, 0, 0])),
            (capsule(0.2, 0.1), I, up(0.1)),
        ),
        "ball in the centre of a cube": (
            (sphere(0.05), I, up(0)),
            (box([0.2, 0.2, 0.2]), I, up(0)),
        ),
        "capsule on a plate": (
            (capsule(0.3, 0.05), rotation([0.5, 0.5, 0.5, 0.5]), up(0.2)),
            (plate, I, up(0)),
        ),
    }


@pytest.mark.parametrize("name", kinks())
def test_gradients_at_kinks_lie_between_one_sided_ones(name):
    [group] = group_by_cores([reference_case(*kinks()[name], {})]).values()
    a, b = batch_cases(group)
    h = 1e-7
    directions = np.concatenate([np.eye(6), -np.eye(6)])
    many = lambda body: select_rows(body, np.zeros(12, int))
    a, b = many(a), many(b)
    for which in (0, 1):
        w, v = directions[:, :3], directions[:, 3:]
        moving = (a, b)[which]
        by = tangent(moving, w, v)
        stays = tangent((b, a)[which])
        pair = (by, stays) if which == 0 else (stays, by)
        mid, got = directional_derivative(a, b, *pair)
        after = displace(moving, by, w, h)
        out = solve(*((after, b) if which == 0 else (a, after)))
        one_sided = (out.distance - mid.distance) / h
        right, left = one_sided[:6], -one_sided[6:]
        low, high = np.minimum(left, right), np.maximum(left, right)
        rate = got.distance[:6]
        assert np.all((low - 1e-5 <= rate) & (rate <= high + 1e-5)), (rate, low, high)
        for x in got:
            assert np.isfinite(x).all()

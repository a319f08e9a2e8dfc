"""Properties of contacts of all bodies, in random batches of all kinds of pairs."""

import jax
import numpy as np
import pytest
from helpers.collision_cases import (
    CORE_PAIRS,
    concatenate_bodies,
    move_body,
    pad_batch,
    random_pairs,
    random_rotations,
    select_rows,
    solve,
    transform_body,
    value,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st

from posewise.collision import (
    Body,
    Box,
    BoxPlusEllipsoid,
    Contact,
    HalfSpace,
    Hull,
    Segment,
)

FEW = 16
"""Pairs of one kind in an example; several such batches fill one call."""

ALIKE = [(c, c) for c in (Segment, Box, BoxPlusEllipsoid, Hull)]

seeds = st.integers(0, 2**32 - 1)


def property_of(examples: int):
    def decorate(test):
        quick = settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        return quick(given(seed=seeds, pair=st.sampled_from(CORE_PAIRS))(test))

    return decorate


def distance_tolerance(cores) -> float:
    return 5e-5 if BoxPlusEllipsoid in cores and HalfSpace not in cores else 1e-9


def solve_all(*pairs: tuple[Body, Body]) -> list[Contact]:
    """Contacts of several batches, by one call."""
    out = solve(
        concatenate_bodies(*[a for a, _ in pairs]),
        concatenate_bodies(*[b for _, b in pairs]),
    )
    ends = np.cumsum([0, *[len(a.p) for a, _ in pairs]])
    part = lambda k: slice(ends[k], ends[k + 1])
    return [jax.tree.map(lambda x, k=k: x[part(k)], out) for k in range(len(pairs))]


@pytest.mark.long
@property_of(30)
def test_contact_is_symmetric(seed, pair):
    """Exchanging A and B exchanges the points and negates the normal."""
    if pair[0] is not pair[1]:
        pair = ALIKE[seed % 4]
    a, b = random_pairs(pair, seed, n=2 * FEW)
    forth, back = solve_all((a, b), (b, a))
    np.testing.assert_allclose(
        forth.distance, back.distance, atol=distance_tolerance(pair)
    )
    # of two equally deep normals either may be found
    same = np.sum(forth.normal * -back.normal, -1) > 1 - 1e-5
    assert same.mean() > 0.9


@pytest.mark.slow
@property_of(30)
def test_contact_moves_with_the_world(seed, pair):
    a, b = random_pairs(pair, seed, n=2 * FEW)
    rng = np.random.default_rng(seed)
    turn, shift = random_rotations(rng, 1)[0], rng.normal(size=3)
    before, after = solve_all(
        (a, b), (transform_body(a, turn, shift), transform_body(b, turn, shift))
    )
    np.testing.assert_allclose(
        before.distance, after.distance, atol=distance_tolerance(pair)
    )
    close = np.sum((before.normal @ turn.T) * after.normal, -1) > 1 - 1e-5
    assert close.mean() > 0.9


@pytest.mark.slow
@property_of(30)
def test_distance_changes_no_faster_than_bodies_move(seed, pair):
    a, b = random_pairs(pair, seed, n=2 * FEW)
    rng = np.random.default_rng(seed)
    step = rng.normal(size=a.p.shape) * 10 ** rng.uniform(-6, 0, (len(a.p), 1))
    before, after = solve_all((a, b), (move_body(a, v=step), b))
    change = np.abs(before.distance - after.distance)
    assert np.all(change <= np.linalg.norm(step, axis=1) + distance_tolerance(pair))


@pytest.mark.slow
@property_of(30)
def test_inflation_decreases_the_distance_by_its_amount(seed, pair):
    a, b = random_pairs(pair, seed, n=2 * FEW)
    more = np.random.default_rng(seed).uniform(0, 0.5, (2, len(a.p)))
    big = (a._replace(radius=a.radius + more[0]), b._replace(radius=b.radius + more[1]))
    thin, thick = solve_all((a, b), big)
    np.testing.assert_allclose(
        thick.distance, thin.distance - more.sum(0), atol=distance_tolerance(pair)
    )


# Seeded, because for about one overlapping pair in a thousand the second-best normal is
# returned, whose depth is too large (docs/guide/collisions.md): Hypothesis would choose
# other examples, and some of them such pairs, whenever the source of this test changes.
@pytest.mark.slow
@with_seed(0)
@property_of(30)
def test_larger_bodies_have_smaller_distances(seed, pair):
    """A shape that holds another is no further."""
    a, b = random_pairs(pair, seed, n=2 * FEW)
    grow = np.random.default_rng(seed).uniform(1, 1.5, len(a.p))
    wide = lambda x: x * grow.reshape(-1, *[1] * (x.ndim - 1))
    large = a._replace(core=jax.tree.map(wide, a.core))
    small, big = solve_all((a, b), (large, b))
    assert np.all(big.distance <= small.distance + distance_tolerance(pair))


def degenerate(body: Body, rng: np.random.Generator) -> Body:
    """Sizes set to zero or made tiny, vertices made equal, here and there."""

    def spoil(x):
        factor = rng.choice([0.0, 1e-12, 1e-6, 1e-3, 1.0], size=x.shape)
        return x * factor

    def spoil_vertices(v):
        keep = rng.integers(1, 5, len(v))
        indices = np.minimum(np.arange(v.shape[1]), keep[:, None] - 1)
        v = np.take_along_axis(v, indices[..., None], 1)
        v[::3, :, rng.integers(3)] = 0.0
        return v

    core = body.core
    core = (
        Hull(spoil_vertices(core.vertices))
        if isinstance(core, Hull)
        else jax.tree.map(spoil, core)
    )
    return body._replace(core=core, radius=body.radius * rng.choice([0.0, 1.0]))


@pytest.mark.long
@property_of(40)
def test_degenerate_bodies_have_finite_contacts(seed, pair):
    a, b = random_pairs(pair, seed, n=2 * FEW)
    rng = np.random.default_rng(seed)
    a, b = degenerate(a, rng), degenerate(b, rng)
    aligned = rng.random(len(a.p)) < 0.5
    upright = lambda x: x._replace(R=np.where(aligned[:, None, None], np.eye(3), x.R))
    a, b = upright(a), upright(b)
    at_one = rng.random(len(a.p)) < 0.3
    b = b._replace(p=np.where(at_one[:, None], a.p, b.p))
    out = solve(a, b)
    for part in out:
        assert np.isfinite(part).all()
    np.testing.assert_allclose(np.linalg.norm(out.normal, axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(
        out.point_a - out.point_b, out.distance[:, None] * out.normal, atol=1e-9
    )


@pytest.mark.parametrize("seed", range(3))
def test_contact_does_not_depend_on_the_place_in_a_batch(seed):
    a, b = random_pairs((Box, Box), seed)
    order = np.random.default_rng(seed).permutation(len(a.p))
    want = solve(a, b)
    got = solve(select_rows(a, order), select_rows(b, order))
    np.testing.assert_array_equal(got.distance, want.distance[order])
    alone = value(*pad_batch(select_rows(a, slice(5, 6)), select_rows(b, slice(5, 6))))
    np.testing.assert_allclose(alone.distance[0], want.distance[5], atol=1e-14)

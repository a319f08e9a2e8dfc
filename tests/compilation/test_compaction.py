"""Work on chosen members of a batch, as CPUs do it and as others do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.collision.vec3_tuple import pairwise_reduce
from posewise.compilation.compaction import (
    append,
    compact,
    compute_where,
    scatter_add,
    scatter_set,
)
from posewise.compilation.materialize import materialize

rng = np.random.default_rng(0)


@pytest.fixture(params=["cpu", "gpu"])
def backend(request, monkeypatch):
    """The way of another device runs on a CPU as well, more slowly."""
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)
    return request.param


@pytest.mark.parametrize("n", [1, 2, 7, 160])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_what_is_needed_is_computed_and_nothing_else(backend, n, share, chunk):
    x = rng.normal(size=(n, 3))
    needed = rng.uniform(size=n) < share
    seen = []

    def fn(x):
        jax.debug.callback(lambda x: seen.append(len(x)), x)
        return jnp.sum(x, 1), 2 * x

    otherwise = jnp.zeros(n), jnp.full((n, 3), -1.0)
    got = compute_where(fn, jnp.asarray(needed), (jnp.asarray(x),), otherwise, chunk)
    jax.effects_barrier()
    np.testing.assert_allclose(got[0], np.where(needed, x.sum(1), 0), atol=1e-14)
    np.testing.assert_array_equal(got[1], np.where(needed[:, None], 2 * x, -1))
    # there, few steps count for more than little work
    size = max(min(chunk, n), n // 16 if backend == "gpu" else 0)
    assert len(seen) == -(-needed.sum() // size)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_members_are_in_order(backend, n, share):
    chosen = rng.uniform(size=n) < share
    known = compact(jnp.asarray(chosen))
    assert int(known.total) == chosen.sum()
    assert known.at[: chosen.sum()].tolist() == np.flatnonzero(chosen).tolist()


def test_members_may_be_noted_until_the_list_is_full(backend):
    chosen = np.array([True, False, True, True])
    known = compact(jnp.asarray(chosen))
    assert known.at[:3].tolist() == [0, 2, 3] and int(known.total) == 3
    known = append(known, jnp.array([1, 1]), jnp.array([True, False]))
    known = append(known, jnp.array([1, 1]), jnp.array([False, False]))
    assert known.at[:4].tolist() == [0, 2, 3, 1] and int(known.total) == 4


def test_rows_are_put_and_added(backend):
    x, at = np.zeros((5, 2)), np.array([3, 0, 3])
    new = rng.normal(size=(3, 2))
    want = x.copy()
    np.add.at(want, at, new)
    np.testing.assert_allclose(scatter_add(jnp.asarray(x), jnp.asarray(at), new), want)
    got = np.asarray(
        scatter_set(jnp.asarray(x), jnp.asarray(at[:2]), jnp.asarray(new[:2]))
    )
    np.testing.assert_array_equal(got[[3, 0]], new[:2])
    assert not got[[1, 2, 4]].any()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 33])
def test_folds_are_reductions(n):
    x = rng.integers(0, 4, (n, 50)).astype(float)
    less = lambda a, b: jax.tree.map(
        lambda u, v: jnp.where(b[0] < a[0], v, u), tuple(a), tuple(b)
    )
    number = jnp.broadcast_to(jnp.arange(n)[:, None], x.shape)
    least, at = pairwise_reduce(less, (jnp.asarray(x), number))
    np.testing.assert_array_equal(least, x.min(0))
    np.testing.assert_array_equal(
        np.take_along_axis(x, np.asarray(at)[None], 0), [least]
    )
    np.testing.assert_allclose(pairwise_reduce(jnp.add, jnp.asarray(x)), x.sum(0))


@pytest.mark.parametrize("n", [3, 100_000])
def test_once_is_a_plain_call_for_derivatives_batches_and_loops(backend, n):
    fn = lambda x, y: {"sum": jnp.sin(x) * y + jnp.exp(x), "more": (x, x > 0)}
    within = lambda x, y: (
        materialize(fn, 2 * x, y)["sum"] + materialize(fn, 2 * x, y)["more"][0]
    )
    plain = lambda x, y: fn(2 * x, y)["sum"] + 2 * x
    x, y = jnp.asarray(rng.normal(size=(2, n)))
    loop = lambda f: lambda x, y: jax.lax.fori_loop(0, 3, lambda _, x: f(x, y) / 9, x)
    ways = {
        "call": lambda f: f,
        "batch": jax.vmap,
        "loop": loop,
        "forward": lambda f: lambda x, y: jax.jvp(f, (x, y), (y, x))[1],
        "reverse": lambda f: jax.grad(lambda x, y: f(x, y).sum()),
    }
    for way in ways.values():
        got, want = (jax.jit(way(f))(x, y) for f in (within, plain))
        np.testing.assert_allclose(got, want, rtol=1e-12)

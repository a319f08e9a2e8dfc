"""Stream compaction, by the methods for CPUs and for accelerators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.compaction import (
    MIN_ACCELERATOR_CHUNK,
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
    """Choose the method of a backend; that of GPUs also runs on CPUs, more slowly."""
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)
    return request.param


@pytest.mark.parametrize("n", [1, 2, 7, 160])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_compute_where_evaluates_only_masked_entries(backend, n, share, chunk):
    x = rng.normal(size=(n, 3))
    needed = rng.uniform(size=n) < share
    chunk_sizes = []

    def fn(x):
        jax.debug.callback(lambda x: chunk_sizes.append(len(x)), x)
        return jnp.sum(x, 1), 2 * x

    otherwise = jnp.zeros(n), jnp.full((n, 3), -1.0)
    got = compute_where(fn, jnp.asarray(needed), (jnp.asarray(x),), otherwise, chunk)
    jax.effects_barrier()
    np.testing.assert_allclose(got[0], np.where(needed, x.sum(1), 0), atol=1e-14)
    np.testing.assert_array_equal(got[1], np.where(needed[:, None], 2 * x, -1))
    # accelerators take larger chunks, because the number of steps dominates
    wide = min(n, max(n // 16, MIN_ACCELERATOR_CHUNK))
    size = max(min(chunk, n), wide if backend == "gpu" else 0)
    steps = -(-needed.sum() // size)
    # The first chunk of accelerators needs no decision; a single entry has a branch.
    least = int(backend == "gpu" and n > 1)
    assert len(chunk_sizes) == max(steps, least)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_compact_returns_ascending_indices(backend, n, share):
    chosen = rng.uniform(size=n) < share
    known = compact(jnp.asarray(chosen))
    assert int(known.length) == chosen.sum()
    assert known.indices[: chosen.sum()].tolist() == np.flatnonzero(chosen).tolist()


def test_append_fills_the_list(backend):
    chosen = np.array([True, False, True, True])
    known = compact(jnp.asarray(chosen))
    assert known.indices[:3].tolist() == [0, 2, 3] and int(known.length) == 3
    known = append(known, jnp.array([1, 1]), jnp.array([True, False]))
    known = append(known, jnp.array([1, 1]), jnp.array([False, False]))
    assert known.indices[:4].tolist() == [0, 2, 3, 1] and int(known.length) == 4


def test_scatter_set_and_scatter_add(backend):
    x, rows = np.zeros((5, 2)), np.array([3, 0, 3])
    new = rng.normal(size=(3, 2))
    want = x.copy()
    np.add.at(want, rows, new)
    got = scatter_add(jnp.asarray(x), jnp.asarray(rows), new)
    np.testing.assert_allclose(got, want)
    got = np.asarray(
        scatter_set(jnp.asarray(x), jnp.asarray(rows[:2]), jnp.asarray(new[:2]))
    )
    np.testing.assert_array_equal(got[[3, 0]], new[:2])
    assert not got[[1, 2, 4]].any()


@pytest.mark.parametrize("n", [3, 100_000])
def test_materialize_equals_a_plain_call_in_transformations(backend, n):
    fn = lambda x, y: {"sum": jnp.sin(x) * y + jnp.exp(x), "more": (x, x > 0)}
    within = lambda x, y: (
        materialize(fn, 2 * x, y)["sum"] + materialize(fn, 2 * x, y)["more"][0]
    )
    plain = lambda x, y: fn(2 * x, y)["sum"] + 2 * x
    x, y = jnp.asarray(rng.normal(size=(2, n)))
    loop = lambda f: lambda x, y: jax.lax.fori_loop(0, 3, lambda _, x: f(x, y) / 9, x)
    transformations = {
        "call": lambda f: f,
        "batch": jax.vmap,
        "loop": loop,
        "forward": lambda f: lambda x, y: jax.jvp(f, (x, y), (y, x))[1],
        "reverse": lambda f: jax.grad(lambda x, y: f(x, y).sum()),
    }
    for transform in transformations.values():
        got, want = (jax.jit(transform(f))(x, y) for f in (within, plain))
        np.testing.assert_allclose(got, want, rtol=1e-12)

"""Work on chosen members of a batch, as CPUs do it and as others do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.collision.needed import added, compute_where, members, noted, put

rng = np.random.default_rng(0)


@pytest.fixture(params=["cpu", "gpu"])
def backend(request, monkeypatch):
    """The way of another device runs on a CPU as well, more slowly."""
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
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
    assert len(seen) == -(-needed.sum() // min(chunk, n))


def test_members_may_be_noted_until_the_list_is_full(backend):
    chosen = np.array([True, False, True, True])
    known = members(jnp.asarray(chosen))
    assert known.at[:3].tolist() == [0, 2, 3] and int(known.total) == 3
    known = noted(known, jnp.array([1, 1]), jnp.array([True, False]))
    known = noted(known, jnp.array([1, 1]), jnp.array([False, False]))
    assert known.at[:4].tolist() == [0, 2, 3, 1] and int(known.total) == 4


def test_rows_are_put_and_added(backend):
    x, at = np.zeros((5, 2)), np.array([3, 0, 3])
    new = rng.normal(size=(3, 2))
    want = x.copy()
    np.add.at(want, at, new)
    np.testing.assert_allclose(added(jnp.asarray(x), jnp.asarray(at), new), want)
    got = np.asarray(put(jnp.asarray(x), jnp.asarray(at[:2]), jnp.asarray(new[:2])))
    np.testing.assert_array_equal(got[[3, 0]], new[:2])
    assert not got[[1, 2, 4]].any()

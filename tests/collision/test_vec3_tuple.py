"""Reductions over the leading axis of tuples of arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.collision.vec3_tuple import pairwise_reduce

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 33])
def test_pairwise_reduce_is_a_reduction(n):
    x = rng.integers(0, 4, (n, 50)).astype(float)
    less = lambda a, b: jax.tree.map(
        lambda u, v: jnp.where(b[0] < a[0], v, u), tuple(a), tuple(b)
    )
    number = jnp.broadcast_to(jnp.arange(n)[:, None], x.shape)
    least, index = pairwise_reduce(less, (jnp.asarray(x), number))
    np.testing.assert_array_equal(least, x.min(0))
    np.testing.assert_array_equal(
        np.take_along_axis(x, np.asarray(index)[None], 0), [least]
    )
    np.testing.assert_allclose(pairwise_reduce(jnp.add, jnp.asarray(x)), x.sum(0))

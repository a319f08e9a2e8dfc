"""Packing of pytrees and its inverse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posewise.compilation.packed_pytree import (
    MAX_SHARED_SIZE,
    PackCache,
    fetch,
    pack,
    unpack,
)
from posewise.compilation.plain_jit import uses_plain_jit

pytestmark = pytest.mark.skipif(uses_plain_jit(), reason="nothing is packed")


TREES = {
    "nothing": (),
    "one array": np.arange(3.0),
    "types": {"b": np.array([True, False]), "i": np.arange(4), "f": (np.ones((2, 2)),)},
    "scalars": [np.float64(2.5), np.int64(7), np.bool_(True)],
    "large ones apart": (
        np.ones(3),
        np.arange(2.0 * MAX_SHARED_SIZE).reshape(2, -1),
        np.zeros(2),
    ),
    "empty ones": (np.zeros((0, 3)), np.ones(2), np.zeros((2, 0), bool)),
}


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize("name", TREES)
def test_unpack_inverts_pack(name, xp):
    tree = TREES[name]
    packed = pack(tree, xp)
    assert pack(packed) is packed and len(packed.buffers) <= 3
    assert all(p.dtype != bool for p in packed.buffers)
    back = unpack({"in": packed})["in"]
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for x, y in zip(jax.tree.leaves(back), jax.tree.leaves(tree), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(x, y)
    similar = pack(jax.tree.map(lambda a: a + a, tree), np)
    assert similar.layout is packed.layout


def test_pack_cache_returns_the_same_packed_tree():
    cache = PackCache(lambda: None)
    trees = [{"x": np.full(3, float(k))} for k in range(40)]
    for tree in trees:
        assert cache.lookup(tree) is tree
        assert cache.pack(tree) is cache.pack(tree) is cache.lookup(tree)
    assert cache.lookup(trees[0]) is trees[0] and len(cache.entries) < 40
    np.testing.assert_array_equal(fetch(cache.pack(trees[0]))["x"], trees[0]["x"])


SIZES = {"small": 3, "other": 2, "large": 2 * MAX_SHARED_SIZE}


@pytest.mark.parametrize("changed", [[], ["small"], ["large"], ["other", "large"]])
def test_a_tree_that_shares_leaves_shares_buffers(changed):
    cache = PackCache(lambda: None)
    tree = {name: np.full(size, 1.0) for name, size in SIZES.items()}
    first = cache.pack(tree)
    after = tree | {name: 2 * tree[name] for name in changed}
    second = cache.pack(after)
    is_shared = [a is b for a, b in zip(first.buffers, second.buffers, strict=True)]
    assert is_shared.count(False) == len({name == "large" for name in changed})
    for got, want in ((first, tree), (second, after)):
        for name, value in fetch(got).items():
            np.testing.assert_array_equal(value, want[name])


@pytest.mark.parametrize("value", [np.ones(4), np.ones(3, int), np.ones((3, 1))])
def test_a_leaf_of_another_type_makes_another_layout(value):
    cache = PackCache(lambda: None)
    tree = {name: np.full(size, 1.0) for name, size in SIZES.items()}
    cache.pack(tree)
    got = fetch(cache.pack(tree | {"small": value}))["small"]
    assert got.dtype == value.dtype and got.shape == value.shape

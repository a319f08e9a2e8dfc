"""Work on those members of a batch that need it, however many they are."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .vectors import Array


def compute_where(
    fn: Callable[..., Any], needed: Array, args: Any, otherwise: Any, chunk: int
) -> Any:
    """`fn(*args)` where `needed` (pairs,), `otherwise` elsewhere.

    Runs in chunks, as many as it takes: the cost grows with the number of members, and
    none is ever dropped. All arrays have pairs as their first axis.
    """
    n = len(needed)
    chunk = min(chunk, n)
    rank = jnp.cumsum(needed)
    total = rank[-1]
    room = -(-n // chunk) * chunk
    found = jax.tree.map(lambda x: jnp.zeros((room, *x.shape[1:]), x.dtype), otherwise)

    def run(state):
        start, found = state
        at = jnp.searchsorted(rank, start + 1 + jnp.arange(chunk), method="scan")
        part = jax.tree.map(lambda x: jnp.take(x, at, 0, mode="clip"), args)
        # of a batch of one, all is the same in each run: not to be done beforehand
        _, part = jax.lax.optimization_barrier((start, part))
        put = lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new, start, 0)
        return start + chunk, jax.tree.map(put, found, fn(*part))

    found = jax.lax.while_loop(lambda s: s[0] < total, run, (0, found))[1]

    def merged(old, new):
        mine = needed.reshape(-1, *[1] * (old.ndim - 1))
        return jnp.where(mine, jnp.take(new, rank - 1, 0, mode="clip"), old)

    return jax.tree.map(merged, otherwise, found)

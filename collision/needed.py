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
    order = jnp.nonzero(needed, size=n, fill_value=n)[0]
    order = jnp.concatenate([order, jnp.full(chunk, n)])
    total = jnp.sum(needed)

    def run(state):
        start, out = state
        at = jax.lax.dynamic_slice(order, (start,), (chunk,))
        part = jax.tree.map(lambda x: jnp.take(x, at, 0, mode="clip"), args)
        put = lambda old, new: old.at[at].set(new, mode="drop")
        return start + chunk, jax.tree.map(put, out, fn(*part))

    return jax.lax.while_loop(lambda s: s[0] < total, run, (0, otherwise))[1]

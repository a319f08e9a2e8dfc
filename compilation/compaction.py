"""Work on those members of a batch that need it, however many they are."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, UInt

from .materialize import materialize

Array = jax.Array | np.ndarray

MAX_ACCELERATOR_CHUNK = 16384
"""So many members at a time on accelerators, if as many may be."""


def compute_where(
    fn: Callable[..., Any], needed: Array, args: Any, otherwise: Any, chunk: int
) -> Any:
    """`fn(*args)` where `needed` (pairs,), `otherwise` elsewhere.

    Runs in chunks, as many as it takes: the cost grows with the number of members, and
    none is ever dropped. All arrays have pairs as their first axis.
    """
    if len(needed) == 1:  # a loop's work would be the same in each run: done beforehand
        return jax.lax.cond(needed[0], lambda: fn(*args), lambda: otherwise)

    def some(of: Array, _: Array, found: Any) -> Any:
        part = materialize(partial(jax.tree.map, lambda x: gather(x, of)), args)
        return jax.tree.map(lambda x, new: scatter_set(x, of, new), found, fn(*part))

    return fold_chunks(compact(needed), chunk, some, otherwise)


class CompactIndices(NamedTuple):
    """Some of a batch."""

    at: Int[jax.Array, " n_and_one"]
    """Their places, first in the list, which has one to spare."""
    total: Int[jax.Array, ""]


def compact(chosen: Bool[Array, " n"]) -> CompactIndices:
    """Those chosen."""
    n = len(chosen)
    return append(empty_indices(n), jnp.arange(n), chosen)


def empty_indices(n: int) -> CompactIndices:
    """None of n."""
    return CompactIndices(jnp.zeros(n + 1, int), jnp.zeros((), int))


def append(
    known: CompactIndices, at: Int[Array, " k"], chosen: Bool[Array, " k"]
) -> CompactIndices:
    """With more members: the places where chosen."""
    if jax.default_backend() != "cpu":
        rank = known.total + jnp.cumsum(chosen) - 1
        rank = jnp.where(chosen, rank, len(known.at))
        return CompactIndices(
            known.at.at[rank].set(at, mode="drop"), known.total + chosen.sum()
        )

    # there before it is added up, which takes less time then
    spare = 32 * max(1, -(-len(chosen) // 32)) - len(chosen)
    padded = materialize(lambda c: jnp.pad(c, (0, spare)), chosen)
    words = materialize(_pack_bits, padded.reshape(-1, 32))

    def note(s: tuple[Any, Any, CompactIndices]) -> tuple[Any, Any, CompactIndices]:
        k, word, found = s
        lowest = jax.lax.population_count((word & -word) - 1)
        one = 32 * k + lowest.astype(k.dtype)
        put = update_slice(found.at, dynamic_row(at, one)[None], found.total)
        found = CompactIndices(put, found.total + (word != 0).astype(found.total.dtype))
        rest = word & (word - 1)
        k = k + (rest == 0)
        return k, jnp.where(rest == 0, dynamic_row(words, k), rest), found

    begin = jnp.zeros((), int), words[0], known
    return jax.lax.while_loop(lambda s: s[0] < len(words), note, begin)[2]


def _pack_bits(chosen: Bool[Array, "words 32"]) -> UInt[jax.Array, " words"]:
    """Of each word, the lowest bit for the first of them."""
    values = np.uint32(1) << np.arange(32, dtype=np.uint32)
    return jnp.sum(jnp.where(chosen, values, np.uint32(0)), 1, dtype=jnp.uint32)


def fold_chunks(
    members: CompactIndices,
    chunk: int,
    add: Callable[[Array, Array, Any], Any],
    begin: Any,
) -> Any:
    """`add(some of the members, which of them count, state)`, chunk by chunk.

    Those that do not count are repetitions of the last one.
    """
    at, total = members
    n = len(at) - 1
    chunk = min(chunk, n)
    if jax.default_backend() != "cpu":  # there it is the number of steps that counts
        chunk = max(chunk, min(n // 16, MAX_ACCELERATOR_CHUNK))

    def run(state: Any) -> Any:
        start, found = state
        k = start + jnp.arange(chunk)
        of = gather(at, jnp.minimum(k, total - 1))
        return start + chunk, add(of, k < total, found)

    zero = jnp.zeros((), total.dtype)
    return jax.lax.while_loop(lambda s: s[0] < total, run, (zero, begin))[1]


def dynamic_row(x: Array, at: Int[Array, ""]) -> jax.Array:
    """The row of x at a place, counted from the first; beyond the last one, that."""
    cut, begin = jax.lax.dynamic_slice, start_indices(x, at)
    found = cut(x, begin, (1, *x.shape[1:]), allow_negative_indices=False)
    return jax.lax.squeeze(found, (0,))


def gather(x: Array, at: Int[Array, "*some"]) -> jax.Array:
    """Rows of x, at places that are there."""
    get = jnp.asarray(x).at[at].get
    return get(mode="promise_in_bounds", wrap_negative_indices=False)


def start_indices(x: Array, *at: Array) -> tuple[Array, ...]:
    """The indices where a part of x begins, of which the first ones are given."""
    return (*at, *[jnp.zeros_like(at[0])] * (x.ndim - len(at)))


def update_slice(x: jax.Array, part: jax.Array, *at: Array) -> jax.Array:
    """x with a part replaced, which begins at these first indices, from zero on."""
    put = jax.lax.dynamic_update_slice
    return put(x, part, start_indices(x, *at), allow_negative_indices=False)


def scatter_set(old: Array, at: Int[Array, " k"], new: Array) -> jax.Array:
    """`old` with new rows; of repeated ones any counts."""
    return _combine_rows(old, at, new, lambda row, new: new)


def scatter_add(total: Array, at: Int[Array, " k"], parts: Array) -> jax.Array:
    """The sum of parts at rows."""
    return _combine_rows(total, at, parts, jnp.add)


def scatter_min(old: Array, at: Int[Array, " k"], new: Array) -> jax.Array:
    """`old` with new rows where their first number is less; of equal ones any."""
    if jax.default_backend() == "cpu":
        lesser = lambda row, new: jnp.where(new[:, :1] < row[:, :1], new, row)
        return _combine_rows(old, at, new, lesser)
    bound = jnp.asarray(old)[:, 0].at[at].min(new[:, 0])
    mine = (new[:, 0] <= bound[at]) & (new[:, 0] < old[at, 0])
    return jnp.asarray(old).at[jnp.where(mine, at, len(old))].set(new, mode="drop")


def _combine_rows(
    x: Array, at: Array, new: Array, combine: Callable[..., Any]
) -> jax.Array:
    """Rows of x combined with new ones, one after the other on CPUs."""
    if jax.default_backend() != "cpu":
        rows = jnp.asarray(x).at[at]
        return rows.add(new) if combine is jnp.add else rows.set(new)

    def one(i: Any, x: jax.Array) -> jax.Array:
        place = dynamic_row(at, i)
        return update_slice(
            x, combine(dynamic_row(x, place)[None], dynamic_row(new, i)[None]), place
        )

    return jax.lax.fori_loop(0, len(at), one, jnp.asarray(x))

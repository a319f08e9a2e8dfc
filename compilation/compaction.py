"""Stream compaction: evaluate a function only on selected entries of a batch.

XLA has no dynamic shapes. The indices of the selected entries are therefore written to
the front of an array of full length, and a loop processes that array chunk by chunk
until all selected entries are done. On CPUs, rows are read and written one at a time,
because XLA expands gathers and scatters into slow general loops there.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar, TypeVarTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int, UInt

from .arrays import Array
from .backend import is_cpu_backend
from .materialize import materialize

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")

MIN_ACCELERATOR_CHUNK = 32
"""Smallest chunk on accelerators [entries], where even a short step takes long.
"""
MAX_ACCELERATOR_CHUNK = 1 << 18
"""Size up to which chunks are enlarged on accelerators [entries].

Larger chunks take fewer steps, whose number dominates there, but more memory.
"""


def compute_where(
    fn: Callable[[*Arguments], T],
    mask: Bool[Array, " n"],
    args: tuple[*Arguments],
    default: T,
    chunk_size: int,
) -> T:
    """Return `fn(*args)` where a mask holds, `default` elsewhere.

    The cost grows with the number of entries where the mask holds, and none of them is
    left out. All arrays have the n entries as their first axis.

    Args:
        fn: the function, of arrays with any number of entries.
        mask: for each entry, whether the function is evaluated.
        args: arguments of the function.
        default: result where the mask does not hold.
        chunk_size: number of entries processed at a time on CPUs.
    """
    if len(mask) == 1:
        # XLA would move the work out of a loop, where it is done unconditionally
        selected: T = jax.lax.cond(mask[0], lambda: fn(*args), lambda: default)
        return selected

    def evaluate_chunk(indices: Array, is_valid: Array, results: T) -> T:
        select = partial(jax.tree.map, lambda x: gather(x, indices))
        chunk: tuple[*Arguments] = materialize(select, args)
        # The first chunk of accelerators may have no index; what is written beyond the
        # end is dropped.
        places = indices
        if not is_cpu_backend():
            places = jnp.where(is_valid, indices, len(mask))
        written: T = jax.tree.map(
            lambda x, new: scatter_set(x, places, new), results, fn(*chunk)
        )
        return written

    return fold_chunks(compact(mask), chunk_size, evaluate_chunk, default)


class CompactIndices(NamedTuple):
    """Indices of the selected entries of a batch."""

    indices: Int[jax.Array, " n_and_one"]
    """The first `length` are those selected; the last place is never used."""
    length: Int[jax.Array, ""]


def compact(mask: Bool[Array, " n"]) -> CompactIndices:
    """Return the indices where a mask holds, in ascending order."""
    n = len(mask)
    return append(empty_indices(n), jnp.arange(n, dtype=np.int32), mask)


def empty_indices(n: int) -> CompactIndices:
    """Return no indices, with room for n."""
    # Most of the time of a short list is that of filling the memory of a full one.
    return CompactIndices(jnp.zeros(n + 1, np.int32), jnp.zeros((), np.int32))


def append(
    known: CompactIndices, indices: Int[Array, " k"], mask: Bool[Array, " k"]
) -> CompactIndices:
    """Return `known` followed by the indices where a mask holds."""
    indices = jnp.asarray(indices, known.indices.dtype)
    if not is_cpu_backend():
        # exclusive prefix sum of the mask: the place of each selected index
        rank = known.length + jnp.cumsum(mask) - 1
        rank = jnp.where(mask, rank, len(known.indices))
        return CompactIndices(
            known.indices.at[rank].set(indices, mode="drop"),
            known.length + mask.sum(dtype=known.length.dtype),
        )

    # On CPUs, 32 entries form a word, and a loop visits its set bits only: the loop
    # takes as many steps as there are words and selected entries. The mask is
    # materialized because otherwise XLA computes it within the reduction.
    spare = 32 * max(1, -(-len(mask) // 32)) - len(mask)
    padded = materialize(lambda c: jnp.pad(c, (0, spare)), mask)
    words = materialize(_pack_bits, padded.reshape(-1, 32))

    def visit(
        s: tuple[jax.Array, jax.Array, CompactIndices],
    ) -> tuple[jax.Array, jax.Array, CompactIndices]:
        k, word, compacted = s
        # word & -word is the lowest set bit; one less has as many bits as its index
        lowest = jax.lax.population_count((word & -word) - 1)
        index = dynamic_row(indices, 32 * k + lowest.astype(k.dtype))
        # Written even if the word is zero, without a branch: the count does not
        # increase then and the next index overwrites it. The spare place serves this.
        grown = update_slice(compacted.indices, index[None], compacted.length)
        count = compacted.length + (word != 0).astype(compacted.length.dtype)
        rest = word & (word - 1)  # without its lowest set bit
        k = k + (rest == 0)
        word = jnp.where(rest == 0, dynamic_row(words, k), rest)
        return k, word, CompactIndices(grown, count)

    begin = jnp.zeros((), int), words[0], known
    return jax.lax.while_loop(lambda s: s[0] < len(words), visit, begin)[2]


def _pack_bits(mask: Bool[Array, "words 32"]) -> UInt[jax.Array, " words"]:
    """Return words whose lowest bit is the first of 32 booleans."""
    values = np.uint32(1) << np.arange(32, dtype=np.uint32)
    return jnp.sum(jnp.where(mask, values, np.uint32(0)), 1, dtype=jnp.uint32)


def fold_chunks(
    compacted: CompactIndices,
    chunk_size: int,
    body: Callable[[Array, Array, T], T],
    init: T,
) -> T:
    """Return the state after a function has processed all indices, chunk by chunk.

    Args:
        compacted: the indices.
        chunk_size: number of indices per chunk on CPUs.
        body: maps the indices of a chunk, a mask of those that count, and the state to
            the next state. Indices that do not count repeat the last one, or are any in
            bounds if there is none, which a first chunk of accelerators may be of.
        init: the first state.
    """
    indices, count = compacted
    n = len(indices) - 1
    chunk_size = min(chunk_size, n)
    if not is_cpu_backend():
        # the time on accelerators is that of the number of steps
        wide = max(n // 16, MIN_ACCELERATOR_CHUNK)
        chunk_size = max(chunk_size, min(n, wide, MAX_ACCELERATOR_CHUNK))

    def process(carry: tuple[jax.Array, T]) -> tuple[jax.Array, T]:
        start, state = carry
        k = start + jnp.arange(chunk_size)
        chunk = gather(indices, jnp.clip(k, 0, jnp.maximum(count - 1, 0)))
        return start + chunk_size, body(chunk, k < count, state)

    begin = jnp.zeros((), count.dtype), init
    if not is_cpu_backend():
        # Before each step of a loop the host of an accelerator is asked whether to go
        # on; one step is mostly enough.
        begin = process(begin)
    return jax.lax.while_loop(lambda carry: carry[0] < count, process, begin)[1]


# `allow_negative_indices=False`, "promise_in_bounds": without these JAX adds operations
# to each access that wrap or clamp the index.


def dynamic_row(x: Array, index: Int[Array, ""]) -> jax.Array:
    """Return the row of x at a nonnegative index; the last row for indices beyond."""
    start = start_indices(x, index)
    row = jax.lax.dynamic_slice(
        x, start, (1, *x.shape[1:]), allow_negative_indices=False
    )
    return jax.lax.squeeze(row, (0,))


def gather(x: Array, indices: Int[Array, "*some"]) -> jax.Array:
    """Return rows of x at indices that are in bounds."""
    get = jnp.asarray(x).at[indices].get
    return get(mode="promise_in_bounds", wrap_negative_indices=False)


def start_indices(x: Array, *first: Array) -> tuple[Array, ...]:
    """Return where a slice of x begins: the given indices, then zeros."""
    return (*first, *[jnp.zeros_like(first[0])] * (x.ndim - len(first)))


def update_slice(x: jax.Array, new: jax.Array, *first: Array) -> jax.Array:
    """Return x with the slice replaced that begins at nonnegative first indices."""
    start = start_indices(x, *first)
    return jax.lax.dynamic_update_slice(x, new, start, allow_negative_indices=False)


def scatter_set(x: Array, indices: Int[Array, " k"], new: Array) -> jax.Array:
    """Return x with new rows; which one is kept at repeated indices is undefined."""
    return _combine_rows(x, indices, new, lambda row, new: new)


def scatter_add(x: Array, indices: Int[Array, " k"], new: Array) -> jax.Array:
    """Return x with new rows added; those at repeated indices add up."""
    return _combine_rows(x, indices, new, jnp.add)


def scatter_min(x: Array, indices: Int[Array, " k"], new: Array) -> jax.Array:
    """Return x with new rows where their first entry is less than that of x.

    At repeated indices the row with the least first entry is kept.
    """
    if is_cpu_backend():

        def keep_less(row: jax.Array, new: jax.Array) -> jax.Array:
            return jnp.where(new[:, :1] < row[:, :1], new, row)

        return _combine_rows(x, indices, new, keep_less)
    # first the least key of each row, then the rows that have it
    bound = jnp.asarray(x)[:, 0].at[indices].min(new[:, 0])
    is_least = (new[:, 0] <= bound[indices]) & (new[:, 0] < x[indices, 0])
    place = jnp.where(is_least, indices, len(x))
    return jnp.asarray(x).at[place].set(new, mode="drop")


def _combine_rows(
    x: Array,
    indices: Array,
    new: Array,
    combine: Callable[[jax.Array, jax.Array], jax.Array],
) -> jax.Array:
    """Return x with its rows combined with new ones, one after the other on CPUs."""
    if not is_cpu_backend():
        rows = jnp.asarray(x).at[indices]
        return rows.add(new) if combine is jnp.add else rows.set(new)

    # sequential, so that repeated indices see the rows written before
    def combine_one(i: jax.Array, x: jax.Array) -> jax.Array:
        index = dynamic_row(indices, i)
        row = combine(dynamic_row(x, index)[None], dynamic_row(new, i)[None])
        return update_slice(x, row, index)

    combined: jax.Array = jax.lax.fori_loop(
        0, len(indices), combine_one, jnp.asarray(x)
    )
    return combined

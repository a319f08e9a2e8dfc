"""Threads on the cores of this process, and batches computed in parts by them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

ROW_CLASSES = (1, 64)
"""Numbers of rows that programs are compiled for (count). Longer batches are computed
in parts of the last size."""


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_this_precision(fn: Callable[P, T]) -> Callable[P, T]:
    """Return a function for another thread, that computes as this thread does.

    `jax.enable_x64` counts for the thread in which it is called only.
    """
    x64 = jnp.result_type(float) == np.float64

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(x64):
            return fn(*args, **kwargs)

    return run


def map_rows(fn: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Return `fn(*arrays)` for arrays with any number of rows.

    The function is called with numbers of rows of `ROW_CLASSES` only, in several
    threads where there are several parts.

    Args:
        fn: a function of arrays with one leading axis that computes row by row.
        arrays: with the same number of rows.
    """
    n = len(arrays[0])
    size = next((s for s in ROW_CLASSES if s >= n), ROW_CLASSES[-1])
    count = -(-max(n, 1) // size)
    if n != count * size:
        # The last part is filled up with its last row, or with zeros if there is none.
        rows = np.minimum(np.arange(count * size), max(n - 1, 0))
        arrays = tuple(
            x[rows] if n else np.zeros((size, *x.shape[1:]), x.dtype) for x in arrays
        )
    parts = list(zip(*(np.split(x, count) for x in arrays), strict=True))
    # The first part compiles the program.
    results = [fn(*parts[0])]
    if count > 1:
        with ThreadPoolExecutor(min(count_cores(), count)) as pool:
            results += pool.map(in_this_precision(fn), *zip(*parts[1:], strict=True))
    return np.concatenate(results)[:n]

"""`jax.jit` whose programs are kept on disk for the next process."""

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

import jax

from .program_cache import load_or_compile


def cached_jit(fn: Callable[..., Any], num_static: int = 0) -> Callable[..., Any]:
    """Return a function compiled by `jax.jit`, whose programs are kept on disk.

    For what is evaluated outside of solves: XLA compiles it as it sees fit, and may use
    several threads. A function that has no fingerprint, as one of a user, is compiled
    in each process.

    Args:
        fn: the function.
        num_static: number of leading arguments that are hashable instead of arrays.
    """

    @cache
    def program(*static: Any) -> Callable[..., Any]:
        run = partial(fn, *static)
        return load_or_compile(jax.jit(run), run)

    @wraps(fn)
    def call(*args: Any) -> Any:
        static, arrays = args[:num_static], args[num_static:]
        if any(isinstance(a, jax.core.Tracer) for a in jax.tree.leaves(arrays)):
            # the enclosing program decides how it is compiled
            return jax.jit(fn, static_argnums=tuple(range(num_static)))(*args)
        return program(*static)(*arrays)

    return call

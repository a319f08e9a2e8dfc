"""Values that XLA for CPUs computes once instead of at each use.

XLA fuses element-wise operations as far as it can, and so repeats an operation in every
kernel that reads its result. For a value with many uses this dominates the time to run
as well as to compile. An `optimization_barrier` does not help: XLA removes barriers
before it fuses.
"""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import PyTree

from . import private_jax
from .plain_jit import uses_plain_jit


def materialize(fn: Callable[..., Any], *args: PyTree) -> Any:
    """Return `fn(*args)`, as arrays that are stored before anything reads them."""
    if jax.default_backend() != "cpu" or uses_plain_jit():
        return fn(*args)
    out, tree = jax.tree.flatten(jax.jit(fn)(*args))
    # A call that may not be inlined cannot be fused with its users. XLA reads the
    # attribute on one result of the call as that of the whole call.
    out[0] = private_jax.set_xla_metadata(out[0], inlineable="false")
    return jax.tree.unflatten(tree, out)

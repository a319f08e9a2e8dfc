"""Values that XLA for CPUs computes once instead of at each use.

XLA fuses element-wise operations as far as it can, and so repeats an operation in every
kernel that reads its result. For a value with many uses this dominates the time to run
as well as to compile. An `optimization_barrier` does not help: XLA removes barriers
before it fuses.
"""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import jax

from . import private_jax
from .backend import is_cpu_backend
from .plain_jit import uses_plain_jit

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


def materialize(fn: Callable[[*Arguments], T], *args: *Arguments) -> T:
    """Return `fn(*args)`, as arrays that are stored before anything reads them."""
    if not is_cpu_backend() or uses_plain_jit():
        return fn(*args)
    out, tree = jax.tree.flatten(jax.jit(fn)(*args))
    # A call that may not be inlined cannot be fused with its users. XLA reads the
    # attribute on one result of the call as that of the whole call.
    out[0] = private_jax.set_xla_metadata(out[0], inlineable="false")
    stored: T = jax.tree.unflatten(tree, out)
    return stored

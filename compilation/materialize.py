"""Values computed once on CPUs, not at each use.

What is used in several places, XLA for CPUs computes in each of them anew: it fuses
element-wise operations as far as it can. For what is used often that is most of the
work, and of what has to be compiled. Barriers to optimisation are gone before that.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata


def materialize(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, arrays that are there before they are used."""
    if jax.default_backend() != "cpu":
        return fn(*args)
    out, tree = jax.tree.flatten(jax.jit(fn)(*args))
    # what is not inlined is not fused
    out[0] = set_xla_metadata(out[0], inlineable="false")
    return jax.tree.unflatten(tree, out)

"""Private and experimental interfaces of JAX, imported in no other module.

They may be missing or moved in another version of JAX. Programs are then compiled by
`jax.jit` alone, see `uses_plain_jit`.
"""

from contextlib import AbstractContextManager, suppress

import jax

# Each name is imported where a type checker sees it and looked up as an attribute of
# this module, so that a missing one breaks neither the import nor plain `jax.jit`.
try:
    from jax.core import eval_jaxpr as eval_jaxpr
    from jax.experimental.serialize_executable import (
        deserialize_and_load as deserialize_and_load,
    )
    from jax.experimental.serialize_executable import serialize as serialize
    from jax.experimental.xla_metadata import set_xla_metadata as set_xla_metadata
    from jax.extend.core import jaxprs_in_params as jaxprs_in_params
    from jax.interpreters.partial_eval import dce_jaxpr as dce_jaxpr
    from jaxlib.cpu import _lapack

    initialize_lapack = _lapack.initialize
    MISSING = ""
except (ImportError, AttributeError) as error:
    MISSING = str(error)


def clear_traces() -> None:
    """Drop JAX's traces of inner functions; compiled programs remain.

    JAX drops the oldest of most traces, but none of these while the function lives.
    """
    # Without this interface they remain, some 20 kB for each trace.
    with suppress(ImportError, AttributeError):
        from jax._src.interpreters.partial_eval import trace_to_jaxpr

        trace_to_jaxpr.cache_clear()


def outside_of_traces() -> AbstractContextManager[None]:
    """Return a context in which operations on known arrays are computed at once.

    It does within functions that JAX traces what is done outside of them. Functions
    traced within are traced as ever, unlike in `jax.ensure_compile_time_eval`, which
    computes their constants one by one and takes several times as long.
    """
    context: AbstractContextManager[None]
    try:
        from jax.core import eval_context

        context = eval_context()
    except (ImportError, AttributeError):
        context = jax.ensure_compile_time_eval()
    return context

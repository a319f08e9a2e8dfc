"""The question whether arrays are those of a function that JAX traces."""

import jax
from jaxtyping import PyTree


def is_traced(arrays: PyTree) -> bool:
    """Return whether some leaves are those of a function that is being traced."""
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(arrays))

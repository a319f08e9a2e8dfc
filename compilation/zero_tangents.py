"""Tangents that JAX gives as symbolic zeros to rules for derivatives.

Derivatives by what does not change are not computed if they stay symbolic.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

T = TypeVar("T")


def instantiate_zeros(tangents: T, primals: T) -> T:
    """Return a tree of tangents with arrays of zeros in place of symbolic zeros."""
    arrays: T = jax.tree.map(
        lambda t, x: jnp.zeros_like(x) if isinstance(t, SymbolicZero) else t,
        tangents,
        primals,
    )
    return arrays


def jvp_of_changes(
    fn: Callable[..., T], primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[T, T]:
    """Return `jax.jvp(fn, primals, tangents)`, where tangents may be symbolic zeros."""
    leaves, tree = jax.tree.flatten(primals)
    rates = jax.tree.leaves(tangents)
    changing = [k for k, t in enumerate(rates) if not isinstance(t, SymbolicZero)]

    def of_changing(*values: jax.Array) -> T:
        every = list(leaves)
        for k, value in zip(changing, values, strict=True):
            every[k] = value
        return fn(*jax.tree.unflatten(tree, every))

    along: tuple[T, T] = jax.jvp(
        of_changing,
        tuple(leaves[k] for k in changing),
        tuple(rates[k] for k in changing),
    )
    return along

"""Vectors as one array each: components on the last axis but one, pairs on the last.

What is done alike with all three components is one operation so, which is traced and
compiled sooner than three. Where a loop does little for each pair, as in bounds of
distances or for many normals, components of their own (`vectors`) take less time.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.arrays import Array

Scalars = Float[Array, "... #pairs"]
Vectors = Float[Array, "... 3 #pairs"]
Matrix = Float[Array, "3 3 #pairs"]


def pairs_last(x: Float[Array, "pairs ..."]) -> Float[jax.Array, "... pairs"]:
    """An array with its first axis last."""
    return jnp.moveaxis(x, 0, -1)


def pairs_first(x: Float[Array, "... pairs"]) -> Float[jax.Array, "pairs ..."]:
    """An array with its last axis first."""
    return jnp.moveaxis(x, -1, 0)


def component_sum(v: Vectors) -> Scalars:
    """The sum of the components."""
    part = lambda k: jax.lax.slice_in_dim(v, k, k + 1, axis=-2)
    return (part(0) + part(1) + part(2)).squeeze(-2)


def dot(a: Vectors, b: Vectors) -> Scalars:
    """a · b."""
    return component_sum(a * b)


def norm(v: Vectors) -> Scalars:
    """|v|."""
    return jnp.sqrt(dot(v, v))


def unit(v: Vectors, otherwise: Vectors) -> Vectors:
    """v / |v|; where v is zero, `otherwise`."""
    length = norm(v)
    ok = length > 0
    inverse = 1 / jnp.where(ok, length, 1.0)
    wide = lambda x: x[..., None, :]
    return jnp.where(wide(ok), wide(inverse) * v, otherwise)


def rotate(R: Matrix, v: Vectors) -> Vectors:
    """R v."""
    return component_sum(R * v[..., None, :, :])


def rotate_back(R: Matrix, v: Vectors) -> Vectors:
    """Rᵀ v."""
    return rotate(R.swapaxes(0, 1), v)

"""3-vectors in one array each: components on the second last axis, pairs on the last.

One operation per vector instead of three keeps traces small and compilation fast. Where
a loop does little work per pair, as in bounds of distances or in a search over many
normals, vectors as tuples of components (`vec3_tuple`) run faster.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.arrays import Array

Scalars = Float[Array, "... #pairs"]
Vectors = Float[Array, "... 3 #pairs"]
Matrix = Float[Array, "3 3 #pairs"]


def pairs_last(x: Float[Array, "pairs ..."]) -> Float[jax.Array, "... pairs"]:
    """Return an array with its first axis moved to the end."""
    return jnp.moveaxis(x, 0, -1)


def pairs_first(x: Float[Array, "... pairs"]) -> Float[jax.Array, "pairs ..."]:
    """Return an array with its last axis moved to the front."""
    return jnp.moveaxis(x, -1, 0)


def component_sum(v: Vectors) -> Scalars:
    """Return the sum of the components."""
    # slices instead of a reduction: element-wise over the pairs
    x, y, z = (jax.lax.slice_in_dim(v, k, k + 1, axis=-2) for k in range(3))
    return (x + y + z).squeeze(-2)


def dot(a: Vectors, b: Vectors) -> Scalars:
    """Return a · b."""
    return component_sum(a * b)


def norm(v: Vectors) -> Scalars:
    """Return |v|, with derivative zero where v is zero."""
    return safe_root(dot(v, v))


def safe_root(square: Scalars) -> Scalars:
    """Return the square root of numbers >= 0, with derivative zero at zero."""
    positive = square > 0
    # the inner selection keeps the derivative of the root finite where it is not used
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


def unit(v: Vectors, default: Vectors) -> Vectors:
    """Return v / |v|, and `default` where v is zero."""
    length = norm(v)
    ok = length > 0
    inverse = 1 / jnp.where(ok, length, 1.0)
    return jnp.where(ok[..., None, :], inverse[..., None, :] * v, default)


def rotate(R: Matrix, v: Vectors) -> Vectors:
    """Return R v."""
    return component_sum(R * v[..., None, :, :])


def rotate_back(R: Matrix, v: Vectors) -> Vectors:
    """Return Rᵀ v."""
    return rotate(R.swapaxes(0, 1), v)

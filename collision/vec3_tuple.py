"""3-vectors and rotations as tuples of components, each an array with pairs last.

Written so, every operation is element-wise over the pairs of a batch, and the compiler
turns it into vector instructions. `vec3_array` has the same operations for vectors in
one array, which are traced and compiled sooner.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array

Scalar = Float[Array, "..."]
Vector = tuple[Scalar, ...]
"""The three components."""
Matrix = tuple[Vector, ...]
"""The three rows."""
Tree = TypeVar("Tree")


def vector_components(a: Float[Array, "pairs *more 3"]) -> Vector:
    """Return the components of an array of vectors, pairs last."""
    return (a[..., 0].T, a[..., 1].T, a[..., 2].T)


def matrix_components(a: Float[Array, "pairs 3 3"]) -> Matrix:
    """Return the components of an array of matrices, pairs last."""
    x, y, z = (vector_components(a[:, i]) for i in range(3))
    return (x, y, z)


def to_array(a: Vector) -> Float[Array, "pairs 3"]:
    """Return the array of vectors with these components."""
    x, y, z = (c[:, None] for c in a)
    k = np.arange(3)
    # By selection, because in a concatenation XLA for CPUs repeats the operations that
    # the components share, once for each component.
    return jnp.where(k == 0, x, jnp.where(k == 1, y, z))


def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Scalar, a: Vector) -> Vector:
    """Return s · a."""
    return (s * a[0], s * a[1], s * a[2])


def neg(a: Vector) -> Vector:
    """Return -a."""
    return (-a[0], -a[1], -a[2])


def dot(a: Vector, b: Vector) -> Scalar:
    """Return a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def select(condition: Array, a: Vector, b: Vector) -> Vector:
    """Return a where the condition holds, else b."""
    return tuple(jnp.where(condition, x, y) for x, y in zip(a, b, strict=True))


def norm(a: Vector) -> Scalar:
    """Return |a|, in NumPy for NumPy arrays, so that nothing is compiled for them."""
    square = dot(a, a)
    root: Scalar = square.__array_namespace__().sqrt(square)
    return root


def safe_norm(a: Vector) -> Scalar:
    """Return |a| with derivative zero at zero."""
    square = dot(a, a)
    zero = square == 0
    # the inner selection keeps the derivative of the root finite where it is not used
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def max_component(a: Vector) -> Scalar:
    """Return the greatest component, in NumPy for NumPy arrays."""
    maximum = a[0].__array_namespace__().maximum
    greatest: Scalar = maximum(maximum(a[0], a[1]), a[2])
    return greatest


def unit(a: Vector) -> Vector:
    """Return a / |a|, and the z axis where a is zero."""
    length = norm(a)
    zero = jnp.zeros_like(length)
    ok = length > 0
    z_axis = (zero, zero, zero + 1)
    return select(ok, scale(1 / jnp.where(ok, length, 1.0), a), z_axis)


def rotate(R: Matrix, a: Vector) -> Vector:
    """Return R a."""
    return (dot(R[0], a), dot(R[1], a), dot(R[2], a))


def column(R: Matrix, i: int) -> Vector:
    """Return column i of R."""
    return (R[0][i], R[1][i], R[2][i])


def rotate_back(R: Matrix, a: Vector) -> Vector:
    """Return Rᵀ a."""
    return (dot(column(R, 0), a), dot(column(R, 1), a), dot(column(R, 2), a))


def perpendicular(a: Vector) -> Vector:
    """Return a unit vector at a right angle to the unit vector a."""
    one, zero = jnp.ones_like(a[0]), jnp.zeros_like(a[0])
    # crossed with the axis in which a is shortest, so that the product is not short
    x, y, z = (jnp.abs(c) for c in a)
    along_x = (x <= y) & (x <= z)
    along_y = ~along_x & (y <= z)
    axis = (
        jnp.where(along_x, one, zero),
        jnp.where(along_y, one, zero),
        jnp.where(along_x | along_y, zero, one),
    )
    return unit(cross(a, axis))


def pairwise_reduce(combine: Callable[[Tree, Tree], Tree], x: Tree) -> Tree:
    """Return the reduction over the first axis, by combining halves with halves.

    Unlike a reduction of XLA, each step is element-wise over the pairs of a batch.

    Args:
        combine: an associative function; its first argument is of earlier entries.
        x: a pytree of arrays that share the first axis.
    """
    count = len(jax.tree.leaves(x)[0])
    if count == 1:
        first: Tree = jax.tree.map(lambda v: v[0], x)
        return first
    half = count // 2

    def half_from(k: int) -> Tree:
        part: Tree = jax.tree.map(lambda v: v[k : k + half], x)
        return part

    reduced = pairwise_reduce(combine, combine(half_from(0), half_from(half)))
    if count % 2:
        return combine(reduced, jax.tree.map(lambda v: v[-1], x))
    return reduced

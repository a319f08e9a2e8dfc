"""Vectors and rotations as tuples of components, each an array with pairs last.

Written so, every operation is element-wise over the pairs of a batch and a compiler
turns it into plain vector instructions.
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
"""Three components."""
Matrix = tuple[Vector, ...]
"""Three rows."""
Tree = TypeVar("Tree")


def vector_components(a: Float[Array, "pairs *more 3"]) -> Vector:
    """Components of an array of vectors, pairs last."""
    return (a[..., 0].T, a[..., 1].T, a[..., 2].T)


def matrix_components(a: Float[Array, "pairs 3 3"]) -> Matrix:
    """Components of an array of matrices."""
    return (
        vector_components(a[:, 0]),
        vector_components(a[:, 1]),
        vector_components(a[:, 2]),
    )


def to_array(a: Vector) -> Float[Array, "pairs 3"]:
    """An array of vectors from components.

    By selection: in a concatenation, XLA would compute what the components share anew
    for each of them.
    """
    x, y, z = (c[:, None] for c in a)
    k = np.arange(3)
    return jnp.where(k == 0, x, jnp.where(k == 1, y, z))


def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Scalar, a: Vector) -> Vector:
    """s · a."""
    return (s * a[0], s * a[1], s * a[2])


def neg(a: Vector) -> Vector:
    """-a."""
    return (-a[0], -a[1], -a[2])


def dot(a: Vector, b: Vector) -> Scalar:
    """a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def select(condition: Array, a: Vector, b: Vector) -> Vector:
    """a where the condition holds, else b."""
    return tuple(jnp.where(condition, x, y) for x, y in zip(a, b, strict=True))


def norm(a: Vector) -> Scalar:
    """|a|; of numpy's arrays one of them, for which nothing is compiled."""
    square = dot(a, a)
    return square.__array_namespace__().sqrt(square)


def safe_norm(a: Vector) -> Scalar:
    """|a|; its derivative at zero is zero."""
    square = dot(a, a)
    zero = square == 0
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def max_component(a: Vector) -> Scalar:
    """The largest component; of numpy's arrays one of them."""
    maximum = a[0].__array_namespace__().maximum
    return maximum(maximum(a[0], a[1]), a[2])


def unit(a: Vector) -> Vector:
    """a / |a|; where a is zero, along z."""
    length = norm(a)
    zero = jnp.zeros_like(length)
    ok = length > 0
    upward = (zero, zero, zero + 1)
    return select(ok, scale(1 / jnp.where(ok, length, 1.0), a), upward)


def rotate(R: Matrix, a: Vector) -> Vector:
    """R a."""
    return (dot(R[0], a), dot(R[1], a), dot(R[2], a))


def column(R: Matrix, i: int) -> Vector:
    """Column i of R."""
    return (R[0][i], R[1][i], R[2][i])


def rotate_back(R: Matrix, a: Vector) -> Vector:
    """Rᵀ a."""
    return (dot(column(R, 0), a), dot(column(R, 1), a), dot(column(R, 2), a))


def perpendicular(a: Vector) -> Vector:
    """A unit vector at a right angle to the unit vector a."""
    one, zero = jnp.ones_like(a[0]), jnp.zeros_like(a[0])
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
    """All of the first axis combined, halves with halves, earlier ones before later.

    Unlike a reduction, element-wise over the pairs.
    """
    count = len(jax.tree.leaves(x)[0])
    if count == 1:
        return jax.tree.map(lambda v: v[0], x)
    half = count // 2
    part = lambda k: jax.tree.map(lambda v: v[k : k + half], x)
    most = pairwise_reduce(combine, combine(part(0), part(half)))
    return combine(most, jax.tree.map(lambda v: v[-1], x)) if count % 2 else most

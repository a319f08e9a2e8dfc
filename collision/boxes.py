"""The axis along which two overlapping boxes part first.

Separating axes: three face normals of each and the nine cross products of their edges
(Gottschalk, Lin and Manocha, "OBBTree", 1996). For overlapping boxes the greatest of
the (negative) separations is their signed distance.
"""

import jax.numpy as jnp

from .vectors import (
    Matrix,
    Vector,
    column,
    cross,
    dot,
    neg,
    norm,
    rotate_back,
    scale,
    select,
)


def parting_axis(a: Vector, b: Vector, R: Matrix, t: Vector) -> Vector:
    """The unit normal from B to A of the least overlap, in A's frame.

    Args:
        a: half sizes of A.
        b: half sizes of B.
        R: rotation of B in A.
        t: position of B in A.
    """
    zero = jnp.zeros_like(t[0])
    best = zero - jnp.inf
    normal: Vector = (zero, zero, zero + 1)

    def offer(axis: Vector, ok, preferred) -> None:
        nonlocal best, normal
        turned = rotate_back(R, axis)
        reach = zero
        for i in range(3):
            reach = reach + a[i] * jnp.abs(axis[i]) + b[i] * jnp.abs(turned[i])
        along = dot(t, axis)
        gap = jnp.where(ok, jnp.abs(along) - reach, -jnp.inf)
        better = gap > best + preferred * reach
        best = jnp.where(better, gap, best)
        normal = select(better, select(along > 0, neg(axis), axis), normal)

    unit_axes = [tuple(zero + (k == i) for k in range(3)) for i in range(3)]
    for i in range(3):
        offer(unit_axes[i], True, 0.0)
    for j in range(3):
        offer(column(R, j), True, 0.0)
    noise = 4 * jnp.finfo(zero.dtype).eps
    for i in range(3):
        for j in range(3):
            axis = cross(unit_axes[i], column(R, j))
            length = norm(axis)
            ok = length > 1e-4
            offer(scale(1 / jnp.where(ok, length, 1.0), axis), ok, noise)
    return normal

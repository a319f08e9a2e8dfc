"""The axis along which two overlapping boxes part first.

Separating axes: three face normals of each and the nine cross products of their edges
(Gottschalk, Lin and Manocha, "OBBTree", 1996). For overlapping boxes the greatest of
the (negative) separations is their signed distance.
"""

import jax.numpy as jnp

from .vectors import Array, Matrix, Vector, column, cross, dot, norm, rotate_back, scale


def parting_axis(a: Vector, b: Vector, R: Matrix, t: Vector) -> Vector:
    """The unit normal from B to A of the least overlap, in A's frame.

    Args:
        a: half sizes of A.
        b: half sizes of B.
        R: rotation of B in A.
        t: position of B in A.
    """
    zero = jnp.zeros_like(t[0])
    ours = [tuple(zero + (k == i) for k in range(3)) for i in range(3)]
    theirs = [column(R, j) for j in range(3)]
    faces = spread(ours + theirs)
    edges = cross(
        spread([x for x in ours for _ in theirs]),
        spread([y for _ in ours for y in theirs]),
    )
    length = norm(edges)
    ok = length > 1e-4
    edges = scale(1 / jnp.where(ok, length, 1.0), edges)
    axes: Vector = tuple(
        jnp.concatenate([x, y]) for x, y in zip(faces, edges, strict=True)
    )
    turned = rotate_back(R, axes)
    reach = zero
    for i in range(3):
        reach = reach + a[i] * jnp.abs(axes[i]) + b[i] * jnp.abs(turned[i])
    along = dot(t, axes)
    gap = jnp.abs(along) - reach
    # an edge's axis must be better by more than rounding
    noise = 4 * jnp.finfo(zero.dtype).eps
    gap = jnp.concatenate(
        [gap[:6], jnp.where(ok, gap[6:] - noise * reach[6:], -jnp.inf)]
    )
    _, normal, along = greatest(gap, axes, along)
    return scale(jnp.where(along > 0, -1.0, 1.0), normal)


def spread(vectors: list[Vector]) -> Vector:
    """Many vectors as one, with a first axis."""
    return tuple(jnp.stack(x) for x in zip(*vectors, strict=True))


def greatest(gap: Array, axes: Vector, along: Array) -> tuple[Array, Vector, Array]:
    """The first of the greatest gaps, its axis and its `along`."""
    best = jnp.argmax(gap, 0)
    mine = jnp.arange(len(gap)).reshape((-1,) + (1,) * best.ndim) == best
    pick = lambda x: jnp.sum(jnp.where(mine, x, 0.0), 0)
    return jnp.max(gap, 0), tuple(pick(x) for x in axes), pick(along)

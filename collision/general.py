"""Signed distance of any two cores that have support points."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import cores
from .cores import Core, Curved
from .gjk import closest
from .needed import compute_where
from .once import once
from .polish import polish
from .sampling import best_normals
from .vectors import (
    Matrix,
    Scalar,
    Vector,
    add,
    dot,
    neg,
    norm,
    rotate,
    rotate_back,
    scale,
    select,
    stacked,
    sub,
    unit,
    vector,
)

STEPS = 48
FEET = 32
STRIDE = 16  # steps to closest points in one of the walk's, which the next improves


class Pair(NamedTuple):
    """Two cores, one at the origin, the other at a pose."""

    a: Core
    b: Core
    R: Matrix
    t: Vector

    def extent(self) -> Scalar:
        """A length of the order of the pair's extent."""
        return cores.size(self.a) + cores.size(self.b) + norm(self.t)

    def curved(self) -> bool:
        """Whether the difference has curved sides."""
        return isinstance(self.a, Curved) or isinstance(self.b, Curved)

    def difference(self, d: Vector) -> tuple[Vector, Vector]:
        """The point a - b furthest along d, and a; see `support`."""
        a = cores.support(self.a, d)
        b = cores.support(self.b, rotate_back(self.R, neg(d)))
        return sub(a, add(rotate(self.R, b), self.t)), a

    def separation(self, n: Vector) -> Scalar:
        """How far B's furthest point along n is before A: at most the distance."""
        ours = cores.height(self.a, neg(n))
        theirs = cores.height(self.b, rotate_back(self.R, n))
        return -dot(n, self.t) - ours - theirs


def general_distance(
    a: Core, b: Core, R: Matrix, t: Vector
) -> tuple[Scalar, Vector, Vector]:
    """Signed distance, A's point and the normal from B to A, in A's frame.

    Args:
        a: core of A.
        b: core of B.
        R: rotation of B in A.
        t: position of B in A.
    """
    pair = Pair(a, b, R, t)
    near = closest(pair.difference, t, pair.extent(), STEPS)
    distance = norm(near.v)
    apart = (distance, near.a, unit(near.v))
    # of nearly touching sides, v is too short to have a direction
    single = distance.dtype == jnp.float32
    short = 3e-2 if single else 1e-3 if pair.curved() else 0.0
    hard = near.inside | (distance < short * pair.extent())
    d, p, n = compute_where(_overlapping, hard, (pair,), apart, 32)
    if not pair.curved():
        return d, p, n
    x, normal = stacked(p), stacked(n)
    R_b = jnp.stack([jnp.stack(row, -1) for row in R], -2)
    y = x - d[:, None] * normal
    d, x, normal = polish(a, b, R_b, stacked(t), normal, x, y)
    return d, vector(x), vector(normal)


def _overlapping(pair: Pair) -> tuple[Scalar, Vector, Vector]:
    # of a polytope's faces several may be about as deep; the walk tells which is
    count = 1 if pair.curved() else 6
    n = best_normals(pair.separation, pair.t[0], count)
    flat = tuple(x.reshape(-1) for x in n)
    many = jax.tree.map(lambda x: jnp.concatenate([x] * count), pair)
    out = _walk(many, flat, FEET)
    rows = jax.tree.map(lambda x: x.reshape(count, -1), out)
    best = jnp.argmax(rows[0], 0)[None]
    return jax.tree.map(lambda x: jnp.take_along_axis(x, best, 0)[0], rows)


def _walk(pair: Pair, n: Vector, steps: int) -> tuple[Scalar, Vector, Vector]:
    """From a normal to the least overlap near it, and the witness there.

    B is moved out along the normal, beyond touch; the closest points of what is then
    apart have a normal that is no worse. No step ever reports less than the truth.
    """
    extent = pair.extent()
    single = extent.dtype == jnp.float32
    least = (1e-7 if single else 1e-10) * extent
    # how far out: where sides are curved, closest points tell the direction from afar,
    # and if one distance does not lead on, another may
    out = (1e-2, 1e-1, 1e-3) if pair.curved() else ((1e-3, 1e-2) if single else (1e-5,))
    beyond = jnp.asarray(out, extent.dtype)

    def step(state):
        k, n, s, point, failed = state
        shift = scale(s - beyond[jnp.minimum(failed, len(out) - 1)] * extent, n)
        apart = pair._replace(t=add(pair.t, shift))
        near = closest(apart.difference, neg(n), extent, STRIDE)
        turned = once(unit, near.v, n)
        after = once(pair.separation, turned)
        going = failed < len(out)
        better = going & ~near.inside & (after > s + least)
        return (
            k + 1,
            select(better, turned, n),
            jnp.where(better, after, s),
            select(better | (going & (failed == 0) & ~near.inside), near.a, point),
            jnp.where(better, 0, failed + 1),
        )

    s = once(pair.separation, n)
    begin = (0, n, s, pair.difference(neg(n))[1], jnp.zeros(s.shape, int))
    _, n, s, point, _ = jax.lax.while_loop(
        lambda state: (state[0] < steps) & jnp.any(state[4] < len(out)), step, begin
    )
    return s, point, n

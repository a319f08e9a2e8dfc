"""Signed distance of any two cores that have support points."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import cores
from .boxes import parting_axis
from .cores import Box, Core, Curved
from .depth import Penetration, least_penetration
from .gjk import Closest, closest
from .needed import compute_where
from .polish import polish
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
FEW, MANY = 28, 64
"""Vertices of the polytope that looks for the least penetration; MANY where FEW leave
it open which side is nearest."""


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

    def difference(self, d: Vector, corner: bool = False) -> tuple[Vector, Vector]:
        """The point a - b furthest along d, and a; see `support`."""
        a = cores.support(self.a, d, corner)
        b = cores.support(self.b, rotate_back(self.R, neg(d)), corner)
        return sub(a, add(rotate(self.R, b), self.t)), a

    def separation(self, n: Vector) -> Scalar:
        """How far B's furthest point along n is before A: at most the distance."""
        return dot(n, self.difference(neg(n))[0])


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
    apart = (norm(near.v), near.a, unit(near.v))
    d, p, n = compute_where(_overlapping, near.inside, (pair,), apart, 32)
    if not pair.curved():
        return d, p, n
    x, normal = stacked(p), stacked(n)
    R_b = jnp.stack([jnp.stack(row, -1) for row in R], -2)
    y = x - d[:, None] * normal
    d, x, normal = polish(a, b, R_b, stacked(t), normal, x, y)
    return d, vector(x), vector(normal)


def _overlapping(pair: Pair) -> tuple[Scalar, Vector, Vector]:
    if isinstance(pair.a, Box) and isinstance(pair.b, Box):
        n = parting_axis(vector(pair.a.half), vector(pair.b.half), pair.R, pair.t)
        return _walk(pair, n, 1)
    single = pair.t[0].dtype == jnp.float32
    goal = 1e-6 if single else 1e-9
    need = 1e-3 if pair.curved() else 10 * goal

    def search(pair: Pair, capacity: int) -> Penetration:
        corner = lambda d: pair.difference(d, corner=True)[0]
        return least_penetration(corner, pair.extent(), capacity, goal)

    found = search(pair, FEW)
    open_ = found.gap > need * pair.extent()
    best = compute_where(lambda p: search(p, MANY), open_, (pair,), found, 4)
    return _walk(pair, neg(best.direction), FEET)


def _walk(pair: Pair, n: Vector, steps: int) -> tuple[Scalar, Vector, Vector]:
    """From a normal to the least overlap near it, and the witness there.

    B is moved out along the normal, beyond touch; the closest points of what is then
    apart have a normal that is no worse. No step ever reports less than the truth.
    """
    extent = pair.extent()
    single = extent.dtype == jnp.float32
    beyond = (1e-3 if single else 1e-5) * extent
    least = (1e-7 if single else 1e-10) * extent

    def look(n: Vector, s: Scalar) -> Closest:
        out = pair._replace(t=add(pair.t, scale(s - beyond, n)))
        return closest(out.difference, neg(n), extent, STEPS)

    def step(state):
        k, n, s, _, done = state
        near = look(n, s)
        turned = unit(near.v, n)
        after = pair.separation(turned)
        better = ~done & ~near.inside & (after > s + least)
        return (
            k + 1,
            select(better, turned, n),
            jnp.where(better, after, s),
            near.a,
            done | ~better,
        )

    s = pair.separation(n)
    begin = (0, n, s, n, jnp.zeros(s.shape, bool))
    _, n, s, point, _ = jax.lax.while_loop(
        lambda state: (state[0] < steps) & ~jnp.all(state[4]), step, begin
    )
    return s, point, n

"""Signed distance of any two cores that have support points."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.compaction import compute_where
from posewise.compilation.materialize import materialize

from . import cores, vec3_tuple
from .cores import BoxPlusEllipsoid, Core
from .gjk import closest_point_to_origin
from .penetration_search import best_normals
from .vec3_array import (
    Matrix,
    Scalars,
    Vectors,
    norm,
    pairs_first,
    pairs_last,
    rotate,
    rotate_back,
    unit,
)
from .witness_refinement import refine_witness_points

MAX_GJK_STEPS = 48
MAX_DESCENT_STEPS = 32
GJK_STEPS_PER_DESCENT_STEP = (
    16  # steps to closest points in one of the walk's, which the next improves
)


class CorePair(NamedTuple):
    """Two cores, one at the origin, the other at a pose."""

    a: Core
    b: Core
    R: Matrix
    t: Vectors

    def extent(self) -> Scalars:
        """A length of the order of the pair's extent."""
        return (
            cores.characteristic_length(self.a)
            + cores.characteristic_length(self.b)
            + norm(self.t)
        )

    def curved(self) -> bool:
        """Whether the difference has curved sides."""
        return isinstance(self.a, BoxPlusEllipsoid) or isinstance(
            self.b, BoxPlusEllipsoid
        )

    def difference(self, d: Vectors) -> tuple[Vectors, Vectors]:
        """The point a - b furthest along d, and a; see `support`."""
        a = cores.support_point(self.a, d)
        b = cores.support_point(self.b, rotate_back(self.R, -d))
        return a - (rotate(self.R, b) + self.t), a

    def separation(self, n: vec3_tuple.Vector) -> Scalars:
        """How far B's furthest point along n is before A: at most the distance.

        Of components, which may have leading axes before the pairs.
        """
        R, t = tuple(map(jnp.unstack, jnp.unstack(self.R))), jnp.unstack(self.t)
        ours = cores.support_function(self.a, vec3_tuple.neg(n))
        theirs = cores.support_function(self.b, vec3_tuple.rotate_back(R, n))
        return -vec3_tuple.dot(n, t) - ours - theirs


def support_distance(
    a: Core, b: Core, R: Matrix, t: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Signed distance, A's point and the normal from B to A, in A's frame.

    Args:
        a: core of A.
        b: core of B.
        R: rotation of B in A.
        t: position of B in A.
    """
    pair = CorePair(a, b, R, t)
    near = closest_point_to_origin(pair.difference, t, pair.extent(), MAX_GJK_STEPS)
    distance = norm(near.v)
    upward = np.eye(3, dtype=t.dtype)[2][:, None]
    apart = (distance, pairs_first(near.a), pairs_first(unit(near.v, upward)))
    # of nearly touching sides, v is too short to have a direction
    single = distance.dtype == jnp.float32
    short = 3e-2 if single else 1e-3 if pair.curved() else 0.0
    hard = near.inside | (distance < short * pair.extent())
    args = (a, b, pairs_first(R), pairs_first(t))
    d, p, n = compute_where(_penetration, hard, args, apart, 32)
    p, n = pairs_last(p), pairs_last(n)
    return (
        refine_witness_points(a, b, R, t, n, p, p - d * n)
        if pair.curved()
        else (d, p, n)
    )


def _penetration(a: Core, b: Core, R: Any, t: Any) -> tuple[Any, ...]:
    pair = CorePair(a, b, pairs_last(R), pairs_last(t))
    # of a polytope's faces several may be about as deep; the walk tells which is
    count = 1 if pair.curved() else 6
    n = best_normals(pair.separation, pair.t[0], count)
    repeated = lambda x: jnp.concatenate([x] * count)
    wide = lambda x: jnp.concatenate([x] * count, -1)
    a, b = jax.tree.map(repeated, (a, b))
    flat = jnp.stack([x.reshape(-1) for x in n])
    out = _descend(CorePair(a, b, wide(pair.R), wide(pair.t)), flat, MAX_DESCENT_STEPS)
    rows = [x.reshape(*x.shape[:-1], count, -1) for x in out]
    best = jnp.argmax(rows[0], 0)
    pick = lambda x: jnp.take_along_axis(
        x, best.reshape(*[1] * (x.ndim - 1), -1), -2
    ).squeeze(-2)
    distance, point, normal = map(pick, rows)
    return distance, pairs_first(point), pairs_first(normal)


def _descend(
    pair: CorePair, n: Vectors, steps: int
) -> tuple[Scalars, Vectors, Vectors]:
    """From a normal to the least overlap near it, and the witness there.

    B is moved out along the normal, beyond touch; the closest points of what is then
    apart have a normal that is no worse. No step ever reports less than the truth.
    """
    extent = pair.extent()
    single = extent.dtype == jnp.float32
    least = (1e-7 if single else 1e-10) * extent
    same = 0.0 if single else 1e-5  # single precision tells it too roughly
    # how far out: where sides are curved, closest points tell the direction from afar,
    # and if one distance does not lead on, another may
    out = (1e-2, 1e-1, 1e-3) if pair.curved() else ((1e-3, 1e-2) if single else (1e-5,))
    beyond = jnp.asarray(out, extent.dtype)
    separation = lambda n: pair.separation(jnp.unstack(n))

    def step(state):
        k, n, s, point, failed = state
        shift = (s - beyond[jnp.minimum(failed, len(out) - 1)] * extent) * n
        apart = pair._replace(t=pair.t + shift)
        near = closest_point_to_origin(
            apart.difference, -n, extent, GJK_STEPS_PER_DESCENT_STEP
        )
        turned = materialize(unit, near.v, n)
        after = materialize(separation, turned)
        going = (failed < len(out)) & ~near.inside
        better = going & (after > s + least)
        told = better | (going & (failed == 0))
        # a normal that leads to itself is the best one near it, from any distance
        final = going & ~better & (norm(turned - n) < same)
        return (
            k + 1,
            jnp.where(better, turned, n),
            jnp.where(better, after, s),
            jnp.where(told, near.a, point),
            jnp.where(better, 0, jnp.where(final, len(out), failed + 1)),
        )

    s = materialize(separation, n)
    begin = (0, n, s, pair.difference(-n)[1], jnp.zeros(s.shape, int))
    _, n, s, point, _ = jax.lax.while_loop(
        lambda state: (state[0] < steps) & jnp.any(state[4] < len(out)), step, begin
    )
    return s, point, n

"""Signed distance of any two cores that have support points.

Separated cores are measured by GJK. The penetration depth of overlapping ones is the
minimum over all normals n of the overlap along n: a search over the sphere gives first
normals, each of which a descent then improves by GJK on shifted copies.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.compaction import compute_where
from posewise.compilation.materialize import materialize

from . import vec3_tuple
from .cores import (
    BoxPlusEllipsoid,
    Core,
    characteristic_length,
    support_function,
    support_point,
)
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
"""Number of GJK steps for separated cores; more help at nearly parallel faces."""
MAX_DESCENT_STEPS = 32
"""Largest number of steps of the descent to the least overlap. More come nearer to it
where it is not reached before."""
GJK_STEPS_PER_DESCENT_STEP = 16
"""Number of GJK steps within a step of the descent, which the next step improves."""
CHUNK_SIZE = 1
"""Number of overlapping pairs computed at a time on CPUs. More vectorise better, but
all wait for the one that takes the most steps."""
NUM_PATTERN_STEPS = 12
"""Number of steps of the search over the sphere for curved cores. More come nearer to
the best normal, but take longer."""
NUM_FACE_CANDIDATES = 6
"""Number of normals from which the descent starts for polytopes."""
NUM_FACE_PATTERN_STEPS = 6
"""Number of steps of the search for polytopes. More start the descents nearer to the
best normal, but take longer."""


class CorePair(NamedTuple):
    """Two cores, A at the origin and B at a pose in A's frame."""

    a: Core
    b: Core
    R: Matrix
    t: Vectors

    def extent(self) -> Scalars:
        """Return a length of the order of the pair's extent [m]."""
        sizes = characteristic_length(self.a) + characteristic_length(self.b)
        return sizes + norm(self.t)

    def is_curved(self) -> bool:
        """Whether the Minkowski difference has curved sides."""
        cores = (self.a, self.b)
        return any(isinstance(core, BoxPlusEllipsoid) for core in cores)

    def difference_support(self, d: Vectors) -> tuple[Vectors, Vectors]:
        """Return the point a - b of the difference furthest along d, and a."""
        a = support_point(self.a, d)
        b = support_point(self.b, rotate_back(self.R, -d))
        return a - (rotate(self.R, b) + self.t), a

    def separation(self, n: vec3_tuple.Vector) -> Scalars:
        """Return s(n) = -n·t - h_a(-n) - h_b(n), with support functions h.

        It is the gap between the supporting planes with normal n: at most the signed
        distance, and equal to it at the right normal.

        Args:
            n: components of unit normals, with any leading axes before the pairs.
        """
        R, t = tuple(map(jnp.unstack, jnp.unstack(self.R))), jnp.unstack(self.t)
        reach_a = support_function(self.a, vec3_tuple.neg(n))
        reach_b = support_function(self.b, vec3_tuple.rotate_back(R, n))
        return -vec3_tuple.dot(n, t) - reach_a - reach_b


def support_distance(
    a: Core, b: Core, R: Matrix, t: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Return signed distance, A's witness point and normal, in A's frame.

    Args:
        a: core of A.
        b: core of B.
        R: rotation of B in A's frame.
        t: position of B in A's frame [m].
    """
    pair = CorePair(a, b, R, t)
    near = closest_point_to_origin(
        pair.difference_support, t, pair.extent(), MAX_GJK_STEPS
    )
    distance = norm(near.v)
    z_axis = np.eye(3, dtype=t.dtype)[2][:, None]
    separated = (distance, pairs_first(near.a), pairs_first(unit(near.v, z_axis)))
    # Close to touching, v is too short to have an exact direction: the same search as
    # for overlapping cores finds the normal there.
    single = distance.dtype == jnp.float32
    short = 3e-2 if single else 1e-3 if pair.is_curved() else 0.0
    is_hard = near.inside | (distance < short * pair.extent())
    args = (a, b, pairs_first(R), pairs_first(t))
    d, p, n = compute_where(_penetration, is_hard, args, separated, CHUNK_SIZE)
    p, n = pairs_last(p), pairs_last(n)
    if pair.is_curved():
        return refine_witness_points(a, b, R, t, n, p, p - d * n)
    return d, p, n


def _penetration(
    a: Core, b: Core, R: Float[jax.Array, "n 3 3"], t: Float[jax.Array, "n 3"]
) -> tuple[Scalars, Float[jax.Array, "n 3"], Float[jax.Array, "n 3"]]:
    """Return the least overlap along a normal: signed distance, A's point, normal."""
    pair = CorePair(a, b, pairs_last(R), pairs_last(t))
    if pair.is_curved():
        # A curved difference has one deepest normal nearby.
        count = 1
        n = best_normals(pair.separation, pair.t[0], count, NUM_PATTERN_STEPS)
    else:
        # Several faces of a polytope may be about as deep: the descent decides between
        # their normals. The search only selects where descents start: in single
        # precision its many support functions take half the time.
        count = NUM_FACE_CANDIDATES
        coarse: CorePair = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), pair)
        n = best_normals(coarse.separation, coarse.t[0], count, NUM_FACE_PATTERN_STEPS)
    a, b = jax.tree.map(lambda x: jnp.concatenate([x] * count), (a, b))
    repeated = CorePair(
        a,
        b,
        jnp.concatenate([pair.R] * count, -1),
        jnp.concatenate([pair.t] * count, -1),
    )
    flat = jnp.stack([x.reshape(-1) for x in n]).astype(pair.t.dtype)
    starts = materialize(unit, flat, flat)
    out = _descend(repeated, starts, MAX_DESCENT_STEPS)
    rows = [x.reshape(*x.shape[:-1], count, -1) for x in out]
    best = jnp.argmax(rows[0], 0)

    def select_best(x: Array) -> jax.Array:
        index = best.reshape(*[1] * (x.ndim - 1), -1)
        return jnp.take_along_axis(x, index, -2).squeeze(-2)

    distance, point, normal = map(select_best, rows)
    return distance, pairs_first(point), pairs_first(normal)


_Descent = tuple[int | jax.Array, Vectors, Scalars, Vectors, jax.Array]
"""Number of steps, and for each pair normal, least overlap, witness point, failures."""


def _descend(
    pair: CorePair, n: Vectors, max_steps: int
) -> tuple[Scalars, Vectors, Vectors]:
    """Return the least overlap near a normal, with witness point and normal.

    B is shifted out along the normal, beyond touching; the closest points of the then
    separated cores have a normal n' with s(n') >= s(n). (Expanding one face of the
    difference, as EPA does, van den Bergen, "Proximity queries and penetration depth
    computation on 3D game objects", 2001, needs a polytope of growing size instead.)
    s is at most the signed distance, so that no step reports a smaller overlap than
    there is.
    """
    extent = pair.extent()
    single = extent.dtype == jnp.float32
    min_gain = (1e-7 if single else 1e-10) * extent
    # in single precision, equal normals differ too much to be recognized
    max_turn = 0.0 if single else 1e-5
    # How far B is shifted beyond touching, in extents. Curved sides tell the direction
    # even from afar; where one distance does not improve the normal, another may.
    if pair.is_curved():
        shifts: tuple[float, ...] = (1e-2, 1e-1, 1e-3)
    else:
        shifts = (1e-3, 1e-2) if single else (1e-5,)
    beyond = jnp.asarray(shifts, extent.dtype)

    def separation(n: Vectors) -> Scalars:
        return pair.separation(jnp.unstack(n))

    def step(state: _Descent) -> _Descent:
        k, n, s, point, failures = state
        shift = (s - beyond[jnp.minimum(failures, len(shifts) - 1)] * extent) * n
        shifted = pair._replace(t=pair.t + shift)
        near = closest_point_to_origin(
            shifted.difference_support, -n, extent, GJK_STEPS_PER_DESCENT_STEP
        )
        turned = materialize(unit, near.v, n)
        after = materialize(separation, turned)
        going = (failures < len(shifts)) & ~near.inside
        better = going & (after > s + min_gain)
        keeps_point = better | (going & (failures == 0))
        # a normal that leads to itself is a fixed point for all shifts
        final = going & ~better & (norm(turned - n) < max_turn)
        return (
            k + 1,
            jnp.where(better, turned, n),
            jnp.where(better, after, s),
            jnp.where(keeps_point, near.a, point),
            jnp.where(better, 0, jnp.where(final, len(shifts), failures + 1)),
        )

    s = materialize(separation, n)
    begin: _Descent = (0, n, s, pair.difference_support(-n)[1], jnp.zeros(s.shape, int))
    _, n, s, point, _ = jax.lax.while_loop(
        lambda state: (state[0] < max_steps) & jnp.any(state[4] < len(shifts)),
        step,
        begin,
    )
    return s, point, n

"""Refinement of normal and witness points on curved surfaces by Newton's method.

At the optimum the witness points a(n), b(n), each the one that its body has along the
normal n, satisfy a(n) - b(n) ∥ n. The equation is linearised with the surfaces'
curvature and flat directions. A step is accepted only if the separation along the new
normal, a lower bound of the distance, does not decrease.
"""

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.arrays import Array
from posewise.compilation.materialize import materialize

from .cores import Core, Hull, characteristic_length, support_point
from .surfaces import (
    Curvature,
    FlatDirections,
    combine,
    solve_saddle_system,
    surface_geometry,
    tangent_basis,
)
from .vec3_array import Matrix, Scalars, Vectors, dot, norm, rotate, rotate_back

MAX_NEWTON_STEPS = 12
"""Largest number of Newton steps per pair. More serve only pairs that converge
slowly."""


_Refinement = tuple[
    int | jax.Array, jax.Array, jax.Array, Vectors, Scalars, Vectors, Vectors
]
"""Number of steps; for each pair steps without gain, whether it is flat to the last
tolerance, normal, separation and witness points."""


def refine_witness_points(
    a: Core, b: Core, R: Matrix, t: Vectors, n: Vectors, x: Vectors, y: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Return distance, A's witness point and normal from approximate ones.

    All vectors are in A's frame.

    Args:
        a: core of A.
        b: core of B.
        R: rotation of B in A's frame.
        t: position of B in A's frame [m].
        n: approximate normal from B to A.
        x: A's approximate witness point.
        y: B's approximate witness point.
    """
    single = n.dtype == jnp.float32
    flat_cosines = jnp.array(
        (1e-2, 1e-3, 1e-4, 1e-5) if single else (1e-3, 1e-4, 1e-5, 1e-7)
    )
    extent = characteristic_length(a) + characteristic_length(b)
    max_distance = (5e-2 if single else 1e-3) * extent
    rounding = 4 * jnp.finfo(n.dtype).eps * extent
    negligible = (1e-6 if single else 1e-12) * extent
    x_0, y_0 = x, y
    eye = np.eye(2, dtype=n.dtype)[..., None]

    def on_surfaces(
        n: Vectors, x: Vectors, y: Vectors, flat: Array
    ) -> tuple[Curvature, FlatDirections, Vectors, Curvature, FlatDirections, Vectors]:
        """Return the points that belong to n, slid along flats close to x and y."""
        W_a, E_a, x = _slide_witness(a, -n, x, flat)
        n_b, y_b = rotate_back(R, n), rotate_back(R, y - t)
        W_b, E_b, y = _slide_witness(b, n_b, y_b, flat)
        return W_a, E_a, x, W_b, E_b, y

    def in_tangents(T: Vectors, W: Curvature) -> Array:
        return dot(T[:, None], rotate(W, T))

    def step(state: _Refinement) -> _Refinement:
        k, idle, plain, n, s, x_now, y_now = state
        # A direction that is nearly flat may be flat up to the error of n, or slightly
        # curved: tolerances are tried in turn.
        flat = flat_cosines[k % 4].astype(n.dtype)
        W_a, E_a, x, W_b, E_b, y_local = materialize(on_surfaces, n, x_now, y_now, flat)
        E, y = jnp.concatenate([-E_a, rotate(R, E_b)]), rotate(R, y_local) + t
        level = dot(E, n)
        # if flat to the last tolerance, the other tolerances find the same directions
        exact = jnp.max(jnp.abs(level), 0) <= flat_cosines[-1]
        plain = jnp.where(k % 4 == 0, exact, plain)
        apart = x - y
        # The Newton step T δ turns n; points slide by c along the flats E so that
        # a(n) - b(n) has no part in the tangents T, and the flats stay orthogonal to n.
        T = materialize(tangent_basis, n)
        T_b = rotate_back(R, T)
        S = in_tangents(T, W_a) + in_tangents(T_b, W_b) + dot(n, apart) * eye
        F, residual = dot(T[:, None], E), dot(T, apart)
        turn, slide = materialize(solve_saddle_system, S, F, residual, -level)
        delta = combine(T, turn)
        turned = n + delta
        turned = turned / norm(turned)
        after = materialize(separation, turned)
        rolled = rotate(R, rotate(W_b, rotate_back(R, delta)))
        x_new = x - rotate(W_a, delta) - combine(E[:2], slide[:2])
        y_new = y + rolled + combine(E[2:], slide[2:])
        # far from the start, directions that were flat there need not be flat
        off = jnp.stack([x_new - x_0, y_new - y_0])
        is_near = dot(off, off).sum(0) < max_distance**2
        better = (after >= s - rounding) & is_near
        moved = jnp.abs(x_new - x_now) + jnp.abs(y_new - y_now)
        going = better & (jnp.max(moved, 0) > negligible)
        return (
            k + 1,
            jnp.where(going, 0, jnp.where(plain, len(flat_cosines), idle + 1)),
            plain,
            jnp.where(better, turned, n),
            jnp.where(better, after, s),
            jnp.where(better, x_new, x_now),
            jnp.where(better, y_new, y_now),
        )

    def separation(n: Vectors) -> Scalars:
        low = support_point(a, -n)
        high = rotate(R, support_point(b, rotate_back(R, n))) + t
        return dot(n, low - high)

    def is_going(state: _Refinement) -> jax.Array:
        k, idle = state[:2]
        return (k < MAX_NEWTON_STEPS) & jnp.any(idle < len(flat_cosines))

    zero = jnp.zeros(n.shape[1:], int)
    begin: _Refinement = (0, zero, zero > 0, n, separation(n), x, y)
    n, s, x, y = jax.lax.while_loop(is_going, step, begin)[3:]
    # the rest of x - y beyond s n is an error of both points, half of each
    residual = (x - y) - s * n
    return s, x - residual / 2, n


def _slide_witness(
    core: Core, m: Vectors, x: Vectors, max_cosine: Array
) -> tuple[Curvature, FlatDirections, Vectors]:
    """Return geometry and point of a core along its outward normal m, close to x."""
    extreme = support_point(core, m)
    # Seen from a vertex, the other vertices span the face. Of other cores, the middle
    # is passed, because every flat direction counts.
    seen_from = extreme if isinstance(core, Hull) else jnp.zeros_like(x)
    W, E = surface_geometry(core, m, seen_from, max_cosine)
    return W, E, extreme + combine(E, dot(E, x - extreme))

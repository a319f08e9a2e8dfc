"""The last digits of a normal and of witness points on curved surfaces.

Newton's method on the optimality condition a(n) - b(n) ∥ n, with the surfaces'
curvature and flat directions. A step is taken only when the separation along the new
normal, a lower bound of the distance, is no less.
"""

from typing import Any

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


def refine_witness_points(
    a: Core, b: Core, R: Matrix, t: Vectors, n: Vectors, x: Vectors, y: Vectors
) -> tuple[Scalars, Vectors, Vectors]:
    """Distance, A's point and normal, from good first values, in A's frame.

    Args:
        a: core of A.
        b: core of B.
        R: rotation of B in A.
        t: position of B in A.
        n: normal from B to A.
        x: A's witness point.
        y: B's witness point, in A's frame.
    """
    single = n.dtype == jnp.float32
    flats = jnp.array((1e-2, 1e-3, 1e-4, 1e-5) if single else (1e-3, 1e-4, 1e-5, 1e-7))
    extent = characteristic_length(a) + characteristic_length(b)
    reach = (5e-2 if single else 1e-3) * extent
    rounding = 4 * jnp.finfo(n.dtype).eps * extent
    settled = (1e-6 if single else 1e-12) * extent
    x_0, y_0 = x, y
    eye = np.eye(2, dtype=n.dtype)[..., None]

    def on_surfaces(n: Vectors, x: Vectors, y: Vectors, flat: Array) -> Any:
        """The points that belong to n, slid as near to x and y as flats allow."""
        W_a, E_a, x = _slide_witness(a, -n, x, flat)
        W_b, E_b, y = _slide_witness(b, rotate_back(R, n), rotate_back(R, y - t), flat)
        return W_a, E_a, x, W_b, E_b, y

    def step(state: Any) -> Any:
        k, idle, plain, n, s, x_now, y_now = state
        # what is nearly flat may be flat: tried all ways
        flat = flats[k % 4].astype(n.dtype)
        W_a, E_a, x, W_b, E_b, y_local = materialize(on_surfaces, n, x_now, y_now, flat)
        E, y = jnp.concatenate([-E_a, rotate(R, E_b)]), rotate(R, y_local) + t
        level = dot(E, n)
        # flat to the last digits: so it is seen in all other ways
        exact = jnp.max(jnp.abs(level), 0) <= flats[-1]
        plain = jnp.where(k % 4 == 0, exact, plain)
        apart = x - y
        T = materialize(tangent_basis, n)
        T_b = rotate_back(R, T)
        bent = lambda T, W: dot(T[:, None], rotate(W, T))
        S = bent(T, W_a) + bent(T_b, W_b) + dot(n, apart) * eye
        delta, slide = materialize(
            solve_saddle_system, S, dot(T[:, None], E), dot(T, apart), -level
        )
        delta = combine(T, delta)
        turned = n + delta
        turned = turned / norm(turned)
        after = materialize(separation, turned)
        rolled = rotate(R, rotate(W_b, rotate_back(R, delta)))
        x_new = x - rotate(W_a, delta) - combine(E[:2], slide[:2])
        y_new = y + rolled + combine(E[2:], slide[2:])
        # far off, what seemed flat is not
        off = jnp.stack([x_new - x_0, y_new - y_0])
        better = (after >= s - rounding) & (dot(off, off).sum(0) < reach**2)
        moved = jnp.abs(x_new - x_now) + jnp.abs(y_new - y_now)
        going = better & (jnp.max(moved, 0) > settled)
        return (
            k + 1,
            jnp.where(going, 0, jnp.where(plain, len(flats), idle + 1)),
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

    none = jnp.zeros(n.shape[1:], int)
    begin = 0, none, none > 0, n, separation(n), x, y
    more = lambda state: (state[0] < MAX_NEWTON_STEPS) & jnp.any(state[1] < len(flats))
    n, s, x, y = jax.lax.while_loop(more, step, begin)[3:]
    # what is left between the points beyond s n is shared
    rest = (x - y) - s * n
    return s, x - rest / 2, n


def _slide_witness(
    core: Core, m: Vectors, x: Vectors, flat: Array
) -> tuple[Curvature, FlatDirections, Vectors]:
    extreme = support_point(core, m)
    # seen from a vertex the others span the flat; from a box's middle all is inside
    seen = extreme if isinstance(core, Hull) else jnp.zeros_like(x)
    W, E = surface_geometry(core, m, seen, flat)
    return W, E, extreme + combine(E, dot(E, x - extreme))

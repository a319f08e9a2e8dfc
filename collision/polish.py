"""The last digits of a normal and of witness points on curved surfaces.

Newton's method on the optimality condition a(n) - b(n) ∥ n, with the surfaces'
curvature and flat directions. A step is taken only when the separation along the new
normal, a lower bound of the distance, is no less.
"""

import jax
import jax.numpy as jnp

from .cores import Core, Hull, size, support
from .surfaces import Flats, Mat, Vec, balance, surface, tangents
from .vectors import Array, stacked, vector

STEPS = 12


def polish(
    a: Core, b: Core, R: Mat, t: Vec, n: Vec, x: Vec, y: Vec
) -> tuple[Array, Vec, Vec]:
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
    reach = (5e-2 if single else 1e-3) * (size(a) + size(b))
    rounding = 4 * jnp.finfo(n.dtype).eps * (size(a) + size(b))
    settled = (1e-6 if single else 1e-12) * (size(a) + size(b))
    x_0, y_0 = x, y
    turn = lambda v: jnp.einsum("...ij,...j->...i", R, v)
    back = lambda v: jnp.einsum("...ji,...j->...i", R, v)
    eye = jnp.eye(2, dtype=n.dtype)

    def on_surfaces(n: Vec, x: Vec, y: Vec, flat: Array):
        """The points that belong to n, slid as near to x and y as flats allow."""
        W_a, E_a, x = _at(a, -n, x, flat)
        W_b, E_b, y = _at(b, back(n), back(y - t), flat)
        return W_a, E_a, x, R @ W_b @ jnp.swapaxes(R, -1, -2), R @ E_b, turn(y) + t

    def step(state):
        k, idle, n, s, x_now, y_now = state
        # what is nearly flat may be flat: tried all ways
        flat = flats[k % 4].astype(n.dtype)
        W_a, E_a, x, W_b, E_b, y = on_surfaces(n, x_now, y_now, flat)
        apart = x - y
        T = tangents(n)
        lower = lambda v: jnp.einsum("...ij,...i->...j", T, v)
        S = jnp.swapaxes(T, -1, -2) @ (W_a + W_b) @ T
        S = S + jnp.sum(n * apart, -1)[..., None, None] * eye
        F = jnp.swapaxes(T, -1, -2) @ jnp.concatenate([-E_a, E_b], -1)
        level = lambda E: jnp.einsum("...ij,...i->...j", E, n)
        fixed = jnp.concatenate([level(E_a), -level(E_b)], -1)
        delta, slide = balance(S, F, lower(apart), fixed)
        delta = jnp.einsum("...ij,...j->...i", T, delta)
        turned = n + delta
        turned = turned / jnp.sqrt(jnp.sum(turned * turned, -1, keepdims=True))
        after = separation(turned)
        move = lambda E, c: jnp.einsum("...ij,...j->...i", E, c)
        x_new = x - move(W_a, delta) + move(E_a, slide[..., :2])
        y_new = y + move(W_b, delta) + move(E_b, slide[..., 2:])
        # far off, what seemed flat is not
        near = jnp.sum((x_new - x_0) ** 2 + (y_new - y_0) ** 2, -1) < reach**2
        better = ((after >= s - rounding) & near)[..., None]
        moved = jnp.abs(x_new - x_now) + jnp.abs(y_new - y_now)
        going = better[..., 0] & (jnp.max(moved, -1) > settled)
        return (
            k + 1,
            jnp.where(going, 0, idle + 1),
            jnp.where(better, turned, n),
            jnp.where(better[..., 0], after, s),
            jnp.where(better, x_new, x_now),
            jnp.where(better, y_new, y_now),
        )

    def separation(n: Vec) -> Array:
        low = _support(a, -n)
        high = turn(_support(b, back(n))) + t
        return jnp.sum(n * (low - high), -1)

    begin = 0, jnp.zeros(n.shape[:-1], int), n, separation(n), x, y
    more = lambda state: (state[0] < STEPS) & jnp.any(state[1] < len(flats))
    n, s, x, y = jax.lax.while_loop(more, step, begin)[2:]
    # what is left between the points beyond s n is shared
    rest = (x - y) - s[..., None] * n
    return s, x - rest / 2, n


def _support(core: Core, m: Vec) -> Vec:
    return stacked(support(core, vector(m)))


def _at(core: Core, m: Vec, x: Vec, flat: Array) -> tuple[Mat, Flats, Vec]:
    extreme = _support(core, m)
    # seen from a vertex the others span the flat; from a box's middle all is inside
    W, E = surface(core, m, extreme if isinstance(core, Hull) else 0 * x, flat)
    along = jnp.einsum("...ij,...i->...j", E, x - extreme)
    return W, E, extreme + jnp.einsum("...ij,...j->...i", E, along)

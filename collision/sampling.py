"""The direction of least penetration, looked for over the whole sphere.

For curved bodies, whose difference no polytope with few vertices comes close to: the
best of evenly spread normals, and of those not near them, each followed uphill by a
pattern of eight neighbours that shrinks where none is better.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from .vectors import Scalar, Vector, add, cross, dot, perpendicular, scale, select, unit

SAMPLES = 512
CANDIDATES = 12
ROUNDS = 16
NEAR = np.cos(0.2)

Separation = Callable[[Vector], Scalar]
"""Of a normal: at most the signed distance, and equal to it at the right one."""


def best_normals(separation: Separation, like: Scalar, count: int) -> Vector:
    """Normals (count, pairs) where the separation is greatest nearby, the best first.

    Args:
        separation: of components with any leading axes before the pairs.
        like: one number for each pair.
        count: how many; not all need be different.
    """
    start, found = _spread(separation, like)

    def step(k, state):
        n, best, width = state
        u = perpendicular(n)
        v = cross(n, u)
        turn = (2.4 * k + np.arange(8) * np.pi / 4)[:, None, None].astype(like.dtype)
        aside = add(scale(jnp.cos(turn), u), scale(jnp.sin(turn), v))
        around = unit(add(n, scale(width, aside)))
        s = separation(around)
        top = jnp.max(s, 0)
        at = jnp.argmax(s, 0)[None]
        picked = tuple(jnp.take_along_axis(x, at, 0)[0] for x in around)
        better = top > best
        return (
            select(better, picked, n),
            jnp.where(better, top, best),
            jnp.where(better, width, width * 0.5),
        )

    width = jnp.full_like(found, 0.12)
    n, s, _ = jax.lax.fori_loop(0, ROUNDS, step, (start, found, width))
    best = []
    for _ in range(count):
        best.append(jnp.argmax(s, 0))
        s = jnp.where(np.arange(len(s))[:, None] == best[-1], -jnp.inf, s)
    first = jnp.stack(best)
    return tuple(jnp.take_along_axis(x, first, 0) for x in n)


def _spread(separation: Separation, like: Scalar) -> tuple[Vector, Scalar]:
    """For each pair some normals, none near another, the best of them first."""
    k = np.arange(SAMPLES) + 0.5
    z, turn = 1 - 2 * k / SAMPLES, np.pi * (1 + 5**0.5) * k
    side = np.sqrt(1 - z * z)
    normals = np.stack([side * np.cos(turn), side * np.sin(turn), z])
    normals = normals.astype(like.dtype)[:, :, None]
    wide = jnp.broadcast_to(normals, (3, SAMPLES, len(like)))
    s = separation((wide[0], wide[1], wide[2]))
    chosen, best = [], []
    for _ in range(CANDIDATES):
        at = jnp.argmax(s, 0)
        n = tuple(jnp.take(x[:, 0], at) for x in normals)
        chosen.append(n)
        best.append(jnp.max(s, 0))
        s = jnp.where(dot(tuple(normals), n) > NEAR, -jnp.inf, s)
    return tuple(jnp.stack(x) for x in zip(*chosen, strict=True)), jnp.stack(best)

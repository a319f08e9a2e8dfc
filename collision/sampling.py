"""The direction of least penetration, looked for over the whole sphere.

For curved bodies, whose difference no polytope with few vertices comes close to: the
best of evenly spread normals, and of those not near them, each followed uphill by a
pattern of eight neighbours that shrinks where none is better.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .once import once
from .vectors import (
    Scalar,
    Vector,
    add,
    cross,
    dot,
    folded,
    perpendicular,
    scale,
    select,
    unit,
)

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
        around = once(unit, add(n, scale(width, aside)))
        top, picked = folded(_greater, (once(separation, around), around))
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
    number = jnp.broadcast_to(np.arange(SAMPLES)[:, None], wide.shape[1:])

    def pick(s: Scalar, _: None) -> tuple[Scalar, tuple[Vector, Scalar]]:
        best, at = folded(_greater, (s, number))
        n = tuple(jnp.take(x[:, 0], at) for x in normals)
        s = jnp.where(dot(tuple(normals), n) > NEAR, -jnp.inf, s)
        return s, (n, best)

    s = once(separation, (wide[0], wide[1], wide[2]))
    return jax.lax.scan(pick, s, None, CANDIDATES)[1]


def _greater(a: Any, b: Any) -> Any:
    """Of two values with what belongs to them, the greater one."""
    more = b[0] > a[0]
    return jax.tree.map(lambda x, y: jnp.where(more, y, x), a, b)

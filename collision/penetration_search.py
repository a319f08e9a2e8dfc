"""The direction of least penetration, looked for over the whole sphere.

For curved bodies, whose difference no polytope with few vertices comes close to: of
evenly spread normals the best one of each cell, of these the best one and those not
near it, and so on; each followed uphill by a pattern of eight neighbours that shrinks
where none is better.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posewise.compilation.materialize import once

from .vec3_tuple import (
    Scalar,
    Vector,
    add,
    cross,
    dot,
    folded,
    perpendicular,
    scale,
    select,
)

SAMPLES = 512
CELLS = 64
CANDIDATES = 12
ROUNDS = 12
NEAR = np.cos(0.15)

Separation = Callable[[Vector], Scalar]
"""Of a normal: at most the signed distance, and equal to it at the right one."""


@cache
def _evenly_spread() -> np.ndarray:
    """Normals (3, SAMPLES); those that are CELLS apart in the list share a cell."""
    k = np.arange(SAMPLES) + 0.5
    z, turn = 1 - 2 * k / SAMPLES, np.pi * (1 + 5**0.5) * k
    side = np.sqrt(1 - z * z)
    cells = [np.stack([side * np.cos(turn), side * np.sin(turn), z])]
    while len(cells) < CELLS:
        cells = [half for cell in cells for half in _halves(cell)]
    return np.stack(cells, 2).reshape(3, SAMPLES)


def _halves(n: np.ndarray) -> list[np.ndarray]:
    widest = np.argmax(np.ptp(n, 1))
    return np.split(n[:, np.argsort(n[widest])], 2, 1)


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
        # of vectors at right angles
        shorter = 1 / jnp.sqrt(1 + width * width)
        around = once(scale, shorter, add(n, scale(width, aside)))
        top, picked = folded(_greater, (once(separation, around), around))
        better = top > best
        return (
            select(better, picked, n),
            jnp.where(better, top, best),
            jnp.where(better, width, width * 0.35),
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
    normals = tuple(_evenly_spread().astype(like.dtype)[..., None])
    wide = tuple(jnp.broadcast_to(x, (SAMPLES, len(like))) for x in normals)
    number = jnp.broadcast_to(np.arange(SAMPLES)[:, None], wide[0].shape)
    in_cell = lambda x: x.reshape(-1, CELLS, *x.shape[1:])
    s, at = folded(_greater, jax.tree.map(in_cell, (once(separation, wide), number)))
    n = once(lambda at: tuple(jnp.take(x[:, 0], at) for x in normals), at)

    def pick(s: Scalar, _: None) -> tuple[Scalar, tuple[Vector, Scalar]]:
        best, *picked = folded(_greater, (s, *n))
        s = jnp.where(dot(n, tuple(picked)) > NEAR, -jnp.inf, s)
        return s, (tuple(picked), best)

    return jax.lax.scan(pick, s, None, CANDIDATES)[1]


def _greater(a: Any, b: Any) -> Any:
    """Of two values with what belongs to them, the greater one."""
    more = b[0] > a[0]
    return jax.tree.map(lambda x, y: jnp.where(more, y, x), a, b)

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

from posewise.compilation.materialize import materialize

from .vec3_tuple import (
    Scalar,
    Vector,
    add,
    cross,
    dot,
    pairwise_reduce,
    perpendicular,
    scale,
    select,
)

NUM_SAMPLES = 512
NUM_CELLS = 64
NUM_CANDIDATES = 12
NUM_PATTERN_STEPS = 12
MIN_NEIGHBOUR_COSINE = np.cos(0.15)

Separation = Callable[[Vector], Scalar]
"""Of a normal: at most the signed distance, and equal to it at the right one."""


@cache
def _fibonacci_sphere() -> np.ndarray:
    """Normals (3, SAMPLES); those that are CELLS apart in the list share a cell."""
    k = np.arange(NUM_SAMPLES) + 0.5
    z, turn = 1 - 2 * k / NUM_SAMPLES, np.pi * (1 + 5**0.5) * k
    side = np.sqrt(1 - z * z)
    cells = [np.stack([side * np.cos(turn), side * np.sin(turn), z])]
    while len(cells) < NUM_CELLS:
        cells = [half for cell in cells for half in _split_cell(cell)]
    return np.stack(cells, 2).reshape(3, NUM_SAMPLES)


def _split_cell(n: np.ndarray) -> list[np.ndarray]:
    widest = np.argmax(np.ptp(n, 1))
    return np.split(n[:, np.argsort(n[widest])], 2, 1)


def best_normals(separation: Separation, like: Scalar, count: int) -> Vector:
    """Normals (count, pairs) where the separation is greatest nearby, the best first.

    Args:
        separation: of components with any leading axes before the pairs.
        like: one number for each pair.
        count: how many; not all need be different.
    """
    start, found = _initial_normals(separation, like)

    def step(k, state):
        n, best, width = state
        u = perpendicular(n)
        v = cross(n, u)
        turn = (2.4 * k + np.arange(8) * np.pi / 4)[:, None, None].astype(like.dtype)
        aside = add(scale(jnp.cos(turn), u), scale(jnp.sin(turn), v))
        # of vectors at right angles
        shorter = 1 / jnp.sqrt(1 + width * width)
        around = materialize(scale, shorter, add(n, scale(width, aside)))
        top, picked = pairwise_reduce(
            _select_greater, (materialize(separation, around), around)
        )
        better = top > best
        return (
            select(better, picked, n),
            jnp.where(better, top, best),
            jnp.where(better, width, width * 0.35),
        )

    width = jnp.full_like(found, 0.12)
    n, s, _ = jax.lax.fori_loop(0, NUM_PATTERN_STEPS, step, (start, found, width))
    best = []
    for _ in range(count):
        best.append(jnp.argmax(s, 0))
        s = jnp.where(np.arange(len(s))[:, None] == best[-1], -jnp.inf, s)
    first = jnp.stack(best)
    return tuple(jnp.take_along_axis(x, first, 0) for x in n)


def _initial_normals(separation: Separation, like: Scalar) -> tuple[Vector, Scalar]:
    """For each pair some normals, none near another, the best of them first."""
    normals = tuple(_fibonacci_sphere().astype(like.dtype)[..., None])
    wide = tuple(jnp.broadcast_to(x, (NUM_SAMPLES, len(like))) for x in normals)
    number = jnp.broadcast_to(np.arange(NUM_SAMPLES)[:, None], wide[0].shape)
    in_cell = lambda x: x.reshape(-1, NUM_CELLS, *x.shape[1:])
    s, at = pairwise_reduce(
        _select_greater, jax.tree.map(in_cell, (materialize(separation, wide), number))
    )
    n = materialize(lambda at: tuple(jnp.take(x[:, 0], at) for x in normals), at)

    def pick(s: Scalar, _: None) -> tuple[Scalar, tuple[Vector, Scalar]]:
        best, *picked = pairwise_reduce(_select_greater, (s, *n))
        s = jnp.where(dot(n, tuple(picked)) > MIN_NEIGHBOUR_COSINE, -jnp.inf, s)
        return s, (tuple(picked), best)

    return jax.lax.scan(pick, s, None, NUM_CANDIDATES)[1]


def _select_greater(a: Any, b: Any) -> Any:
    """Of two values with what belongs to them, the greater one."""
    more = b[0] > a[0]
    return jax.tree.map(lambda x, y: jnp.where(more, y, x), a, b)

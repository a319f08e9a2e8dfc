"""Search for the normal of least penetration over the whole sphere.

It serves curved bodies, whose Minkowski difference no polytope with few vertices
approximates well. The best normal of each cell of an even sampling is taken; of these,
the best ones that are not close to each other are improved by a pattern search (Hooke
and Jeeves, "Direct search solution of numerical and statistical problems", 1961): eight
neighbours are tried, and the pattern shrinks where none of them is better.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

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
"""Number of normals sampled on the sphere, about 0.16 rad apart. More find the least
overlap more surely, but each of them is measured."""
NUM_CELLS = 64
"""Number of cells, of each of which the best normal is taken. Fewer hide good normals
behind better ones nearby."""
NUM_CANDIDATES = 12
"""Number of normals improved by the pattern search. More find the least overlap more
surely, but take longer."""
FIRST_PATTERN_WIDTH = 0.12
"""Angle of the neighbours in the first step [rad]. Larger ones look farther around, but
need more steps to come close."""
PATTERN_SHRINKAGE = 0.35
"""Factor of the angle after a step without a better neighbour. Smaller ones come close
in fewer steps, but may stop beside the best normal."""
MIN_NEIGHBOUR_COSINE = np.cos(0.15)
"""Cosine above which two candidates are so close that one is left out."""

Separation = Callable[[Vector], Scalar]
"""Maps a normal to the separation along it: at most the signed distance, and equal to
it at the right normal."""


Ranked = TypeVar("Ranked", bound=tuple[Any, ...])
"""Arrays of which the first one decides."""


@cache
def _fibonacci_sphere() -> np.ndarray:
    """Return normals (3, NUM_SAMPLES); those NUM_CELLS apart share a cell.

    A spiral whose steps turn by the golden angle covers the sphere evenly (Swinbank and
    Purser, "Fibonacci grids", 2006).
    """
    k = np.arange(NUM_SAMPLES) + 0.5
    z, turn = 1 - 2 * k / NUM_SAMPLES, np.pi * (1 + 5**0.5) * k
    side = np.sqrt(1 - z * z)
    cells = [np.stack([side * np.cos(turn), side * np.sin(turn), z])]
    while len(cells) < NUM_CELLS:
        cells = [half for cell in cells for half in _split_cell(cell)]
    return np.stack(cells, 2).reshape(3, NUM_SAMPLES)


def _split_cell(n: np.ndarray) -> list[np.ndarray]:
    """Return the halves of a cell, divided across its longest side."""
    widest = np.argmax(np.ptp(n, 1))
    return np.split(n[:, np.argsort(n[widest])], 2, 1)


def best_normals(
    separation: Separation, template: Scalar, count: int, num_steps: int
) -> Vector:
    """Return normals (count, pairs) of locally greatest separation, the best first.

    Args:
        separation: of the normals' components, which may have any leading axes.
        template: an array with one entry per pair, whose shape and dtype are taken.
        count: number of normals; they need not all differ.
        num_steps: number of steps of the pattern search.
    """
    normals, values = _initial_normals(separation, template)

    def step(
        k: jax.Array, state: tuple[Vector, Scalar, Scalar]
    ) -> tuple[Vector, Scalar, Scalar]:
        n, best, width = state
        u = perpendicular(n)
        v = cross(n, u)
        # the pattern is turned in each step, so that all directions are tried in time
        angle = (2.4 * k + np.arange(8) * np.pi / 4)[:, None, None].astype(
            template.dtype
        )
        aside = add(scale(jnp.cos(angle), u), scale(jnp.sin(angle), v))
        # n and `aside` are orthogonal: |n + w aside|² = 1 + w²
        inverse = 1 / jnp.sqrt(1 + width * width)
        around = materialize(scale, inverse, add(n, scale(width, aside)))
        top, picked = pairwise_reduce(
            _select_greater, (materialize(separation, around), around)
        )
        better = top > best
        return (
            select(better, picked, n),
            jnp.where(better, top, best),
            jnp.where(better, width, width * PATTERN_SHRINKAGE),
        )

    width = jnp.full_like(values, FIRST_PATTERN_WIDTH)
    begin = (normals, values, width)
    n, s, _ = jax.lax.fori_loop(0, num_steps, step, begin)
    best = []
    for _ in range(count):
        best.append(jnp.argmax(s, 0))
        s = jnp.where(np.arange(len(s))[:, None] == best[-1], -jnp.inf, s)
    index = jnp.stack(best)
    return tuple(jnp.take_along_axis(x, index, 0) for x in n)


def _initial_normals(separation: Separation, template: Scalar) -> tuple[Vector, Scalar]:
    """Return candidate normals of each pair, none close to another, best first."""
    normals = tuple(_fibonacci_sphere().astype(template.dtype)[..., None])
    wide = tuple(jnp.broadcast_to(x, (NUM_SAMPLES, len(template))) for x in normals)
    number = jnp.broadcast_to(np.arange(NUM_SAMPLES)[:, None], wide[0].shape)
    by_cell = jax.tree.map(
        lambda x: x.reshape(-1, NUM_CELLS, *x.shape[1:]),
        (materialize(separation, wide), number),
    )
    s, index = pairwise_reduce(_select_greater, by_cell)
    n = materialize(lambda i: tuple(jnp.take(x[:, 0], i) for x in normals), index)

    def pick(s: Scalar, _: None) -> tuple[Scalar, tuple[Vector, Scalar]]:
        best, *picked = pairwise_reduce(_select_greater, (s, *n))
        is_close = dot(n, tuple(picked)) > MIN_NEIGHBOUR_COSINE
        return jnp.where(is_close, -jnp.inf, s), (tuple(picked), best)

    return jax.lax.scan(pick, s, None, NUM_CANDIDATES)[1]


def _select_greater(a: Ranked, b: Ranked) -> Ranked:
    """Return the tuple whose first entry is greater."""
    is_greater = b[0] > a[0]
    greater: Ranked = jax.tree.map(lambda x, y: jnp.where(is_greater, y, x), a, b)
    return greater

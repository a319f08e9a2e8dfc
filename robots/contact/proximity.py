"""Distances and collisions of a world as it stands."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from posewise.collision import Body, Contact, distance_lower_bound

from ..world.frame import Frame
from .body_pairs import BodyPairs, CoreTypes, evaluate_contacts, group_body_pairs, pack

FramePairs = Any
"""Pairs of frame indices (n, 2)."""


def nearest_contacts(
    frames: Sequence[Frame],
    R: Float[np.ndarray, "frames 3 3"],
    p: Float[np.ndarray, "frames 3"],
    pairs: FramePairs,
    cutoff: float = np.inf,
) -> dict[int, Contact]:
    """For each pair (by its place) of frames nearer than a cutoff, the nearest contact.

    Args:
        frames: of the world.
        R: their orientations.
        p: their positions.
        pairs: of indices.
        cutoff: bodies that are surely farther apart are left out [m].

    Raises:
        ConfigError: for a frame without collision shapes.
    """
    pairs = np.asarray(pairs, int).reshape(-1, 2)
    meets = [
        part
        for meet in group_body_pairs(frames, pairs)
        if (part := _within_cutoff(meet, R, p, pairs, cutoff)) is not None
    ]
    if not meets:
        return {}
    size = _bucket_size(len(pairs))
    at = np.concatenate([pairs, np.zeros((size - len(pairs), 2), int)])
    parts = []
    for meet in meets:  # each kind has a program of its own: any of them may be absent
        kinds, arrays = pack([meet])
        parts.append(_compiled_contacts(kinds)(R[at], p[at], arrays))
    out = jax.tree.map(lambda *x: np.concatenate(x), *parts)
    pair = np.concatenate([meet.pair for meet in meets])
    found: dict[int, Contact] = {}
    for k in np.argsort(out.distance, kind="stable"):
        if out.distance[k] < cutoff and int(pair[k]) not in found:
            found[int(pair[k])] = Contact(*(x[k] for x in out))
    return found


@cache
def _compiled_contacts(kinds: CoreTypes) -> Any:
    return jax.jit(lambda R, p, arrays: evaluate_contacts(kinds, R, p, arrays))


@jax.jit
def _distance_bound(a: Body, b: Body) -> Any:
    return distance_lower_bound(a, b)[0]


def _within_cutoff(
    meet: BodyPairs, R: np.ndarray, p: np.ndarray, pairs: np.ndarray, cutoff: float
) -> BodyPairs | None:
    """The bodies that may be near, repeated to fill a bucket."""
    sides = []
    for side, other in ((meet.a, 0), (meet.b, 1)):
        own = np.where(meet.is_flipped, 1 - other, other)
        frame = pairs[meet.pair, own]
        body = side.body
        where = p[frame] + np.einsum("nij,nj->ni", R[frame], body.p)
        sides.append(Body(body.core, body.radius, R[frame] @ body.R, where))
    gap = np.asarray(_distance_bound(*sides))
    rows = np.flatnonzero(gap < cutoff)
    if not len(rows):
        return None
    # the pair furthest apart is the cheapest to repeat
    copies = np.full(_bucket_size(len(rows)) - len(rows), rows[np.argmax(gap[rows])])
    rows = np.concatenate([rows, copies])
    return BodyPairs(
        meet.a.rows(rows), meet.b.rows(rows), meet.pair[rows], meet.is_flipped[rows]
    )


def _bucket_size(n: int) -> int:
    """64, 256, 1024, …: few programs to compile."""
    size = 64
    while size < n:
        size *= 4
    return size

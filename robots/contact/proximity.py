"""Distances and collisions of a world in its present state."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product

import jax
import numpy as np
from jaxtyping import Float

from posewise.collision import Body, Contact, distance_lower_bound

from ..errors import ConfigError
from ..typing import Array
from ..world.frame_tree import FrameTree
from .body_pairs import BodyPairs, CoreTypes, evaluate_contacts, group_body_pairs, pack
from .collision_pairs import FramePair

MIN_BUCKET = 64
"""Smallest batch of pairs that is compiled for (count).

A larger one compiles fewer programs, and computes more unused rows.
"""


def nearest_contacts(
    tree: FrameTree, pairs: Iterable[FramePair], cutoff: float = np.inf
) -> dict[int, Contact]:
    """Return the nearest contact of each pair of frames that is nearer than a cutoff.

    Args:
        tree: the frames, and their state.
        pairs: of frame indices (n, 2).
        cutoff: bodies whose distance surely exceeds it are left out [m].

    Returns:
        Contacts in the world, by the place of their pair in `pairs`, nearest first.

    Raises:
        ConfigError: for a frame without collision shapes.
    """
    R, p = tree.forward_pass.frames
    index_pairs = np.asarray(pairs, int).reshape(-1, 2)
    groups = [
        near
        for group in group_body_pairs(tree.frames, index_pairs)
        if (near := _within_cutoff(group, R, p, index_pairs, cutoff)) is not None
    ]
    if not groups:
        return {}
    size = _bucket_size(len(index_pairs))
    padding = np.zeros((size - len(index_pairs), 2), int)
    padded = np.concatenate([index_pairs, padding])
    parts = []
    # Each kind has its own program, because any of them may be absent.
    for group in groups:
        core_types, arrays = pack([group])
        parts.append(_compiled_contacts(core_types)(R[padded], p[padded], arrays))
    out = jax.tree.map(lambda *x: np.concatenate(x), *parts)
    pair = np.concatenate([group.pair for group in groups])
    contacts: dict[int, Contact] = {}
    for k in np.argsort(out.distance, kind="stable"):
        if out.distance[k] < cutoff and int(pair[k]) not in contacts:
            contacts[int(pair[k])] = Contact(*(x[k] for x in out))
    return contacts


def signed_distance(
    tree: FrameTree, a: Sequence[int], b: Sequence[int], names: tuple[str, str]
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the least signed distance of two sets of frames, and its witness points.

    Args:
        tree: the frames, and their state.
        a: indices of the first set.
        b: indices of the second set.
        names: of both, for messages.

    Raises:
        ConfigError: without collision shapes, or for two half-spaces.
    """
    contacts = nearest_contacts(tree, [*product(a, b)])
    if not contacts:
        raise ConfigError(
            f"{names[0]!r} and {names[1]!r}: two half-spaces have no distance."
        )
    nearest = min(contacts.values(), key=lambda c: c.distance)
    points = np.asarray(nearest.point_a), np.asarray(nearest.point_b)
    return float(nearest.distance), *points


@cache
def _compiled_contacts(core_types: CoreTypes) -> Callable[..., Contact]:
    return jax.jit(lambda R, p, arrays: evaluate_contacts(core_types, R, p, arrays))


@jax.jit
def _distance_bound(a: Body, b: Body) -> Float[Array, " pairs"]:
    return distance_lower_bound(a, b)[0]


def _within_cutoff(
    group: BodyPairs, R: np.ndarray, p: np.ndarray, pairs: np.ndarray, cutoff: float
) -> BodyPairs | None:
    """Return the body pairs that may be near, some repeated to fill a bucket."""
    sides = []
    for bodies, side in ((group.a, 0), (group.b, 1)):
        frame = pairs[group.pair, np.where(group.is_flipped, 1 - side, side)]
        body = bodies.body
        origin = p[frame] + np.einsum("nij,nj->ni", R[frame], body.p)
        sides.append(Body(body.core, body.radius, R[frame] @ body.R, origin))
    distance_bound = np.asarray(_distance_bound(*sides))
    rows = np.flatnonzero(distance_bound < cutoff)
    if not len(rows):
        return None
    # The pair that is farthest apart is the cheapest to repeat.
    farthest = rows[np.argmax(distance_bound[rows])]
    copies = np.full(_bucket_size(len(rows)) - len(rows), farthest)
    rows = np.concatenate([rows, copies])
    return BodyPairs(
        group.a.rows(rows), group.b.rows(rows), group.pair[rows], group.is_flipped[rows]
    )


def _bucket_size(n: int) -> int:
    """Round up to 64, 256, 1024, … so that few programs are compiled."""
    size = MIN_BUCKET
    while size < n:
        size *= 4
    return size

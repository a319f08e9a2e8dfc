"""Distances and collisions of a world in its present state."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import product
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Body, Contact, contact, distance_lower_bound
from posewise.compilation.program import compile_program
from posewise.compilation.progress import announce_if_slow

from ..errors import ConfigError
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .body_pairs import BodyPairs, group_body_pairs
from .collision_pairs import FramePair
from .huge_shapes import warn_of_huge_shapes

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
    key = index_pairs.tobytes()
    found = list(_near_contacts(_grouped(tree.frames, key), index_pairs, R, p, cutoff))
    if not found:
        return {}
    pair = np.concatenate([places for places, _ in found])
    out = jax.tree.map(lambda *x: np.concatenate(x), *(near for _, near in found))
    contacts: dict[int, Contact] = {}
    for k in np.argsort(out.distance, kind="stable"):
        if out.distance[k] < cutoff and int(pair[k]) not in contacts:
            contacts[int(pair[k])] = Contact(*(x[k] for x in out))
    return contacts


@lru_cache(maxsize=64)
def _grouped(frames: tuple[Frame, ...], pairs: bytes) -> list[BodyPairs]:
    """Return pairs of bodies, which a world in another state has, too."""
    index_pairs = np.frombuffer(pairs, int).reshape(-1, 2)
    groups = group_body_pairs(frames, index_pairs)
    warn_of_huge_shapes(frames, index_pairs)
    return groups


def _near_contacts(
    groups: list[BodyPairs],
    pairs: Int[np.ndarray, "n 2"],
    R: Float[np.ndarray, "frames 3 3"],
    p: Float[np.ndarray, "frames 3"],
    cutoff: float,
) -> Iterator[tuple[Int[np.ndarray, " _"], Contact]]:
    """Yield places of pairs of frames, and contacts of bodies that may be near."""
    for group in groups:
        a, b = (
            _pose(bodies.body, pairs[group.pair, (column + group.is_flipped) % 2], R, p)
            for bodies, column in ((group.a, 0), (group.b, 1))
        )
        bound = _compute(_distance_bound, a, b)
        rows = np.flatnonzero(bound < cutoff)
        if not len(rows):
            continue
        # The pair that is farthest apart is the cheapest to repeat.
        farthest = rows[np.argmax(bound[rows])]
        copies = np.full(_bucket_size(len(rows)) - len(rows), farthest)
        padded = np.concatenate([rows, copies])
        near = _compute(_contact, _rows(a, padded), _rows(b, padded))
        distance, point_a, point_b, normal = (x[: len(rows)] for x in near)
        flip = group.is_flipped[rows, None]
        yield (
            group.pair[rows],
            Contact(
                distance,
                np.where(flip, point_b, point_a),
                np.where(flip, point_a, point_b),
                np.where(flip, -normal, normal),
            ),
        )


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


def _pose(
    body: Body, frame: Int[np.ndarray, " n"], R: np.ndarray, p: np.ndarray
) -> Body:
    """Return bodies at the poses of their frames in the world."""
    origin = p[frame] + np.einsum("nij,nj->ni", R[frame], body.p)
    return Body(body.core, body.radius, R[frame] @ body.R, origin)


def _rows(body: Body, rows: Int[np.ndarray, " m"]) -> Body:
    core = type(body.core)(*(x[rows] for x in body.core))
    return Body(core, *(x[rows] for x in body[1:]))


_compiled: set[tuple[object, ...]] = set()
"""Programs that have run, with types of cores and numbers of pairs and vertices."""


def _compute(program: Callable[[Body, Body], Any], a: Body, b: Body) -> Any:
    """Return the result of a program, with a line on stderr while it compiles."""
    sizes = [np.shape(x) for x in (*a.core, *b.core)]
    key = (program, type(a.core), type(b.core), len(a.p), *sizes)
    kinds = " and ".join(sorted(type(x.core).__name__ for x in (a, b)))
    is_new = key not in _compiled
    what = f"compiling distances of bodies ({kinds}), once"
    with announce_if_slow(what) if is_new else nullcontext():
        out = program(a, b)
    _compiled.add(key)
    return out


_contact = compile_program(
    lambda a, b: tuple(contact(a, b)), num_static=0, fetches=True
)
_distance_bound = compile_program(
    lambda a, b: distance_lower_bound(a, b)[0], num_static=0, fetches=True
)


def _bucket_size(n: int) -> int:
    """Round up to 64, 256, 1024, … so that few programs are compiled."""
    size = MIN_BUCKET
    while size < n:
        size *= 4
    return size

"""Distances and collisions of a world in its present state."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Body, Contact, contact
from posewise.compilation.capacity import capacity_class
from posewise.compilation.program import compile_program
from posewise.compilation.progress import announce_if_slow

from ..errors import ConfigError
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .body_table import (
    CORES_OF_KIND,
    BodyPairTable,
    PairKind,
    body_pairs,
    make_core,
    pad_vertices,
)
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
    bodies = _posed(_bodies_of(tree.frames, index_pairs.tobytes()), R, p)
    near = [*_near_contacts(bodies, cutoff)]
    if not near:
        return {}
    pair = np.concatenate([places for places, _ in near])
    out = jax.tree.map(lambda *x: np.concatenate(x), *(contact for _, contact in near))
    contacts: dict[int, Contact] = {}
    for k in np.argsort(out.distance, kind="stable"):
        if out.distance[k] < cutoff and int(pair[k]) not in contacts:
            contacts[int(pair[k])] = Contact(*(x[k] for x in out))
    return contacts


@lru_cache(maxsize=64)
def _bodies_of(frames: tuple[Frame, ...], pairs: bytes) -> BodyPairTable:
    """Return pairs of bodies, which a world in another state has, too."""
    index_pairs = np.frombuffer(pairs, int).reshape(-1, 2)
    bodies = body_pairs(frames, index_pairs)
    warn_of_huge_shapes(frames, index_pairs)
    return bodies


class _PosedPairs(NamedTuple):
    """Pairs of bodies at the poses of their frames in the world."""

    pairs: BodyPairTable
    R: Float[np.ndarray, "bodies 3 3"]
    p: Float[np.ndarray, "bodies 3"]

    def bodies(self, core: Any, rows: Int[np.ndarray, " n"]) -> Body:
        """Return bodies with a type of core."""
        b = self.pairs.bodies
        vertices = pad_vertices(b.vertices)
        body = make_core(core, b.half[rows], b.radii[rows], b.hull[rows], vertices)
        return Body(body, b.radius[rows], self.R[rows], self.p[rows])


def _posed(
    pairs: BodyPairTable,
    R: Float[np.ndarray, "frames 3 3"],
    p: Float[np.ndarray, "n 3"],
) -> _PosedPairs:
    frame, pose = pairs.bodies.frame, pairs.bodies.pose
    turned = R[frame] @ pose
    return _PosedPairs(pairs, turned[..., :3], turned[..., 3] + p[frame])


def _near_contacts(
    posed: _PosedPairs, cutoff: float
) -> Iterator[tuple[Int[np.ndarray, " _"], Contact]]:
    """Yield places of pairs of frames, and contacts of bodies that may be near."""
    pairs = posed.pairs
    bound = _distance_bounds(posed)
    for kind in np.unique(pairs.kind).tolist():
        rows = np.flatnonzero((pairs.kind == kind) & (bound < cutoff))
        if not len(rows):
            continue
        # The pair that is farthest apart is the cheapest to repeat.
        farthest = rows[np.argmax(bound[rows])]
        copies = np.full(capacity_class(len(rows), MIN_BUCKET) - len(rows), farthest)
        padded = np.concatenate([rows, copies])
        core_a, core_b = CORES_OF_KIND[PairKind(kind)]
        a = posed.bodies(core_a, pairs.a[padded])
        near = _measure(a, posed.bodies(core_b, pairs.b[padded]))
        distance, point_a, point_b, normal = (x[: len(rows)] for x in near)
        flip = pairs.is_flipped[rows, None]
        yield (
            pairs.pair[rows],
            Contact(
                distance,
                np.where(flip, point_b, point_a),
                np.where(flip, point_a, point_b),
                np.where(flip, -normal, normal),
            ),
        )


def _distance_bounds(posed: _PosedPairs) -> Float[np.ndarray, " n"]:
    """Return lower bounds of distances, by balls and boxes, as `distance_lower_bound`.

    They are in NumPy, so that nothing is compiled for a number of pairs.
    """
    b, (x, y) = posed.pairs.bodies, (posed.pairs.a, posed.pairs.b)
    apart = posed.p[x] - posed.p[y]
    reach = b.core_radius + b.radius
    bound = np.linalg.norm(apart, axis=-1) - reach[x] - reach[y]
    half = b.half + b.radii
    for box, ball, v in ((y, x, apart), (x, y, -apart)):
        local = np.einsum("nji,nj->ni", posed.R[box], v)
        outside = np.linalg.norm(local - np.clip(local, -half[box], half[box]), axis=-1)
        from_box = outside - reach[ball] - b.radius[box]
        bound = np.where(outside > 0, np.maximum(bound, from_box), bound)
    # Second bodies without bounds are half-spaces, whose surface is at z = 0.
    height = np.einsum("ni,ni->n", posed.R[y][..., 2], apart) - reach[x]
    return np.where(np.isinf(b.core_radius[y]), height, bound)


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


_compiled: set[tuple[object, ...]] = set()
"""Types of cores with numbers of pairs and vertices that were measured before."""


def _measure(a: Body, b: Body) -> Any:
    """Return the contacts of bodies, with a line on stderr while it compiles."""
    sizes = [np.shape(x) for x in (*a.core, *b.core)]
    key = (type(a.core), type(b.core), len(a.p), *sizes)
    kinds = " and ".join(sorted(type(x.core).__name__ for x in (a, b)))
    is_new = key not in _compiled
    what = f"compiling distances of bodies ({kinds}), once"
    with announce_if_slow(what) if is_new else nullcontext():
        out = _contact(a, b)
    _compiled.add(key)
    return out


_contact = compile_program(
    lambda a, b: tuple(contact(a, b)), num_static=0, fetches=True
)

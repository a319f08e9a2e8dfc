"""Bodies of frames as one table, and pairs of bodies as lists of its rows.

The tables are data of compiled programs, which depend only on the kinds of pairs and on
classes of capacity: how many bodies there are, of which shapes, and which of them may
meet, is no part of a program.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise import collision
from posewise.collision.broad_phase import bounding_radius
from posewise.compilation.arrays import Array
from posewise.compilation.capacity import capacity_class
from posewise.compilation.compaction import gather

from ..errors import ConfigError
from ..world.frame import Frame
from .bodies import Bodies, body_sources, frame_bodies

MIN_VERTICES = 32
"""Least number of vertices that programs are compiled for (count): that of the hulls of
robots' meshes. Larger values make small hulls slower, whose vertices are all read."""


class PairKind(IntEnum):
    """Kind of a pair of bodies, by what computation it is measured."""

    BOXES = 0
    """Boxes, segments and points."""
    ROUND = 1
    """The same, cylinders and ellipsoids."""
    ROUND_HULL = 2
    HULLS = 3
    """Hulls, and boxes beside hulls."""
    ROUND_PLANE = 4
    HULL_PLANE = 5


HULL_KINDS = frozenset((PairKind.ROUND_HULL, PairKind.HULLS, PairKind.HULL_PLANE))
"""Kinds of pairs that read vertices of hulls."""
PLANE_KINDS = frozenset((PairKind.ROUND_PLANE, PairKind.HULL_PLANE))
"""Kinds of pairs whose second body is a half-space."""
NO_PAIR_NUMBER = -1
"""Number in place of a `PairKind` where a list has no pair (index). Larger ones are
kinds."""

CORES_BY_RANK: tuple[type[collision.Core], ...] = (
    collision.Box,
    collision.BoxPlusEllipsoid,
    collision.Hull,
    collision.HalfSpace,
)
"""Types of cores by their rank: of a pair of bodies the lower one comes first."""
_BOX, _ROUND, HULL_RANK, PLANE_RANK = range(4)
_KIND_OF_RANKS = np.full((4, 4), NO_PAIR_NUMBER)
"""Kind of a pair of bodies of two ranks, the lower first; half-spaces have no distance
from each other."""
_KIND_OF_RANKS[_BOX] = [
    PairKind.BOXES,
    PairKind.ROUND,
    PairKind.HULLS,
    PairKind.ROUND_PLANE,
]
_KIND_OF_RANKS[_ROUND, _ROUND:] = [
    PairKind.ROUND,
    PairKind.ROUND_HULL,
    PairKind.ROUND_PLANE,
]
_KIND_OF_RANKS[HULL_RANK, HULL_RANK:] = [PairKind.HULLS, PairKind.HULL_PLANE]
CORES_OF_KIND: dict[PairKind, tuple[Any, Any]] = {
    PairKind.BOXES: (collision.Box, collision.Box),
    PairKind.ROUND: (collision.BoxPlusEllipsoid, collision.BoxPlusEllipsoid),
    PairKind.ROUND_HULL: (collision.BoxPlusEllipsoid, collision.Hull),
    PairKind.HULLS: (collision.Hull, collision.Hull),
    PairKind.ROUND_PLANE: (collision.BoxPlusEllipsoid, collision.HalfSpace),
    PairKind.HULL_PLANE: (collision.Hull, collision.HalfSpace),
}
"""Types of the cores by which a kind of pair is measured."""


class BodyArrays(NamedTuple):
    """Bodies of some frames, in the order of the frames."""

    frame: Int[np.ndarray, " bodies"]
    """Index of the frame of each body."""
    number: Int[np.ndarray, " bodies"]
    """Number of each body among those of its frame."""
    rank: Int[np.ndarray, " bodies"]
    """0: box, 1: box plus ellipsoid, 2: hull, 3: half-space."""
    pose: Float[np.ndarray, "bodies 3 4"]
    """Orientation and position of each body in its frame."""
    half: Float[np.ndarray, "bodies 3"]
    """Half sizes of boxes; of hulls those of the box around them [m]."""
    radii: Float[np.ndarray, "bodies 3"]
    """Radii of ellipsoids, zero for others [m]."""
    radius: Float[np.ndarray, " bodies"]
    """Radius by which each core is inflated [m]."""
    core_radius: Float[np.ndarray, " bodies"]
    """Radius of the ball about the origin that encloses the core; infinite for
    half-spaces [m]."""
    hull: Int[np.ndarray, " bodies"]
    """Row of each hull among `vertices`, -1 for others."""
    vertices: Float[np.ndarray, "hulls vertices 3"]


@dataclass(frozen=True, eq=False)
class BodyPairTable:
    """Bodies of frames, and all pairs of them that belong to pairs of frames."""

    bodies: BodyArrays
    kind: Int[np.ndarray, " n"]
    """`PairKind` of each pair of bodies."""
    a: Int[np.ndarray, " n"]
    """First body, whose core has the lower rank."""
    b: Int[np.ndarray, " n"]
    pair: Int[np.ndarray, " n"]
    """Place of the pair of frames that each belongs to."""
    is_flipped: Bool[np.ndarray, " n"]
    """Whether body b belongs to the first frame."""


def body_pairs(frames: Sequence[Frame], pairs: Int[np.ndarray, "n 2"]) -> BodyPairTable:
    """Return all pairs of bodies of pairs of frames (indices), pair after pair.

    Of shapes with masks only those count that may touch each other; all of them where
    none may. Two half-spaces are no pair.

    Raises:
        ConfigError: for a frame without collision shapes, or the world.
    """
    pairs = np.asarray(pairs, int).reshape(-1, 2)
    bodies = bodies_of_frames(frames, np.unique(pairs).tolist())
    first = np.searchsorted(bodies.frame, np.arange(len(frames) + 1))
    count = np.diff(first)
    # Pair after pair: every body of the first frame with every one of the second.
    sizes = count[pairs[:, 0]] * count[pairs[:, 1]]
    pair = np.repeat(np.arange(len(pairs)), sizes)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    width = count[pairs[pair, 1]]
    x = first[pairs[pair, 0]] + within // np.maximum(width, 1)
    y = first[pairs[pair, 1]] + within % np.maximum(width, 1)
    is_flipped = bodies.rank[x] > bodies.rank[y]
    a, b = np.where(is_flipped, y, x), np.where(is_flipped, x, y)
    kind = _KIND_OF_RANKS[bodies.rank[a], bodies.rank[b]]
    counts = (kind != NO_PAIR_NUMBER) & _may_touch(frames, pairs, bodies, pair, x, y)
    kind, a, b, pair, is_flipped = (
        array[counts] for array in (kind, a, b, pair, is_flipped)
    )
    is_box = (kind == PairKind.HULLS) & (bodies.rank[a] == _BOX)
    bodies = _with_corners(bodies, np.unique(a[is_box]))
    return BodyPairTable(bodies, kind, a, b, pair, is_flipped)


def bodies_of_frames(
    frames: Sequence[Frame], chosen: Sequence[int] | None = None
) -> BodyArrays:
    """Return the bodies of some frames (indices), or of all, frame after frame.

    Raises:
        ConfigError: for a frame without collision shapes, or the world.
    """
    indices = range(len(frames)) if chosen is None else chosen
    return _concatenate([(i, _frame_arrays(solid_frame(frames, i))) for i in indices])


def solid_frame(frames: Sequence[Frame], index: int) -> Frame:
    """Return the frame of an index; that after the last one is the world.

    Raises:
        ConfigError: for the world.
    """
    if index == len(frames):
        raise ConfigError("The world has no collision shape; add a frame with a Plane.")
    return frames[index]


def _may_touch(
    frames: Sequence[Frame],
    pairs: Int[np.ndarray, "n 2"],
    bodies: BodyArrays,
    pair: Int[np.ndarray, " m"],
    x: Int[np.ndarray, " m"],
    y: Int[np.ndarray, " m"],
) -> Bool[np.ndarray, " m"]:
    """Return which pairs of bodies count where shapes have masks."""
    counts = np.ones(len(pair), bool)
    for k, (i, j) in enumerate(pairs.tolist()):
        table = bodies_may_touch(frames[i], frames[j])
        if table is not None:
            rows = np.flatnonzero(pair == k)
            counts[rows] = table[bodies.number[x[rows]], bodies.number[y[rows]]]
    return counts


def bodies_may_touch(a: Frame, b: Frame) -> Bool[np.ndarray, "a b"] | None:
    """Return which bodies of two frames may touch; None: all, or none of them may."""
    if not all(any(g.mask for g in frame.geometries) for frame in (a, b)):
        return None
    table = np.array(
        [[x.may_touch(y) for y in body_sources(b)] for x in body_sources(a)], bool
    )
    return table if table.any() and not table.all() else None


@lru_cache(maxsize=8192)
def _frame_arrays(frame: Frame) -> BodyArrays:
    """Return the bodies of a frame in the order of their numbers."""
    groups = [_group_arrays(group) for group in frame_bodies(frame)]
    arrays = _concatenate([(0, group) for group in groups])
    order = np.argsort(arrays.number)
    rows: dict[str, np.ndarray] = {
        name: x[order] for name, x in arrays._asdict().items() if name != "vertices"
    }
    return BodyArrays(**rows, vertices=arrays.vertices)


def _group_arrays(group: Bodies) -> BodyArrays:
    core, body, n = group.body.core, group.body, len(group)
    half, radii, vertices = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((0, 1, 3))
    match core:
        case collision.Box():
            half = np.asarray(core.half)
        case collision.BoxPlusEllipsoid():
            half, radii = np.asarray(core.half), np.asarray(core.radii)
        case collision.Hull():
            vertices = np.asarray(core.vertices)
            half = np.abs(vertices).max(1)
    is_plane = isinstance(core, collision.HalfSpace)
    core_radius = np.full(n, np.inf) if is_plane else np.asarray(bounding_radius(core))
    return BodyArrays(
        frame=np.zeros(n, int),
        number=group.number,
        rank=np.full(n, CORES_BY_RANK.index(type(core))),
        pose=np.concatenate([body.R, body.p[:, :, None]], -1),
        half=half,
        radii=radii,
        radius=np.asarray(body.radius),
        core_radius=core_radius,
        hull=np.arange(n) if len(vertices) else np.full(n, -1),
        vertices=vertices,
    )


def _concatenate(parts: Sequence[tuple[int, BodyArrays]]) -> BodyArrays:
    """Return the bodies of several frames, given with their indices, as one table."""
    width = max((arrays.vertices.shape[1] for _, arrays in parts), default=1)
    columns: list[list[np.ndarray]] = [[] for _ in BodyArrays._fields]
    hulls = 0
    for i, arrays in parts:
        moved = arrays._replace(
            frame=np.full(len(arrays.number), i),
            hull=np.where(arrays.hull >= 0, arrays.hull + hulls, -1),
            vertices=pad_vertices(arrays.vertices, width),
        )
        hulls += len(arrays.vertices)
        for column, x in zip(columns, moved, strict=True):
            column.append(x)
    if not parts:
        return _group_arrays(_NO_BODIES)
    return BodyArrays(*map(np.concatenate, columns))


_NO_BODIES = Bodies(
    (collision.Box, 0),
    collision.Body(
        collision.Box(np.zeros((0, 3))),
        np.zeros(0),
        np.zeros((0, 3, 3)),
        np.zeros((0, 3)),
    ),
    np.zeros(0, int),
)


def pad_vertices(
    vertices: Float[np.ndarray, "n v 3"], count: int | None = None
) -> Float[np.ndarray, "n padded 3"]:
    """Return hulls with copies of their first vertex, which change nothing.

    Args:
        vertices: of hulls.
        count: number of vertices of the result; None: the class of capacity.
    """
    if count is None:
        count = capacity_class(vertices.shape[1], MIN_VERTICES)
    if not len(vertices):
        return np.zeros((0, count, 3))
    return np.asarray(collision.pad_hull(collision.Hull(vertices), count).vertices)


def _with_corners(bodies: BodyArrays, boxes: Int[np.ndarray, " n"]) -> BodyArrays:
    """Return the table with the corners of some boxes as hulls."""
    if not len(boxes):
        return bodies
    width = max(bodies.vertices.shape[1], 8)
    corners = collision.box_as_hull(collision.Box(bodies.half[boxes]), width)
    hull = bodies.hull.copy()
    hull[boxes] = len(bodies.vertices) + np.arange(len(boxes))
    vertices = [pad_vertices(bodies.vertices, width), np.asarray(corners.vertices)]
    return bodies._replace(hull=hull, vertices=np.concatenate(vertices))


def make_core(
    core: type[collision.Core],
    half: Float[Array, "n 3"],
    radii: Float[Array, "n 3"],
    hull: Int[Array, " n"],
    vertices: Float[Array, "hulls v 3"],
) -> collision.Core:
    """Return cores of a type, of which bodies have the sizes; see `BodyArrays`."""
    if core is collision.Box:
        return collision.Box(half)
    if core is collision.BoxPlusEllipsoid:
        return collision.BoxPlusEllipsoid(half, radii)
    if core is collision.Hull:
        is_host = isinstance(vertices, np.ndarray)
        return collision.Hull(vertices[hull] if is_host else gather(vertices, hull))
    return collision.HalfSpace()

"""Surfaces on which an object may stand so that literals hold: level tops of boxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config

from ..exact.contact import CONTACT_TOLERANCE
from ..exact.floors import room_floors
from ..formulas.predicate import Predicate
from ..geometry.rooms import room_map, rooms_named
from ..planning.dnf_search import object_names
from ..predicates.attachment import Attached
from ..predicates.contact import InContactWith
from ..predicates.containment import InsideOf
from ..predicates.floors import OnFloor
from ..predicates.next_to import NextTo
from ..predicates.rooms import InRoom
from ..predicates.support import OnTopOf, Under
from .aabb_queries import MAX_EXTENT, AxisAlignedBoxes

RESTING_GAP = 2e-5
"""Height of an object above its support [m], which counts as contact."""
RIM_OFFSET = 1e-3
"""Distance from a rim of the centre of an overhanging object [m]; nearer ones tip over
by rounding."""
MAX_SURFACES = 16
"""Number of surfaces tried, the most likely ones; more find more places, slower."""
NEIGHBOUR_REACH = 1 / 3
"""Ratio of the largest distance of objects next to each other to their mean edge;
candidates are no farther apart than this."""
MIN_STEP = 1e-3
"""Height by which a top is lower than a container's rim, or an obstacle higher [m]."""

PLACEMENT_RELATIONS = (
    OnTopOf,
    OnFloor,
    InsideOf,
    Under,
    NextTo,
    InContactWith,
    Attached,
    InRoom,
)
"""Predicates that restrict where an object may stand."""


@dataclass(frozen=True, eq=False)
class SupportSurfaces:
    """Upper faces of boxes, on which objects may stand."""

    low: Float[np.ndarray, "n 2"]
    high: Float[np.ndarray, "n 2"]
    z: Float[np.ndarray, " n"]
    owners: tuple[str, ...]
    """Name of the object of each surface."""

    def select(self, indices: Sequence[int] | np.ndarray) -> "SupportSurfaces":
        """Return the surfaces at some indices."""
        rows = [int(k) for k in indices]
        owners = tuple(self.owners[k] for k in rows)
        return SupportSurfaces(self.low[rows], self.high[rows], self.z[rows], owners)

    def clip(
        self, low: Float[np.ndarray, " d"], high: Float[np.ndarray, " d"]
    ) -> "SupportSurfaces":
        """Return the parts of surfaces within a rectangle, or a box seen from above."""
        cut = SupportSurfaces(
            np.maximum(self.low, low[:2]),
            np.minimum(self.high, high[:2]),
            self.z,
            self.owners,
        )
        return cut.select(np.flatnonzero((cut.low <= cut.high).all(-1)))


def find_support_surfaces(
    C: Config,
    name: str,
    literals: Iterable[Predicate],
    size: Float[np.ndarray, "3"],
    obstacles: AxisAlignedBoxes,
) -> SupportSurfaces:
    """Return surfaces clipped to where the centre of an object may be.

    The most likely ones come first.

    Args:
        C: the world.
        name: of the object to place.
        literals: that are to hold; those without a relation of place are ignored.
        size: edges of the box about the object [m].
        obstacles: boxes of all objects that stand still.
    """
    finite = np.abs(np.concatenate([obstacles.low, obstacles.high])) < MAX_EXTENT
    n = len(obstacles.low)
    low = np.where(finite[:n], obstacles.low, np.inf).min(0) - 1.0
    high = np.where(finite[n:], obstacles.high, -np.inf).max(0) + 1.0
    owners = obstacles.owners
    surfaces = SupportSurfaces(
        obstacles.low[:, :2], obstacles.high[:, :2], obstacles.high[:, 2], owners
    ).clip(low, high)
    relations = [p for p in literals if isinstance(p, PLACEMENT_RELATIONS)]
    on = [p for p in relations if isinstance(p, OnTopOf | OnFloor)]
    supports = [b for a, b in map(object_names, on) if a == name and b in owners]
    if supports:
        tops = _owned_by(surfaces, supports)
        surfaces = _concatenate(tops, _bounding_tops(obstacles, supports))
    level = None
    for literal in relations:
        a, b = object_names(literal)
        if isinstance(literal, InRoom) or _is_room(C, b):
            surfaces = _surfaces_in_room(C, surfaces, literal, a, b)
            continue
        other = obstacles.owned_by(b if a == name else a)
        if other.owners:
            surfaces = _clip_to_relation(surfaces, literal, a == name, other, size)
            if isinstance(literal, NextTo | InContactWith | Attached) or (
                isinstance(literal, Under) and a == name
            ):
                level = other.bounds[0][2]
    # Surfaces level with a neighbour are likelier than others; otherwise large ones.
    order = (
        np.abs(surfaces.z - level)
        if level is not None
        else -np.prod(surfaces.high - surfaces.low, axis=-1)
    )
    return surfaces.select(np.argsort(order, kind="stable")[:MAX_SURFACES])


def _clip_to_relation(
    surfaces: SupportSurfaces,
    literal: Predicate,
    is_first: bool,
    other: AxisAlignedBoxes,
    size: Float[np.ndarray, "3"],
) -> SupportSurfaces:
    """Return surfaces clipped to where a relation may hold, as far as boxes say.

    Args:
        surfaces: to clip.
        literal: the relation.
        is_first: whether the object to place is the first one in it.
        other: boxes of the other object.
        size: edges of the box about the object to place [m].
    """
    (low, high), half = other.bounds, size[:2] / 2
    match literal:
        case OnTopOf() | OnFloor() if is_first:
            heights = np.append(other.high[:, 2], high[2])
            gap = np.abs(surfaces.z[:, None] - heights).min(-1)
            surfaces = surfaces.select(np.flatnonzero(gap <= CONTACT_TOLERANCE))
            return surfaces.clip(*_clip_bounds(low, high))
        case InsideOf() if is_first:
            inner = np.minimum(half, (high - low)[:2] / 2)
            within = (low[2] <= surfaces.z) & (surfaces.z < high[2] - MIN_STEP)
            surfaces = surfaces.select(np.flatnonzero(within))
            return surfaces.clip(low[:2] + inner, high[:2] - inner)
        case Under() if is_first:
            below = surfaces.z + size[2] <= high[2]
            return surfaces.select(np.flatnonzero(below)).clip(low, high)
        case NextTo() | InContactWith() | Attached():
            reach = half + NEIGHBOUR_REACH * np.mean([*size, *(high - low)])
            return surfaces.clip(low[:2] - reach, high[:2] + reach)
    return surfaces


def sample_points(
    surfaces: SupportSurfaces,
    size: Float[np.ndarray, "3"],
    obstacles: AxisAlignedBoxes,
    gap: float,
    prefer_adjacent: bool,
    count: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "n 3"], tuple[str, ...]]:
    """Sample points for the centre of an object's base, with the owner of the surface.

    Args:
        surfaces: that may support the object.
        size: edges of the box about the object [m].
        obstacles: boxes of the objects that stand still.
        gap: between neighbours [m].
        prefer_adjacent: whether points are beside obstacles and rims of the surfaces,
            or anywhere on the surfaces.
        count: number of points for each surface.
        rng: of the points.
    """
    half = size[:2] / 2
    points, owners = [np.zeros((0, 3))], []
    for low, high, z, owner in zip(
        surfaces.low, surfaces.high, surfaces.z, surfaces.owners, strict=True
    ):
        # The object stays within the surface, as far as it fits.
        inset = np.minimum(half, 0.999 * (high - low) / 2)
        if prefer_adjacent:
            xy = _adjacent_points(low, high, z, half, size[2], obstacles, gap)
            xy = xy[rng.permutation(len(xy))[:count]]
        else:
            xy = rng.uniform(low + inset, high - inset, (count, 2))
        points.append(np.column_stack([xy, np.full(len(xy), z + RESTING_GAP)]))
        owners += [owner] * len(xy)
    return np.concatenate(points), tuple(owners)


def _adjacent_points(
    low: Float[np.ndarray, "2"],
    high: Float[np.ndarray, "2"],
    z: float,
    half: Float[np.ndarray, "2"],
    height: float,
    obstacles: AxisAlignedBoxes,
    gap: float,
) -> Float[np.ndarray, "n 2"]:
    """Return points in a rectangle whose object's sides are a gap from neighbours.

    Args:
        low: lower corner of the rectangle [m].
        high: its upper corner [m].
        z: its height [m].
        half: half of the object's edges [m].
        height: of the object [m].
        obstacles: boxes of the objects that stand still.
        gap: between sides, and to rims [m].
    """
    edge = half + gap
    reach = edge + 0.01
    near = (obstacles.low[:, :2] < high + reach) & (obstacles.high[:, :2] > low - reach)
    tall = (obstacles.low[:, 2] < z + height) & (obstacles.high[:, 2] > z + MIN_STEP)
    beside = np.flatnonzero(near.all(-1) & tall)
    lines = []
    for k in range(2):
        values = [
            [low[k] + edge[k], high[k] - edge[k]],
            [low[k] + RIM_OFFSET, high[k] - RIM_OFFSET],
            [(low[k] + high[k]) / 2],
            obstacles.high[beside, k] + edge[k],
            obstacles.low[beside, k] - edge[k],
        ]
        line = np.unique(np.round(np.concatenate(values), 6))
        lines.append(line[(low[k] <= line) & (line <= high[k])])
    return np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 2)


def _is_room(C: Config, name: str) -> bool:
    """Return whether a name is that of a room, not of an object or frame."""
    known = [*C.objects, *C.frame_names]
    return C.annotations.rooms is not None and name not in known


def _surfaces_in_room(
    C: Config, surfaces: SupportSurfaces, literal: Predicate, a: str, room: str
) -> SupportSurfaces:
    """Return surfaces in a room; only those of its floor, if the literal says so.

    Args:
        C: the world.
        surfaces: to clip.
        literal: `InRoom` or `OnFloor`.
        a: name of the object to place.
        room: name or type of the room.
    """
    rooms = room_map(C)
    named = rooms_named(rooms, room)
    cells = np.isin(rooms.labels, [rooms.rooms.index(r) for r in named])
    indices = np.argwhere(cells)
    middle = np.array(cells.shape) / 2
    if isinstance(literal, OnFloor):
        floors = [f for r in named for f in room_floors(C, rooms, r, a)]
        surfaces = _owned_by(surfaces, floors)
    low = (indices.min(0) - middle) * rooms.resolution
    high = (indices.max(0) + 1 - middle) * rooms.resolution
    return surfaces.clip(low, high)


def _owned_by(surfaces: SupportSurfaces, owners: Sequence[str]) -> SupportSurfaces:
    """Return the surfaces of some objects."""
    owned = [k for k, owner in enumerate(surfaces.owners) if owner in owners]
    return surfaces.select(owned)


def _bounding_tops(
    obstacles: AxisAlignedBoxes, names: Iterable[str]
) -> SupportSurfaces:
    """Return the upper faces of the boxes about whole objects."""
    bounds = [obstacles.owned_by(name).bounds for name in names]
    low, high = (np.array(corners) for corners in zip(*bounds, strict=True))
    return SupportSurfaces(low[:, :2], high[:, :2], high[:, 2], tuple(names))


def _concatenate(first: SupportSurfaces, second: SupportSurfaces) -> SupportSurfaces:
    return SupportSurfaces(
        np.concatenate([first.low, second.low]),
        np.concatenate([first.high, second.high]),
        np.concatenate([first.z, second.z]),
        first.owners + second.owners,
    )


def _clip_bounds(
    low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"]
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    return np.maximum(low, -MAX_EXTENT), np.minimum(high, MAX_EXTENT)

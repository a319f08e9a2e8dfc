"""Where a thing may stand so that literals hold: level tops, and regions on them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config

from ..exact.contact import CONTACT_TOLERANCE, InContactWith
from ..exact.containment import InsideOf
from ..exact.floors import OnFloor, room_floors
from ..exact.next_to import NextTo
from ..exact.rooms import InRoom, room_map, rooms_named
from ..exact.support import OnTopOf, Under
from ..formulas.predicate import Predicate
from ..planning.dnf_search import object_names
from .aabb_queries import MAX_EXTENT, AxisAlignedBoxes

RESTING_GAP = 2e-5
"""How far above a top things stand, which counts as contact [m]."""
RIM_OFFSET = 1e-3
"""How far from a rim the middle of what hangs over it is [m]."""
MAX_SURFACES = 16
"""So many tops are tried, the likeliest."""
NEIGHBOUR_REACH = 1 / 3
"""How far things that are next to each other are apart, by their mean edge."""


@dataclass(frozen=True, eq=False)
class SupportSurfaces:
    """Upper sides of boxes, on which things may stand."""

    low: Float[np.ndarray, "n 2"]
    high: Float[np.ndarray, "n 2"]
    z: Float[np.ndarray, " n"]
    owners: tuple[str, ...]

    def select(self, at: Sequence[int]) -> "SupportSurfaces":
        """Some of them."""
        at = list(at)
        owners = tuple(self.owners[k] for k in at)
        return SupportSurfaces(self.low[at], self.high[at], self.z[at], owners)

    def clip(self, low: np.ndarray, high: np.ndarray) -> "SupportSurfaces":
        """What of them is in a rectangle."""
        inner = np.maximum(self.low, low[:2]), np.minimum(self.high, high[:2])
        cut = SupportSurfaces(*inner, self.z, self.owners)
        return cut.select(np.flatnonzero((cut.low <= cut.high).all(-1)).tolist())


def find_support_surfaces(
    C: Config,
    name: str,
    literals: Iterable[Predicate],
    size: np.ndarray,
    others: AxisAlignedBoxes,
) -> SupportSurfaces:
    """Tops cut to where the middle of a thing may be, the likeliest first.

    Args:
        C: the world.
        name: the thing that is to be placed.
        literals: that are to hold; those that say nothing of a place do not count.
        size: edges of the box about the thing [m].
        others: boxes of all that stands still.
    """
    finite = np.abs(np.concatenate([others.low, others.high])) < MAX_EXTENT
    low = np.where(finite[: len(others.low)], others.low, np.inf).min(0) - 1.0
    high = np.where(finite[len(others.low) :], others.high, -np.inf).max(0) + 1.0
    owners = others.owners
    tops = SupportSurfaces(
        others.low[:, :2], others.high[:, :2], others.high[:, 2], owners
    )
    tops = tops.clip(low, high)
    placed = [p for p in literals if isinstance(p, PLACEMENT_RELATIONS)]
    on = [p for p in placed if isinstance(p, OnTopOf | OnFloor)]
    below = [b for a, b in map(object_names, on) if a == name and b in owners]
    if below:
        tops = _concatenate(_owned_by(tops, below), _bounding_tops(others, below))
    level = None
    for literal in placed:
        a, b = object_names(literal)
        if isinstance(literal, InRoom) or literal is not None and _is_room(C, b):
            tops = _surfaces_in_room(C, tops, literal, a, b)
            continue
        other = b if a == name else a
        own = others.owned_by(other)
        if not own.owners:
            continue
        (low, high), half = own.bounds, size[:2] / 2
        match literal:
            case OnTopOf() | OnFloor() if a == name:
                heights = np.append(own.high[:, 2], high[2])
                here = np.abs(tops.z[:, None] - heights).min(-1) <= CONTACT_TOLERANCE
                tops = tops.select(np.flatnonzero(here).tolist())
                tops = tops.clip(*_clip_bounds(low, high))
            case InsideOf() if a == name:
                inner = np.minimum(half, (high - low)[:2] / 2)
                here = (low[2] <= tops.z) & (tops.z < high[2] - 1e-3)
                tops = tops.select(np.flatnonzero(here).tolist())
                tops = tops.clip(low[:2] + inner, high[:2] - inner)
            case Under() if a == name:
                here = tops.z + size[2] <= high[2]
                tops = tops.select(np.flatnonzero(here).tolist()).clip(low, high)
                level = low[2]
            case NextTo() | InContactWith():
                reach = half + NEIGHBOUR_REACH * np.mean([*size, *(high - low)])
                tops = tops.clip(low[:2] - reach, high[:2] + reach)
                level = low[2]
    order = (
        np.abs(tops.z - level)
        if level is not None
        else -np.prod(tops.high - tops.low, axis=-1)
    )
    return tops.select(np.argsort(order, kind="stable")[:MAX_SURFACES].tolist())


PLACEMENT_RELATIONS = (OnTopOf, OnFloor, InsideOf, Under, NextTo, InContactWith, InRoom)


def sample_points(
    tops: SupportSurfaces,
    size: np.ndarray,
    others: AxisAlignedBoxes,
    gap: float,
    prefer_adjacent: bool,
    count: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "n 3"], tuple[str, ...]]:
    """Points at which the middle of a thing's lower side may be, and what is below.

    Args:
        tops: where.
        size: edges of the box about the thing [m].
        others: boxes of what stands still.
        gap: between neighbours [m].
        prefer_adjacent: beside others and the rims of tops, else anywhere on the tops.
        count: how many for each top.
        rng: of the points.
    """
    half = size[:2] / 2
    found, owners = [np.zeros((0, 3))], []
    for low, high, z, owner in zip(
        tops.low, tops.high, tops.z, tops.owners, strict=True
    ):
        whole = np.minimum(half, 0.999 * (high - low) / 2)
        lower, upper = low + whole, high - whole
        if prefer_adjacent:
            xy = _adjacent_points(low, high, z, half, size[2], others, gap)
            xy = xy[rng.permutation(len(xy))[:count]]
        else:
            xy = rng.uniform(lower, upper, (count, 2))
        found.append(np.column_stack([xy, np.full(len(xy), z + RESTING_GAP)]))
        owners += [owner] * len(xy)
    return np.concatenate(found), tuple(owners)


def _adjacent_points(
    low: np.ndarray,
    high: np.ndarray,
    z: float,
    half: np.ndarray,
    height: float,
    others: AxisAlignedBoxes,
    gap: float,
) -> Float[np.ndarray, "n 2"]:
    """Middles within a rectangle where sides are a gap from rims or from others."""
    edge = half + gap
    reach = edge + 0.01
    near = (others.low[:, :2] < high + reach) & (others.high[:, :2] > low - reach)
    tall = (others.low[:, 2] < z + height) & (others.high[:, 2] > z + 1e-3)
    at = np.flatnonzero(near.all(-1) & tall)
    lines = []
    for k in range(2):
        values = [
            [
                low[k] + edge[k],
                high[k] - edge[k],
                low[k] + RIM_OFFSET,
                high[k] - RIM_OFFSET,
            ],
            [(low[k] + high[k]) / 2],
            others.high[at, k] + edge[k],
            others.low[at, k] - edge[k],
        ]
        line = np.unique(np.round(np.concatenate(values), 6))
        lines.append(line[(low[k] <= line) & (line <= high[k])])
    return np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 2)


def _is_room(C: Config, name: str) -> bool:
    known = [*C.objects, *C.frame_names]
    return C.rooms is not None and name not in known


def _surfaces_in_room(
    C: Config, tops: SupportSurfaces, literal: Predicate, a: str, room: str
) -> SupportSurfaces:
    """Tops in a room; of what is its floor, where the literal says so."""
    rooms = room_map(C)
    found = rooms_named(rooms, room)
    cells = np.isin(rooms.labels, [rooms.rooms.index(r) for r in found])
    at = np.argwhere(cells)
    middle = np.array(cells.shape) / 2
    corner = lambda x: (x - middle) * rooms.resolution
    if isinstance(literal, OnFloor):
        floors = [f for r in found for f in room_floors(C, rooms, r, a)]
        tops = _owned_by(tops, floors)
    return tops.clip(corner(at.min(0)), corner(at.max(0) + 1))


def _owned_by(tops: SupportSurfaces, owners: Sequence[str]) -> SupportSurfaces:
    return tops.select([k for k, owner in enumerate(tops.owners) if owner in owners])


def _bounding_tops(others: AxisAlignedBoxes, names: Iterable[str]) -> SupportSurfaces:
    """Upper sides of the boxes about whole things."""
    around = [others.owned_by(name).bounds for name in names]
    low, high = (np.array(corners) for corners in zip(*around, strict=True))
    return SupportSurfaces(low[:, :2], high[:, :2], high[:, 2], tuple(names))


def _concatenate(one: SupportSurfaces, other: SupportSurfaces) -> SupportSurfaces:
    join = lambda a, b: np.concatenate([a, b])
    low, high = join(one.low, other.low), join(one.high, other.high)
    return SupportSurfaces(low, high, join(one.z, other.z), one.owners + other.owners)


def _clip_bounds(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(low, -MAX_EXTENT), np.minimum(high, MAX_EXTENT)

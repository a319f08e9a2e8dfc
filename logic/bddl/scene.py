"""Worlds for problems: rooms, floors, furniture and things, all apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Box
from posewise.robots.validation import integer
from posewise.robots.world.rooms import Room, RoomMap

from .binding import FLOOR
from .object_specs import Item, stock
from .primitive_bodies import HINGE_RANGE, flap_of, parts_of
from .requirements import demands_of

if TYPE_CHECKING:
    from .problem import Problem
else:
    Problem = object

RESOLUTION = 0.1
"""Edge of the cells of the map [m]."""
AISLE = 0.9
"""Room about furniture [m]."""
APART = 0.15
"""Room about loose things [m]."""
LEAST = 4.0
"""Rooms are no narrower [m]."""
THICK = 0.1
"""Of floors, whose upper side is z = 0 [m]."""


def make_scene(problem: Problem, seed: Any = 0) -> Config:
    """A world with a thing for each object of a problem, under the object's name.

    Each floor is that of a room of its own, of the type that :init says; furniture that
    is said to be in a room is fixed there, everything else stands loose on the floor of
    the first one. Things are of primitives, of the size their synset has in a small
    table or as large as it takes to hold what the problem may put there; cabinets, and
    what the problem opens, have a door or a lid on a hinge. Things have the abilities
    that the problem's states need, and those that the package bddl knows of.

    Args:
        problem: as `load` reads it.
        seed: of the order in which things stand about.

    Raises:
        ConfigError: for a seed that is no integer >= 0.
    """
    seed = integer("seed", seed, "an integer >= 0", lambda s: s >= 0)
    items = {
        instance: item
        for category, item in stock(problem).items()
        for instance in problem.objects[category]
    }
    categories = {i: c for c, found in problem.objects.items() for i in found}
    fixed = demands_of(problem).rooms
    rooms = _rooms(problem, fixed)
    spots = _arranged(rooms, items, fixed, np.random.default_rng(seed))
    sizes = [_extent(spots[floor], items) for _, floor in rooms]
    depth = max(y for _, y in sizes)
    width = sum(x for x, _ in sizes)
    C = Config()
    made, left = [], 0.0
    for (room, floor), (length, _) in zip(rooms, sizes, strict=True):
        corner = np.array([left - width / 2, -depth / 2])
        _add_floor(C, floor, corner, length, depth)
        x0, x1 = (round(x / RESOLUTION) for x in (left, left + length))
        area = [x0, 0, x1, round(depth / RESOLUTION)]
        made.append(Room(room, cells=area, floor=floor))
        for spot in spots[floor]:
            item, at = items[spot.instance], corner + spot.middle
            loose = spot.instance not in fixed
            _add_thing(C, spot.instance, categories[spot.instance], item, at, loose)
        left += length
    shape = [round(x / RESOLUTION) for x in (width, depth)]
    C.rooms = RoomMap(made, shape, RESOLUTION)
    return C


@dataclass(frozen=True)
class _Spot:
    """Where a thing stands in its room."""

    instance: str
    middle: Float[np.ndarray, "2"]
    far: Float[np.ndarray, "2"]
    """The upper corner of what is its own."""


def _rooms(problem: Problem, fixed: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names of rooms, each with its floor: an object of the problem, or a new one."""
    floors = problem.objects.get(FLOOR, ())
    kinds = [fixed.get(floor, "room") for floor in floors]
    others = [kind for i, kind in fixed.items() if i not in floors]
    bare = [kind for kind in dict.fromkeys(others) if kind not in kinds]
    found = [*zip(kinds, floors, strict=True), *((k, f"{k} floor") for k in bare)]
    found = found or [("room", "room floor")]
    return [(f"{kind}_{k}", floor) for k, (kind, floor) in enumerate(found)]


def _arranged(
    rooms: Sequence[tuple[str, str]],
    items: Mapping[str, Item],
    fixed: Mapping[str, str],
    rng: np.random.Generator,
) -> dict[str, list[_Spot]]:
    """Spots by floor: things in rows, furniture first."""
    floors = [floor for _, floor in rooms]
    stands: dict[str, list[str]] = {floor: [] for floor in floors}
    names = [name for name in items if name not in floors]
    shuffled = [names[k] for k in rng.permutation(len(names))]
    for name in sorted(shuffled, key=lambda n: n not in fixed):
        kind = fixed.get(name)
        own = [f for room, f in rooms if room.rpartition("_")[0] == kind]
        stands[(own or floors)[0]].append(name)
    return {
        floor: _in_rows([(n, _room_about(items[n], n in fixed)) for n in found])
        for floor, found in stands.items()
    }


def _room_about(item: Item, fixed: bool) -> tuple[float, float]:
    x, y, _ = item.size
    room = AISLE if fixed else APART
    return x + 2 * room, y + 2 * room


def _in_rows(boxes: Sequence[tuple[str, tuple[float, float]]]) -> list[_Spot]:
    """Boxes one beside the other, in rows of about the length of a square's side."""
    area = sum(x * y for _, (x, y) in boxes)
    length = max(LEAST, sqrt(2 * area), max((x for _, (x, _) in boxes), default=0.0))
    spots, x, y, deep = [], 0.0, 0.0, 0.0
    for name, (wide, high) in boxes:
        if x + wide > length:
            x, y, deep = 0.0, y + deep, 0.0
        low = np.array([x, y])
        size = np.array([wide, high])
        spots.append(_Spot(name, low + size / 2, low + size))
        x, deep = x + wide, max(deep, high)
    return spots


def _extent(spots: Sequence[_Spot], items: Mapping[str, Item]) -> tuple[float, float]:
    """Edges of a room, whole pairs of cells: as much free floor again, to y."""
    least = np.array([LEAST, LEAST / 2])
    far = np.max([least, *(spot.far for spot in spots)], axis=0)
    cells = [2 * ceil(x / (2 * RESOLUTION)) for x in (far[0], far[1] + LEAST)]
    return cells[0] * RESOLUTION, cells[1] * RESOLUTION


def _add_floor(
    C: Config, name: str, corner: np.ndarray, length: float, depth: float
) -> None:
    middle = corner + [length / 2, depth / 2]
    C.add_object(
        name,
        [(Box([length, depth, THICK]), [0, 0, -THICK / 2, 1, 0, 0, 0])],
        pose=[*middle, 0, 1, 0, 0, 0],
        category=FLOOR,
        abilities={"dustyable": {}, "stainable": {}},
    )


def _add_thing(
    C: Config, name: str, category: str, item: Item, at: np.ndarray, loose: bool
) -> None:
    """A thing, with its door or lid."""
    flap = flap_of(item.form, item.size) if item.flap else None
    abilities = dict(item.abilities)
    if flap is not None:
        abilities["openable"] = {"joints": {f"{name} flap": flap.sign}}
    C.add_object(
        name,
        parts_of(item.form, item.size, item.levels),
        pose=[*at, 0, 1, 0, 0, 0],
        joint="free" if loose else None,
        category=category,
        abilities=abilities,
    )
    if flap is not None:
        ends = sorted([0.0, flap.sign * HINGE_RANGE])
        hinge = f"{name} flap"
        limits = np.array(ends)[:, None]
        C.add_frame(hinge, name, joint=flap.joint, position=flap.hinge, limits=limits)
        leaf = dict(position=flap.middle, shape=Box(list(flap.size)))
        C.add_frame(f"{name} leaf", hinge, **leaf)

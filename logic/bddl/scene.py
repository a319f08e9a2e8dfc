"""Worlds for problems: rooms, floors, furniture and things, all apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Box
from posewise.robots.validation import integer
from posewise.robots.world.rooms import Room, RoomMap

from .binding import FLOOR
from .object_specs import ObjectSpec, specs_by_category
from .primitive_bodies import HINGE_RANGE, template_flap, template_parts
from .problem import Problem
from .requirements import requirements_of

MAP_RESOLUTION = 0.1
"""Edge of the cells of the map [m]."""
FURNITURE_CLEARANCE = 0.9
"""Room about furniture [m]."""
OBJECT_CLEARANCE = 0.15
"""Room about loose things [m]."""
MIN_ROOM_WIDTH = 4.0
"""Rooms are no narrower [m]."""
FLOOR_THICKNESS = 0.1
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
        for category, item in specs_by_category(problem).items()
        for instance in problem.objects[category]
    }
    categories = {i: c for c, found in problem.objects.items() for i in found}
    fixed = requirements_of(problem).rooms
    rooms = _rooms_and_floors(problem, fixed)
    spots = _arrange(rooms, items, fixed, np.random.default_rng(seed))
    sizes = [_room_size(spots[floor], items) for _, floor in rooms]
    depth = max(y for _, y in sizes)
    width = sum(x for x, _ in sizes)
    C = Config()
    made, left = [], 0.0
    for (room, floor), (length, _) in zip(rooms, sizes, strict=True):
        corner = np.array([left - width / 2, -depth / 2])
        _add_floor(C, floor, corner, length, depth)
        x0, x1 = (round(x / MAP_RESOLUTION) for x in (left, left + length))
        area = [x0, 0, x1, round(depth / MAP_RESOLUTION)]
        made.append(Room(room, cells=area, floor=floor))
        for spot in spots[floor]:
            item, at = items[spot.instance], corner + spot.center
            loose = spot.instance not in fixed
            _add_object(C, spot.instance, categories[spot.instance], item, at, loose)
        left += length
    shape = [round(x / MAP_RESOLUTION) for x in (width, depth)]
    C.rooms = RoomMap(made, shape, MAP_RESOLUTION)
    return C


@dataclass(frozen=True)
class _FloorPosition:
    """Where a thing stands in its room."""

    instance: str
    center: Float[np.ndarray, "2"]
    upper_corner: Float[np.ndarray, "2"]
    """The upper corner of what is its own."""


def _rooms_and_floors(
    problem: Problem, fixed: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Names of rooms, each with its floor: an object of the problem, or a new one."""
    floors = problem.objects.get(FLOOR, ())
    kinds = [fixed.get(floor, "room") for floor in floors]
    others = [kind for i, kind in fixed.items() if i not in floors]
    bare = [kind for kind in dict.fromkeys(others) if kind not in kinds]
    found = [*zip(kinds, floors, strict=True), *((k, f"{k} floor") for k in bare)]
    found = found or [("room", "room floor")]
    return [(f"{kind}_{k}", floor) for k, (kind, floor) in enumerate(found)]


def _arrange(
    rooms: Sequence[tuple[str, str]],
    items: Mapping[str, ObjectSpec],
    fixed: Mapping[str, str],
    rng: np.random.Generator,
) -> dict[str, list[_FloorPosition]]:
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
        floor: _pack_in_rows([(n, _reserved_size(items[n], n in fixed)) for n in found])
        for floor, found in stands.items()
    }


def _reserved_size(item: ObjectSpec, fixed: bool) -> tuple[float, float]:
    x, y, _ = item.size
    room = FURNITURE_CLEARANCE if fixed else OBJECT_CLEARANCE
    return x + 2 * room, y + 2 * room


def _pack_in_rows(
    boxes: Sequence[tuple[str, tuple[float, float]]],
) -> list[_FloorPosition]:
    """Boxes one beside the other, in rows of about the length of a square's side."""
    area = sum(x * y for _, (x, y) in boxes)
    length = max(
        MIN_ROOM_WIDTH, sqrt(2 * area), max((x for _, (x, _) in boxes), default=0.0)
    )
    spots, x, y, deep = [], 0.0, 0.0, 0.0
    for name, (wide, high) in boxes:
        if x + wide > length:
            x, y, deep = 0.0, y + deep, 0.0
        low = np.array([x, y])
        size = np.array([wide, high])
        spots.append(_FloorPosition(name, low + size / 2, low + size))
        x, deep = x + wide, max(deep, high)
    return spots


def _room_size(
    spots: Sequence[_FloorPosition], items: Mapping[str, ObjectSpec]
) -> tuple[float, float]:
    """Edges of a room, whole pairs of cells: as much free floor again, to y."""
    least = np.array([MIN_ROOM_WIDTH, MIN_ROOM_WIDTH / 2])
    far = np.max([least, *(spot.upper_corner for spot in spots)], axis=0)
    cells = [
        2 * ceil(x / (2 * MAP_RESOLUTION)) for x in (far[0], far[1] + MIN_ROOM_WIDTH)
    ]
    return cells[0] * MAP_RESOLUTION, cells[1] * MAP_RESOLUTION


def _add_floor(
    C: Config, name: str, corner: np.ndarray, length: float, depth: float
) -> None:
    middle = corner + [length / 2, depth / 2]
    C.add_object(
        name,
        [
            (
                Box([length, depth, FLOOR_THICKNESS]),
                [0, 0, -FLOOR_THICKNESS / 2, 1, 0, 0, 0],
            )
        ],
        pose=[*middle, 0, 1, 0, 0, 0],
        category=FLOOR,
        abilities={"dustyable": {}, "stainable": {}},
    )


def _add_object(
    C: Config, name: str, category: str, item: ObjectSpec, at: np.ndarray, loose: bool
) -> None:
    """A thing, with its door or lid."""
    flap = template_flap(item.template, item.size) if item.has_flap else None
    abilities = dict(item.abilities)
    if flap is not None:
        abilities["openable"] = {"joints": {f"{name} flap": flap.sign}}
    C.add_object(
        name,
        template_parts(item.template, item.size, item.num_levels),
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
        leaf = Box(list(flap.size))
        C.add_frame(f"{name} leaf", hinge, position=flap.center, shape=leaf)

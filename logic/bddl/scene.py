"""Worlds for problems: rooms, floors, furniture and loose objects, without contact."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.rooms import Room, RoomMap
from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.geometry.shapes import Box
from posewise.robots.validation import integer

from .grammar import FLOOR
from .object_specs import ObjectSpec, specs_by_category
from .primitive_bodies import (
    HINGE_RANGE,
    template_cavity,
    template_flap,
    template_parts,
)
from .problem import Problem
from .requirements import requirements_of, substances_of
from .scene_doubts import scene_doubts

MAP_RESOLUTION = 0.1
"""Edge of the cells of the room map [m]; rooms grow to multiples of two cells, by more
with larger ones."""
FURNITURE_CLEARANCE = 0.9
"""Free distance around furniture [m]; larger makes larger rooms."""
OBJECT_CLEARANCE = 0.15
"""Free distance around loose objects [m]; larger makes larger rooms."""
MIN_ROOM_WIDTH = 4.0
"""Least width of a room [m]; a larger one leaves more floor between objects."""
FLOOR_THICKNESS = 0.1
"""Thickness of floors, whose upper face is at z = 0 [m]; through a smaller one fast
bodies may fall in simulations."""


def make_scene(problem: Problem, seed: int = 0) -> Config:
    """Return a world with an object for each instance of a problem, of the same name.

    Each floor belongs to a room, of the type that :init says; furniture that :init puts
    into a room is fixed there, unless the goal moves it, and all other objects stand
    loose on the floor of the first room. Bodies are of primitives, of the size that
    their synset has in a small table, or large enough for all objects that the problem
    may put there; cabinets, and objects that the problem opens, have a door or a lid on
    a hinge, and objects that are to hold a substance a cavity. Objects have the
    abilities that the problem's states need, and those that the package bddl knows.
    Substances are no objects.

    It warns of synsets that neither that table nor bddl knows, and of supports far
    smaller than what is on them, as after a swap of terms.

    Args:
        problem: as `load` reads it.
        seed: of the order in which objects stand.

    Raises:
        ConfigError: if the seed is no integer >= 0.
    """
    seed = integer("seed", seed, "an integer >= 0", lambda s: s >= 0)
    by_category = specs_by_category(problem)
    for doubt in scene_doubts(problem, by_category):
        warnings.warn(doubt, ProblemWarning, stacklevel=2)
    specs = {
        instance: spec
        for category, spec in by_category.items()
        for instance in problem.objects[category]
        if instance not in substances_of(problem)
    }
    category_of = problem.category_of
    requirements = requirements_of(problem)
    fixed = requirements.rooms
    rooms = _rooms_and_floors(problem, fixed)
    positions = _arrange(rooms, specs, fixed, np.random.default_rng(seed))
    sizes = [_room_size(positions[floor]) for _, floor in rooms]
    depth = max(y for _, y in sizes)
    width = sum(x for x, _ in sizes)
    C = Config()
    placed, edge_x = [], 0.0
    # Rooms are beside each other along x, all with the depth of the deepest one.
    for (room, floor), (length, _) in zip(rooms, sizes, strict=True):
        corner = np.array([edge_x - width / 2, -depth / 2])
        _add_floor(C, floor, corner, length, depth)
        x0, x1 = (round(x / MAP_RESOLUTION) for x in (edge_x, edge_x + length))
        cells = [x0, 0, x1, round(depth / MAP_RESOLUTION)]
        placed.append(Room(room, cells=cells, floor=floor))
        for position in positions[floor]:
            name = position.instance
            _add_object(
                C,
                name,
                category_of[name],
                specs[name],
                corner + position.center,
                is_loose=name not in fixed or name in requirements.moved,
            )
        edge_x += length
    shape = [round(x / MAP_RESOLUTION) for x in (width, depth)]
    C.annotations.rooms = RoomMap(placed, shape, MAP_RESOLUTION)
    return C


@dataclass(frozen=True)
class _FloorPosition:
    """The place of an object in its room."""

    instance: str
    center: Float[np.ndarray, "2"]
    upper_corner: Float[np.ndarray, "2"]
    """Upper corner of the area reserved for the object, from the room's corner [m]."""


def _rooms_and_floors(
    problem: Problem, fixed: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return names of rooms, each with its floor.

    A floor is an object of the problem, or a new one if the room has none.

    Args:
        problem: whose floors are used.
        fixed: types of rooms by the instances in them.
    """
    floors = problem.objects.get(FLOOR, ())
    types = [fixed.get(floor, "room") for floor in floors]
    others = [type_ for i, type_ in fixed.items() if i not in floors]
    without_floor = [t for t in dict.fromkeys(others) if t not in types]
    rooms = [
        *zip(types, floors, strict=True),
        *((t, f"{t} floor") for t in without_floor),
    ]
    rooms = rooms or [("room", "room floor")]
    return [(f"{type_}_{k}", floor) for k, (type_, floor) in enumerate(rooms)]


def _arrange(
    rooms: Sequence[tuple[str, str]],
    specs: Mapping[str, ObjectSpec],
    fixed: Mapping[str, str],
    rng: np.random.Generator,
) -> dict[str, list[_FloorPosition]]:
    """Return places by floor: objects in rows in random order, furniture first.

    Args:
        rooms: names of rooms and their floors.
        specs: specifications by instance.
        fixed: types of rooms by the instances in them.
        rng: of the order.
    """
    floors = [floor for _, floor in rooms]
    instances: dict[str, list[str]] = {floor: [] for floor in floors}
    names = [name for name in specs if name not in floors]
    shuffled = [names[k] for k in rng.permutation(len(names))]
    for name in sorted(shuffled, key=lambda n: n not in fixed):
        type_ = fixed.get(name)
        matching = [f for room, f in rooms if room.rpartition("_")[0] == type_]
        instances[(matching or floors)[0]].append(name)
    return {
        floor: _pack_in_rows([(n, _reserved_size(specs[n], n in fixed)) for n in names])
        for floor, names in instances.items()
    }


def _reserved_size(spec: ObjectSpec, is_fixed: bool) -> tuple[float, float]:
    """Return the edges of the area reserved for an object [m]."""
    x, y, _ = spec.size
    clearance = FURNITURE_CLEARANCE if is_fixed else OBJECT_CLEARANCE
    return x + 2 * clearance, y + 2 * clearance


def _pack_in_rows(
    areas: Sequence[tuple[str, tuple[float, float]]],
) -> list[_FloorPosition]:
    """Return places of rectangular areas one beside the other, in rows.

    Shelf packing, with rows of about the length of a square's side.

    Args:
        areas: names and edges [m].
    """
    total = sum(x * y for _, (x, y) in areas)
    widest = max((x for _, (x, _) in areas), default=0.0)
    length = max(MIN_ROOM_WIDTH, sqrt(2 * total), widest)
    positions, x, y, row_depth = [], 0.0, 0.0, 0.0
    for name, (area_x, area_y) in areas:
        if x + area_x > length:
            x, y, row_depth = 0.0, y + row_depth, 0.0
        low, size = np.array([x, y]), np.array([area_x, area_y])
        positions.append(_FloorPosition(name, low + size / 2, low + size))
        x, row_depth = x + area_x, max(row_depth, area_y)
    return positions


def _room_size(positions: Sequence[_FloorPosition]) -> tuple[float, float]:
    """Return the edges of a room with free floor along y, an even number of cells [m].

    Even numbers keep the corner of each room on the edge of a cell.
    """
    least = np.array([MIN_ROOM_WIDTH, MIN_ROOM_WIDTH / 2])
    far = np.max([least, *(p.upper_corner for p in positions)], axis=0)
    edges = (far[0], far[1] + MIN_ROOM_WIDTH)
    x, y = (2 * ceil(edge / (2 * MAP_RESOLUTION)) for edge in edges)
    return x * MAP_RESOLUTION, y * MAP_RESOLUTION


def _add_floor(
    C: Config, name: str, corner: Float[np.ndarray, "2"], length: float, depth: float
) -> None:
    """Add the floor of a room.

    Args:
        C: the world, which is changed.
        name: of the floor.
        corner: lower corner of the room [m].
        length: its edge along x [m].
        depth: its edge along y [m].
    """
    slab = Box([length, depth, FLOOR_THICKNESS])
    C.add_object(
        name,
        [(slab, [0, 0, -FLOOR_THICKNESS / 2, 1, 0, 0, 0])],
        pose=[*(corner + [length / 2, depth / 2]), 0, 1, 0, 0, 0],
        category=FLOOR,
        abilities={"dustyable": {}, "stainable": {}},
    )


def _add_object(
    C: Config,
    name: str,
    category: str,
    spec: ObjectSpec,
    position: Float[np.ndarray, "2"],
    *,
    is_loose: bool,
) -> None:
    """Add an object, with its door or lid.

    Args:
        C: the world, which is changed.
        name: of the object.
        category: of the object.
        spec: its body and abilities.
        position: on the floor [m].
        is_loose: whether it stands on a free joint.
    """
    flap = template_flap(spec.template, spec.size) if spec.has_flap else None
    hinge = f"{name} flap"
    abilities = dict(spec.abilities)
    if flap is not None:
        abilities["openable"] = {"joints": {hinge: flap.sign}}
    C.add_object(
        name,
        template_parts(spec.template, spec.size, spec.num_levels),
        pose=[*position, 0, 1, 0, 0, 0],
        joint="free" if is_loose else None,
        category=category,
        abilities=abilities,
    )
    cavity = template_cavity(spec.template, spec.size, spec.num_levels)
    if cavity is not None and "fillable" in abilities:
        size, center = cavity
        pose = [*center, 1.0, 0, 0, 0]
        C.annotations.add_region(name, "cavity", "cavity", size=list(size), pose=pose)
    if flap is not None:
        ends = sorted([0.0, flap.sign * HINGE_RANGE])
        limits = np.array(ends)[:, None]
        C.add_frame(hinge, name, joint=flap.joint, position=flap.hinge, limits=limits)
        leaf = Box(list(flap.size))
        C.add_frame(f"{name} leaf", hinge, position=flap.center, shape=leaf)

"""Forms of things out of boxes, cylinders and balls; they stand on z = 0."""

from typing import Any, NamedTuple

import numpy as np

from posewise.robots.geometry.shapes import Box, Cylinder, Sphere

from .synset_sizes import BodyTemplate

WALL_THICKNESS = 0.01
"""Thickness of walls, boards and lids [m]."""
HINGE_RANGE = 1.57
"""How far doors and lids open [rad]."""
Size = tuple[float, float, float]
PosedShapes = list[tuple[Any, np.ndarray]]


class Flap(NamedTuple):
    """A door or a lid: a box on a hinge."""

    hinge: np.ndarray
    """In the thing's frame (3,)."""
    joint: str
    """Closed at 0, opens to `HINGE_RANGE`, or to its negative."""
    sign: int
    size: Size
    center: np.ndarray
    """Of the box in the hinge's frame (3,)."""


def template_parts(
    template: BodyTemplate, size: Size, num_levels: int = 1
) -> PosedShapes:
    """Shapes and their poses in the thing's frame, but for flaps.

    Args:
        template: see `sizes`.
        size: of the whole, with flaps.
        num_levels: of cabinets and racks: how many compartments are above each other.
    """
    x, y, z = size
    match template:
        case "ball":
            return [(Sphere(z / 2), _pose(z=z / 2))]
        case "can":
            return [(Cylinder(z, x / 2), _pose(z=z / 2))]
        case "box":
            return [_box(size, z=z / 2)]
        case "crate":
            return [
                _box((x, y, WALL_THICKNESS), z=WALL_THICKNESS / 2),
                *_walls((x, y, z - WALL_THICKNESS), WALL_THICKNESS),
            ]
        case "table":
            top = _box((x, y, 0.04), z=z - 0.02)
            legs = [
                _box((0.05, 0.05, z - 0.04), sx * (x / 2 - 0.03), sy * (y / 2 - 0.03),
                     (z - 0.04) / 2)
                for sx in (-1, 1)
                for sy in (-1, 1)
            ]  # fmt: skip
            return [top, *legs]
        case "tree":
            return [_box((0.1, 0.1, z / 2), z=z / 4), _box((x, y, z / 2), z=3 * z / 4)]
        case "leaf":
            posts = [_box((0.04, y, z), sx * (x / 2 - 0.02), z=z / 2) for sx in (-1, 1)]
            return [*posts, _box((x, y, 0.04), z=z - 0.02)]
        case "cabinet" | "rack":
            depth = y - WALL_THICKNESS if template == "cabinet" else y
            back = (y - depth) / 2
            sides = [
                _box(
                    (WALL_THICKNESS, depth, z),
                    sx * (x - WALL_THICKNESS) / 2,
                    back,
                    z / 2,
                )
                for sx in (-1, 1)
            ]
            inner = x - 2 * WALL_THICKNESS
            heights = np.linspace(
                WALL_THICKNESS / 2, z - WALL_THICKNESS / 2, num_levels + 1
            )
            boards = [
                _box((inner, depth, WALL_THICKNESS), 0.0, back, h) for h in heights
            ]
            return [
                *sides,
                *boards,
                _box((inner, WALL_THICKNESS, z), 0, (y - WALL_THICKNESS) / 2, z / 2),
            ]


def template_flap(template: BodyTemplate, size: Size) -> Flap | None:
    """The door or lid of a form, closed; None: it has none."""
    x, y, z = size
    match template:
        case "cabinet":
            hinge = np.array([-x / 2, -y / 2 + WALL_THICKNESS / 2, 0.0])
            leaf = (x, WALL_THICKNESS * 0.9, z)
            return Flap(hinge, "hingeZ", -1, leaf, np.array([x / 2, 0, z / 2]))
        case "leaf":
            hinge = np.array([-x / 2 + 0.045, 0.0, 0.0])
            leaf = (x - 0.09, 0.04, z - 0.05)
            middle = np.array([leaf[0] / 2, 0, leaf[2] / 2 + 0.005])
            return Flap(hinge, "hingeZ", 1, leaf, middle)
        case "crate":
            hinge = np.array([0.0, y / 2, z])
            middle = np.array([0, -y / 2, WALL_THICKNESS / 2])
            return Flap(hinge, "hingeX", -1, (x, y, WALL_THICKNESS), middle)
    return None


def compartment_size(
    template: BodyTemplate, size: Size, num_levels: int = 1
) -> Size | None:
    """Edges of one compartment of a hollow form; None: it is solid."""
    x, y, z = size
    match template:
        case "crate":
            return x - 2 * WALL_THICKNESS, y - 2 * WALL_THICKNESS, z - WALL_THICKNESS
        case "cabinet" | "rack":
            return (
                x - 2 * WALL_THICKNESS,
                y - 2 * WALL_THICKNESS,
                (z - WALL_THICKNESS) / num_levels - WALL_THICKNESS,
            )
    return None


def _walls(size: Size, low: float) -> PosedShapes:
    """The four walls of a box, above a height."""
    x, y, z = size
    along = [
        _box((WALL_THICKNESS, y, z), s * (x - WALL_THICKNESS) / 2, 0, low + z / 2)
        for s in (-1, 1)
    ]
    inner = (x - 2 * WALL_THICKNESS, WALL_THICKNESS, z)
    return along + [
        _box(inner, 0, s * (y - WALL_THICKNESS) / 2, low + z / 2) for s in (-1, 1)
    ]


def _box(size: Size, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Any:
    return Box(list(size)), _pose(x, y, z)


def _pose(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    return np.array([x, y, z, 1.0, 0, 0, 0])

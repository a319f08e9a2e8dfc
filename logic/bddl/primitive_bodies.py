"""Bodies of boxes, cylinders and balls by template; they stand on z = 0."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from posewise.robots.geometry.shapes import Box, Cylinder, Sphere

from .synset_sizes import BodyTemplate

WALL_THICKNESS = 0.01
"""Thickness of walls, boards and lids [m]; thicker ones leave less room inside."""
BOARD_THICKNESS = 0.04
"""Thickness of table tops, door leaves and door frames [m]; thicker ones leave less
room below."""
HINGE_RANGE = 1.57
"""Range of the hinges of doors and lids [rad]; with a larger one they open by more than
a right angle."""

Size: TypeAlias = tuple[float, float, float]
"""Outer edges along x, y and z [m]."""
PosedShape: TypeAlias = tuple[Box | Cylinder | Sphere, Float[np.ndarray, "7"]]
"""A shape and its pose in the object's frame."""


class Flap(NamedTuple):
    """A door or a lid: a box on a hinge."""

    hinge: Float[np.ndarray, "3"]
    """Position of the hinge in the object's frame [m]."""
    joint: Literal["hingeX", "hingeZ"]
    """Type of the joint, closed at 0."""
    sign: int
    """Direction in which the joint opens, 1 or -1."""
    size: Size
    """Edges of the box [m]."""
    center: Float[np.ndarray, "3"]
    """Center of the box in the hinge's frame [m]."""


def template_parts(
    template: BodyTemplate, size: Size, num_levels: int = 1
) -> list[PosedShape]:
    """Return shapes and their poses in the object's frame, without flaps.

    Args:
        template: of the body.
        size: of the whole, flaps included [m].
        num_levels: number of compartments above each other, in cabinets and racks.
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
            bottom = _box((x, y, WALL_THICKNESS), z=WALL_THICKNESS / 2)
            return [bottom, *_walls((x, y, z - WALL_THICKNESS), WALL_THICKNESS)]
        case "table":
            return _table(size)
        case "tree":
            return [_box((0.1, 0.1, z / 2), z=z / 4), _box((x, y, z / 2), z=3 * z / 4)]
        case "leaf":
            posts = [
                _box(
                    (BOARD_THICKNESS, y, z), s * (x / 2 - BOARD_THICKNESS / 2), z=z / 2
                )
                for s in (-1, 1)
            ]
            lintel = _box((x, y, BOARD_THICKNESS), z=z - BOARD_THICKNESS / 2)
            return [*posts, lintel]
        case "cabinet" | "rack":
            # The door of a cabinet takes one wall's thickness of the depth.
            depth = y - WALL_THICKNESS if template == "cabinet" else y
            return _shelves(size, depth, num_levels)


def template_flap(template: BodyTemplate, size: Size) -> Flap | None:
    """Return the closed door or lid of a template, or None if it has none."""
    x, y, z = size
    match template:
        case "cabinet":
            hinge = np.array([-x / 2, -y / 2 + WALL_THICKNESS / 2, 0.0])
            # A little thinner, so that the closed door does not touch the boards.
            leaf = (x, WALL_THICKNESS * 0.9, z)
            return Flap(hinge, "hingeZ", -1, leaf, np.array([x / 2, 0, z / 2]))
        case "leaf":
            # Gaps of 5 mm between the leaf and its frame.
            hinge = np.array([-x / 2 + 0.045, 0.0, 0.0])
            leaf = (x - 0.09, BOARD_THICKNESS, z - 0.05)
            center = np.array([leaf[0] / 2, 0, leaf[2] / 2 + 0.005])
            return Flap(hinge, "hingeZ", 1, leaf, center)
        case "crate":
            hinge = np.array([0.0, y / 2, z])
            center = np.array([0, -y / 2, WALL_THICKNESS / 2])
            return Flap(hinge, "hingeX", -1, (x, y, WALL_THICKNESS), center)
    return None


def compartment_size(
    template: BodyTemplate, size: Size, num_levels: int = 1
) -> Size | None:
    """Return the edges of one compartment of a hollow template, or None.

    Args:
        template: of the body.
        size: of the whole [m].
        num_levels: number of compartments above each other, in cabinets and racks.
    """
    x, y, z = size
    inner_x, inner_y = x - 2 * WALL_THICKNESS, y - 2 * WALL_THICKNESS
    match template:
        case "crate":
            return inner_x, inner_y, z - WALL_THICKNESS
        case "cabinet" | "rack":
            level_height = (z - WALL_THICKNESS) / num_levels
            return inner_x, inner_y, level_height - WALL_THICKNESS
    return None


def template_cavity(
    template: BodyTemplate, size: Size, num_levels: int = 1
) -> tuple[Size, Float[np.ndarray, "3"]] | None:
    """Return the edges and the center of the lowest compartment, or None.

    Args:
        template: of the body.
        size: of the whole [m].
        num_levels: number of compartments above each other, in cabinets and racks.
    """
    inner = compartment_size(template, size, num_levels)
    if inner is None:
        return None
    return inner, np.array([0.0, 0.0, WALL_THICKNESS + inner[2] / 2])


def _table(size: Size) -> list[PosedShape]:
    """Return a table top on four legs."""
    x, y, z = size
    top = _box((x, y, BOARD_THICKNESS), z=z - BOARD_THICKNESS / 2)
    leg_height = z - BOARD_THICKNESS
    legs = [
        _box(
            (0.05, 0.05, leg_height),
            sx * (x / 2 - 0.03),
            sy * (y / 2 - 0.03),
            leg_height / 2,
        )
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return [top, *legs]


def _shelves(size: Size, depth: float, num_levels: int) -> list[PosedShape]:
    """Return two sides, a back, and boards below and above each compartment.

    Args:
        size: of the whole [m].
        depth: of sides and boards, which are at the back [m].
        num_levels: number of compartments above each other.
    """
    x, y, z = size
    back = (y - depth) / 2
    sides = [
        _box((WALL_THICKNESS, depth, z), s * (x - WALL_THICKNESS) / 2, back, z / 2)
        for s in (-1, 1)
    ]
    inner = x - 2 * WALL_THICKNESS
    heights = np.linspace(WALL_THICKNESS / 2, z - WALL_THICKNESS / 2, num_levels + 1)
    boards = [_box((inner, depth, WALL_THICKNESS), 0.0, back, h) for h in heights]
    rear = _box((inner, WALL_THICKNESS, z), 0, (y - WALL_THICKNESS) / 2, z / 2)
    return [*sides, *boards, rear]


def _walls(size: Size, low: float) -> list[PosedShape]:
    """Return the four walls of a box that stands at a height [m]."""
    x, y, z = size
    t = WALL_THICKNESS
    along = [_box((t, y, z), s * (x - t) / 2, 0, low + z / 2) for s in (-1, 1)]
    inner = (x - 2 * t, t, z)
    return along + [_box(inner, 0, s * (y - t) / 2, low + z / 2) for s in (-1, 1)]


def _box(size: Size, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> PosedShape:
    return Box(list(size)), _pose(x, y, z)


def _pose(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Float[np.ndarray, "7"]:
    return np.array([x, y, z, 1.0, 0, 0, 0])

"""Room for objects side by side: what they cover, and the area of what carries them.

Both are seen from above. What an object covers is bounded from below in all of its
orientations. So there is a lack of room for certain, unless objects stand on a rim,
beyond an edge, or askew above each other.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from posewise.robots.config import Config
from posewise.robots.contact.verticals import columns_of_box, vertical_spans
from posewise.robots.geometry.shapes import Box, Cylinder, Shape, Sphere
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from ..checks.doubts import supports_of
from .sampling import frame_bounds

COLUMNS = 96
"""Number of columns along each edge of a support; more measure its area better."""
AREA_ERROR = 0.05
"""Error of that area, relative to it [1]; a larger one reports fewer supports."""
RIM_HEIGHT = 3e-3
"""Depth below the highest point of a support that belongs to its rim [m]."""


def lacks_of_room(
    world: Config, constraints: Sequence[object], movable: Sequence[FrameName]
) -> Iterator[str]:
    """Yield a sentence for each support that cannot carry its objects side by side.

    Args:
        world: in which the supports stand.
        constraints: of a placement.
        movable: names of what it moves; supports among them are left out.
    """
    carried: dict[FrameName, dict[FrameName, None]] = {}
    for constraint in constraints:
        for obj, support in supports_of(constraint, world):
            carried.setdefault(support, {})[obj] = None
    for support, objects in carried.items():
        if len(objects) < 2 or support in movable:
            continue
        covered = sum(least_shadow(world, obj) for obj in objects)
        area = inner_area(world, support)
        if covered > (1 + AREA_ERROR) * area:
            yield (
                f"{len(objects)} objects do not fit within the edges of {support!r}"
                f" side by side: seen from above they cover {1e4 * covered:.0f} cm² at"
                f" least, and there are {1e4 * area:.0f} cm². Unless some may stand out"
                " beyond an edge, more starts do not help: take fewer or smaller"
                f" objects, or a larger {support!r}."
            )


def least_shadow(world: Config, name: FrameName) -> float:
    """Return what an object covers at least, in any orientation [m²].

    That of its largest box, cylinder or ball; other shapes count nothing.
    """
    shapes = [
        geometry.shape
        for i in world.pairs.solid_parts(name)
        for geometry in world.frames[i].geometries
        if geometry.collision
    ]
    return max((_shadow(shape) for shape in shapes), default=0.0)


def _shadow(shape: Shape) -> float:
    """Return the least area of the projection of a shape, over all directions [m²]."""
    if isinstance(shape, Sphere):
        return float(np.pi * shape.radius**2)
    if isinstance(shape, Cylinder):
        # Of an ellipse and a rectangle, weighted by cosine and sine of the direction.
        base, side = np.pi * shape.radius**2, 2 * shape.radius * shape.length
        return float(min(base, side))
    if isinstance(shape, Box):
        edges = np.sort(np.asarray(shape.size, float))
        return float(edges[0] * edges[1])
    return 0.0


def inner_area(world: Config, name: FrameName) -> float:
    """Return the area of a support from above, without a rim higher than the rest [m²].

    Args:
        world: the world.
        name: of the support.
    """
    parts = world.pairs.solid_parts(name)
    poses = world.poses()
    boxes = np.stack([frame_bounds(world.frames[i], poses[i]) for i in parts])
    low, high = boxes[:, 0].min(0), boxes[:, 1].max(0)
    if not np.isfinite([low, high]).all():
        return np.inf
    places = columns_of_box(low, high, COLUMNS)
    bodies = [
        (world.frames[i], quat_to_matrix(poses[i, 3:]), poses[i, :3]) for i in parts
    ]
    heights = vertical_spans(bodies, places).top.max(1, initial=-np.inf)
    covered = heights[np.isfinite(heights)]
    is_rim = covered > covered.max(initial=-np.inf) - RIM_HEIGHT
    columns = len(covered)
    if 2 * is_rim.sum() < columns:
        columns -= int(is_rim.sum())
    return float(columns * np.prod((high - low)[:2]) / len(places))

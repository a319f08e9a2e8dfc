"""Footing: how much of an object another one carries, such as a knob."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.ray_casting import intersect_lines
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import FrameGroup, bounding_box, find_object

COLUMNS = 32
"""Number of columns along each edge of an object; more measure small parts better."""
MAX_GAP = 5e-3
"""Distance up to which a surface below an object carries it [m]."""


class Footing(NamedTuple):
    """The part of another object that carries an object."""

    share: float
    """Share of what the object covers, seen from above, that is carried [1]."""
    part: FrameName
    """A frame that it touches."""


def measure_footing(C: Config, a: FrameName, b: FrameName) -> Footing | None:
    """Return what carries an object; None: it has no size, or touches nothing below.

    Seen from above, it is the convex hull of all of b that is as high as where a rests,
    so that a board on two trestles, or a chair on its feet, has a large footing.

    Args:
        C: the world.
        a: the object that rests.
        b: the object that carries it.
    """
    upper, lower = find_object(C, a, b), find_object(C, b, a)
    low, high = bounding_box(upper)
    if not upper.collision_frames or not np.isfinite([low, high]).all():
        return None
    steps = (np.arange(COLUMNS) + 0.5) / COLUMNS
    x, y = np.meshgrid(*(low[:2] + (high - low)[:2] * steps[:, None]).T)
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], -1)
    bottom, _, _ = _surfaces(upper, points, np.full(len(points), np.inf))
    is_covered = np.isfinite(bottom)
    points, bottom = points[is_covered], bottom[is_covered]
    _, top, parts = _surfaces(lower, points, bottom + MAX_GAP)
    touches = bottom - top <= MAX_GAP
    if not touches.any():
        return None
    height = top[touches].max()
    carried = touches | (np.abs(top - height) <= MAX_GAP)
    share = _hull_cells(points[carried], (high - low)[:2] / COLUMNS) / len(points)
    return Footing(share, C.frames[parts[touches][0]].name)


def _surfaces(
    group: FrameGroup,
    points: Float[np.ndarray, "n 3"],
    below: Float[np.ndarray, " n"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lowest and the highest surface on verticals, and the latter's frame.

    Args:
        group: of frames.
        points: on the verticals.
        below: height below which upper surfaces count [m].
    """
    bottom, top = np.full(len(points), np.inf), np.full(len(points), -np.inf)
    parts = np.full(len(points), -1)
    for i in group.collision_frames:
        R, p = group.pose(i)
        up = np.broadcast_to(R.T @ [0.0, 0.0, 1.0], points.shape)
        lines = intersect_lines(group.C.frames[i], (points - p) @ R, up)
        bottom = np.minimum(bottom, lines[0].min(1, initial=np.inf))
        leave = np.where(lines[1] <= below[:, None], lines[1], -np.inf)
        highest = leave.max(1, initial=-np.inf)
        parts = np.where(highest > top, i, parts)
        top = np.maximum(top, highest)
    return bottom, top, parts


def _hull_cells(
    points: Float[np.ndarray, "n 3"], cell: Float[np.ndarray, "2"]
) -> float:
    """Return the area of the convex hull of columns seen from above, in columns."""
    from scipy.spatial import ConvexHull  # slow to import

    corners = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    scaled = points[:, None, :2] / cell + corners
    return float(ConvexHull(scaled.reshape(-1, 2)).volume)

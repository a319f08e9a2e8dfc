"""Footing: how much of an object another one carries, such as a knob."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.verticals import (
    MAX_CARRIED_GAP,
    columns_of_box,
    vertical_spans,
)
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import bounding_box, find_object, posed_frames

COLUMNS = 64
"""Number of columns along each edge of an object; more measure small parts better."""
START_COLUMNS = 3
"""Number of columns along each edge of it at poses of starts, which is odd, so that one
is in the middle; more take longer to rate."""


class Footing(NamedTuple):
    """The part of another object that carries an object."""

    carried: float
    """Area of what the object covers, seen from above, that is carried [m²]."""
    covered: float
    """Area that the object covers, seen from above [m²]."""
    part: FrameName
    """A frame that it touches."""

    @property
    def share(self) -> float:
        """Share of what the object covers that is carried [1]."""
        return self.carried / self.covered


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
    places = columns_of_box(low, high, COLUMNS)
    bottom = vertical_spans(posed_frames(upper), places).bottom.min(1)
    is_covered = np.isfinite(bottom)
    places, bottom = places[is_covered], bottom[is_covered]
    if not len(places):
        return None
    below = vertical_spans(posed_frames(lower), places)
    tops = np.where(below.top <= bottom[:, None] + MAX_CARRIED_GAP, below.top, -np.inf)
    top = tops.max(1, initial=-np.inf)
    touches = bottom - top <= MAX_CARRIED_GAP
    if not touches.any():
        return None
    height = top[touches].max()
    carried = touches | (np.abs(top - height) <= MAX_CARRIED_GAP)
    cell = (high - low)[:2] / COLUMNS
    first = below.frames[tops[touches][0].argmax()]
    frame = (lower.collision_frames or lower.frames)[first]
    return Footing(
        _hull_area(places[carried], cell),
        float(len(places) * cell.prod()),
        C.frames[frame].name,
    )


def _hull_area(places: Float[np.ndarray, "n 2"], cell: Float[np.ndarray, "2"]) -> float:
    """Return the area of the convex hull of columns seen from above [m²]."""
    from scipy.spatial import ConvexHull  # slow to import

    corners = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    scaled = places[:, None] / cell + corners
    return float(ConvexHull(scaled.reshape(-1, 2)).volume * cell.prod())


def carried_shares_at(
    C: Config, a: FrameName, b: FrameName, poses: Float[np.ndarray, "n 7"]
) -> Float[np.ndarray, " n"]:
    """Return how much of b below an object is level, at poses of the object's root.

    It is the share of the columns of its box, seen from above, in which the highest
    surface of b below the box's middle is as high as in the middle column; 1 for an
    object without a size.

    Args:
        C: the world.
        a: the object that is to rest.
        b: the object that is to carry it.
        poses: of a's root frame.
    """
    upper, lower = find_object(C, a, b), find_object(C, b, a)
    R, p = upper.pose(upper.frames[0])
    box = np.stack(bounding_box(upper, R)) - p @ R
    if not upper.collision_frames or not np.isfinite(box).all():
        return np.ones(len(poses))
    corners = np.stack(np.meshgrid(*box.T), -1).reshape(-1, 3)
    turned = quat_to_matrix(poses[:, 3:]) @ corners.T
    points = np.swapaxes(turned, 1, 2) + poses[:, None, :3]
    lows, highs = points.min(1), points.max(1)
    steps = (np.arange(START_COLUMNS) + 0.5) / START_COLUMNS
    grid = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)
    places = lows[:, None, :2] + (highs - lows)[:, None, :2] * grid
    spans = vertical_spans(posed_frames(lower), places.reshape(-1, 2))
    tops = spans.top.reshape(len(poses), len(grid), -1)
    middle = (lows + highs)[:, 2, None, None] / 2
    top = np.where(tops <= middle, tops, -np.inf).max(-1, initial=-np.inf)
    height = top[:, len(grid) // 2, None]
    is_level = np.isfinite(top) & np.isclose(top, height, 0.0, MAX_CARRIED_GAP)
    return is_level.mean(1)

"""Objects that rest on a small part of another one, such as on a knob."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.ray_casting import intersect_lines
from posewise.robots.typing import FrameName

from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import FrameGroup, bounding_box, find_object

COLUMNS = 32
"""Number of columns along each edge of an object; more measure small parts better."""
MAX_GAP = 5e-3
"""Distance up to which a surface below an object carries it [m]."""
MIN_FOOTING = 0.06
"""Fraction of what an object covers that is to be carried; with more, plates on a
glass are told."""


def rests_on_little(
    predicate: Predicate, C: Config, a: FrameName, b: FrameName
) -> Iterator[str]:
    """Yield a sentence if what carries an object is small beside what it covers.

    Seen from above, it is the convex hull of all of b that is as high as where a rests,
    so that a board on two trestles, or a chair on its feet, has a large footing.

    Args:
        predicate: it holds of both.
        C: the world.
        a: the object that rests.
        b: the object that carries it.
    """
    upper, lower = find_object(C, a, b), find_object(C, b, a)
    low, high = bounding_box(upper)
    if not upper.collision_frames or not np.isfinite([low, high]).all():
        return
    steps = (np.arange(COLUMNS) + 0.5) / COLUMNS
    x, y = np.meshgrid(*(low[:2] + (high - low)[:2] * steps[:, None]).T)
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], -1)
    bottom, _, _ = _surfaces(upper, points, np.full(len(points), np.inf))
    is_covered = np.isfinite(bottom)
    points, bottom = points[is_covered], bottom[is_covered]
    _, top, parts = _surfaces(lower, points, bottom + MAX_GAP)
    touches = bottom - top <= MAX_GAP
    if not touches.any():
        return
    height = top[touches].max()
    carried = touches | (np.abs(top - height) <= MAX_GAP)
    fraction = _hull_cells(points[carried], (high - low)[:2] / COLUMNS) / len(points)
    if fraction < MIN_FOOTING:
        part = C.frames[parts[touches][0]].name
        of = f" by {part!r}" if part != b else ""
        yield (
            f"{format_predicate(predicate)} holds, but {b!r} carries {a!r}{of} on"
            f" {100 * fraction:.0f} % of what it covers. Ask for a place with more"
            f" room, such as a region of {b!r}."
        )


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

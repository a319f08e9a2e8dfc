"""Objects in the air: nothing touches them from below, and nothing holds them."""

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.config.posed_frames import posed_frames
from posewise.robots.contact.bounding_boxes import body_boxes
from posewise.robots.contact.gjk_numpy import PosedFrame, min_distance
from posewise.robots.contact.verticals import (
    MAX_CARRIED_GAP,
    VerticalSpans,
    columns_of_box,
    vertical_spans,
)
from posewise.robots.typing import FrameName

COLUMNS = 32
"""Number of columns along each edge of an object; more find thinner supports."""
MIN_UPWARDS = 0.1
"""Share of a contact's normal that is upwards, from which it carries [1]; smaller ones
take walls for supports."""
MIN_OPPOSITION = 0.5
"""Minus the cosine between two contacts from which they hold what is between them [1];
smaller ones take a corner for a hand."""


def floating_doubts(C: Config, names: Iterable[FrameName]) -> Iterator[str]:
    """Yield a sentence for each of some objects that nothing carries or holds.

    Args:
        C: the world.
        names: of objects.
    """
    for name in names:
        if sentence := describe_floating(C, name):
            yield f"{sentence} Ask for what carries it, or for logic.Stable({name!r})."


def describe_floating(C: Config, name: FrameName) -> str:
    """Return a sentence on an object in the air; empty: something carries or holds it.

    It is carried by what is at most `MAX_CARRIED_GAP` below any of its parts, whatever
    is excluded from collisions, and held by what touches it on two opposite sides. It
    moves with all that is attached to it. What has no finite shape is no object.

    Args:
        C: the world.
        name: of the object.
    """
    own_frames = C.subtree(name)
    frames = enumerate(C.frames)
    solid = [i for i, f in frames if any(g.collision for g in f.geometries)]
    upper = [i for i in solid if C.frames[i].name in own_frames]
    lower = [i for i in solid if C.frames[i].name not in own_frames]
    boxes = [_part_boxes(body) for body in posed_frames(C, upper)]
    if not boxes:
        return ""
    low, high = (np.concatenate(ends) for ends in zip(*boxes, strict=True))
    if not np.isfinite([low, high]).all():
        return ""
    near = [i for i in lower if _overlaps(C, i, low.min(0), high.max(0))]
    # The middles of parts besides, so that thin legs are not between columns.
    grid = columns_of_box(low.min(0), high.max(0), COLUMNS)
    places = np.concatenate([grid, (low + high)[:, :2] / 2])
    object_spans = vertical_spans(posed_frames(C, upper), places)
    below = vertical_spans(posed_frames(C, near), places)
    if _is_held(posed_frames(C, upper), posed_frames(C, near)) or _is_carried(
        object_spans, below
    ):
        return ""
    gaps = object_spans.bottom.min(1)[:, None] - below.top
    gaps = np.where((gaps >= 0) & np.isfinite(gaps), gaps, np.inf)
    if not np.isfinite(gaps).any():
        return f"{name!r} is in the air: nothing is straight below it."
    least = gaps.min(0).argmin()
    support = C.frames[near[below.frames[least]]].name
    return (
        f"{name!r} is in the air: the nearest surface straight below it is that of"
        f" {support!r}, {1e3 * gaps.min():.0f} mm lower."
    )


def _is_carried(upper: VerticalSpans, lower: VerticalSpans) -> bool:
    """Return whether any part of an object is just above another body."""
    with np.errstate(invalid="ignore"):
        gaps = np.abs(upper.bottom[:, :, None] - lower.top[:, None])
    return bool((gaps <= MAX_CARRIED_GAP).any())


def _is_held(upper: list[PosedFrame], lower: list[PosedFrame]) -> bool:
    """Return whether contacts are from below, or from two opposite sides."""
    normals: list[Float[np.ndarray, "3"]] = []
    for body in lower:
        contact = min_distance(upper, [body])
        if contact is not None and 0 < contact.distance <= MAX_CARRIED_GAP:
            normals.append(contact.normal)
    if any(normal[2] >= MIN_UPWARDS for normal in normals):
        return True
    return any(-a @ b >= MIN_OPPOSITION for a, b in combinations(normals, 2))


def _part_boxes(
    body: PosedFrame,
) -> tuple[Float[np.ndarray, "parts 3"], Float[np.ndarray, "parts 3"]]:
    frame, R, p = body
    return body_boxes(frame, R, p)


def _overlaps(
    C: Config, i: int, low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"]
) -> bool:
    """Return whether a frame may touch what is in a box, or be below it."""
    lower, upper = _part_boxes(posed_frames(C, [i])[0])
    low, high = low - MAX_CARRIED_GAP, high + MAX_CARRIED_GAP
    beside = (lower.min(0)[:2] > high[:2]) | (upper.max(0)[:2] < low[:2])
    return bool(not beside.any() and lower.min(0)[2] <= high[2])

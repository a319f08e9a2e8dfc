"""Next to: two objects near each other, at a common height."""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    FrameGroup,
    are_within,
    bounding_box,
    centre_of_mass,
    closest_separation,
    find_object,
    part_boxes,
    require_shapes,
)
from ..geometry.messages import length, relation
from ..geometry.ray_axes import HORIZONTAL, IGIBSON_RANGE, hits_along_axes
from .verdict import Semantics, Verdict


def next_to_verdict(
    C: Config, a: FrameName, b: FrameName, nearness: float, semantics: Semantics
) -> Verdict:
    """Return whether two objects are near each other and level; see `NextTo`."""
    group_a = require_shapes(find_object(C, a, b))
    group_b = require_shapes(find_object(C, b, a))
    igibson = semantics == "igibson"
    sizes = _box_size(group_a, igibson) + _box_size(group_b, igibson)
    threshold = float(nearness * np.mean(sizes) / 2)
    box_distance = _box_distance(group_a, group_b)
    if igibson:
        near = box_distance <= threshold
    elif semantics == "document":
        near = are_within(group_a, group_b, float(np.nextafter(threshold, 0)))
    else:
        near = are_within(group_a, group_b, threshold)

    def distance_reason() -> str:
        limit = f"the threshold for their sizes is {length(threshold)}"
        if igibson:
            boxes = f"bounding boxes of {a} and {b}"
            return f"The {boxes} are {length(box_distance)} apart; {limit}"
        return f"{relation(closest_separation(group_a, group_b), a, b)}; {limit}"

    if not near:
        return Verdict(False, lambda: f"{distance_reason()}.")
    level = _is_at_height(group_a, group_b, igibson)
    if semantics != "document":
        level = level or _is_at_height(group_b, group_a, igibson)

    def reason() -> str:
        if level:
            return f"{distance_reason()}, and one is at the other's height."
        low, high = bounding_box(group_b)
        z = centre_of_mass(group_a, root_only=igibson)[2]
        off = length(max(low[2] - z, z - high[2], 0.0))
        text = f"neither is at the other's height ({off} off)"
        return f"{distance_reason()}, but {text}."

    return Verdict(level, reason)


def _box_size(group: FrameGroup, world: bool) -> Float[np.ndarray, "3"]:
    """Return the edges of the bounding box, along the world's or its own axes [m]."""
    axes = None if world else group.pose(group.frames[0])[0]
    low, high = bounding_box(group, axes)
    if not np.isfinite(high - low).all():
        raise ConfigError(
            f"{group.name!r} is unbounded and has no size, by which NextTo judges what"
            " is near; use InContactWith for planes."
        )
    return high - low


def _box_distance(a: FrameGroup, b: FrameGroup) -> float:
    """Return the distance of the world's bounding boxes [m]."""
    (low_a, high_a), (low_b, high_b) = bounding_box(a), bounding_box(b)
    gap = np.maximum(np.maximum(low_a - high_b, low_b - high_a), 0)
    return float(np.linalg.norm(gap))


def _is_at_height(a: FrameGroup, b: FrameGroup, igibson: bool) -> bool:
    """Return whether b is at the height of a's centre of mass."""
    centre = centre_of_mass(a, root_only=igibson)
    if igibson:
        hits = hits_along_axes(b, centre, HORIZONTAL, IGIBSON_RANGE[:8])
        return bool(np.isfinite(hits).any())
    low, high = part_boxes(b)
    return bool(((low[:, 2] <= centre[2]) & (centre[2] <= high[:, 2])).any())

"""Next to: two objects near each other, at a common height."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..geometry.frame_groups import (
    FrameGroup,
    are_within,
    bounding_box,
    centre_of_mass,
    closest_separation,
    find_object,
    part_boxes,
    region_around,
    require_shapes,
)
from ..geometry.messages import length, relation
from ..geometry.ray_axes import HORIZONTAL, IGIBSON_RANGE, hits_along_axes
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.next_to import (
    box_distance_rows,
    far_rows,
    height_rows,
    near_rows,
    off_height_rows,
)
from ..relaxed.object_features import object_pair
from ..relaxed.rays import ray_hit_rows, ray_miss_rows
from .verdict import SemanticPredicate, Verdict

DEFAULT_NEARNESS = 1 / 3
"""Largest distance of objects next to each other, in mean edges of their boxes [1]."""


@dataclass(frozen=True)
class NextTo(SemanticPredicate):
    """a and b are near each other, and one is at the height of the other.

    Near: the distance is at most `nearness` times the mean edge of both bounding boxes,
    by default a third of it, as in iGibson 2.0 (Li et al. 2021).

    "posewise": the distance is that of the closest points, boxes are along the axes of
    the root frames, and the horizontal plane through one centre of mass cuts a part of
    the other object. "igibson": the distance and the sizes are those of bounding boxes
    along the world's axes, and a horizontal ray of 1 m from the centre of one root
    frame, one of 16 at 22.5 degrees, hits the other object. "document": as "posewise",
    but less than the threshold, and with the plane through a's centre only.

    The default is "posewise": rotating the scene changes nothing, and no object fits
    between two rays.

    Args:
        a: an object or frame with a shape.
        b: another object or frame with a shape.
        nearness: largest distance, as a share of the mean edge [1]; `logic.fit` finds
            it from examples.

    Raises:
        PredicateError: for a nearness that is not positive.
        ConfigError: when evaluated, for unknown names, objects without shapes, and
            planes, which have no size.
    """

    a: FrameName
    b: FrameName
    nearness: float = field(default=DEFAULT_NEARNESS, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        label = "NextTo: nearness"
        number(label, self.nearness, "> 0", lambda x: x > 0, PredicateError)

    def verdict(self, C: Config) -> Verdict:
        a = require_shapes(find_object(C, self.a, self.b))
        b = require_shapes(find_object(C, self.b, self.a))
        igibson = self.semantics == "igibson"
        sizes = _box_size(a, igibson) + _box_size(b, igibson)
        threshold = float(self.nearness * np.mean(sizes) / 2)
        box_distance = _box_distance(a, b)
        if igibson:
            near = box_distance <= threshold
        elif self.semantics == "document":
            near = are_within(a, b, float(np.nextafter(threshold, 0)))
        else:
            near = are_within(a, b, threshold)
        if not near:
            return Verdict(
                False, lambda: self._distance_reason(a, b, box_distance, threshold)
            )
        level = _is_at_height(a, b, igibson)
        if self.semantics != "document":
            level = level or _is_at_height(b, a, igibson)

        def reason() -> str:
            distance = self._distance_reason(a, b, box_distance, threshold)[:-1]
            return self._height_reason(a, b, distance, level)

        return Verdict(level, reason)

    def _distance_reason(
        self, a: FrameGroup, b: FrameGroup, box_distance: float, threshold: float
    ) -> str:
        limit = f"the threshold for their sizes is {length(threshold)}"
        if self.semantics == "igibson":
            boxes = f"bounding boxes of {self.a} and {self.b}"
            return f"The {boxes} are {length(box_distance)} apart; {limit}."
        return f"{relation(closest_separation(a, b), self.a, self.b)}; {limit}."

    def _height_reason(
        self, a: FrameGroup, b: FrameGroup, distance: str, level: bool
    ) -> str:
        if level:
            return f"{distance}, and one is at the other's height."
        low, high = bounding_box(b)
        z = centre_of_mass(a, root_only=self.semantics == "igibson")[2]
        off = length(max(low[2] - z, z - high[2], 0.0))
        return f"{distance}, but neither is at the other's height ({off} off)."

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the distance less the threshold, and of the heights."""
        if self.semantics == "igibson":
            return self._igibson_term(C, truth)
        pair, both = object_pair(C, self.a, self.b), self.semantics == "posewise"
        error = 0.5 * self.bound
        if truth:
            near = Inequality(
                pair.feature(near_rows(self.nearness, error)), error=error
            )
            level = Inequality(pair.feature(height_rows(error, both)), error=error)
            return Conjunction((near, level))
        far = Inequality(pair.feature(far_rows(self.nearness)))
        off_height = Inequality(pair.feature(off_height_rows(both)))
        return Disjunction((far, off_height), error)

    def _igibson_term(self, C: Config, truth: bool) -> ConstraintTerm:
        pairs = [
            object_pair(C, self.a, self.b, root_only=True),
            object_pair(C, self.b, self.a, root_only=True),
        ]
        near = Inequality(pairs[0].feature(box_distance_rows(self.nearness, truth)))
        directions = np.concatenate([HORIZONTAL, -HORIZONTAL])
        reach, error = float(IGIBSON_RANGE[0]), 0.5 * self.bound
        if truth:
            hit = ray_hit_rows(directions, reach, error)
            hits = [Inequality(pair.feature(hit), error=error) for pair in pairs]
            return Conjunction((near, Disjunction(tuple(hits), error)))
        miss = ray_miss_rows(directions, reach)
        misses = [Inequality(pair.feature(miss)) for pair in pairs]
        return Disjunction((near, Conjunction(tuple(misses))), error)

    def start_region(
        self, C: Config, name: FrameName
    ) -> Float[np.ndarray, "2 3"] | None:
        if name not in (self.a, self.b):
            return None
        other = self.b if name == self.a else self.a
        return region_around(C, name, other, -1.5, 1.5)


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

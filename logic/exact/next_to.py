"""Next to: near, and at the same height."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

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
from ..relaxed import next_to
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.object_features import object_pair
from ..relaxed.rays import ray_hit_rows, ray_miss_rows
from .messages import length, relation
from .rays import HORIZONTAL, IGIBSON_RANGE, hits_along_axes
from .verdict import SemanticPredicate, Verdict


@dataclass(frozen=True)
class NextTo(SemanticPredicate):
    """a and b are near each other, and one is at the height of the other.

    Near: the distance is at most a third of the mean edge of both bounding boxes (a
    sixth of the mean sum of their edges).

    "posewise": the distance is that of the closest points, boxes are in the axes of the
    things' root frames, and the horizontal plane through one's centre of mass cuts a
    part of the other. "igibson": the distance is that of the world's bounding boxes,
    which are also measured, and a horizontal ray from the centre of one's root frame,
    one of 16 at 22.5 degrees and 1 m long, meets the other. "document": as "posewise",
    but less than the threshold, and the plane is that of a's centre.

    The default is "posewise": turning the scene changes nothing, and no thing slips
    between two rays.

    Args:
        a: an object or frame with a shape.
        b: another one.

    Raises:
        ConfigError: on asking, for unknown names, things without shapes, and planes,
            which have no size.
    """

    a: Any
    b: Any

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        a = require_shapes(find_object(C, self.a, self.b))
        b = require_shapes(find_object(C, self.b, self.a))
        igibson = self.semantics == "igibson"
        threshold = float(np.mean(_size(a, igibson) + _size(b, igibson)) / 6)
        gap = _box_gap(a, b)
        if igibson:
            near = gap <= threshold
        elif self.semantics == "document":
            near = are_within(a, b, float(np.nextafter(threshold, 0)))
        else:
            near = are_within(a, b, threshold)
        if not near:
            return Verdict(False, lambda: self._distance(a, b, gap, threshold))
        level = _meets(a, b, igibson)
        if self.semantics != "document":
            level = level or _meets(b, a, igibson)
        return Verdict(level, lambda: self._height(a, b, gap, threshold, level))

    def _distance(
        self, a: FrameGroup, b: FrameGroup, gap: float, threshold: float
    ) -> str:
        limit = f"the threshold for their sizes is {length(threshold)}"
        if self.semantics == "igibson":
            boxes = f"bounding boxes of {self.a} and {self.b}"
            return f"The {boxes} are {length(gap)} apart; {limit}."
        return f"{relation(closest_separation(a, b), self.a, self.b)}; {limit}."

    def _height(
        self, a: FrameGroup, b: FrameGroup, gap: float, threshold: float, level: bool
    ) -> str:
        near = self._distance(a, b, gap, threshold)[:-1]
        if level:
            return f"{near}, and one is at the other's height."
        low, high = bounding_box(b)
        z = centre_of_mass(a, root=self.semantics == "igibson")[2]
        off = length(max(low[2] - z, z - high[2], 0.0))
        return f"{near}, but neither is at the other's height ({off} off)."

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """The distance, less the threshold, and the heights; or what excludes one."""
        if self.semantics == "igibson":
            return self._igibson(C, truth)
        pair, both = object_pair(C, self.a, self.b), self.semantics == "posewise"
        error = 0.5 * self.bound
        if truth:
            near = Inequality(pair.feature(next_to.near_rows(error)), error=error)
            level = Inequality(
                pair.feature(next_to.height_rows(error, both)), error=error
            )
            return Conjunction((near, level))
        away = Inequality(pair.feature(next_to.far_rows()))
        return Disjunction(
            (away, Inequality(pair.feature(next_to.off_height_rows(both)))), error
        )

    def _igibson(self, C: Config, truth: bool) -> ConstraintTerm:
        pairs = [
            object_pair(C, self.a, self.b, True),
            object_pair(C, self.b, self.a, True),
        ]
        near = Inequality(pairs[0].feature(next_to.box_distance_rows(truth)))
        ways = np.concatenate([HORIZONTAL, -HORIZONTAL])
        reach, error = float(IGIBSON_RANGE[0]), 0.5 * self.bound
        if truth:
            meet = ray_hit_rows(ways, reach, error)
            hits = tuple(Inequality(pair.feature(meet), error=error) for pair in pairs)
            return Conjunction((near, Disjunction(hits, error)))
        miss = ray_miss_rows(ways, reach)
        return Disjunction(
            (near, Conjunction(tuple(Inequality(x.feature(miss)) for x in pairs))),
            error,
        )

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name not in (self.a, self.b):
            return None
        other = self.b if name == self.a else self.a
        return region_around(C, name, other, -1.5, 1.5)


def _size(thing: FrameGroup, world: bool) -> Float[np.ndarray, "3"]:
    """Edges of its bounding box, in the world's axes or its own [m]."""
    low, high = bounding_box(thing, None if world else thing.pose(thing.frames[0])[0])
    if not np.isfinite(high - low).all():
        raise ConfigError(
            f"{thing.name!r} is unbounded and has no size, by which NextTo judges what"
            " is near; use InContactWith for planes."
        )
    return high - low


def _box_gap(a: FrameGroup, b: FrameGroup) -> float:
    """Distance of the world's bounding boxes [m]."""
    (low_a, high_a), (low_b, high_b) = bounding_box(a), bounding_box(b)
    gap = np.maximum(np.maximum(low_a - high_b, low_b - high_a), 0)
    return float(np.linalg.norm(gap))


def _meets(a: FrameGroup, b: FrameGroup, igibson: bool) -> bool:
    """Whether b is at the height of a's centre of mass."""
    centre = centre_of_mass(a, root=igibson)
    if igibson:
        hits = hits_along_axes(b, centre, HORIZONTAL, IGIBSON_RANGE[:8])
        return bool(np.isfinite(hits).any())
    low, high = part_boxes(b)
    return bool(((low[:, 2] <= centre[2]) & (centre[2] <= high[:, 2])).any())

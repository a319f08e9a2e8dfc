"""Next to: near, and at the same height."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..relaxed import next_to
from ..relaxed.constraint_terms import AllOf, AnyOf, Rows, Term
from ..relaxed.object_features import pair_of
from ..relaxed.rays import meets, misses
from .messages import length, relation
from .rays import HORIZONTAL, IGIBSON_RANGE, hits_both_ways
from .solids import (
    Solid,
    bounding_box,
    centre_of_mass,
    nearest,
    part_boxes,
    region_about,
    thing,
    with_shapes,
    within,
)
from .verdict import Judged, Verdict


@dataclass(frozen=True)
class NextTo(Judged):
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
        """See `Judged`."""
        a = with_shapes(thing(C, self.a, self.b))
        b = with_shapes(thing(C, self.b, self.a))
        igibson = self.semantics == "igibson"
        threshold = float(np.mean(_size(a, igibson) + _size(b, igibson)) / 6)
        gap = _box_gap(a, b)
        if igibson:
            near = gap <= threshold
        elif self.semantics == "document":
            near = within(a, b, float(np.nextafter(threshold, 0)))
        else:
            near = within(a, b, threshold)
        if not near:
            return Verdict(False, lambda: self._distance(a, b, gap, threshold))
        level = _meets(a, b, igibson)
        if self.semantics != "document":
            level = level or _meets(b, a, igibson)
        return Verdict(level, lambda: self._height(a, b, gap, threshold, level))

    def _distance(self, a: Solid, b: Solid, gap: float, threshold: float) -> str:
        limit = f"the threshold for their sizes is {length(threshold)}"
        if self.semantics == "igibson":
            boxes = f"bounding boxes of {self.a} and {self.b}"
            return f"The {boxes} are {length(gap)} apart; {limit}."
        return f"{relation(nearest(a, b), self.a, self.b)}; {limit}."

    def _height(
        self, a: Solid, b: Solid, gap: float, threshold: float, level: bool
    ) -> str:
        near = self._distance(a, b, gap, threshold)[:-1]
        if level:
            return f"{near}, and one is at the other's height."
        low, high = bounding_box(b)
        z = centre_of_mass(a, root=self.semantics == "igibson")[2]
        off = length(max(low[2] - z, z - high[2], 0.0))
        return f"{near}, but neither is at the other's height ({off} off)."

    def relaxed(self, C: Config, truth: bool = True) -> Term:
        """The distance, less the threshold, and the heights; or what excludes one."""
        if self.semantics == "igibson":
            return self._igibson(C, truth)
        pair, both = pair_of(C, self.a, self.b), self.semantics == "posewise"
        error = 0.5 * self.bound
        if truth:
            near = Rows(pair.feature(next_to.near(error)), error=error)
            level = Rows(pair.feature(next_to.at_height(error, both)), error=error)
            return AllOf((near, level))
        away = Rows(pair.feature(next_to.far()))
        return AnyOf((away, Rows(pair.feature(next_to.off_height(both)))), error)

    def _igibson(self, C: Config, truth: bool) -> Term:
        pairs = [pair_of(C, self.a, self.b, True), pair_of(C, self.b, self.a, True)]
        near = Rows(pairs[0].feature(next_to.boxes_near(truth)))
        ways = np.concatenate([HORIZONTAL, -HORIZONTAL])
        reach, error = float(IGIBSON_RANGE[0]), 0.5 * self.bound
        if truth:
            meet = meets(ways, reach, error)
            hits = tuple(Rows(pair.feature(meet), error=error) for pair in pairs)
            return AllOf((near, AnyOf(hits, error)))
        miss = misses(ways, reach)
        return AnyOf((near, AllOf(tuple(Rows(x.feature(miss)) for x in pairs))), error)

    def region_of(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name not in (self.a, self.b):
            return None
        other = self.b if name == self.a else self.a
        return region_about(C, name, other, -1.5, 1.5)


def _size(thing: Solid, world: bool) -> Float[np.ndarray, "3"]:
    """Edges of its bounding box, in the world's axes or its own [m]."""
    low, high = bounding_box(thing, None if world else thing.pose(thing.frames[0])[0])
    if not np.isfinite(high - low).all():
        raise ConfigError(
            f"{thing.name!r} is unbounded and has no size, by which NextTo judges what"
            " is near; use InContactWith for planes."
        )
    return high - low


def _box_gap(a: Solid, b: Solid) -> float:
    """Distance of the world's bounding boxes [m]."""
    (low_a, high_a), (low_b, high_b) = bounding_box(a), bounding_box(b)
    gap = np.maximum(np.maximum(low_a - high_b, low_b - high_a), 0)
    return float(np.linalg.norm(gap))


def _meets(a: Solid, b: Solid, igibson: bool) -> bool:
    """Whether b is at the height of a's centre of mass."""
    centre = centre_of_mass(a, root=igibson)
    if igibson:
        hits = hits_both_ways(b, centre, HORIZONTAL, IGIBSON_RANGE[:8])
        return bool(np.isfinite(hits).any())
    low, high = part_boxes(b)
    return bool(((low[:, 2] <= centre[2]) & (centre[2] <= high[:, 2])).any())

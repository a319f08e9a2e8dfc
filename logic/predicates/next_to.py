"""Next to: two objects near each other, at a common height."""

from dataclasses import dataclass, field

import numpy as np

from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.next_to import next_to_verdict
from ..exact.verdict import Verdict
from ..geometry.ray_axes import HORIZONTAL, IGIBSON_RANGE
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
from .verdict_predicate import SemanticPredicate

DEFAULT_NEARNESS_RATIO = 1 / 3
"""Largest distance of objects next to each other, in mean edges of their boxes [1];
with a larger one farther objects count."""


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
    nearness: float = field(default=DEFAULT_NEARNESS_RATIO, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        label = "NextTo: nearness"
        number(label, self.nearness, "> 0", lambda x: x > 0, PredicateError)

    def verdict(self, C: Config) -> Verdict:
        return next_to_verdict(C, self.a, self.b, self.nearness, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the distance less the threshold, and of the heights."""
        if self.semantics == "igibson":
            return self._igibson_term(C, truth)
        pair, is_mutual = object_pair(C, self.a, self.b), self.semantics == "posewise"
        error = 0.5 * self.bound
        if truth:
            near = Inequality(
                pair.feature(near_rows(self.nearness, error)), error=error
            )
            level = Inequality(pair.feature(height_rows(error, is_mutual)), error=error)
            return Conjunction((near, level))
        far = Inequality(pair.feature(far_rows(self.nearness)))
        off_height = Inequality(pair.feature(off_height_rows(is_mutual)))
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

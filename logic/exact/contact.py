"""Contact: two things whose surfaces meet."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.validation import number

from ..errors import PredicateError
from ..geometry.frame_groups import (
    are_within,
    closest_separation,
    find_object,
    penetration_bound,
    region_around,
)
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.contact import STRICT_MARGIN, beyond_distance_rows
from ..relaxed.contact import within_distance_rows as distance_within
from ..relaxed.object_features import object_pair
from .messages import length, relation
from .verdict import SemanticPredicate, Verdict

CONTACT_TOLERANCE = 1e-4
"""Things nearer than this touch [m]: what a solver leaves of a gap, and far less than
the slack of a physics engine."""


@dataclass(frozen=True)
class InContactWith(SemanticPredicate):
    """The signed distance of a and b is at most the tolerance: they touch or overlap.

    It is the exact distance of the nearest two convex parts, whatever else is between.
    All semantics agree; iGibson's engine also counts some gaps of 1 to 40 mm between
    curved things, which can be allowed by the tolerance.

    The default is "posewise", as everywhere.

    Args:
        a: an object or frame with a shape.
        b: another one.
        tolerance: gap that still counts as contact [m].

    Raises:
        PredicateError: for a negative tolerance.
        ConfigError: on asking, for unknown names, and things without shapes.
    """

    a: Any
    b: Any
    tolerance: Any = field(default=CONTACT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        truth = are_within(a, b, self.tolerance)

        def reason() -> str:
            gap = closest_separation(a, b)
            if not truth:
                return f"{relation(gap, self.a, self.b)}: not in contact."
            if gap.distance > 0:
                how = f"with a gap of {length(gap.distance)}"
            else:
                how = f"overlapping by at most {length(penetration_bound(a, b))}"
            return f"{self.a} touches {self.b}, {how}."

        return Verdict(truth, reason)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """The distance of the nearest parts; see `Predicate`."""
        pair = object_pair(C, self.a, self.b)
        if not truth:
            return Inequality(
                pair.feature(beyond_distance_rows(self.tolerance + STRICT_MARGIN))
            )
        error = contact_smoothing_error(self.tolerance, self.bound)
        feature = pair.feature(distance_within(self.tolerance, error))
        return Inequality(feature, scale=100.0, error=error)

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name not in (self.a, self.b):
            return None
        other = self.b if name == self.a else self.a
        return region_around(C, name, other, -1.0, 1.0)


def contact_smoothing_error(tolerance: float, bound: float) -> float:
    """By how much smooth minima of distances may be above the least one [m].

    So little that things need not overlap, where the tolerance allows.
    """
    return min(0.5 * tolerance, bound) or bound


def check_tolerance(statement: SemanticPredicate, tolerance: Any) -> None:
    """A length >= 0, else a PredicateError."""
    what = f"{type(statement).__name__}: tolerance"
    number(what, tolerance, ">= 0 (metres)", lambda x: x >= 0, PredicateError)

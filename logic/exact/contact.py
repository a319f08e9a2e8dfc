"""Contact: two things whose surfaces meet."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.validation import number

from ..errors import PredicateError
from ..relaxed.constraint_terms import Rows, Term
from ..relaxed.distances import STRICT, apart
from ..relaxed.distances import within as distance_within
from ..relaxed.object_features import pair_of
from .messages import length, relation
from .solids import nearest, overlap_bound, region_about, thing, within
from .verdict import Judged, Verdict

TOLERANCE = 1e-4
"""Things nearer than this touch [m]: what a solver leaves of a gap, and far less than
the slack of a physics engine."""


@dataclass(frozen=True)
class InContactWith(Judged):
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
    tolerance: Any = field(default=TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

    def verdict(self, C: Config) -> Verdict:
        """See `Judged`."""
        a, b = thing(C, self.a, self.b), thing(C, self.b, self.a)
        truth = within(a, b, self.tolerance)

        def reason() -> str:
            gap = nearest(a, b)
            if not truth:
                return f"{relation(gap, self.a, self.b)}: not in contact."
            if gap.distance > 0:
                how = f"with a gap of {length(gap.distance)}"
            else:
                how = f"overlapping by at most {length(overlap_bound(a, b))}"
            return f"{self.a} touches {self.b}, {how}."

        return Verdict(truth, reason)

    def relaxed(self, C: Config, truth: bool = True) -> Term:
        """The distance of the nearest parts; see `Predicate`."""
        pair = pair_of(C, self.a, self.b)
        if not truth:
            return Rows(pair.feature(apart(self.tolerance + STRICT)))
        error = contact_error(self.tolerance, self.bound)
        feature = pair.feature(distance_within(self.tolerance, error))
        return Rows(feature, scale=100.0, error=error)

    def region_of(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`."""
        if name not in (self.a, self.b):
            return None
        other = self.b if name == self.a else self.a
        return region_about(C, name, other, -1.0, 1.0)


def contact_error(tolerance: float, bound: float) -> float:
    """By how much smooth minima of distances may be above the least one [m].

    So little that things need not overlap, where the tolerance allows.
    """
    return min(0.5 * tolerance, bound) or bound


def check_tolerance(statement: Judged, tolerance: Any) -> None:
    """A length >= 0, else a PredicateError."""
    what = f"{type(statement).__name__}: tolerance"
    number(what, tolerance, ">= 0 (metres)", lambda x: x >= 0, PredicateError)

"""Contact of two objects."""

from dataclasses import dataclass, field

from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.contact import CONTACT_TOLERANCE, contact_verdict
from ..exact.verdict import Verdict
from ..margins import STRICT_MARGIN
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.contact import (
    beyond_distance_rows,
    contact_smoothing_error,
    within_distance_rows,
)
from ..relaxed.object_features import object_pair
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class ContactPredicate(SemanticPredicate):
    """A predicate whose objects touch if their distance is within a tolerance.

    Raises:
        PredicateError: as `SemanticPredicate`, and for a negative tolerance.
    """

    tolerance: float = field(default=CONTACT_TOLERANCE, kw_only=True)
    """Largest distance that counts as contact [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        label = f"{type(self).__name__}: tolerance"
        number(label, self.tolerance, ">= 0 (metres)", lambda x: x >= 0, PredicateError)


@dataclass(frozen=True)
class InContactWith(ContactPredicate):
    """The distance of a and b is at most the tolerance: they touch or overlap.

    It is the exact distance of the two closest convex parts; objects between them do
    not matter. All semantics agree. iGibson's physics engine also reports contact for
    some gaps of 1 to 40 mm between curved objects, which a larger tolerance allows.

    The default is "posewise", as for all predicates.

    Args:
        a: an object or frame with a shape.
        b: another object or frame with a shape.
        tolerance: largest distance that counts as contact [m].

    Raises:
        PredicateError: for a negative tolerance.
        ConfigError: when evaluated, for unknown names, and objects without shapes.
    """

    a: FrameName
    b: FrameName

    def verdict(self, C: Config) -> Verdict:
        return contact_verdict(C, self.a, self.b, self.tolerance)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the signed distance of the nearest parts."""
        pair = object_pair(C, self.a, self.b)
        if not truth:
            rows = beyond_distance_rows(self.tolerance + STRICT_MARGIN)
            return Inequality(pair.feature(rows))
        error = contact_smoothing_error(self.tolerance, self.bound)
        feature = pair.feature(within_distance_rows(self.tolerance, error))
        return Inequality(feature, scale=100.0, error=error)

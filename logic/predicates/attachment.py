"""Attachment: an object that is joined to another one."""

from dataclasses import dataclass, field

from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.attachment import ATTACHMENT_DISTANCE, attachment_verdict, is_joined
from ..exact.verdict import Verdict
from ..margins import STRICT_MARGIN
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Inequality
from ..relaxed.contact import beyond_distance_rows, within_distance_rows
from ..relaxed.object_features import object_pair
from .verdict_predicate import DEFAULT_BOUND, VerdictPredicate


@dataclass(frozen=True)
class Attached(VerdictPredicate):
    """a is joined to b, at a distance of at most 5 cm (OmniGibson).

    Joined by `set`, or because a's frame is below one of b. OmniGibson joins annotated
    links of both that come within 5 cm and 5 degrees; here any parts of them may meet,
    in any orientation.

    Args:
        a: an object.
        b: the object to which it is joined.

    Raises:
        ConfigError: when evaluated, for unknown names, and objects without shapes.
    """

    a: FrameName
    b: FrameName
    bound: float = field(default=DEFAULT_BOUND, kw_only=True)
    """Margin by which it must be true for `violation` to be at most 0 [m]."""

    def __post_init__(self) -> None:
        label = f"{type(self).__name__}: bound"
        number(label, self.bound, "> 0", lambda x: x > 0, PredicateError)
        super().__post_init__()

    def verdict(self, C: Config) -> Verdict:
        return attachment_verdict(C, self.a, self.b)

    def is_joined(self, C: Config) -> bool:
        """Return whether the two are joined, at whatever distance."""
        return is_joined(C, self.a, self.b)

    def set(self, C: Config, value: bool = True) -> None:
        """Join a to b, or part them; neither is moved."""
        C.annotations.set_state(self.a, attached={self.b: bool(value)})

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return a row of the distance of the two, which have to be joined.

        Raises:
            PredicateError: for objects that are to be attached and are not joined.
        """
        if not self.is_joined(C):
            if truth:
                raise PredicateError(
                    f"{self.a} is not joined to {self.b}; join them by"
                    f" logic.Attached({self.a!r}, {self.b!r}).set(C)."
                )
            return Conjunction(())
        pair = object_pair(C, self.a, self.b)
        if not truth:
            rows = beyond_distance_rows(ATTACHMENT_DISTANCE + STRICT_MARGIN)
            return Inequality(pair.feature(rows))
        # Sound: the rows are an upper bound of the distance, by at most the error.
        feature = pair.feature(within_distance_rows(ATTACHMENT_DISTANCE, self.bound))
        return Inequality(feature, error=self.bound)

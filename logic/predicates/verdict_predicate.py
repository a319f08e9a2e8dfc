"""Base classes of predicates that compute truth and reason together."""

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from typing import ClassVar, get_args

from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.verdict import Semantics, Verdict
from ..formulas.predicate import Predicate

DEFAULT_BOUND = 2e-3
"""Default `bound` of a relaxation [m, or 1]; a larger one makes rows smoother."""


@dataclass(frozen=True)
class VerdictPredicate(Predicate):
    """A predicate of names whose truth and reason come from one method.

    Raises:
        PredicateError: when a name is not a string, or is given twice.
    """

    distinct: ClassVar[bool] = True
    """Whether the names must differ."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        arguments = [f.name for f in fields(self) if not f.kw_only]
        names = {argument: getattr(self, argument) for argument in arguments}
        for argument, name in names.items():
            if not isinstance(name, str) or not name:
                raise PredicateError(
                    f"{kind}: {argument} is {name!r}, expected a name, e.g. 'mug'."
                )
        if self.distinct and len(set(names.values())) < len(names):
            raise PredicateError(
                f"{kind}: {' and '.join(names)} are both {names[arguments[0]]!r};"
                " name two different objects."
            )

    @abstractmethod
    def verdict(self, C: Config) -> Verdict:
        """Return the truth in the world as it is now, and the reason."""

    def holds(self, C: Config) -> bool:
        return bool(self.verdict(C).truth)

    def explain(self, C: Config) -> str:
        return self.verdict(C).reason()


@dataclass(frozen=True)
class SemanticPredicate(VerdictPredicate):
    """A predicate with several published definitions.

    Its `semantics` are "posewise", the intended meaning, which does not change when the
    world is rotated about z; "igibson", the rules of iGibson 2.0's code, in exact
    geometry; or "document", the words of iGibson's documentation.

    Raises:
        PredicateError: as `VerdictPredicate`, for unknown semantics, and for a bound
            that is not positive.
    """

    semantics: Semantics = field(default="posewise", kw_only=True)
    bound: float = field(default=DEFAULT_BOUND, kw_only=True)
    """Margin by which it must be true for `violation` to be at most 0 [m, or 1]."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        number(f"{kind}: bound", self.bound, "> 0", lambda x: x > 0, PredicateError)
        known = get_args(Semantics)
        if self.semantics not in known:
            raise PredicateError(
                f"{kind}: {unknown_name('semantics', self.semantics, known)}"
            )
        super().__post_init__()

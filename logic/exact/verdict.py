"""Predicates that judge a world once, for the truth and for its reason."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from posewise.robots.config import Config
from posewise.robots.errors import unknown_name
from posewise.robots.validation import number

from ..errors import PredicateError
from ..formulas.predicate import Predicate

Semantics = Literal["posewise", "igibson", "document"]


DEFAULT_BOUND = 2e-3


class Verdict(NamedTuple):
    """What a predicate finds."""

    truth: bool
    reason: Callable[[], str]
    """A sentence, with numbers that may take longer than the truth."""


@dataclass(frozen=True)
class VerdictPredicate(Predicate):
    """A predicate on names, with one method that finds the truth and the reason.

    Raises:
        PredicateError: for names that are no strings, or the same name twice.
    """

    distinct: ClassVar[bool] = True
    """Whether its names must differ."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        places = [f.name for f in fields(self) if not f.kw_only]
        names = {place: getattr(self, place) for place in places}
        for argument, name in names.items():
            if not isinstance(name, str) or not name:
                raise PredicateError(
                    f"{kind}: {argument} is {name!r}, expected a name, e.g. 'mug'."
                )
        if self.distinct and len(set(names.values())) < len(names):
            raise PredicateError(
                f"{kind}: {' and '.join(names)} are both {names[places[0]]!r};"
                " name two different things."
            )

    @abstractmethod
    def verdict(self, C: Config) -> Verdict:
        """Whether it is true of the world as it is now, and why."""

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return bool(self.verdict(C).truth)

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        return self.verdict(C).reason()


@dataclass(frozen=True)
class SemanticPredicate(VerdictPredicate):
    """A predicate that can be meant in several ways.

    Its `semantics`: "posewise", the intended meaning, which does not change when the
    world is turned about z; "igibson", the rules of iGibson 2.0's code, in exact
    geometry; "document", the words of its documentation.

    Raises:
        PredicateError: as `VerdictPredicate`, and for unknown semantics.
    """

    semantics: Any = field(default="posewise", kw_only=True)
    bound: Any = field(default=DEFAULT_BOUND, kw_only=True)
    """Where it is true by that much, `violation` is at most 0 [m, or 1]."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        positive = lambda x: x > 0
        number(f"{kind}: bound", self.bound, "> 0", positive, PredicateError)
        if self.semantics not in get_args(Semantics):
            known = get_args(Semantics)
            raise PredicateError(
                f"{kind}: {unknown_name('semantics', self.semantics, known)}"
            )
        super().__post_init__()

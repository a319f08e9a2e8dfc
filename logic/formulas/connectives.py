"""Further connectives: at least n of several predicates, and implication."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from posewise.robots.config import Config
from posewise.robots.validation import integer

from ..errors import PredicateError
from .messages import format_predicate
from .predicate import Connective, CountingConnective, Predicate, set_parts


@dataclass(frozen=True, init=False, repr=False)
class AtLeast(CountingConnective):
    """At least n of some predicates hold.

    Args:
        n: the number; 0 always holds, more than there are parts never holds.
        *parts: predicates.

    Raises:
        PredicateError: when a part is not a predicate, or n not an integer >= 0.
    """

    n: int
    parts: tuple[Predicate, ...]

    def __init__(self, n: int, *parts: Predicate) -> None:
        object.__setattr__(self, "n", natural_number("AtLeast: n", n))
        set_parts(self, *parts)

    @property
    def needed(self) -> int:
        return self.n

    def _rebuild(self, needed: int, parts: Sequence[Predicate]) -> Predicate:
        if 1 < needed < len(parts):
            return AtLeast(needed, *parts)
        return super()._rebuild(needed, parts)

    def _demand(self) -> str:
        return f" (at least {self.n} should)"

    def __repr__(self) -> str:
        shown = [str(self.n), *map(format_predicate, self.parts)]
        return f"AtLeast({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Implies(Connective):
    """An implication: the conclusion holds if the premise does.

    Args:
        premise: a predicate.
        conclusion: a predicate.

    Raises:
        PredicateError: when an argument is not a predicate.
    """

    premise: Predicate
    conclusion: Predicate

    def __post_init__(self) -> None:
        set_parts(self, self.premise, self.conclusion)

    def decide(self, truths: Iterator[bool]) -> bool:
        return not next(truths) or next(truths)

    def reason(
        self, truth: Callable[[Predicate], bool], why: Callable[[Predicate], str]
    ) -> str:
        if not truth(self.premise):
            return f"The premise does not hold: {why(self.premise)}"
        verb = "holds" if truth(self.conclusion) else "does not"
        premise, conclusion = map(why, self.parts)
        return f"The premise holds: {premise} The conclusion {verb}: {conclusion}"

    def ground(self, C: Config) -> Predicate:
        return ~self.premise.ground(C) | self.conclusion.ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        return (~self.premise | self.conclusion).nnf(negate)

    def __repr__(self) -> str:
        return f"Implies({', '.join(map(format_predicate, self.parts))})"


def natural_number(label: str, n: object) -> int:
    """Return an integer >= 0.

    Raises:
        PredicateError: when it is not one.
    """
    return integer(label, n, "a whole number >= 0", lambda x: x >= 0, PredicateError)

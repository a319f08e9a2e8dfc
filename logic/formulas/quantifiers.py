"""Quantifiers: formulas over the objects of a category, or over given names."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

from ..errors import PredicateError
from .connectives import And, AtLeast, Or, natural_number
from .formula import Connective, Formula
from .messages import Case, describe_cases, format_predicate
from .predicate import Predicate
from .trajectory import StateTrajectory

Domain: TypeAlias = str | Sequence[str]
"""A category of objects, such as "mug.n.04", or names; kept as a string or a tuple."""


class Quantifier(Formula):
    """A formula that applies a function from names to predicates to some objects."""

    parts: tuple[Predicate, ...] = ()
    """Empty until the quantifier is grounded, because parts depend on the world."""
    body: Callable[..., Predicate]
    """The function from names to a predicate."""

    @property
    @abstractmethod
    def domains(self) -> tuple[Domain, ...]:
        """The domain of each variable."""

    @abstractmethod
    def expand(self, C: Config) -> Connective:
        """Return the equivalent connective for this world."""

    def holds(self, C: Config) -> bool:
        return self.expand(C).holds(C)

    def ground(self, C: Config) -> Predicate:
        return self.expand(C).ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        raise PredicateError(
            f"{type(self).__name__} has no normal form before the world is known; call"
            " formula.ground(C).nnf()."
        )

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        return self.expand(trajectory.C).holds_on(trajectory)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        return self.expand(trajectory.C).explain_on(trajectory)

    def _check_body(self) -> None:
        """Raise a PredicateError unless the body can be called."""
        if not callable(self.body):
            raise PredicateError(
                f"{type(self).__name__}: body is {self.body!r}, expected a function of"
                " names, e.g. lambda m: logic.OnTopOf(m, 'table')."
            )

    def _instance(self, *names: str) -> Predicate:
        """Return the body for some names.

        Raises:
            PredicateError: when the body returns something else than a predicate.
        """
        predicate = self.body(*names)
        if not isinstance(predicate, Predicate):
            arguments = ", ".join(map(repr, names))
            raise PredicateError(
                f"{type(self).__name__}: body({arguments}) is {predicate!r}, expected a"
                " predicate; do not call holds(C) in the body."
            )
        return predicate

    def _arguments(self) -> tuple[Any, ...]:
        """Return the arguments before the body, for the text of the formula."""
        return self.domains

    def __repr__(self) -> str:
        arguments = ", ".join(map(repr, self._arguments()))
        return f"{type(self).__name__}({arguments}, {_format_body(self.body)})"


class _ObjectQuantifier(Quantifier):
    """A quantifier with one variable."""

    domain: Domain

    @property
    def domains(self) -> tuple[Domain, ...]:
        return (self.domain,)

    def __post_init__(self) -> None:
        self._check_body()
        domain = check_domain(type(self).__name__, self.domain)
        object.__setattr__(self, "domain", domain)

    def instances(self, C: Config) -> dict[str, Predicate]:
        """Return the body for each name of the domain."""
        return {name: self._instance(name) for name in domain_names(C, self.domain)}

    def explain(self, C: Config) -> str:
        cases = [make_case(f"{name}: ", p, C) for name, p in self.instances(C).items()]
        return self._reason(cases, self.holds(C))

    def _reason(self, cases: Sequence[Case], truth: bool) -> str:
        return describe_cases(cases, truth, "case")


@dataclass(frozen=True, repr=False)
class ForAll(_ObjectQuantifier):
    """Universal quantifier: the body holds for every object, also if there is none.

    Args:
        domain: a category, exactly as in `add_object(category=...)`, or a list of
            names.
        body: a function from a name to a predicate.

    Raises:
        PredicateError: when `body` is not a function, or names are not strings.
        ConfigError: when evaluated, for a category that no object has.
    """

    domain: Domain
    body: Callable[[str], Predicate]

    def expand(self, C: Config) -> Connective:
        return And(*self.instances(C).values())


@dataclass(frozen=True, repr=False)
class Exists(_ObjectQuantifier):
    """Existential quantifier: the body holds for at least one object; see `ForAll`.

    Args:
        domain: a category, or a list of names.
        body: a function from a name to a predicate.

    Raises:
        PredicateError: when `body` is not a function, or names are not strings.
        ConfigError: when evaluated, for a category that no object has.
    """

    domain: Domain
    body: Callable[[str], Predicate]

    def expand(self, C: Config) -> Connective:
        return Or(*self.instances(C).values())


@dataclass(frozen=True, repr=False)
class ForN(_ObjectQuantifier):
    """Counting quantifier: the body holds for exactly n objects; see `ForAll`.

    Args:
        n: the number of objects.
        domain: a category, or a list of names.
        body: a function from a name to a predicate.

    Raises:
        PredicateError: when `body` is not a function, names are not strings, or n is
            not an integer >= 0.
        ConfigError: when evaluated, for a category that no object has.
    """

    n: int
    domain: Domain
    body: Callable[[str], Predicate]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", natural_number("ForN: n", self.n))

    def expand(self, C: Config) -> Connective:
        parts = tuple(self.instances(C).values())
        if self.n > len(parts):
            return Or()
        # Exactly n of m hold: n or more hold, and m - n or more do not.
        others = AtLeast(len(parts) - self.n, *(~p for p in parts))
        return And(AtLeast(self.n, *parts), others)

    def _reason(self, cases: Sequence[Case], truth: bool) -> str:
        enough = sum(case.truth for case in cases) >= self.n
        demand = f" (exactly {self.n} should hold)"
        return describe_cases(cases, enough, "case", demand)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)


def domain_names(C: Config, domain: Domain) -> tuple[str, ...]:
    """Return the names of a domain; objects of a category in the order of the world.

    Raises:
        ConfigError: for a category that no object has, with near matches.
    """
    if not isinstance(domain, str):
        return tuple(domain)
    categories = {name: entry.category for name, entry in C.objects.items()}
    names = tuple(name for name, category in categories.items() if category == domain)
    if not names:
        known = [category for category in categories.values() if category]
        raise ConfigError(
            f"{unknown_name('category', domain, known)} To allow for no objects, give a"
            " list of names."
        )
    return names


def check_domain(label: str, domain: object) -> Domain:
    """Return a category, or a tuple of different names.

    Raises:
        PredicateError: for anything else.
    """
    if isinstance(domain, str) and domain:
        return domain
    names = tuple(domain) if isinstance(domain, Iterable) else (None,)
    good = domain != "" and all(isinstance(name, str) and name for name in names)
    if not good or len(set(names)) < len(names):
        raise PredicateError(
            f"{label}: domain is {domain!r}, expected a category, e.g. 'mug.n.04', or a"
            " list of different names."
        )
    return names


def make_case(label: str, predicate: Predicate, C: Config) -> Case:
    """Return a predicate as a case of an explanation, with its truth in the world."""
    return Case(label, predicate.holds(C), lambda: predicate.explain(C))


class _Variable(str):
    """A variable of a quantifier, which stands for a name in the formula's text."""

    def __repr__(self) -> str:
        return str(self)


def _format_body(body: Callable[..., Predicate]) -> str:
    """Return a body as the text of a lambda, by calling it with its variables."""
    try:
        parameters = signature(body).parameters.values()
        variables = [_Variable(p.name) for p in parameters if p.default is p.empty]
        text = format_predicate(body(*variables))
    except Exception:  # a body may do anything with names that no object has
        return "..."
    return f"lambda {', '.join(variables)}: {text}"

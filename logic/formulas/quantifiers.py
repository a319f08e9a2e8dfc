"""Quantifiers: formulas over the objects of a category, or over names."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

from ..errors import PredicateError
from ..planning.trajectory import StateTrajectory
from .connectives import And, AtLeast, Or
from .formula import Connective, Formula, natural_number
from .messages import Case, describe_cases, format_predicate
from .predicate import Predicate

Domain = Any
"""A category of objects, `"mug.n.04"`, or names; kept as a string or a tuple."""


class Quantifier(Formula):
    """A formula for each of some objects, made by a function of their names."""

    parts: tuple[Predicate, ...] = ()
    """None before it is grounded: they depend on the world."""
    body: Any
    """A function from names to a predicate."""

    @property
    @abstractmethod
    def domains(self) -> tuple[Domain, ...]:
        """What its variables stand for."""

    @abstractmethod
    def expand(self, C: Config) -> Connective:
        """The connective that says the same for this world."""

    def holds(self, C: Config) -> bool:
        """See `Predicate`."""
        return self.expand(C).holds(C)

    def ground(self, C: Config) -> Predicate:
        """See `Predicate`."""
        return self.expand(C).ground(C)

    def nnf(self, negate: bool = False) -> Predicate:
        """See `Predicate`."""
        raise PredicateError(
            f"{type(self).__name__} has no normal form before the world is known; ask"
            " formula.ground(C).nnf()."
        )

    def holds_on(self, trajectory: StateTrajectory) -> bool:
        """See `Formula`."""
        return self.expand(trajectory.C).holds_on(trajectory)

    def explain_on(self, trajectory: StateTrajectory) -> str:
        """See `Formula`."""
        return self.expand(trajectory.C).explain_on(trajectory)

    def _check(self) -> None:
        """Domains as tuples or categories, and a body that can be called."""
        kind = type(self).__name__
        if not callable(self.body):
            raise PredicateError(
                f"{kind}: body is {self.body!r}, expected a function of names, e.g."
                " lambda m: logic.OnTopOf(m, 'table')."
            )

    def _instance(self, *names: str) -> Predicate:
        made = self.body(*names)
        if not isinstance(made, Predicate):
            called = ", ".join(map(repr, names))
            raise PredicateError(
                f"{type(self).__name__}: body({called}) is {made!r}, expected a"
                " predicate; do not ask holds(C) within."
            )
        return made

    def _head(self) -> tuple[Any, ...]:
        """What is written before the body."""
        return self.domains

    def __repr__(self) -> str:
        head = ", ".join(map(repr, self._head()))
        return f"{type(self).__name__}({head}, {_format_body(self.body)})"


class _ObjectQuantifier(Quantifier):
    """A quantifier with one variable."""

    domain: Domain

    @property
    def domains(self) -> tuple[Domain, ...]:
        """See `Quantifier`."""
        return (self.domain,)

    def __post_init__(self) -> None:
        self._check()
        domain = check_domain(type(self).__name__, self.domain)
        object.__setattr__(self, "domain", domain)

    def instances(self, C: Config) -> dict[str, Predicate]:
        """The body for each name."""
        return {name: self._instance(name) for name in domain_names(C, self.domain)}

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        cases = [make_case(f"{name}: ", p, C) for name, p in self.instances(C).items()]
        return self._reason(cases, self.holds(C))

    def _reason(self, cases: Sequence[Case], truth: bool) -> str:
        return describe_cases(cases, truth, "case")


@dataclass(frozen=True, repr=False)
class ForAll(_ObjectQuantifier):
    """The body holds for every object; for none at all it holds too.

    Args:
        domain: a category, exactly as in `add_object(category=...)`, or a list of
            names.
        body: a function from a name to a predicate.

    Raises:
        PredicateError: for what is no function, and names that are no strings.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    domain: Domain
    body: Any

    def expand(self, C: Config) -> Connective:
        """See `Quantifier`."""
        return And(*self.instances(C).values())


@dataclass(frozen=True, repr=False)
class Exists(_ObjectQuantifier):
    """The body holds for one object or more; see `ForAll`.

    Args:
        domain: a category, or a list of names.
        body: a function from a name to a predicate.

    Raises:
        PredicateError: for what is no function, and names that are no strings.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    domain: Domain
    body: Any

    def expand(self, C: Config) -> Connective:
        """See `Quantifier`."""
        return Or(*self.instances(C).values())


@dataclass(frozen=True, repr=False)
class ForN(_ObjectQuantifier):
    """The body holds for exactly n objects, no more and no less; see `ForAll`.

    Args:
        n: how many.
        domain: a category, or a list of names.
        body: a function from a name to a predicate.

    Raises:
        PredicateError: for what is no function, names that are no strings, and an n
            that is no whole number >= 0.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    n: Any
    domain: Domain
    body: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", natural_number("ForN: n", self.n))

    def expand(self, C: Config) -> Connective:
        """See `Quantifier`: n hold or more, and of the m in all m - n do not."""
        made = tuple(self.instances(C).values())
        if self.n > len(made):
            return Or()
        rest = AtLeast(len(made) - self.n, *(~p for p in made))
        return And(AtLeast(self.n, *made), rest)

    def _reason(self, cases: Sequence[Case], truth: bool) -> str:
        many = sum(case.truth for case in cases) >= self.n
        return describe_cases(cases, many, "case", f" (exactly {self.n} should hold)")

    def _head(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)


def domain_names(C: Config, domain: Domain) -> tuple[str, ...]:
    """Names of a domain; of a category those of its objects, in the world's order.

    Raises:
        ConfigError: for a category that no object has, with near matches.
    """
    if not isinstance(domain, str):
        return domain
    categories = {name: thing.category for name, thing in C.objects.items()}
    found = tuple(name for name, category in categories.items() if category == domain)
    if not found:
        known = [category for category in categories.values() if category]
        raise ConfigError(
            f"{unknown_name('category', domain, known)} To allow for no objects, give a"
            " list of names."
        )
    return found


def check_domain(what: str, domain: Any) -> Domain:
    """A category, or a tuple of different names.

    Raises:
        PredicateError: with what was got.
    """
    if isinstance(domain, str) and domain:
        return domain
    names = tuple(domain) if isinstance(domain, Iterable) else (None,)
    good = domain != "" and all(isinstance(name, str) and name for name in names)
    if not good or len(set(names)) < len(names):
        raise PredicateError(
            f"{what}: domain is {domain!r}, expected a category, e.g. 'mug.n.04', or a"
            " list of different names."
        )
    return names


def make_case(label: str, predicate: Predicate, C: Config) -> Case:
    return Case(label, predicate.holds(C), lambda: predicate.explain(C))


class _Variable(str):
    """A name that stands for others, where a body is written down."""

    def __repr__(self) -> str:
        return str(self)


def _format_body(body: Callable[..., Predicate]) -> str:
    """A body as a lambda: called with the names of its own arguments."""
    try:
        taken = [p for p in signature(body).parameters.values() if p.default is p.empty]
        variables = [_Variable(p.name) for p in taken]
        made = format_predicate(body(*variables))
    except Exception:  # whatever a body does with names of no objects
        return "..."
    return f"lambda {', '.join(variables)}: {made}"

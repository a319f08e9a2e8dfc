"""Quantifiers: formulas over the objects of a category, or over names."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from ..robots.config import Config
from ..robots.errors import ConfigError, unknown
from .course import Course
from .errors import PredicateError
from .formulas import And, AtLeast, Connective, Formula, Or, whole
from .predicate import Predicate
from .wording import Case, tally, written

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

    def holds_on(self, course: Course) -> bool:
        """See `Formula`."""
        return self.expand(course.C).holds_on(course)

    def explain_on(self, course: Course) -> str:
        """See `Formula`."""
        return self.expand(course.C).explain_on(course)

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
        return f"{type(self).__name__}({head}, {_shown(self.body)})"


class _OverOne(Quantifier):
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
        return {name: self._instance(name) for name in names_in(C, self.domain)}

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        cases = [_case(f"{name}: ", p, C) for name, p in self.instances(C).items()]
        return self._reason(cases, self.holds(C))

    def _reason(self, cases: Sequence[Case], truth: bool) -> str:
        return tally(cases, truth, "case")


@dataclass(frozen=True, repr=False)
class ForAll(_OverOne):
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
class Exists(_OverOne):
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
class ForN(_OverOne):
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
        object.__setattr__(self, "n", whole("ForN: n", self.n))

    def expand(self, C: Config) -> Connective:
        """See `Quantifier`: n hold or more, and of the m in all m - n do not."""
        made = tuple(self.instances(C).values())
        if self.n > len(made):
            return Or()
        rest = AtLeast(len(made) - self.n, *(~p for p in made))
        return And(AtLeast(self.n, *made), rest)

    def _reason(self, cases: Sequence[Case], truth: bool) -> str:
        many = sum(case.truth for case in cases) >= self.n
        return tally(cases, many, "case", f" (exactly {self.n} should hold)")

    def _head(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)


class _OverPairs(Quantifier):
    """A quantifier with two variables, which never stand for the same object.

    Its body makes a matrix: a row for each object of the first domain, and in it, in
    order, one for each of the second that is another object. Thus over one category
    with itself, the columns of a row are those that the object leaves.
    """

    first: Domain
    second: Domain

    @property
    def domains(self) -> tuple[Domain, ...]:
        """See `Quantifier`."""
        return (self.first, self.second)

    def __post_init__(self) -> None:
        self._check()
        for which in ("first", "second"):
            domain = check_domain(type(self).__name__, getattr(self, which))
            object.__setattr__(self, which, domain)

    @abstractmethod
    def needed(self, rows: int, columns: int) -> int:
        """How many rows, and how many columns, are to have a pair that holds."""

    def matrix(self, C: Config) -> tuple[tuple[Predicate, ...], ...]:
        """The body for each pair.

        Raises:
            PredicateError: when the domains share some names, but not all.
        """
        return tuple(tuple(p for *_, p in row) for row in self._cells(C))

    def expand(self, C: Config) -> Connective:
        """See `Quantifier`."""
        rows = self.matrix(C)
        columns = tuple(zip(*rows, strict=True))
        n = self.needed(len(rows), len(columns))
        return And(*(AtLeast(n, *(Or(*line) for line in s)) for s in (rows, columns)))

    def explain(self, C: Config) -> str:
        """See `Predicate`."""
        rows = [
            [_case(f"{a} and {b}", p, C) for a, b, p in row] for row in self._cells(C)
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        lone = [
            [line for line in s if not any(c.truth for c in line)]
            for s in (rows, columns)
        ]
        have = [len(rows) - len(lone[0]), len(columns) - len(lone[1])]
        n = self.needed(len(rows), len(columns))
        text = (
            f"{have[0]} of {len(rows)} rows and {have[1]} of {len(columns)} columns"
            f" have a pair that holds (at least {n} of each should)"
        )
        if min(have) >= n:
            found = [case.label for row in rows for case in row if case.truth]
            return f"{text}: {', '.join(found)}." if found else f"{text}."
        tried = next(iter(lone[0] if have[0] < n else lone[1]), [])
        reasons = [f"{case.label}: {case.why()}" for case in tried]
        told = [f"{text}; e.g. none of these:", *reasons] if reasons else [f"{text}."]
        return " ".join(told)

    def _cells(self, C: Config) -> list[list[tuple[str, str, Predicate]]]:
        return [
            [(a, b, self._instance(a, b)) for a, b in row] for row in self._pairs(C)
        ]

    def _pairs(self, C: Config) -> list[list[tuple[str, str]]]:
        first, second = (names_in(C, domain) for domain in self.domains)
        rows = [[(a, b) for b in second if b != a] for a in first]
        if len({len(row) for row in rows}) > 1:
            shared = sorted(set(first) & set(second))
            raise PredicateError(
                f"{type(self).__name__}: {', '.join(shared)} are in both domains and"
                " others are not; give the same names twice, or different ones."
            )
        return rows


@dataclass(frozen=True, repr=False)
class ForPairs(_OverPairs):
    """Objects of two domains can be paired off, by BDDL's rule.

    With L the number of objects in the smaller domain, at least L objects of the first
    are in a pair that holds, and at least L of the second. That is weaker than pairs
    that share no object. Nothing is paired with itself; over the same names twice, a
    column is a place among the other names, not a name.

    Args:
        first: a category, or a list of names; see `ForAll`.
        second: another one.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: for what is no function, and names that are no strings; on
            asking, when the domains share some names but not all.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    first: Domain
    second: Domain
    body: Any

    def needed(self, rows: int, columns: int) -> int:
        """See `_OverPairs`."""
        return min(rows, columns)


@dataclass(frozen=True, repr=False)
class ForNPairs(_OverPairs):
    """At least n objects of each domain are in a pair that holds; see `ForPairs`.

    Args:
        n: how many.
        first: a category, or a list of names.
        second: another one.
        body: a function from two names to a predicate.

    Raises:
        PredicateError: as `ForPairs`, and for an n that is no whole number >= 0.
        ConfigError: on asking, for a category that no object has, with near matches.
    """

    n: Any
    first: Domain
    second: Domain
    body: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n", whole("ForNPairs: n", self.n))

    def needed(self, rows: int, columns: int) -> int:
        """See `_OverPairs`."""
        return self.n

    def _head(self) -> tuple[Any, ...]:
        return (self.n, *self.domains)


def names_in(C: Config, domain: Domain) -> tuple[str, ...]:
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
            f"{unknown('category', domain, known)} To allow for no objects, give a"
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


def _case(label: str, predicate: Predicate, C: Config) -> Case:
    return Case(label, predicate.holds(C), lambda: predicate.explain(C))


class _Variable(str):
    """A name that stands for others, where a body is written down."""

    def __repr__(self) -> str:
        return str(self)


def _shown(body: Callable[..., Predicate]) -> str:
    """A body as a lambda: called with the names of its own arguments."""
    try:
        taken = [p for p in signature(body).parameters.values() if p.default is p.empty]
        variables = [_Variable(p.name) for p in taken]
        made = written(body(*variables))
    except Exception:  # whatever a body does with names of no objects
        return "..."
    return f"lambda {', '.join(variables)}: {made}"

"""A problem bound to things of a world: its conditions as formulas, and reports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, Signature
from typing import Any

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..formulas.connectives import Implies
from ..formulas.pair_quantifiers import ForNPairs, ForPairs
from ..formulas.predicate import And, Not, Or, Predicate
from ..formulas.quantifiers import Exists, ForAll, ForN
from .binding import bind_names
from .grammar import IN_ROOM, QUANTIFIERS, atoms_in, parse_quantifier, term_name
from .predicates import PREDICATES, apply_predicate, arity, predicate_class
from .problem import Problem
from .reader import Form

QUANTIFIER_CLASSES: dict[str, Callable[..., Predicate]] = {
    "forall": ForAll,
    "exists": Exists,
    "forn": ForN,
    "forpairs": ForPairs,
    "fornpairs": ForNPairs,
}
CONNECTIVE_CLASSES: dict[str, Callable[..., Predicate]] = {
    "and": And,
    "or": Or,
    "not": Not,
    "imply": Implies,
}


@dataclass(frozen=True)
class ConditionResult:
    """What became of one condition."""

    condition: str
    """As BDDL writes it."""
    holds: bool
    reason: str
    """By `Predicate.explain`."""


@dataclass(frozen=True)
class Report:
    """What became of each condition; `print` it."""

    results: tuple[ConditionResult, ...]

    @property
    def satisfied(self) -> tuple[ConditionResult, ...]:
        """Those that hold."""
        return tuple(f for f in self.results if f.holds)

    @property
    def unsatisfied(self) -> tuple[ConditionResult, ...]:
        """Those that do not."""
        return tuple(f for f in self.results if not f.holds)

    def __str__(self) -> str:
        lines = [f"{len(self.satisfied)} of {len(self.results)} conditions hold."]
        for f in (*self.unsatisfied, *self.satisfied):
            lines += [f"{'+' if f.holds else '-'} {f.condition}", f"  {f.reason}"]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Task:
    """A problem whose objects are things of a world; made by `bind`."""

    problem: Problem
    names: Mapping[str, str]
    """Names in the world by instance."""
    predicates: Mapping[str, Callable[..., Predicate]]

    @cached_property
    def goal(self) -> Predicate:
        """The goal as a formula.

        Raises:
            ConfigError: for predicates that have no class here, or another number of
                terms.
        """
        return And(*self._formulas(self.problem.goal))

    @cached_property
    def init(self) -> Predicate:
        """All of :init as a formula; see `goal`."""
        return And(*self._formulas(self.problem.init))

    def goal_report(self, C: Config) -> Report:
        """Which conditions of the goal are satisfied, and why."""
        return self._report(C, self.problem.goal)

    def init_report(self, C: Config) -> Report:
        """Which literals of :init are satisfied, and why."""
        return self._report(C, self.problem.init)

    def scope(self, C: Config) -> dict[str, Any]:
        """Objects, frames or rooms by instance: what the package bddl calls a scope."""
        rooms = {} if C.rooms is None else {room.name: room for room in C.rooms.rooms}
        frames = {frame.name: frame for frame in C.frames}
        things = {**rooms, **frames, **C.objects}
        return {instance: things[own] for instance, own in self.names.items()}

    def formula(
        self, condition: Form, variables: Mapping[str, str] | None = None
    ) -> Predicate:
        """A condition of this problem as a formula.

        Args:
            condition: that follows the grammar.
            variables: what they stand for, as names in the world.

        Raises:
            ConfigError: for predicates that have no class here.
        """
        head, scope = str(condition[0]), variables or {}
        if head in CONNECTIVE_CLASSES:
            return CONNECTIVE_CLASSES[head](
                *(self.formula(p, scope) for p in condition[1:])
            )
        if head in QUANTIFIERS:
            parts = parse_quantifier(condition)
            domains = [
                self._names_of_category(category) for category in parts.categories
            ]
            count = [] if parts.number is None else [parts.number]
            body = QuantifierBody(
                self, parts.variables, parts.body, tuple(scope.items())
            )
            return QUANTIFIER_CLASSES[head](*count, *domains, body)
        made, terms = predicate_class(head, self.predicates), condition[1:]
        if head == IN_ROOM:
            return made(self._name_of_term(terms[0], scope), str(terms[1]))
        return apply_predicate(
            made, [self._name_of_term(term, scope) for term in terms]
        )

    def _formulas(self, conditions: tuple[Form, ...]) -> list[Predicate]:
        """Conditions as formulas, after a look at all that quantifiers hide."""
        for condition in conditions:
            for atom in atoms_in(condition):
                expected = arity(predicate_class(str(atom[0]), self.predicates))
                if len(atom) != expected + 1:
                    raise ConfigError(
                        f"{atom.location}: {atom[0]} has {len(atom) - 1} terms,"
                        f" expected {expected}."
                    )
        return [self.formula(condition) for condition in conditions]

    def _names_of_category(self, category: str) -> tuple[str, ...]:
        return tuple(self.names[i] for i in self.problem.objects[category])

    def _name_of_term(self, term: str, variables: Mapping[str, str]) -> str:
        """The name in the world of a variable or instance."""
        own = term_name(term)
        return variables[own] if own in variables else self.names[own]

    def _report(self, C: Config, conditions: tuple[Form, ...]) -> Report:
        found = [
            ConditionResult(str(condition), p.holds(C), p.explain(C))
            for condition, p in zip(conditions, self._formulas(conditions), strict=True)
        ]
        return Report(tuple(found))


@dataclass(frozen=True)
class QuantifierBody:
    """What a quantifier says of names: its condition, with its variables replaced."""

    task: Task
    variables: tuple[str, ...]
    condition: Form
    outer: tuple[tuple[str, str], ...]
    """Variables of the quantifiers around it."""

    def __call__(self, *names: str) -> Predicate:
        own = dict(zip(self.variables, names, strict=True))
        return self.task.formula(self.condition, {**dict(self.outer), **own})

    @property
    def __signature__(self) -> Signature:
        """The variables, as names of arguments."""
        arguments = [
            "".join(c if c.isalnum() else "_" for c in v) for v in self.variables
        ]
        return Signature(
            [Parameter(a, Parameter.POSITIONAL_OR_KEYWORD) for a in arguments]
        )


def bind(
    problem: Problem,
    C: Config,
    names: Any = None,
    predicates: Mapping[str, Callable[..., Predicate]] = PREDICATES,
) -> Task:
    """Bind the objects of a problem to the objects of a world.

    Instances that are not named are bound to the object of the same name, or else to
    an object of the same category, in the world's order; an instance that :init puts
    into a room is looked for in that room. Agents stand for agent.n.01, and rooms for
    floors of which the world has no objects.

    Args:
        problem: as `load` reads it.
        C: the world.
        names: objects, frames or rooms by instance, {"apple.n.01_1": "apple"}.
        predicates: classes, or functions of names, by BDDL's predicates; to add to
            the defaults: {**logic.bddl.PREDICATES, "folded": Folded}.

    Raises:
        ConfigError: for unknown names, two instances bound to one object, and instances
            without a matching object; with near matches.
    """
    return Task(problem, bind_names(problem, C, names), dict(predicates))

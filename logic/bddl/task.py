"""A problem bound to objects of a world: its conditions as formulas, and reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, Signature

from posewise.robots.annotations.objects import WorldObject
from posewise.robots.annotations.rooms import Room
from posewise.robots.config import Config
from posewise.robots.world.frame import Frame

from ..formulas.connectives import And, Implies, Not, Or
from ..formulas.pair_quantifiers import ForNPairs, ForPairs, PairSemantics
from ..formulas.predicate import Predicate
from ..formulas.quantifiers import Exists, ForAll, ForN
from ..states.existence_predicates import Real
from .binding import bind_names
from .grammar import IN_ROOM, QUANTIFIERS, atoms_in, parse_quantifier, term_name
from .predicates import (
    PREDICATES,
    MakePredicate,
    apply_predicate,
    check_term_count,
    predicate_class,
)
from .problem import Problem
from .reader import Form
from .requirements import impermanent_objects, substances_of

QUANTIFIER_CLASSES: dict[str, MakePredicate] = {
    "forall": ForAll,
    "exists": Exists,
    "forn": ForN,
}
"""Formula classes by BDDL's names of quantifiers with one variable."""
PAIR_QUANTIFIERS: dict[str, MakePredicate] = {
    "forpairs": ForPairs,
    "fornpairs": ForNPairs,
}
"""Formula classes by BDDL's names of quantifiers with two variables."""
CONNECTIVE_CLASSES: dict[str, MakePredicate] = {
    "and": And,
    "or": Or,
    "not": Not,
    "imply": Implies,
}
"""Formula classes by BDDL's names of connectives."""


@dataclass(frozen=True)
class ConditionResult:
    """The truth of one condition, and the reason."""

    condition: str
    """The condition as BDDL writes it."""
    holds: bool
    reason: str
    """Explanation by `Predicate.explain`."""


@dataclass(frozen=True)
class Report:
    """The results of several conditions; `print` it."""

    results: tuple[ConditionResult, ...]

    @property
    def satisfied(self) -> tuple[ConditionResult, ...]:
        """Results of the conditions that hold."""
        return tuple(r for r in self.results if r.holds)

    @property
    def unsatisfied(self) -> tuple[ConditionResult, ...]:
        """Results of the conditions that do not hold."""
        return tuple(r for r in self.results if not r.holds)

    def __str__(self) -> str:
        lines = [f"{len(self.satisfied)} of {len(self.results)} conditions hold."]
        for r in (*self.unsatisfied, *self.satisfied):
            lines += [f"{'+' if r.holds else '-'} {r.condition}", f"  {r.reason}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class Substance:
    """A value of bddl's scope that is no object."""

    name: str


@dataclass(frozen=True, eq=False)
class Task:
    """A problem whose instances are objects of a world; made by `bind`."""

    problem: Problem
    names: Mapping[str, str]
    """Names in the world by instance."""
    predicates: Mapping[str, MakePredicate]
    """Predicate classes by BDDL's names."""
    impermanent: frozenset[str] = frozenset()
    """Names of the objects that do not always exist; only then they are in relations.
    """
    semantics: PairSemantics = "posewise"
    """Rule by which `forpairs` and `fornpairs` pair objects."""

    @cached_property
    def goal(self) -> Predicate:
        """The goal as a formula.

        Raises:
            ConfigError: if a predicate has no class here, or another number of terms.
        """
        return And(*self._formulas(self.problem.goal))

    @cached_property
    def init(self) -> Predicate:
        """The conjunction of :init as a formula.

        Raises:
            ConfigError: if a predicate has no class here, or another number of terms.
        """
        return And(*self._formulas(self.problem.init))

    def goal_report(self, C: Config) -> Report:
        """Return the results of the goal's conditions in a world, with reasons."""
        return self._report(C, self.problem.goal)

    def init_report(self, C: Config) -> Report:
        """Return the results of the literals of :init in a world, with reasons."""
        return self._report(C, self.problem.init)

    def scope(self, C: Config) -> dict[str, WorldObject | Frame | Room | Substance]:
        """Return objects, frames, rooms, substances by instance: a scope of bddl."""
        rooms = (
            {}
            if C.annotations.rooms is None
            else {room.name: room for room in C.annotations.rooms.rooms}
        )
        frames = {frame.name: frame for frame in C.frames}
        # An object takes precedence over its root frame, which has the same name.
        named: dict[str, WorldObject | Frame | Room] = {**rooms, **frames, **C.objects}
        substances = substances_of(self.problem)
        return {
            instance: Substance(name) if instance in substances else named[name]
            for instance, name in self.names.items()
        }

    def formula(
        self, condition: Form, variables: Mapping[str, str] | None = None
    ) -> Predicate:
        """Return a condition of this problem as a formula.

        Args:
            condition: that follows the grammar.
            variables: names in the world by variable.

        Raises:
            ConfigError: if a predicate has no class here.
        """
        head, variables = str(condition[0]), variables or {}
        if head in CONNECTIVE_CLASSES:
            parts = [self.formula(part, variables) for part in condition[1:]]
            return CONNECTIVE_CLASSES[head](*parts)
        if head in QUANTIFIERS:
            pieces = parse_quantifier(condition)
            number = [] if pieces.number is None else [pieces.number]
            domains = [self._names_of_category(c) for c in pieces.categories]
            outer = tuple(variables.items())
            body = QuantifierBody(self, pieces.variables, pieces.body, outer)
            if head in PAIR_QUANTIFIERS:
                make_pairs = PAIR_QUANTIFIERS[head]
                return make_pairs(*number, *domains, body, semantics=self.semantics)
            return QUANTIFIER_CLASSES[head](*number, *domains, body)
        make, terms = predicate_class(head, self.predicates), condition[1:]
        if head == IN_ROOM:
            return make(self._name_of_term(terms[0], variables), str(terms[1]))
        names = [self._name_of_term(term, variables) for term in terms]
        statement = apply_predicate(make, names)
        if head in ("future", "real"):
            return statement
        existing = [Real(name) for name in names if name in self.impermanent]
        return And(*existing, statement) if existing else statement

    def _formulas(self, conditions: tuple[Form, ...]) -> list[Predicate]:
        """Return conditions as formulas.

        All atoms are checked first, because quantifiers evaluate their body lazily.
        """
        for condition in conditions:
            for atom in atoms_in(condition):
                check_term_count(atom, predicate_class(str(atom[0]), self.predicates))
        return [self.formula(condition) for condition in conditions]

    def _names_of_category(self, category: str) -> tuple[str, ...]:
        return tuple(self.names[i] for i in self.problem.objects[category])

    def _name_of_term(self, term: str, variables: Mapping[str, str]) -> str:
        """Return the name in the world of a variable or instance."""
        name = term_name(term)
        return variables[name] if name in variables else self.names[name]

    def _report(self, C: Config, conditions: tuple[Form, ...]) -> Report:
        formulas = self._formulas(conditions)
        results = [
            ConditionResult(str(condition), p.holds(C), p.explain(C))
            for condition, p in zip(conditions, formulas, strict=True)
        ]
        return Report(tuple(results))


@dataclass(frozen=True)
class QuantifierBody:
    """The body of a quantifier, as a function of the names of its variables."""

    task: Task
    variables: tuple[str, ...]
    condition: Form
    outer: tuple[tuple[str, str], ...]
    """Variables of the quantifiers around it, with their names in the world."""

    def __call__(self, *names: str) -> Predicate:
        """Return the condition with the variables replaced."""
        inner = dict(zip(self.variables, names, strict=True))
        return self.task.formula(self.condition, {**dict(self.outer), **inner})

    @property
    def __signature__(self) -> Signature:
        """The variables as names of arguments, which formulas print."""
        arguments = [
            "".join(c if c.isalnum() else "_" for c in v) for v in self.variables
        ]
        return Signature(
            [Parameter(a, Parameter.POSITIONAL_OR_KEYWORD) for a in arguments]
        )


def bind(
    problem: Problem,
    C: Config,
    names: Mapping[str, str] | None = None,
    predicates: Mapping[str, MakePredicate] = PREDICATES,
    semantics: PairSemantics = "posewise",
) -> Task:
    """Bind the instances of a problem to the objects of a world.

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
        semantics: of `forpairs` and `fornpairs`, "igibson" for the rule of bddl; see
            `logic.ForPairs`.

    Raises:
        ConfigError: if a name is unknown, two instances are bound to one object, or an
            instance has no matching object; with near matches.
    """
    bound = bind_names(problem, C, names)
    impermanent = frozenset(bound[i] for i in impermanent_objects(problem))
    return Task(problem, bound, dict(predicates), impermanent, semantics)

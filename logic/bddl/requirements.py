"""The requirements of a problem: contents, loads, states and rooms of its objects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from ..states.dirt_rules import ABILITY_BY_SUBSTANCE
from .grammar import (
    FLOOR,
    IN_ROOM,
    QUANTIFIERS,
    atoms_in,
    is_atom,
    parse_quantifier,
    term_name,
)
from .predicates import PREDICATES, check_term_count
from .problem import Problem
from .reader import Form
from .taxonomy import is_substance, substance_name

ABILITY_BY_PREDICATE = {
    "broken": "breakable",
    "burnt": "burnable",
    "contains": "fillable",
    "cooked": "cookable",
    "dusty": "dustyable",
    "filled": "fillable",
    "frozen": "freezable",
    "hot": "heatable",
    "on_fire": "flammable",
    "open": "openable",
    "saturated": "soakable",
    "sliced": "sliceable",
    "soaked": "soakable",
    "stained": "stainable",
    "toggled_on": "toggleable",
}
"""The ability that an object needs for a predicate to apply to it."""
PLACE_PREDICATES = ("attached", "inside", "nextto", "ontop", "touching", "under")
"""Predicates of the place of their first term."""
SUBSTANCE_PREDICATES = ("contains", "covered", "filled", "insource", "saturated")
"""Predicates whose second term is a substance."""


@dataclass(frozen=True)
class Requirements:
    """Relations and states that occur anywhere in a problem, asserted or negated."""

    inside: Mapping[str, frozenset[str]]
    """By category of the container: instances that may be inside of one."""
    on: Mapping[str, frozenset[str]]
    """By category of the support: instances that may be on top of one, or touch one."""
    abilities: Mapping[str, frozenset[str]]
    """By category: abilities that its states need."""
    rooms: Mapping[str, str]
    """Type of the room by instance that the problem puts into one."""
    moved: frozenset[str]
    """Instances that the goal puts somewhere."""


def requirements_of(problem: Problem) -> Requirements:
    """Return the requirements of a problem.

    Raises:
        ConfigError: for a predicate with another number of terms than it takes.
    """
    for condition in (*problem.init, *problem.goal):
        for atom in atoms_in(condition):
            if make := PREDICATES.get(str(atom[0])):
                check_term_count(atom, make)
    category_of = problem.category_of
    inside: dict[str, set[str]] = {}
    on: dict[str, set[str]] = {}
    abilities: dict[str, set[str]] = {}
    rooms: dict[str, str] = {}
    for condition in (*problem.init, *problem.goal):
        for predicate, *terms in ground_atoms(condition, problem, {}):
            if predicate == IN_ROOM:
                rooms.setdefault(terms[0], terms[1])
            elif predicate in ABILITY_BY_PREDICATE:
                needed = abilities.setdefault(category_of[terms[0]], set())
                needed.add(ABILITY_BY_PREDICATE[predicate])
            elif predicate == "covered":
                substance = substance_name(category_of[terms[1]])
                if substance in ABILITY_BY_SUBSTANCE:
                    needed = abilities.setdefault(category_of[terms[0]], set())
                    needed.add(ABILITY_BY_SUBSTANCE[substance])
            elif predicate in ("inside", "ontop", "touching"):
                lower = category_of[terms[1]]
                table = inside if predicate == "inside" else on
                table.setdefault(lower, set()).add(terms[0])
    moved = {
        terms[0]
        for condition in problem.goal
        for predicate, *terms in ground_atoms(condition, problem, {})
        if predicate in PLACE_PREDICATES and category_of[terms[0]] != FLOOR
    }
    return Requirements(
        _frozen(inside), _frozen(on), _frozen(abilities), rooms, frozenset(moved)
    )


def substances_of(problem: Problem) -> dict[str, str]:
    """Return names of substances by instance.

    Categories are substances where the problem uses them so, or where bddl knows them
    as such and the problem puts none of them anywhere: BEHAVIOR-100 places detergent.
    """
    category_of = problem.category_of
    used, placed = set[str](), set[str]()
    for condition in (*problem.init, *problem.goal):
        for predicate, *terms in ground_atoms(condition, problem, {}):
            if predicate in SUBSTANCE_PREDICATES:
                used.add(category_of[terms[1]])
            elif predicate in (*PLACE_PREDICATES, "onfloor"):
                placed |= {category_of[t] for t in terms}
    return {
        instance: substance_name(category)
        for instance, category in category_of.items()
        if category in used or is_substance(category) and category not in placed
    }


def impermanent_objects(problem: Problem) -> frozenset[str]:
    """Return the instances that may come to be, or cease to exist."""
    substances = substances_of(problem)
    return frozenset(
        term
        for condition in (*problem.init, *problem.goal)
        for predicate, *terms in ground_atoms(condition, problem, {})
        if predicate in ("future", "real")
        for term in terms
        if term not in substances
    )


def _frozen(table: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {key: frozenset(values) for key, values in table.items()}


def ground_atoms(
    condition: Form, problem: Problem, variables: Mapping[str, str]
) -> Iterator[list[str]]:
    """Yield predicates and terms for all instances that variables may stand for.

    Args:
        condition: of the problem.
        problem: whose instances are the domains of quantifiers.
        variables: instances by variable of the quantifiers around the condition.
    """
    head = str(condition[0])
    if is_atom(condition):
        terms = [term_name(str(t)) for t in condition[1:]]
        yield [head, *(variables.get(t, t) for t in terms)]
    elif head in QUANTIFIERS:
        pieces = parse_quantifier(condition)
        for instances in product(*(problem.objects[c] for c in pieces.categories)):
            inner = dict(zip(pieces.variables, instances, strict=True))
            yield from ground_atoms(pieces.body, problem, {**variables, **inner})
    else:
        for part in condition[1:]:
            yield from ground_atoms(part, problem, variables)

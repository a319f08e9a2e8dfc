"""What a problem asks of its things: what may be in and on which, and their states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from .grammar import IN_ROOM, QUANTIFIERS, is_atom, parse_quantifier, term_name
from .problem import Problem
from .reader import Form

ABILITY_BY_PREDICATE = {
    "burnt": "burnable",
    "cooked": "cookable",
    "dusty": "dustyable",
    "frozen": "freezable",
    "open": "openable",
    "sliced": "sliceable",
    "soaked": "soakable",
    "stained": "stainable",
    "toggled_on": "toggleable",
}
"""What a thing must be for a predicate to be asked of it."""


@dataclass(frozen=True)
class Requirements:
    """What is said of things anywhere in a problem, true or not."""

    inside: Mapping[str, frozenset[str]]
    """By category of the container: instances that may be inside of one."""
    on: Mapping[str, frozenset[str]]
    """By category of the support: instances that may be on top of one."""
    abilities: Mapping[str, frozenset[str]]
    """By category: abilities that its states need."""
    rooms: Mapping[str, str]
    """Type of the room by instance that is said to be in one."""


def requirements_of(problem: Problem) -> Requirements:
    """What a problem asks of its things."""
    category = {i: c for c, found in problem.objects.items() for i in found}
    inside: dict[str, set[str]] = {}
    on: dict[str, set[str]] = {}
    abilities: dict[str, set[str]] = {}
    rooms: dict[str, str] = {}
    for condition in (*problem.init, *problem.goal):
        for predicate, *terms in _ground_atoms(condition, problem, {}):
            if predicate == IN_ROOM:
                rooms.setdefault(terms[0], terms[1])
            elif predicate in ABILITY_BY_PREDICATE:
                found = abilities.setdefault(category[terms[0]], set())
                found.add(ABILITY_BY_PREDICATE[predicate])
            elif predicate in ("inside", "ontop"):
                lower = category[terms[1]]
                table = inside if predicate == "inside" else on
                table.setdefault(lower, set()).add(terms[0])
    frozen = lambda table: {k: frozenset(v) for k, v in table.items()}
    return Requirements(frozen(inside), frozen(on), frozen(abilities), rooms)


def _ground_atoms(
    condition: Form, problem: Problem, scope: Mapping[str, str]
) -> Iterator[list[str]]:
    """Predicates with the instances that variables may stand for."""
    head = str(condition[0])
    if is_atom(condition):
        terms = [term_name(str(t)) for t in condition[1:]]
        yield [head, *(scope.get(t, t) for t in terms)]
    elif head in QUANTIFIERS:
        parts = parse_quantifier(condition)
        for found in product(*(problem.objects[c] for c in parts.categories)):
            inner = {**scope, **dict(zip(parts.variables, found, strict=True))}
            yield from _ground_atoms(parts.body, problem, inner)
    else:
        for part in condition[1:]:
            yield from _ground_atoms(part, problem, scope)

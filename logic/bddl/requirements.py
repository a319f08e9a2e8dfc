"""What a problem asks of its things: what may be in and on which, and their states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from .grammar import IN_ROOM, QUANTIFIERS, is_atom, name, quantified
from .reader import Form

if TYPE_CHECKING:
    from .problem import Problem
else:
    Problem = object

ABILITY_OF = {
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
class Demands:
    """What is said of things anywhere in a problem, true or not."""

    inside: Mapping[str, frozenset[str]]
    """By category of the container: instances that may be inside of one."""
    on: Mapping[str, frozenset[str]]
    """By category of the support: instances that may be on top of one."""
    abilities: Mapping[str, frozenset[str]]
    """By category: abilities that its states need."""
    rooms: Mapping[str, str]
    """Type of the room by instance that is said to be in one."""


def demands_of(problem: Problem) -> Demands:
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
            elif predicate in ABILITY_OF:
                found = abilities.setdefault(category[terms[0]], set())
                found.add(ABILITY_OF[predicate])
            elif predicate in ("inside", "ontop"):
                lower = category[terms[1]]
                table = inside if predicate == "inside" else on
                table.setdefault(lower, set()).add(terms[0])
    frozen = lambda table: {k: frozenset(v) for k, v in table.items()}
    return Demands(frozen(inside), frozen(on), frozen(abilities), rooms)


def _ground_atoms(
    condition: Form, problem: Problem, scope: Mapping[str, str]
) -> Iterator[list[str]]:
    """Predicates with the instances that variables may stand for."""
    head = str(condition[0])
    if is_atom(condition):
        terms = [name(str(t)) for t in condition[1:]]
        yield [head, *(scope.get(t, t) for t in terms)]
    elif head in QUANTIFIERS:
        parts = quantified(condition)
        for found in product(*(problem.objects[c] for c in parts.categories)):
            inner = {**scope, **dict(zip(parts.variables, found, strict=True))}
            yield from _ground_atoms(parts.body, problem, inner)
    else:
        for part in condition[1:]:
            yield from _ground_atoms(part, problem, scope)

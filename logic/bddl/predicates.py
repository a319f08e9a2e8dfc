"""The predicate classes for BDDL's predicates."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from posewise.robots.errors import ConfigError, unknown_name

from ..formulas.connectives import Or
from ..formulas.predicate import Predicate
from ..predicates.attachment import Attached
from ..predicates.contact import InContactWith
from ..predicates.containment import InsideOf
from ..predicates.floors import OnFloor
from ..predicates.joint_openness import Open
from ..predicates.next_to import NextTo
from ..predicates.rooms import InRoom
from ..predicates.support import OnTopOf, Under
from ..states.dirt_predicates import Covered, Dusty, Stained
from ..states.existence_predicates import Broken, Real, SourceOf
from ..states.thermal_predicates import Burnt, Cooked, Frozen, Heated, OnFire
from ..states.toggle_slice_predicates import Sliced, ToggledOn
from ..states.water_predicates import Contains, Filled, Saturated, Soaked
from .grammar import IN_ROOM
from .reader import Form

MakePredicate: TypeAlias = Callable[..., Predicate]
"""A predicate class, or a function of names that returns a predicate."""


def future(thing: str) -> Predicate:
    """Return that an object, or a substance, does not exist."""
    return ~Real(thing)


PREDICATES: dict[str, MakePredicate] = {
    "attached": Attached,
    "broken": Broken,
    "burnt": Burnt,
    "contains": Contains,
    "cooked": Cooked,
    "covered": Covered,
    "dusty": Dusty,
    "filled": Filled,
    "frozen": Frozen,
    "future": future,
    "hot": Heated,
    IN_ROOM: InRoom,
    "inside": InsideOf,
    "insource": SourceOf,
    "nextto": NextTo,
    "on_fire": OnFire,
    "onfloor": OnFloor,
    "ontop": OnTopOf,
    "open": Open,
    "real": Real,
    "saturated": Saturated,
    "sliced": Sliced,
    "soaked": Soaked,
    "stained": Stained,
    "toggled_on": ToggledOn,
    "touching": InContactWith,
    "under": Under,
}
"""Classes by BDDL's names: all of BEHAVIOR-100, and of -1K all but those of cloth."""
CLOTH_PREDICATES = ("draped", "folded", "overlaid", "unfolded")
"""Predicates of the shape of cloth, which have no classes."""


def predicate_class(
    name: str, predicates: Mapping[str, MakePredicate]
) -> MakePredicate:
    """Return the class of a predicate.

    Args:
        name: of the predicate in BDDL.
        predicates: classes by name.

    Raises:
        ConfigError: if there is none; lists the known names.
    """
    if name in CLOTH_PREDICATES and name not in predicates:
        raise ConfigError(
            f"{name!r} is about the shape of cloth, and bodies here are rigid; to add a"
            f" rule: bind(problem, C, predicates={{**logic.bddl.PREDICATES, {name!r}:"
            " ...})."
        )
    if name not in predicates:
        raise ConfigError(
            f"{unknown_name('predicate of BDDL', name, predicates)} There are:"
            f" {', '.join(sorted(predicates))}; to add one:"
            f" bind(problem, C, predicates={{**logic.bddl.PREDICATES, {name!r}: ...}})."
        )
    return predicates[name]


def apply_predicate(make: MakePredicate, names: Sequence[str]) -> Predicate:
    """Return a predicate of objects, false if an object is named twice.

    Nothing is in a relation to itself. Two quantifiers over one category name an object
    twice, e.g. in "next to another one".

    Args:
        make: the predicate class.
        names: of the objects.
    """
    return Or() if len(set(names)) < len(names) else make(*names)


def check_term_count(atom: Form, make: MakePredicate) -> None:
    """Raise a ConfigError unless an atom has as many terms as its predicate takes."""
    expected = arity(make)
    if len(atom) != expected + 1:
        raise ConfigError(
            f"{atom.location}: {atom[0]} has {len(atom) - 1} terms, expected"
            f" {expected}."
        )


def arity(make: MakePredicate) -> int:
    """Return the number of names that a predicate takes."""
    required = [
        p
        for p in inspect.signature(make).parameters.values()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(required)

"""Which of our predicates are BDDL's."""

import inspect
from collections.abc import Callable, Mapping, Sequence

from posewise.robots.errors import ConfigError, unknown_name

from ..exact.contact import InContactWith
from ..exact.containment import InsideOf
from ..exact.floors import OnFloor
from ..exact.joint_openness import Open
from ..exact.next_to import NextTo
from ..exact.rooms import InRoom
from ..exact.support import OnTopOf, Under
from ..formulas.predicate import Or, Predicate
from ..states.dirt_predicates import Dusty, Stained
from ..states.thermal_predicates import Burnt, Cooked, Frozen
from ..states.toggle_slice_predicates import Sliced, ToggledOn
from ..states.water_predicates import Soaked
from .grammar import IN_ROOM

PREDICATES: dict[str, Callable[..., Predicate]] = {
    "burnt": Burnt,
    "cooked": Cooked,
    "dusty": Dusty,
    "frozen": Frozen,
    IN_ROOM: InRoom,
    "inside": InsideOf,
    "nextto": NextTo,
    "onfloor": OnFloor,
    "ontop": OnTopOf,
    "open": Open,
    "sliced": Sliced,
    "soaked": Soaked,
    "stained": Stained,
    "toggled_on": ToggledOn,
    "touching": InContactWith,
    "under": Under,
}
"""Classes by BDDL's names: all that conditions of BEHAVIOR-100 use."""


def predicate_class(
    name: str, predicates: Mapping[str, Callable[..., Predicate]]
) -> Callable[..., Predicate]:
    """The class of a predicate.

    Raises:
        ConfigError: when there is none; lists those there are.
    """
    if name not in predicates:
        raise ConfigError(
            f"{unknown_name('predicate of BDDL', name, predicates)} There are:"
            f" {', '.join(sorted(predicates))}; to add one:"
            f" bind(problem, C, predicates={{**logic.bddl.PREDICATES, {name!r}: ...}})."
        )
    return predicates[name]


def apply_predicate(made: Callable[..., Predicate], names: Sequence[str]) -> Predicate:
    """A predicate of some things; nothing is in a relation to itself.

    Quantifiers over one category twice name a thing twice, e.g. "next to another one".
    """
    return Or() if len(set(names)) < len(names) else made(*names)


def arity(predicate: Callable[..., Predicate]) -> int:
    """How many names a predicate takes."""
    required = [
        p
        for p in inspect.signature(predicate).parameters.values()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(required)

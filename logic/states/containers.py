"""Contains, filled: the droplets that are in an object."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState
from posewise.robots.world.objects import WorldObject

from ..planning.schedule import Plans, Schedule
from .filling import capacity, least_filled
from .relaxed.filled_plans import filled_plans
from .state_predicate import StatePredicate, check_flag

WATER = "water"
"""What droplets are of."""


@dataclass(frozen=True)
class _Holding(StatePredicate):
    """So many droplets of a liquid are in the object, or more."""

    liquid: str

    ability = "fillable"

    def __post_init__(self) -> None:
        if self.liquid != WATER:
            raise ConfigError(
                f"{type(self).__name__}: liquid is {self.liquid!r}, expected 'water'."
                " Other liquids have no droplets here."
            )

    def set(self, C: Config, value: Any = True) -> None:
        """Pour as many droplets into the object as it takes, or empty it."""
        check_flag(self, value)
        thing = self._thing(C)
        full = max(C.states[thing.name].contents, self._level(thing))
        C.set_state(thing.name, contents=full if value else 0)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `filled_plans`: standing below a water source for as long as it takes, or
        never while it runs."""
        thing = self._thing(C)
        return filled_plans(C, when, thing.name, self._level(thing), truth)

    @abstractmethod
    def _level(self, thing: WorldObject) -> int:
        """The least droplets."""

    @abstractmethod
    def _limit(self, thing: WorldObject) -> str:
        """That in words."""

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.contents) >= self._level(thing)

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        some = "1 droplet" if state.contents == 1 else f"{state.contents} droplets"
        return f"{thing.name} holds {some} of {self.liquid}, and {self._limit(thing)}."


@dataclass(frozen=True)
class Contains(_Holding):
    """Droplets of the liquid are in the object, one or more (OmniGibson).

    Args:
        object: its name; it must be fillable.
        liquid: "water", which droplets of water sources are of.

    Raises:
        ConfigError: for another liquid.
    """

    def _level(self, thing: WorldObject) -> int:
        return 1

    def _limit(self, thing: WorldObject) -> str:
        return "contains some with 1 or more"


@dataclass(frozen=True)
class Filled(_Holding):
    """More than 30 % of the droplets that the object can hold are in it (OmniGibson).

    It can hold its `capacity`; where none is annotated, as many droplets 2 cm wide as
    have the volume of its cavities.

    Args:
        object: its name; it must be fillable.
        liquid: see `Contains`.

    Raises:
        ConfigError: for another liquid; on use, where the object has neither a capacity
            nor a cavity.
    """

    def _level(self, thing: WorldObject) -> int:
        return least_filled(capacity(thing))

    def _limit(self, thing: WorldObject) -> str:
        return f"is filled with {self._level(thing)} or more of {capacity(thing)}"

"""Contains, filled: the droplets that are in an object."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState
from posewise.robots.world.objects import WorldObject

from ..planning.schedule import Plans, Schedule
from .container_rules import droplet_capacity, min_filled_droplets
from .relaxed.filled_plans import filled_plans
from .relaxed.soaked_plans import soaked_plans
from .state_predicate import StatePredicate, check_semantics, check_truth_value
from .water_rules import is_soaked

WATER = "water"
"""What droplets are of."""


@dataclass(frozen=True)
class Soaked(StatePredicate):
    """The object has absorbed droplets, w_soaked of them or more.

    With semantics="igibson" one is enough, whatever w_soaked is.

    Args:
        object: its name; it must be soakable.
        semantics: "document" by default: the same as iGibson's but where `w_soaked` was
            annotated, and then it counts.
    """

    semantics: str = field(default="document", kw_only=True)

    ability = "soakable"

    def __post_init__(self) -> None:
        check_semantics(self)

    def set(self, C: Config, value: Any = True) -> None:
        """Make the object soaked (with as many droplets as it takes), or dry."""
        check_truth_value(self, value)
        thing = self._object(C)
        wet = max(C.states[thing.name].wetness, self._min_droplets(thing))
        C.set_state(thing.name, wetness=wet if value else 0)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `soaked_plans`: standing below a water source for as long as it takes."""
        thing = self._object(C)
        return soaked_plans(C, when, thing.name, self._min_droplets(thing), truth)

    def _min_droplets(self, thing: WorldObject) -> int:
        return (
            1 if self.semantics == "igibson" else thing.ability("soakable")["w_soaked"]
        )

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return is_soaked(state.wetness, self._min_droplets(thing))

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        level = self._min_droplets(thing)
        return (
            f"{thing.name} has absorbed {state.wetness} droplet"
            f"{'' if state.wetness == 1 else 's'}, and is soaked with {level} or more."
        )


@dataclass(frozen=True)
class _DropletThreshold(StatePredicate):
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
        check_truth_value(self, value)
        thing = self._object(C)
        full = max(C.states[thing.name].contents, self._min_droplets(thing))
        C.set_state(thing.name, contents=full if value else 0)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `filled_plans`: standing below a water source for as long as it takes, or
        never while it runs."""
        thing = self._object(C)
        return filled_plans(C, when, thing.name, self._min_droplets(thing), truth)

    @abstractmethod
    def _min_droplets(self, thing: WorldObject) -> int:
        """The least droplets."""

    @abstractmethod
    def _threshold_text(self, thing: WorldObject) -> str:
        """That in words."""

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.contents) >= self._min_droplets(thing)

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        some = "1 droplet" if state.contents == 1 else f"{state.contents} droplets"
        limit = self._threshold_text(thing)
        return f"{thing.name} holds {some} of {self.liquid}, and {limit}."


@dataclass(frozen=True)
class Contains(_DropletThreshold):
    """Droplets of the liquid are in the object, one or more (OmniGibson).

    Args:
        object: its name; it must be fillable.
        liquid: "water", which droplets of water sources are of.

    Raises:
        ConfigError: for another liquid.
    """

    def _min_droplets(self, thing: WorldObject) -> int:
        return 1

    def _threshold_text(self, thing: WorldObject) -> str:
        return "contains some with 1 or more"


@dataclass(frozen=True)
class Filled(_DropletThreshold):
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

    def _min_droplets(self, thing: WorldObject) -> int:
        return min_filled_droplets(droplet_capacity(thing))

    def _threshold_text(self, thing: WorldObject) -> str:
        least = self._min_droplets(thing)
        return f"is filled with {least} or more of {droplet_capacity(thing)}"

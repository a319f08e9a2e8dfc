"""Predicates of droplets on and in an object: Soaked, Contains and Filled."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState
from posewise.robots.world.objects import WorldObject

from ..planning.schedule import Plans, Schedule
from .container_rules import droplet_capacity, min_filled_droplets
from .relaxed.filled_plans import filled_plans
from .relaxed.soaked_plans import soaked_plans
from .state_predicate import (
    Semantics,
    StatePredicate,
    Truth,
    check_semantics,
    check_truth_value,
)
from .water_rules import is_soaked

WATER = "water"
"""The liquid of which all droplets consist."""


@dataclass(frozen=True)
class Soaked(StatePredicate):
    """The object has absorbed at least w_soaked droplets.

    With semantics="igibson" one droplet is enough, even where w_soaked is larger.

    Args:
        object: its name; it must be soakable.
        semantics: "document" by default, which differs from iGibson's only where
            `w_soaked` was annotated.
    """

    semantics: Semantics = field(default="document", kw_only=True)

    ability = "soakable"

    def __post_init__(self) -> None:
        check_semantics(type(self).__name__, self.semantics)

    def set(self, C: Config, value: bool = True) -> None:
        """Soak the object with as few droplets as are enough, or dry it."""
        check_truth_value(self, value)
        target = self._object(C)
        wet = max(C.states[target.name].wetness, self._min_droplets(target))
        C.set_state(target.name, wetness=wet if value else 0)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which the object stays below a water source long enough."""
        target = self._object(C)
        return soaked_plans(C, when, target.name, self._min_droplets(target), truth)

    def _min_droplets(self, target: WorldObject) -> int:
        if self.semantics == "igibson":
            return 1
        return int(target.ability("soakable")["w_soaked"])

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return is_soaked(state.wetness, self._min_droplets(target))

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        return (
            f"{target.name} has absorbed {state.wetness} droplet"
            f"{'' if state.wetness == 1 else 's'}, and is soaked with"
            f" {self._min_droplets(target)} or more."
        )


@dataclass(frozen=True)
class _DropletThreshold(StatePredicate):
    """At least a given number of droplets of a liquid are in the object."""

    liquid: str

    ability = "fillable"

    def __post_init__(self) -> None:
        if self.liquid != WATER:
            raise ConfigError(
                f"{type(self).__name__}: liquid is {self.liquid!r}, expected 'water'."
                " Other liquids have no droplets here."
            )

    def set(self, C: Config, value: bool = True) -> None:
        """Pour as few droplets into the object as are enough, or empty it."""
        check_truth_value(self, value)
        target = self._object(C)
        full = max(C.states[target.name].contents, self._min_droplets(target))
        C.set_state(target.name, contents=full if value else 0)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which the object is below a running water source.

        For as long as filling takes, or never.
        """
        target = self._object(C)
        return filled_plans(C, when, target.name, self._min_droplets(target), truth)

    @abstractmethod
    def _min_droplets(self, target: WorldObject) -> int:
        """Return the least number of droplets for which the predicate holds."""

    @abstractmethod
    def _threshold_text(self, target: WorldObject) -> str:
        """Return that number in words, as a part of the sentence of `explain`."""

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.contents) >= self._min_droplets(target)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        some = "1 droplet" if state.contents == 1 else f"{state.contents} droplets"
        threshold = self._threshold_text(target)
        return f"{target.name} holds {some} of {self.liquid}, and {threshold}."


@dataclass(frozen=True)
class Contains(_DropletThreshold):
    """At least one droplet of the liquid is in the object (OmniGibson).

    Args:
        object: its name; it must be fillable.
        liquid: "water", of which the droplets of water sources consist.

    Raises:
        ConfigError: if the liquid is another one.
    """

    def _min_droplets(self, target: WorldObject) -> int:
        return 1

    def _threshold_text(self, target: WorldObject) -> str:
        return "contains some with 1 or more"


@dataclass(frozen=True)
class Filled(_DropletThreshold):
    """More than 30 % of the object's capacity of droplets is in it (OmniGibson).

    The capacity is the annotated `capacity`, or else the volume of its cavities in
    droplets 2 cm wide.

    Args:
        object: its name; it must be fillable.
        liquid: "water", of which the droplets of water sources consist.

    Raises:
        ConfigError: if the liquid is another one; on use, if the object has neither a
            capacity nor a cavity.
    """

    def _min_droplets(self, target: WorldObject) -> int:
        return min_filled_droplets(droplet_capacity(target))

    def _threshold_text(self, target: WorldObject) -> str:
        least, capacity = self._min_droplets(target), droplet_capacity(target)
        return f"is filled with {least} or more of {capacity}"

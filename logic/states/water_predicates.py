"""Predicates of droplets in an object: Soaked, Saturated, Contains and Filled."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from posewise.robots.annotations.object_states import WATER, ObjectState
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config

from ..formulas.schedule import Plans, Schedule
from .container_rules import droplet_capacity, min_filled_droplets
from .relaxed.filled_plans import filled_plans
from .relaxed.soaked_plans import soaked_plans
from .state_predicate import (
    Semantics,
    StatePredicate,
    Truth,
    check_semantics,
    check_substance,
    check_truth_value,
)
from .water_rules import is_soaked


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
        wet = max(C.annotations.states[target.name].wetness, self._min_droplets(target))
        C.annotations.set_state(target.name, wetness=wet if value else 0)

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
            f"{target.name} has absorbed {_droplets(state.wetness)}, and is soaked with"
            f" {self._min_droplets(target)} or more."
        )


@dataclass(frozen=True)
class _SubstanceThreshold(StatePredicate):
    """At least a given number of droplets, or grains, of a substance are in it."""

    def set(self, C: Config, value: bool = True) -> None:
        """Put as few droplets into the object as are enough, or take all out."""
        check_truth_value(self, value)
        target = self._object(C)
        full = max(
            self._count(C.annotations.states[target.name]), self._min_droplets(target)
        )
        self._set_count(C, full if value else 0)

    @abstractmethod
    def _count(self, state: ObjectState) -> int:
        """Return the number of droplets, or one for each step."""

    @abstractmethod
    def _set_count(self, C: Config, count: int) -> None:
        """Set the number of droplets."""

    @abstractmethod
    def _min_droplets(self, target: WorldObject) -> int:
        """Return the least number of droplets for which the predicate holds."""

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(self._count(state)) >= self._min_droplets(target)


@dataclass(frozen=True)
class Saturated(_SubstanceThreshold):
    """The object has absorbed as much of a substance as it can (OmniGibson).

    That is `w_soaked` droplets; `Soaked` says the same of water.

    Args:
        object: its name; it must be soakable.
        substance: its name, "water", "detergent", ...

    Raises:
        ConfigError: if the substance is no name.
    """

    substance: str

    ability = "soakable"

    def __post_init__(self) -> None:
        check_substance(self, "substance", self.substance)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return those of `Soaked` for water; other liquids come from no source."""
        if self.substance == WATER:
            return Soaked(self.object).plans(C, when, truth)
        return super().plans(C, when, truth)

    def _count(self, state: ObjectState) -> int:
        count: int = state.absorbed.get(self.substance, 0)
        return count

    def _set_count(self, C: Config, count: int) -> None:
        C.annotations.set_state(self.object, absorbed={self.substance: count})

    def _min_droplets(self, target: WorldObject) -> int:
        return int(target.ability("soakable")["w_soaked"])

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        return (
            f"{target.name} has absorbed {_droplets(self._count(state))} of"
            f" {self.substance}, and is saturated with {self._min_droplets(target)} or"
            " more."
        )


@dataclass(frozen=True)
class _ContentThreshold(_SubstanceThreshold):
    """At least a given number of droplets of a substance are in a container."""

    liquid: str

    ability = "fillable"

    def __post_init__(self) -> None:
        check_substance(self, "liquid", self.liquid)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which the object is below a running water source.

        For as long as filling takes, or never. Other substances come from no source.
        """
        target = self._object(C)
        if self.liquid != WATER:
            return super().plans(C, when, truth)
        return filled_plans(C, when, target.name, self._min_droplets(target), truth)

    def _count(self, state: ObjectState) -> int:
        count: int = state.contained.get(self.liquid, 0)
        return count

    def _set_count(self, C: Config, count: int) -> None:
        C.annotations.set_state(self.object, contained={self.liquid: count})

    @abstractmethod
    def _threshold_text(self, target: WorldObject) -> str:
        """Return that number in words, as a part of the sentence of `explain`."""

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        some, threshold = _droplets(self._count(state)), self._threshold_text(target)
        return f"{target.name} holds {some} of {self.liquid}, and {threshold}."


@dataclass(frozen=True)
class Contains(_ContentThreshold):
    """At least one droplet, or grain, of a substance is in the object (OmniGibson).

    Args:
        object: its name; it must be fillable.
        liquid: name of the substance, "water", "flour", ...

    Raises:
        ConfigError: if the substance is no name.
    """

    def _min_droplets(self, target: WorldObject) -> int:
        return 1

    def _threshold_text(self, target: WorldObject) -> str:
        return "contains some with 1 or more"


@dataclass(frozen=True)
class Filled(_ContentThreshold):
    """More than 30 % of the object's capacity is taken by a substance (OmniGibson).

    The capacity is the annotated `capacity`, or else the volume of its cavities in
    droplets 2 cm wide.

    Args:
        object: its name; it must be fillable.
        liquid: name of the substance, "water", "flour", ...

    Raises:
        ConfigError: if the substance is no name; on use, if the object has neither a
            capacity nor a cavity.
    """

    def _min_droplets(self, target: WorldObject) -> int:
        return min_filled_droplets(droplet_capacity(target))

    def _threshold_text(self, target: WorldObject) -> str:
        least, capacity = self._min_droplets(target), droplet_capacity(target)
        return f"is filled with {least} or more of {capacity}"


def _droplets(count: int) -> str:
    return "1 droplet" if count == 1 else f"{count} droplets"

"""Cooked, burnt, heated, frozen: what the temperature of an object was, or is."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState
from posewise.robots.world.objects import WorldObject

from ..planning.schedule import Plans, Schedule, plans_for_all
from .relaxed.thermal_plans import (
    TemperatureGoal,
    avoid_plans,
    reach_plans,
    recover_plans,
)
from .state_predicate import StatePredicate, check_semantics, check_truth_value

FROZEN_OFFSETS = (-50.0, -10.0)
"""Temperatures of objects that are made frozen, from their freezing point [°C]."""


@dataclass(frozen=True)
class Cooked(StatePredicate):
    """The object once was as hot as its cook temperature.

    T_max >= T_cook; with semantics="document" also T_max < T_burn, if it is burnable.

    Args:
        object: its name; it must be cookable.
        semantics: "igibson" by default: goals of tasks were checked by its code, where
            what is burnt stays cooked.
    """

    semantics: str = field(default="igibson", kw_only=True)

    ability = "cookable"

    def __post_init__(self) -> None:
        check_semantics(self)

    def set(self, C: Config, value: Any = True) -> None:
        """Make the object cooked or not, by its highest temperature so far.

        Not cooked: 1 °C below its cook temperature at most. Its temperature stays.

        Raises:
            ConfigError: where nothing can be cooked and not burnt (document).
        """
        check_truth_value(self, value)
        thing = self._object(C)
        cook, burn = self._bounds(thing)
        highest = C.states[thing.name].max_temperature
        if not value:
            C.set_state(thing.name, max_temperature=min(highest, cook - 1.0))
            return
        if cook >= burn:
            raise ConfigError(
                f"{thing.name!r} cannot be cooked and not burnt: it cooks at {cook:g}"
                f" °C and burns at {burn:g} °C."
            )
        within = cook <= highest < burn
        C.set_state(thing.name, max_temperature=highest if within else cook)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `thermal_plans`: dwelling in range of a source, or not for so long."""
        thing = self._object(C)
        cook, burn = self._bounds(thing)
        if not truth:
            return avoid_plans(TemperatureGoal(C, thing.name, cook, when, "cooked"))
        cooked = TemperatureGoal(C, thing.name, cook, when, "cooked")
        parts = [reach_plans(cooked)]
        if np.isfinite(burn):
            parts.append(
                avoid_plans(TemperatureGoal(C, thing.name, burn, when, "burnt"))
            )
        return plans_for_all(parts)

    def _bounds(self, thing: WorldObject) -> tuple[float, float]:
        burn = np.inf
        if self.semantics == "document" and "burnable" in thing.abilities:
            burn = thing.ability("burnable")["burn_temperature"]
        return thing.ability("cookable")["cook_temperature"], burn

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        cook, burn = self._bounds(thing)
        return (state.max_temperature >= cook) & (state.max_temperature < burn)

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        cook, burn = self._bounds(thing)
        if state.max_temperature >= burn:
            return _peak_sentence(thing, state, "its burn temperature", burn)
        return _peak_sentence(thing, state, "its cook temperature", cook)


@dataclass(frozen=True)
class _TemperatureThreshold(StatePredicate):
    """One temperature that an object reached, or is past."""

    parameter: ClassVar[str]
    """The temperature's name among the ability's parameters."""
    outcome: ClassVar[str]
    """See `TemperatureGoal`."""

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `thermal_plans`: dwelling in range of a source until then, or away."""
        thing = self._object(C)
        task = TemperatureGoal(
            C, thing.name, self._threshold(thing), when, self.outcome
        )
        if truth:
            return reach_plans(task)
        return recover_plans(task) if task.is_transient else avoid_plans(task)

    def _threshold(self, thing: WorldObject) -> float:
        return float(thing.ability(self.ability)[self.parameter])


@dataclass(frozen=True)
class _PeakTemperatureThreshold(_TemperatureThreshold):
    """One temperature that an object once reached, which it never gets over."""

    threshold_name: ClassVar[str]
    """The temperature's name."""

    def set(self, C: Config, value: Any = True) -> None:
        """Make it true or not, by the object's highest temperature so far.

        Not true: 1 °C below the limit at most. The object's temperature stays.
        """
        check_truth_value(self, value)
        thing = self._object(C)
        limit, highest = self._threshold(thing), C.states[thing.name].max_temperature
        new = max(highest, limit) if value else min(highest, limit - 1.0)
        C.set_state(thing.name, max_temperature=new)

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.max_temperature >= self._threshold(thing))

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        return _peak_sentence(thing, state, self.threshold_name, self._threshold(thing))


@dataclass(frozen=True)
class Burnt(_PeakTemperatureThreshold):
    """The object once was as hot as its burn temperature: T_max >= T_burn.

    Args:
        object: its name; it must be burnable.
    """

    ability, parameter, outcome = "burnable", "burn_temperature", "burnt"
    threshold_name = "its burn temperature"


@dataclass(frozen=True)
class OnFire(_PeakTemperatureThreshold):
    """The object has caught fire: T_max >= T_ignite (OmniGibson).

    It burns on; that fire heats what is near is not simulated.

    Args:
        object: its name; it must be flammable.
    """

    ability, parameter, outcome = "flammable", "ignition_temperature", "on fire"
    threshold_name = "its ignition temperature"


@dataclass(frozen=True)
class Frozen(_TemperatureThreshold):
    """The object is now at its freezing temperature or below: T <= T_freeze.

    Args:
        object: its name; it must be freezable.
    """

    ability, parameter, outcome = "freezable", "freeze_temperature", "frozen"

    def set(self, C: Config, value: Any = True, *, seed: int = 0) -> None:
        """Make the object frozen (10 to 50 °C below, at random), or 1 °C above."""
        check_truth_value(self, value)
        thing = self._object(C)
        below = np.random.default_rng(seed).uniform(*FROZEN_OFFSETS)
        new = self._threshold(thing) + (below if value else 1.0)
        C.set_state(thing.name, temperature=new)

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.temperature <= self._threshold(thing))

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        side = "at or below" if self._evaluate(state, thing) else "above"
        return _temperature_sentence(
            thing, state, side, "freezing", self._threshold(thing)
        )


@dataclass(frozen=True)
class Heated(_TemperatureThreshold):
    """The object is now as hot as its heat temperature: T >= T_heat (OmniGibson).

    Args:
        object: its name; it must be heatable.
    """

    ability, parameter, outcome = "heatable", "heat_temperature", "heated"

    def set(self, C: Config, value: Any = True) -> None:
        """Make the object as hot as that, or 1 °C colder; what is so stays."""
        check_truth_value(self, value)
        thing = self._object(C)
        if self.holds(C) != value:
            new = self._threshold(thing) - (0.0 if value else 1.0)
            C.set_state(thing.name, temperature=new)

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.temperature >= self._threshold(thing))

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        side = "at or above" if self._evaluate(state, thing) else "below"
        return _temperature_sentence(thing, state, side, "heat", self._threshold(thing))


def _temperature_sentence(
    thing: WorldObject, state: ObjectState, side: str, what: str, limit: float
) -> str:
    return (
        f"{thing.name} is at {state.temperature:.1f} °C, {side} its {what} temperature"
        f" of {limit:g} °C."
    )


def _peak_sentence(
    thing: WorldObject, state: ObjectState, what: str, limit: float
) -> str:
    highest = state.max_temperature
    if highest == -np.inf:
        return (
            f"{thing.name} has no temperatures yet: its states were not rolled out;"
            f" {what} is {limit:g} °C."
        )
    near = "at or above" if highest >= limit else "below"
    return (
        f"{thing.name} reached {highest:.1f} °C at most, {near} {what} of {limit:g} °C."
    )

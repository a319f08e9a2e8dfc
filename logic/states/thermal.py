"""Cooked, burnt, heated, frozen: what the temperature of an object was, or is."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...robots.config import Config
from ...robots.errors import ConfigError
from ...robots.object_states import ObjectState
from ...robots.objects import WorldObject
from ..plans import Plans, When, all_of
from .state_predicate import StatePredicate, check_flag, check_semantics
from .thermal_plans import Thermal, passed_plans, reached_plans, unreached_plans

FROZEN_BELOW = (-50.0, -10.0)
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
        check_flag(self, value)
        thing = self._thing(C)
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

    def plans(self, C: Config, when: When, truth: bool = True) -> Plans:
        """See `thermal_plans`: dwelling in range of a source, or not for so long."""
        thing = self._thing(C)
        cook, burn = self._bounds(thing)
        if not truth:
            return unreached_plans(Thermal(C, thing.name, cook, when, "cooked"))
        cooked = Thermal(C, thing.name, cook, when, "cooked")
        parts = [reached_plans(cooked)]
        if np.isfinite(burn):
            parts.append(unreached_plans(Thermal(C, thing.name, burn, when, "burnt")))
        return all_of(parts)

    def _bounds(self, thing: WorldObject) -> tuple[float, float]:
        burn = np.inf
        if self.semantics == "document" and "burnable" in thing.abilities:
            burn = thing.ability("burnable")["burn_temperature"]
        return thing.ability("cookable")["cook_temperature"], burn

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        cook, burn = self._bounds(thing)
        return (state.max_temperature >= cook) & (state.max_temperature < burn)

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        cook, burn = self._bounds(thing)
        if state.max_temperature >= burn:
            return _reached(thing, state, "its burn temperature", burn)
        return _reached(thing, state, "its cook temperature", cook)


@dataclass(frozen=True)
class Burnt(StatePredicate):
    """The object once was as hot as its burn temperature: T_max >= T_burn.

    Args:
        object: its name; it must be burnable.
    """

    ability = "burnable"

    def plans(self, C: Config, when: When, truth: bool = True) -> Plans:
        """See `thermal_plans`: dwelling in range of a source, or not for so long."""
        thing = self._thing(C)
        burn = thing.ability("burnable")["burn_temperature"]
        task = Thermal(C, thing.name, burn, when, "burnt")
        return reached_plans(task) if truth else unreached_plans(task)

    def set(self, C: Config, value: Any = True) -> None:
        """Make the object burnt or not, by its highest temperature so far.

        Not burnt: 1 °C below its burn temperature at most. Its temperature stays.
        """
        check_flag(self, value)
        thing = self._thing(C)
        burn = thing.ability("burnable")["burn_temperature"]
        highest = C.states[thing.name].max_temperature
        new = max(highest, burn) if value else min(highest, burn - 1.0)
        C.set_state(thing.name, max_temperature=new)

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        burn = thing.ability("burnable")["burn_temperature"]
        return np.asarray(state.max_temperature >= burn)

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        burn = thing.ability("burnable")["burn_temperature"]
        return _reached(thing, state, "its burn temperature", burn)


@dataclass(frozen=True)
class Frozen(StatePredicate):
    """The object is now at its freezing temperature or below: T <= T_freeze.

    Args:
        object: its name; it must be freezable.
    """

    ability = "freezable"

    def plans(self, C: Config, when: When, truth: bool = True) -> Plans:
        """See `thermal_plans`: dwelling in range of a source until then, or away."""
        thing = self._thing(C)
        freeze = thing.ability("freezable")["freeze_temperature"]
        task = Thermal(C, thing.name, freeze, when, "frozen")
        return reached_plans(task) if truth else passed_plans(task)

    def set(self, C: Config, value: Any = True, *, seed: int = 0) -> None:
        """Make the object frozen (10 to 50 °C below, at random), or 1 °C above."""
        check_flag(self, value)
        thing = self._thing(C)
        freeze = thing.ability("freezable")["freeze_temperature"]
        below = np.random.default_rng(seed).uniform(*FROZEN_BELOW)
        C.set_state(thing.name, temperature=freeze + (below if value else 1.0))

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        freeze = thing.ability("freezable")["freeze_temperature"]
        return np.asarray(state.temperature <= freeze)

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        freeze = thing.ability("freezable")["freeze_temperature"]
        side = "at or below" if state.temperature <= freeze else "above"
        return (
            f"{thing.name} is at {state.temperature:.1f} °C, {side} its freezing"
            f" temperature of {freeze:g} °C."
        )


@dataclass(frozen=True)
class Heated(StatePredicate):
    """The object is now as hot as its heat temperature: T >= T_heat (OmniGibson).

    Args:
        object: its name; it must be heatable.
    """

    ability = "heatable"

    def plans(self, C: Config, when: When, truth: bool = True) -> Plans:
        """See `thermal_plans`: dwelling in range of a source until then, or away."""
        thing = self._thing(C)
        heat = thing.ability("heatable")["heat_temperature"]
        task = Thermal(C, thing.name, heat, when, "heated")
        return reached_plans(task) if truth else passed_plans(task)

    def set(self, C: Config, value: Any = True) -> None:
        """Make the object as hot as that, or 1 °C colder; what is so stays."""
        check_flag(self, value)
        thing = self._thing(C)
        heat = thing.ability("heatable")["heat_temperature"]
        if self.holds(C) != value:
            C.set_state(thing.name, temperature=heat - (0.0 if value else 1.0))

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        heat = thing.ability("heatable")["heat_temperature"]
        return np.asarray(state.temperature >= heat)

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        heat = thing.ability("heatable")["heat_temperature"]
        side = "at or above" if state.temperature >= heat else "below"
        return (
            f"{thing.name} is at {state.temperature:.1f} °C, {side} its heat"
            f" temperature of {heat:g} °C."
        )


def _reached(thing: WorldObject, state: ObjectState, what: str, limit: float) -> str:
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

"""Predicates of an object's temperature: Cooked, Burnt, OnFire, Frozen and Heated."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from posewise.robots.annotations.object_states import ObjectState
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..formulas.schedule import Plans, Schedule, plans_for_all
from .relaxed.thermal_plans import (
    TemperatureGoal,
    avoid_plans,
    reach_plans,
    recover_plans,
)
from .state_predicate import (
    Semantics,
    StatePredicate,
    Truth,
    check_semantics,
    check_truth_value,
)

FROZEN_OFFSETS = (-50.0, -10.0)
"""Range of temperatures of objects set to frozen, from the freezing point [°C].

As iGibson samples them.
"""


@dataclass(frozen=True)
class Cooked(StatePredicate):
    """The object was once at least as hot as its cook temperature.

    T_max >= T_cook; with semantics="document" also T_max < T_burn, if it is burnable.

    Args:
        object: its name; it must be cookable.
        semantics: "igibson" by default, because goals of BEHAVIOR-100 were checked by
            iGibson's code, where a burnt object stays cooked.
    """

    semantics: Semantics = field(default="igibson", kw_only=True)

    ability = "cookable"

    def __post_init__(self) -> None:
        check_semantics(type(self).__name__, self.semantics)

    def set(self, C: Config, value: bool = True) -> None:
        """Make the object cooked or not, by its highest temperature so far.

        Not cooked: at most 1 °C below its cook temperature. Its present temperature is
        not changed.

        Raises:
            ConfigError: if no temperature cooks without burning (document).
        """
        check_truth_value(self, value)
        target = self._object(C)
        cook, burn = self._bounds(target)
        highest = C.annotations.states[target.name].max_temperature
        if not value:
            C.annotations.set_state(
                target.name, max_temperature=min(highest, cook - 1.0)
            )
            return
        if cook >= burn:
            raise ConfigError(
                f"{target.name!r} cannot be cooked and not burnt: it cooks at {cook:g}"
                f" °C and burns at {burn:g} °C."
            )
        within = cook <= highest < burn
        C.annotations.set_state(
            target.name, max_temperature=highest if within else cook
        )

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which the object dwells in range of a source, or does not."""
        target = self._object(C)
        cook, burn = self._bounds(target)
        cooked = TemperatureGoal(C, target.name, cook, when, "cooked")
        if not truth:
            # Staying below the cook temperature is sufficient, hence sound; with
            # "document", burning the object would be another way.
            return avoid_plans(cooked)
        parts = [reach_plans(cooked)]
        if np.isfinite(burn):
            burnt = TemperatureGoal(C, target.name, burn, when, "burnt")
            parts.append(avoid_plans(burnt))
        return plans_for_all(parts)

    def _bounds(self, target: WorldObject) -> tuple[float, float]:
        """Return the cook temperature, and the burn temperature that ends it [°C]."""
        burn = np.inf
        if self.semantics == "document" and "burnable" in target.abilities:
            burn = target.ability("burnable")["burn_temperature"]
        return target.ability("cookable")["cook_temperature"], burn

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        cook, burn = self._bounds(target)
        return (state.max_temperature >= cook) & (state.max_temperature < burn)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        cook, burn = self._bounds(target)
        if state.max_temperature >= burn:
            return _peak_sentence(target, state, "its burn temperature", burn)
        return _peak_sentence(target, state, "its cook temperature", cook)


@dataclass(frozen=True)
class _TemperatureThreshold(StatePredicate):
    """One temperature that an object reached once, or is at now."""

    ability: ClassVar[str]

    parameter: ClassVar[str]
    """Name of the threshold among the ability's parameters."""
    outcome: ClassVar[str]
    """Outcome of reaching the threshold, as `TemperatureGoal.outcome`."""

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which the object dwells in range of a source, or does not."""
        target = self._object(C)
        goal = TemperatureGoal(
            C, target.name, self._threshold(target), when, self.outcome
        )
        if truth:
            return reach_plans(goal)
        return recover_plans(goal) if goal.is_transient else avoid_plans(goal)

    def _threshold(self, target: WorldObject) -> float:
        return float(target.ability(self.ability)[self.parameter])


@dataclass(frozen=True)
class _PeakTemperatureThreshold(_TemperatureThreshold):
    """One temperature that an object once reached, with permanent effect."""

    threshold_name: ClassVar[str]
    """Name of the threshold in messages."""

    def set(self, C: Config, value: bool = True) -> None:
        """Make the predicate hold or not, by the object's highest temperature so far.

        Not true: at most 1 °C below the threshold. The object's present temperature is
        not changed.
        """
        check_truth_value(self, value)
        target = self._object(C)
        limit, highest = (
            self._threshold(target),
            C.annotations.states[target.name].max_temperature,
        )
        new = max(highest, limit) if value else min(highest, limit - 1.0)
        C.annotations.set_state(target.name, max_temperature=new)

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.max_temperature >= self._threshold(target))

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        limit = self._threshold(target)
        return _peak_sentence(target, state, self.threshold_name, limit)


@dataclass(frozen=True)
class Burnt(_PeakTemperatureThreshold):
    """The object was once at least as hot as its burn temperature: T_max >= T_burn.

    Args:
        object: its name; it must be burnable.
    """

    ability, parameter, outcome = "burnable", "burn_temperature", "burnt"
    threshold_name = "its burn temperature"


@dataclass(frozen=True)
class OnFire(_PeakTemperatureThreshold):
    """The object has caught fire: T_max >= T_ignite (OmniGibson).

    The fire does not go out, and does not heat other objects.

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

    def set(self, C: Config, value: bool = True, *, seed: int = 0) -> None:
        """Set the temperature 10 to 50 °C below freezing at random, or 1 °C above.

        Args:
            C: the world, which is changed.
            value: whether the object is to be frozen.
            seed: of the temperature.
        """
        check_truth_value(self, value)
        target = self._object(C)
        below = np.random.default_rng(seed).uniform(*FROZEN_OFFSETS)
        new = self._threshold(target) + (below if value else 1.0)
        C.annotations.set_state(target.name, temperature=new)

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.temperature <= self._threshold(target))

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        side = "at or below" if self._evaluate(state, target) else "above"
        limit = self._threshold(target)
        return _temperature_sentence(target, state, side, "freezing", limit)


@dataclass(frozen=True)
class Heated(_TemperatureThreshold):
    """The object is now as hot as its heat temperature: T >= T_heat (OmniGibson).

    Args:
        object: its name; it must be heatable.
    """

    ability, parameter, outcome = "heatable", "heat_temperature", "heated"

    def set(self, C: Config, value: bool = True) -> None:
        """Set the temperature to the threshold, or 1 °C below, unless it fits."""
        check_truth_value(self, value)
        target = self._object(C)
        if self.holds(C) != value:
            new = self._threshold(target) - (0.0 if value else 1.0)
            C.annotations.set_state(target.name, temperature=new)

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.temperature >= self._threshold(target))

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        side = "at or above" if self._evaluate(state, target) else "below"
        limit = self._threshold(target)
        return _temperature_sentence(target, state, side, "heat", limit)


def _temperature_sentence(
    target: WorldObject, state: ObjectState, side: str, threshold: str, limit: float
) -> str:
    """Return the explanation of a predicate of the present temperature."""
    return (
        f"{target.name} is at {state.temperature:.1f} °C, {side} its {threshold}"
        f" temperature of {limit:g} °C."
    )


def _peak_sentence(
    target: WorldObject, state: ObjectState, threshold: str, limit: float
) -> str:
    """Return the explanation of a predicate of the highest temperature so far."""
    highest = state.max_temperature
    if highest == -np.inf:
        return (
            f"{target.name} has no temperatures yet: its states were not rolled out;"
            f" {threshold} is {limit:g} °C."
        )
    side = "at or above" if highest >= limit else "below"
    return (
        f"{target.name} reached {highest:.1f} °C at most, {side} {threshold} of"
        f" {limit:g} °C."
    )

"""Predicates of switches and cuts: ToggledOn and Sliced."""

from dataclasses import dataclass

import numpy as np

from posewise.robots.annotations.object_states import ObjectState
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..formulas.schedule import Plans, Schedule
from .relaxed.contact_plans import sliced_plans
from .relaxed.toggled_plans import toggled_plans
from .state_predicate import StatePredicate, Truth, check_truth_value


@dataclass(frozen=True)
class ToggledOn(StatePredicate):
    """The object is switched on.

    Args:
        object: its name; it must be toggleable.
    """

    ability = "toggleable"

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which a finger presses the button, or none does."""
        return toggled_plans(C, when, self._object(C).name, truth)

    def set(self, C: Config, value: bool = True) -> None:
        """Switch the object on or off."""
        check_truth_value(self, value)
        C.annotations.set_state(self._object(C).name, toggled_on=bool(value))

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.toggled_on)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        return f"{target.name} is switched {'on' if state.toggled_on else 'off'}."


@dataclass(frozen=True)
class Sliced(StatePredicate):
    """The object has been cut in halves.

    Args:
        object: its name; it must be sliceable.
    """

    ability = "sliceable"

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which a blade touches the object, or none does.

        The contact force is not known along a path: `rollout(..., forces=...)` receives
        it and decides whether the blade cuts.
        """
        return sliced_plans(C, when, self._object(C).name, truth)

    def set(self, C: Config, value: bool = True) -> None:
        """Cut the object.

        Raises:
            ConfigError: for False, if the object is cut already: a cut cannot be
                undone.
        """
        check_truth_value(self, value)
        target = self._object(C)
        if not value and C.annotations.states[target.name].sliced:
            raise ConfigError(
                f"{target.name!r} is sliced, which cannot be undone; begin with a world"
                " where it is whole."
            )
        C.annotations.set_state(target.name, sliced=bool(value))

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.sliced)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        if state.sliced:
            return f"{target.name} has been sliced."
        force = target.ability("sliceable")["slice_force"]
        return (
            f"{target.name} is whole: no blade pressed it with more than {force:g} N."
        )

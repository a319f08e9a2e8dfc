"""Toggled on, sliced: states that an object simply has."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState
from posewise.robots.world.objects import WorldObject

from ..planning.schedule import Plans, Schedule
from .relaxed.contact_plans import sliced_plans
from .relaxed.toggled_plans import toggled_plans
from .state_predicate import StatePredicate, check_truth_value


@dataclass(frozen=True)
class ToggledOn(StatePredicate):
    """The object is switched on.

    Args:
        object: its name; it must be toggleable.
    """

    ability = "toggleable"

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `toggled_plans`: a finger presses the button, or none does."""
        return toggled_plans(C, when, self._object(C).name, truth)

    def set(self, C: Config, value: Any = True) -> None:
        """Switch the object on or off."""
        check_truth_value(self, value)
        C.set_state(self._object(C).name, toggled_on=bool(value))

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.toggled_on)

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        return f"{thing.name} is switched {'on' if state.toggled_on else 'off'}."


@dataclass(frozen=True)
class Sliced(StatePredicate):
    """The object has been cut in halves.

    Args:
        object: its name; it must be sliceable.
    """

    ability = "sliceable"

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `sliced_plans`: a blade touches it, or none does.

        How hard it presses is not known of a path: that it cuts is what
        `rollout(..., forces=...)` is told.
        """
        return sliced_plans(C, when, self._object(C).name, truth)

    def set(self, C: Config, value: Any = True) -> None:
        """Cut the object.

        Raises:
            ConfigError: for False, when it is cut already: that cannot be undone.
        """
        check_truth_value(self, value)
        thing = self._object(C)
        if not value and C.states[thing.name].sliced:
            raise ConfigError(
                f"{thing.name!r} is sliced, which cannot be undone; begin with a world"
                " where it is whole."
            )
        C.set_state(thing.name, sliced=bool(value))

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        return np.asarray(state.sliced)

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        force = thing.ability("sliceable")["slice_force"]
        if state.sliced:
            return f"{thing.name} has been sliced."
        return f"{thing.name} is whole: no blade pressed it with more than {force:g} N."

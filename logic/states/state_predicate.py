"""What the predicates of extended states share: an object with an ability."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState
from posewise.robots.world.objects import WorldObject

from ..formulas.predicate import Predicate

SEMANTICS = ("igibson", "document")


@dataclass(frozen=True)
class StatePredicate(Predicate):
    """A statement about the extended states of one object.

    Args:
        object: its name.

    Raises:
        ConfigError: on use, for an unknown object, or one without the ability.
    """

    object: str

    is_momentary: ClassVar[bool] = False
    needs_history: ClassVar[bool] = True
    ability: ClassVar[str]

    def holds(self, C: Config) -> bool:
        """Whether it is true of the states that the world has now."""
        thing = self._object(C)
        return bool(self._evaluate(C.states[thing.name], thing))

    def holds_along(
        self, C: Config, history: Mapping[str, ObjectState]
    ) -> Bool[np.ndarray, " T"]:
        """Whether it is true after each step of a roll-out of the world.

        Raises:
            ConfigError: as `holds`, and when the object is not in the history.
        """
        thing = self._object(C)
        if thing.name not in history:
            raise ConfigError(
                f"The history has no object {thing.name!r}; make it by"
                " logic.rollout(C, path)."
            )
        return np.asarray(self._evaluate(history[thing.name], thing))

    def explain(self, C: Config) -> str:
        """One sentence: the state, and the threshold it is compared with."""
        thing = self._object(C)
        return self._describe(C.states[thing.name], thing)

    @abstractmethod
    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        """Truth of a state, elementwise where its fields are arrays over time."""

    @abstractmethod
    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        """The sentence of `explain`."""

    def _object(self, C: Config) -> WorldObject:
        thing = C.object(self.object)
        thing.ability(self.ability)
        return thing


def check_semantics(predicate: Any) -> None:
    """Raise a ConfigError for another semantics than the two there are."""
    if predicate.semantics not in SEMANTICS:
        raise ConfigError(
            f"{type(predicate).__name__}: semantics is {predicate.semantics!r},"
            " expected 'igibson' (as its code computes it) or 'document' (as its"
            " documentation defines it)."
        )


def check_truth_value(predicate: Any, value: Any) -> None:
    """Raise a ConfigError unless a predicate is to be made True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(
            f"{type(predicate).__name__}.set: value is {value!r}, expected True or"
            " False."
        )

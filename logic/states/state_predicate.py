"""The base class of predicates of extended states: an object with an ability."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from jaxtyping import Bool

from posewise.robots.annotations.object_states import ObjectState
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..errors import PredicateError
from ..formulas.predicate import Predicate
from ..formulas.schedule import Plan, Plans, Schedule

Semantics: TypeAlias = Literal["igibson", "document"]
"""The reference of a predicate: iGibson 2.0's code, or its documentation."""
SEMANTICS = ("igibson", "document")
"""The names of these semantics."""
Truth: TypeAlias = bool | np.bool_ | Bool[np.ndarray, "..."]
"""A truth value, or one for each step."""


@dataclass(frozen=True)
class StatePredicate(Predicate):
    """A statement about the extended states of one object.

    Args:
        object: its name.

    Raises:
        ConfigError: on use, if the object is unknown or lacks the ability.
    """

    object: str

    is_momentary: ClassVar[bool] = False
    needs_history: ClassVar[bool] = True
    ability: ClassVar[str | None]
    """Ability that the object must have; None: any object will do."""

    def holds(self, C: Config) -> bool:
        target = self._object(C)
        return bool(self._evaluate(C.annotations.states[target.name], target))

    def holds_along(
        self, C: Config, history: Mapping[str, ObjectState]
    ) -> Bool[np.ndarray, " T"]:
        """Return the truth after each step of a roll-out of the world.

        Raises:
            ConfigError: as `holds`, and if the object is not in the history.
        """
        target = self._object(C)
        if target.name not in history:
            raise ConfigError(
                f"The history has no object {target.name!r}; make it by"
                " logic.rollout(C, path)."
            )
        return np.asarray(self._evaluate(history[target.name], target))

    def explain(self, C: Config) -> str:
        """Return one sentence: the state, and the threshold it is compared with."""
        target = self._object(C)
        return self._describe(C.annotations.states[target.name], target)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return the plan without rows if the state is as wanted already.

        Raises:
            PredicateError: if it is not, because no motion changes it.
        """
        if self.holds(C) == truth:
            return [Plan()]
        raise PredicateError(
            f"{self.explain(C)} No motion changes that; set it before, by"
            f" logic.{type(self).__name__}(...).set(C, {truth})."
        )

    @abstractmethod
    def set(self, C: Config, value: bool = True) -> None:
        """Set the state of the object so that the predicate holds, or does not.

        Args:
            C: the world, which is changed.
            value: whether the predicate is to hold.

        Raises:
            ConfigError: if the value is neither True nor False, or no state has it.
        """

    @abstractmethod
    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        """Return the truth, elementwise where fields of the state are arrays."""

    @abstractmethod
    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        """Return the sentence of `explain`."""

    def _object(self, C: Config) -> WorldObject:
        """Return the object, which must have the ability."""
        target = C.object(self.object)
        if self.ability is not None:
            target.ability(self.ability)
        return target


def check_semantics(predicate: str, semantics: str) -> None:
    """Raise a ConfigError unless the semantics of a predicate are known.

    Args:
        predicate: name of its class, for the message.
        semantics: the name to check.
    """
    if semantics not in SEMANTICS:
        raise ConfigError(
            f"{predicate}: semantics is {semantics!r}, expected 'igibson' (as its code"
            " computes it) or 'document' (as its documentation defines it)."
        )


def check_substance(predicate: Predicate, argument: str, value: object) -> None:
    """Raise a ConfigError unless a substance is a name."""
    if not isinstance(value, str) or not value:
        raise ConfigError(
            f"{type(predicate).__name__}: {argument} is {value!r}, expected the name of"
            " a substance, e.g. 'water'."
        )


def check_truth_value(predicate: Predicate, value: object) -> None:
    """Raise a ConfigError unless the value that a predicate is set to is a truth value.

    Args:
        predicate: whose method `set` received the value.
        value: the value to check.
    """
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(
            f"{type(predicate).__name__}.set: value is {value!r}, expected True or"
            " False."
        )

"""Predicates of what is there at all: Real, SourceOf and Broken."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from posewise.robots.annotations.object_states import WATER, ObjectState, Particles
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from .state_predicate import StatePredicate, Truth, check_substance, check_truth_value


@dataclass(frozen=True)
class Broken(StatePredicate):
    """The object is broken.

    Args:
        object: its name; it must be breakable.
    """

    ability = "breakable"

    def set(self, C: Config, value: bool = True) -> None:
        """Break the object, or mend it."""
        check_truth_value(self, value)
        C.annotations.set_state(self._object(C).name, broken=bool(value))

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.broken)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        return f"{target.name} is {'broken' if state.broken else 'whole'}."


@dataclass(frozen=True)
class SourceOf(StatePredicate):
    """The object is a source of a substance, which does not run dry.

    Water sources are sources of water.

    Args:
        object: its name.
        substance: its name, "water", "salt", ...

    Raises:
        ConfigError: if the substance is no name.
    """

    substance: str

    ability = None

    def __post_init__(self) -> None:
        check_substance(self, "substance", self.substance)

    def set(self, C: Config, value: bool = True) -> None:
        """Make the object a source of the substance, or not.

        Raises:
            ConfigError: for False, if it has the ability of water sources.
        """
        check_truth_value(self, value)
        target = self._object(C)
        if not value and self._is_tap(target):
            raise ConfigError(f"{target.name!r} is a water source by its ability.")
        C.annotations.set_state(target.name, supply={self.substance: bool(value)})

    def _is_tap(self, target: WorldObject) -> bool:
        return self.substance == WATER and "waterSource" in target.abilities

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        supplied = state.supply.get(self.substance, False)
        return np.asarray(supplied) | self._is_tap(target)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        verb = "is" if self._evaluate(state, target) else "is not"
        return f"{target.name} {verb} a source of {self.substance}."


@dataclass(frozen=True)
class Real(StatePredicate):
    """The object exists; or some of a substance does (OmniGibson).

    A substance exists where an existing object holds, has absorbed, is covered with, or
    is a source of some of it. By conditions of BDDL what does not exist is in no
    relation, and `logic.bddl` places other objects where its body is; other predicates,
    and collisions, do not ask whether something is real.

    Args:
        object: name of an object, or else of a substance.
    """

    ability = None

    def holds(self, C: Config) -> bool:
        if self.object in C.objects:
            return super().holds(C)
        return bool(holders(C, self.object))

    def holds_along(
        self, C: Config, history: Mapping[str, ObjectState]
    ) -> Bool[np.ndarray, " T"]:
        if self.object in C.objects:
            return super().holds_along(C, history)
        truths = [
            np.asarray(state.real) & _has(C.objects[name], state, self.object)
            for name, state in history.items()
        ]
        return np.any(truths, axis=0)

    def explain(self, C: Config) -> str:
        if self.object in C.objects:
            return super().explain(C)
        names = holders(C, self.object)
        if names:
            return f"There is {self.object}: {_listed(names)}."
        return f"There is no {self.object}: no object holds, or is covered with, any."

    def set(self, C: Config, value: bool = True) -> None:
        """Make the object exist, or not; or remove all of a substance.

        Raises:
            ConfigError: for a substance that is to exist: it must be somewhere.
        """
        check_truth_value(self, value)
        if self.object in C.objects:
            C.annotations.set_state(self.object, real=bool(value))
            return
        if value and not self.holds(C):
            raise ConfigError(
                f"{self.object!r} is no object; if it is a substance, put some of it"
                " somewhere, e.g. by logic.Contains(...).set(C)."
            )
        for name, state in C.annotations.states.items() if not value else ():
            _remove(C, name, state, self.object)

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        return np.asarray(state.real)

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        return f"{target.name} {'exists' if state.real else 'does not exist'}."


def holders(C: Config, substance: str) -> list[str]:
    """Return the existing objects that have, or are sources of, a substance."""
    return [
        name
        for name, state in C.annotations.states.items()
        if state.real and _has(C.objects[name], state, substance)
    ]


def _has(target: WorldObject, state: ObjectState, substance: str) -> Truth:
    """Return whether an object has any of a substance, or one truth for each step."""
    counts = (state.absorbed, state.contained, state.supply)
    some = [np.asarray(table.get(substance, 0)) > 0 for table in counts]
    is_covered = np.any(state.particles(substance).active, axis=-1)
    is_source = SourceOf(target.name, substance)._evaluate(state, target)
    return np.any([*some, is_covered, is_source], axis=0)


def _remove(C: Config, name: str, state: ObjectState, substance: str) -> None:
    """Remove all of a substance from an object."""
    if substance in state.covering:
        C.annotations.set_state(name, covering={substance: Particles()})
    for table in ("absorbed", "contained"):
        if substance in getattr(state, table):
            C.annotations.set_state(name, **{table: {substance: 0}})
    if substance in state.supply:
        C.annotations.set_state(name, supply={substance: False})


def _listed(names: list[str]) -> str:
    return f"{names[0]} has some" if len(names) == 1 else f"{', '.join(names)} have"

"""Soaked, dusty, stained, covered: the droplets and particles that are on an object."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState, Particles
from posewise.robots.world.objects import WorldObject

from ..planning.schedule import Plans, Schedule
from .dirt import CLEAN, CLEAN_FLOOR, dirt_level, dirty
from .relaxed.contact_plans import dirty_plans
from .relaxed.soaked_plans import soaked_plans
from .relaxed.wiped_plans import wiped_plans
from .sprinkling import sprinkle
from .state_predicate import StatePredicate, check_flag, check_semantics
from .water import soaked

FLOORS = ("floor.n.01", "floors", "floor")
"""Categories of floors."""
COVERING = 5
"""Particles that cover an object."""
SUBSTANCES = {"dust": "dustyable", "stain": "stainable"}
"""What particles are of, and the ability of objects that have them."""


@dataclass(frozen=True)
class Soaked(StatePredicate):
    """The object has absorbed droplets, w_soaked of them or more.

    With semantics="igibson" one is enough, whatever w_soaked is.

    Args:
        object: its name; it must be soakable.
        semantics: "document" by default: the same as iGibson's but where `w_soaked` was
            annotated, and then it counts.
    """

    semantics: str = field(default="document", kw_only=True)

    ability = "soakable"

    def __post_init__(self) -> None:
        check_semantics(self)

    def set(self, C: Config, value: Any = True) -> None:
        """Make the object soaked (with as many droplets as it takes), or dry."""
        check_flag(self, value)
        thing = self._thing(C)
        wet = max(C.states[thing.name].wetness, self._level(thing))
        C.set_state(thing.name, wetness=wet if value else 0)

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `soaked_plans`: standing below a water source for as long as it takes."""
        thing = self._thing(C)
        return soaked_plans(C, when, thing.name, self._level(thing), truth)

    def _level(self, thing: WorldObject) -> int:
        return (
            1 if self.semantics == "igibson" else thing.ability("soakable")["w_soaked"]
        )

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        return soaked(state.wetness, self._level(thing))

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        level = self._level(thing)
        return (
            f"{thing.name} has absorbed {state.wetness} droplet"
            f"{'' if state.wetness == 1 else 's'}, and is soaked with {level} or more."
        )


@dataclass(frozen=True)
class _Specked(StatePredicate):
    """More than a share of the particles that ever were on an object."""

    kind: ClassVar[str]
    """Field of `ObjectState`."""

    def set(
        self, C: Config, value: Any = True, *, seed: int = 0, count: int = 20
    ) -> None:
        """Sprinkle particles on the object, in place of any there are, or clean it.

        Args:
            C: the world.
            value: whether it is to be dirty.
            seed: of the places.
            count: how many particles.

        Raises:
            ConfigError: for an object without shapes that face the sky or sideways.
        """
        check_flag(self, value)
        thing = self._thing(C)
        old = getattr(C.states[thing.name], self.kind)
        cleaned = Particles(old.positions, np.zeros_like(old.active))
        new = sprinkle(C, thing.name, count, seed) if value else cleaned
        C.set_state(thing.name, **{self.kind: new})

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `wiped_plans`: a tool touches enough particles, or no tool touches it."""
        thing = self._thing(C)
        share = self._share(getattr(C.states[thing.name], self.kind).active, thing)
        if truth:
            return dirty_plans(C, when, thing.name, self.kind, share)
        return wiped_plans(C, when, thing.name, self.kind, share)

    @abstractmethod
    def _share(self, active: Any, thing: WorldObject) -> float:
        """More than so much of the particles must be there."""

    @abstractmethod
    def _limit(self, active: Any, thing: WorldObject) -> str:
        """That in words."""

    def _true(self, state: ObjectState, thing: WorldObject) -> Any:
        active = getattr(state, self.kind).active
        return dirty(active, self._share(active, thing))

    def _reason(self, state: ObjectState, thing: WorldObject) -> str:
        active = getattr(state, self.kind).active
        word = type(self).__name__.lower()
        if not len(active):
            return f"{thing.name} never had any {self.kind} particles."
        return (
            f"{thing.name} has {int(active.sum())} of {len(active)} {self.kind}"
            f" particles left ({dirt_level(active):.0%}), and is {word}"
            f" {self._limit(active, thing)}."
        )


@dataclass(frozen=True)
class _Dirty(_Specked):
    semantics: str = field(default="igibson", kw_only=True)

    parameter: ClassVar[str]

    def __post_init__(self) -> None:
        check_semantics(self)

    def _share(self, active: Any, thing: WorldObject) -> float:
        annotated = thing.ability(self.ability)[self.parameter]
        if annotated is not None:
            return float(annotated)
        floor = self.semantics == "igibson" and thing.category in FLOORS
        return CLEAN_FLOOR if floor else CLEAN

    def _limit(self, active: Any, thing: WorldObject) -> str:
        return f"above {self._share(active, thing):.0%}"


@dataclass(frozen=True)
class Dusty(_Dirty):
    """More than half of the object's dust is still there, of floors more than 3/4.

    `d_dusty`, where annotated, takes the place of that share.

    Args:
        object: its name; it must be dustyable.
        semantics: "igibson" by default: goals of tasks were checked by its code; with
            "document" floors are no exception.
    """

    ability = "dustyable"
    parameter = "d_dusty"
    kind = "dust"


@dataclass(frozen=True)
class Stained(_Dirty):
    """More than half of the object's stains are still there, of floors more than 3/4.

    `s_stained`, where annotated, takes the place of that share.

    Args:
        object: its name; it must be stainable.
        semantics: see `Dusty`.
    """

    ability = "stainable"
    parameter = "s_stained"
    kind = "stain"


@dataclass(frozen=True)
class Covered(_Specked):
    """At least five particles of dust or stain are on the object (OmniGibson).

    Args:
        object: its name; it must be dustyable, or stainable.
        substance: "dust" or "stain".

    Raises:
        ConfigError: for another substance.
    """

    substance: str

    def __post_init__(self) -> None:
        if self.substance not in SUBSTANCES:
            raise ConfigError(
                f"Covered: substance is {self.substance!r}, expected 'dust' or 'stain'."
                " Other substances have no particles here."
            )

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Field of `ObjectState`."""
        return self.substance

    @property
    def ability(self) -> str:  # type: ignore[override]
        """That the object must have."""
        return SUBSTANCES[self.substance]

    def _share(self, active: Any, thing: WorldObject) -> float:
        return (COVERING - 0.5) / max(np.shape(active)[-1], 1)

    def _limit(self, active: Any, thing: WorldObject) -> str:
        return f"with {COVERING} or more"

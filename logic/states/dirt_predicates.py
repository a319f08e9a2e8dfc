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
from .dirt_rules import DIRTY_FLOOR_SHARE, DIRTY_SHARE, dirt_level, is_dirty
from .particle_sampling import sample_particles
from .relaxed.contact_plans import dirty_plans
from .relaxed.wiped_plans import wiped_plans
from .state_predicate import StatePredicate, check_semantics, check_truth_value

FLOOR_CATEGORIES = ("floor.n.01", "floors", "floor")
"""Categories of floors."""
MIN_COVERING_PARTICLES = 5
"""Particles that cover an object."""
ABILITY_BY_SUBSTANCE = {"dust": "dustyable", "stain": "stainable"}
"""What particles are of, and the ability of objects that have them."""


@dataclass(frozen=True)
class _ParticleThreshold(StatePredicate):
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
        check_truth_value(self, value)
        thing = self._object(C)
        old = getattr(C.states[thing.name], self.kind)
        cleaned = Particles(old.positions, np.zeros_like(old.active))
        new = sample_particles(C, thing.name, count, seed) if value else cleaned
        C.set_state(thing.name, **{self.kind: new})

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """See `wiped_plans`: a tool touches enough particles, or no tool touches it."""
        thing = self._object(C)
        share = self._threshold(getattr(C.states[thing.name], self.kind).active, thing)
        if truth:
            return dirty_plans(C, when, thing.name, self.kind, share)
        return wiped_plans(C, when, thing.name, self.kind, share)

    @abstractmethod
    def _threshold(self, active: Any, thing: WorldObject) -> float:
        """More than so much of the particles must be there."""

    @abstractmethod
    def _threshold_text(self, active: Any, thing: WorldObject) -> str:
        """That in words."""

    def _evaluate(self, state: ObjectState, thing: WorldObject) -> Any:
        active = getattr(state, self.kind).active
        return is_dirty(active, self._threshold(active, thing))

    def _describe(self, state: ObjectState, thing: WorldObject) -> str:
        active = getattr(state, self.kind).active
        word = type(self).__name__.lower()
        if not len(active):
            return f"{thing.name} never had any {self.kind} particles."
        return (
            f"{thing.name} has {int(active.sum())} of {len(active)} {self.kind}"
            f" particles left ({dirt_level(active):.0%}), and is {word}"
            f" {self._threshold_text(active, thing)}."
        )


@dataclass(frozen=True)
class _DirtThreshold(_ParticleThreshold):
    semantics: str = field(default="igibson", kw_only=True)

    parameter: ClassVar[str]

    def __post_init__(self) -> None:
        check_semantics(self)

    def _threshold(self, active: Any, thing: WorldObject) -> float:
        annotated = thing.ability(self.ability)[self.parameter]
        if annotated is not None:
            return float(annotated)
        floor = self.semantics == "igibson" and thing.category in FLOOR_CATEGORIES
        return DIRTY_FLOOR_SHARE if floor else DIRTY_SHARE

    def _threshold_text(self, active: Any, thing: WorldObject) -> str:
        return f"above {self._threshold(active, thing):.0%}"


@dataclass(frozen=True)
class Dusty(_DirtThreshold):
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
class Stained(_DirtThreshold):
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
class Covered(_ParticleThreshold):
    """At least five particles of dust or stain are on the object (OmniGibson).

    Args:
        object: its name; it must be dustyable, or stainable.
        substance: "dust" or "stain".

    Raises:
        ConfigError: for another substance.
    """

    substance: str

    def __post_init__(self) -> None:
        if self.substance not in ABILITY_BY_SUBSTANCE:
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
        return ABILITY_BY_SUBSTANCE[self.substance]

    def _threshold(self, active: Any, thing: WorldObject) -> float:
        return (MIN_COVERING_PARTICLES - 0.5) / max(np.shape(active)[-1], 1)

    def _threshold_text(self, active: Any, thing: WorldObject) -> str:
        return f"with {MIN_COVERING_PARTICLES} or more"

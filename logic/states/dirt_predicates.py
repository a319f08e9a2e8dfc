"""Predicates of the particles on an object: Dusty, Stained and Covered."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from posewise.robots.annotations.object_states import ObjectState, Particles
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.config import Config

from ..formulas.schedule import Plans, Schedule
from .dirt_rules import (
    ABILITY_BY_SUBSTANCE,
    DIRTY_FLOOR_SHARE,
    DIRTY_SHARE,
    MIN_PHYSICAL_PARTICLES,
    MIN_VISUAL_PARTICLES,
    VISUAL_SUBSTANCES,
    dirt_level,
    is_dirty,
)
from .particle_sampling import sample_particles
from .relaxed.contact_plans import dirty_plans
from .relaxed.wiped_plans import wiped_plans
from .state_predicate import (
    Semantics,
    StatePredicate,
    Truth,
    check_semantics,
    check_substance,
    check_truth_value,
)

FLOOR_CATEGORIES = ("floor.n.01", "floors", "floor")
"""Categories of floors, in BDDL and in iGibson's scenes."""

Active = Bool[np.ndarray, "*T n"]
"""Truth values of particles that remain, at one time or after each step."""


@dataclass(frozen=True)
class _ParticleThreshold(StatePredicate):
    """More than a share of an object's particles of one kind remains."""

    kind: ClassVar[str]
    """The substance of the particles."""

    def set(
        self, C: Config, value: bool = True, *, seed: int = 0, count: int = 20
    ) -> None:
        """Replace all particles of the object by new ones, or clean it.

        Args:
            C: the world, which is changed.
            value: whether the object is to be dirty.
            seed: of the places.
            count: number of particles.

        Raises:
            ConfigError: if the value is no truth value, or the object has no shapes
                with a surface that does not face down.
        """
        check_truth_value(self, value)
        target = self._object(C)
        old = C.annotations.states[target.name].particles(self.kind)
        cleaned = Particles(old.positions, np.zeros_like(old.active))
        new = sample_particles(C, target.name, count, seed) if value else cleaned
        C.annotations.set_state(target.name, covering={self.kind: new})

    def plans(self, C: Config, when: Schedule, truth: bool = True) -> Plans:
        """Return plans in which a tool wipes enough particles, or no tool touches."""
        target = self._object(C)
        active = C.annotations.states[target.name].particles(self.kind).active
        share = self._threshold(active, target)
        if truth:
            return dirty_plans(C, when, target.name, self.kind, share)
        return wiped_plans(C, when, target.name, self.kind, share)

    @abstractmethod
    def _threshold(self, active: Active, target: WorldObject) -> float:
        """Return the share of particles that must be exceeded."""

    @abstractmethod
    def _threshold_text(self, active: Active, target: WorldObject) -> str:
        """Return that share in words, as a part of the sentence of `explain`."""

    def _evaluate(self, state: ObjectState, target: WorldObject) -> Truth:
        active = state.particles(self.kind).active
        return is_dirty(active, self._threshold(active, target))

    def _describe(self, state: ObjectState, target: WorldObject) -> str:
        active = state.particles(self.kind).active
        word = type(self).__name__.lower()
        if not len(active):
            return f"{target.name} never had any {self.kind} particles."
        return (
            f"{target.name} has {int(active.sum())} of {len(active)} {self.kind}"
            f" particles left ({dirt_level(active):.0%}), and is {word}"
            f" {self._threshold_text(active, target)}."
        )


@dataclass(frozen=True)
class _DirtThreshold(_ParticleThreshold):
    """More than an annotated or default share of the particles remains."""

    ability: ClassVar[str]

    semantics: Semantics = field(default="igibson", kw_only=True)

    parameter: ClassVar[str]
    """Parameter of the ability that annotates the share."""

    def __post_init__(self) -> None:
        check_semantics(type(self).__name__, self.semantics)

    def _threshold(self, active: Active, target: WorldObject) -> float:
        annotated = target.ability(self.ability)[self.parameter]
        if annotated is not None:
            return float(annotated)
        is_floor = self.semantics == "igibson" and target.category in FLOOR_CATEGORIES
        return DIRTY_FLOOR_SHARE if is_floor else DIRTY_SHARE

    def _threshold_text(self, active: Active, target: WorldObject) -> str:
        return f"above {self._threshold(active, target):.0%}"


@dataclass(frozen=True)
class Dusty(_DirtThreshold):
    """More than half of the object's dust remains, or more than 3/4 on a floor.

    `d_dusty`, where annotated, replaces that share.

    Args:
        object: its name; it must be dustyable.
        semantics: "igibson" by default, because goals of BEHAVIOR-100 were checked by
            iGibson's code; with "document" floors are no exception.
    """

    ability = "dustyable"
    parameter = "d_dusty"
    kind = "dust"


@dataclass(frozen=True)
class Stained(_DirtThreshold):
    """More than half of the object's stains remain, or more than 3/4 on a floor.

    `s_stained`, where annotated, replaces that share.

    Args:
        object: its name; it must be stainable.
        semantics: as of `Dusty`.
    """

    ability = "stainable"
    parameter = "s_stained"
    kind = "stain"


@dataclass(frozen=True)
class Covered(_ParticleThreshold):
    """At least 5 particles of a visual, or 20 of a physical substance are on it.

    The rule of OmniGibson. Dust, stain, mud, paint and others that stick are visual;
    liquids and grains are physical.

    Args:
        object: its name; it must be dustyable for dust, and stainable for stain.
        substance: its name, "dust", "stain", "water", ...

    Raises:
        ConfigError: if the substance is no name.
    """

    substance: str

    def __post_init__(self) -> None:
        check_substance(self, "substance", self.substance)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The substance of the particles."""
        return self.substance

    @property
    def ability(self) -> str | None:  # type: ignore[override]
        """Ability that the object must have."""
        return ABILITY_BY_SUBSTANCE.get(self.substance)

    @property
    def _min_particles(self) -> int:
        is_visual = self.substance in VISUAL_SUBSTANCES
        return MIN_VISUAL_PARTICLES if is_visual else MIN_PHYSICAL_PARTICLES

    def _threshold(self, active: Active, target: WorldObject) -> float:
        # Half a particle less, so that "more than this share" means "five or more".
        return (self._min_particles - 0.5) / max(np.shape(active)[-1], 1)

    def _threshold_text(self, active: Active, target: WorldObject) -> str:
        return f"with {self._min_particles} or more"

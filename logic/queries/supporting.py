"""Supporting: an object without which another would fall."""

from dataclasses import dataclass, field
from typing import TypedDict, Unpack

import jax
import numpy as np
from jaxtyping import Float

from posewise.features import Feature, Pose
from posewise.robots.config import Config
from posewise.robots.simulation.motion import SimulationError
from posewise.robots.simulation.twin import Twin
from posewise.robots.typing import FrameName

from ..exact.verdict import Verdict
from ..geometry.frame_groups import FrameGroup, find_object
from ..geometry.messages import length
from ..margins import STRICT_MARGIN
from ..predicates.stable import Stable
from ..predicates.verdict_predicate import VerdictPredicate
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Inequality
from ..relaxed.contact import beyond_distance_rows
from ..relaxed.object_features import ObjectPair
from .contact import Touching

MIN_FALL = 1e-3
"""Displacement beyond which an object was held up by what was removed [m]."""
FALL_DURATION = 0.5
"""Duration of the simulation without the support [s]; in a shorter one objects that
slide off slowly do not move enough."""
MIN_CLEARANCE = 2e-3
"""Least distance, by the rows, of the supported object from all others [m]; a larger
one rejects supports beside other objects."""


@dataclass(frozen=True)
class Supporting(VerdictPredicate):
    """a holds b up: they touch, b is stable, and falls once nothing touches a.

    In a `Twin` in which a touches nothing, b moves by more than 1 mm in 0.5 s.

    `legacy=True` is PyCRAM's rule: they touch, and the origin of b's root frame is
    higher than that of a's.

    Its rows are those of contact and of `Stable` for b; and b is 2 mm away from all
    other objects, so that a alone supports it. Its negation has no rows.

    Args:
        a: an object or frame with a shape.
        b: another object or frame with a shape.
        legacy: whether PyCRAM's rule of contact and heights applies.

    Raises:
        ConfigError: when evaluated, for unknown names, and objects without shapes.
        ImportError: when evaluated without MuJoCo, except for the legacy rule.
    """

    a: FrameName
    b: FrameName
    legacy: bool = field(default=False, kw_only=True)

    def verdict(self, C: Config) -> Verdict:
        touch = Touching(self.a, self.b).verdict(C)
        if not touch.truth:
            return touch
        if self.legacy:
            return self._above(C)
        stable = Stable(self.b).verdict(C)
        if not stable.truth:
            return stable
        fall = self._fall(C)
        truth = fall > MIN_FALL
        moves = f"{self.b} moves by {length(fall)} in {FALL_DURATION:g} s"
        text = f"Without {self.a}, {moves}."
        return Verdict(truth, lambda: text)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of contact, and of heights or an equilibrium."""
        if not truth:
            return super().relaxed(C, truth)
        touch = Touching(self.a, self.b).relaxed(C)
        roots = [C.frames[find_object(C, x).frames[0]].name for x in (self.a, self.b)]
        if self.legacy:
            height = Feature(_height_difference, roots)
            return Conjunction((touch, Inequality(height)))
        stable = Stable(self.b).relaxed(C)
        return Conjunction((touch, stable, *self._alone(C)))

    def _above(self, C: Config) -> Verdict:
        """Return the verdict of PyCRAM's rule for objects that touch."""
        low, high = (
            C.pose(C.frames[find_object(C, x).frames[0]].name)[2]
            for x in (self.a, self.b)
        )
        where = "above" if high > low else "not above"
        text = f"{self.b} touches {self.a}, and its origin is {where} {self.a}'s."
        return Verdict(bool(high > low), lambda: text)

    def _fall(self, C: Config) -> float:
        """Return how far b moves when a touches nothing [m]; inf: it is thrown away."""
        frames = find_object(C, self.a, self.b).collision_frames
        twin = Twin(C).without_contacts([C.frames[i].name for i in frames])
        try:
            poses = twin.simulate(FALL_DURATION).poses(self.b, np.array([0, -1]))
        except SimulationError:
            return np.inf
        return float(np.linalg.norm(poses[1, :3] - poses[0, :3]))

    def _alone(self, C: Config) -> list[Inequality]:
        """Return rows that keep b clear of everything except a."""
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        pairs = C.pairs.indices()
        is_of_b = np.isin(pairs, b.frames)
        # The other frame of each pair that contains a frame of b.
        others = set(pairs[is_of_b[:, ::-1]].tolist()) - {*a.frames, *b.frames}
        if not others:
            return []
        obstacles = FrameGroup(C, "everything else", tuple(sorted(others)))
        rows = beyond_distance_rows(MIN_CLEARANCE)
        return [Inequality(ObjectPair(C, b, obstacles, False).feature(rows))]


def _height_difference(a: Pose, b: Pose) -> Float[jax.Array, "1"]:
    return (a.p - b.p)[2:] + STRICT_MARGIN


class SupportingOptions(TypedDict, total=False):
    """Options of `Supporting`."""

    legacy: bool


def supporting(
    C: Config, a: FrameName, b: FrameName, **options: Unpack[SupportingOptions]
) -> bool:
    """Return whether a holds b up; see `Supporting`, which has the same options."""
    return Supporting(a, b, **options).holds(C)

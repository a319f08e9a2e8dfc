"""Supporting: what would fall without something."""

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from posewise.features import Feature, Pose
from posewise.robots.config import Config
from posewise.robots.simulation.motion import SimulationError
from posewise.robots.simulation.twin import Twin

from ..exact.verdict import Verdict, VerdictPredicate
from ..geometry.frame_groups import find_object
from ..geometry.messages import length
from ..margins import STRICT_MARGIN
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm, Inequality
from ..relaxed.contact import beyond_distance_rows
from ..relaxed.object_features import ObjectPair
from .contact import Touching
from .stable import Stable

MIN_FALL = 1e-3
"""What moves by more, once its support is gone, was held up by it [m]."""
FALL_DURATION = 0.5
"""How long it is watched [s]."""
MIN_CLEARANCE = 2e-3
"""By the rows, the supported thing is no nearer to anything else [m]."""


@dataclass(frozen=True)
class Supporting(VerdictPredicate):
    """a holds b up: they touch, b is stable, and falls once nothing touches a.

    By `Twin`, in which a is made to touch nothing: then b moves by more than 1 mm in
    0.5 s.

    `legacy=True` is PyCRAM's rule: they touch, and the origin of b's root frame is
    higher than that of a's.

    Its rows are those of `Stable` for b and of contact; and b is 2 mm away from all
    other things, so that a alone holds it. Its negation has no rows.

    Args:
        a: an object or frame with a shape.
        b: another one.
        legacy: the rule of contact and heights.

    Raises:
        ConfigError: on asking, for unknown names, and things without shapes.
        ImportError: on asking, without MuJoCo, but for the legacy rule.
    """

    a: Any
    b: Any
    legacy: Any = field(default=False, kw_only=True)

    def verdict(self, C: Config) -> Verdict:
        """See `VerdictPredicate`."""
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
        """Contact, and heights or an equilibrium; see the class."""
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
        low, high = (
            C.pose(C.frames[find_object(C, x).frames[0]].name)[2]
            for x in (self.a, self.b)
        )
        where = "above" if high > low else "not above"
        text = f"{self.b} touches {self.a}, and its origin is {where} {self.a}'s."
        return Verdict(bool(high > low), lambda: text)

    def _fall(self, C: Config) -> float:
        """How far b moves when a touches nothing [m]; inf: it is thrown away."""
        solid = find_object(C, self.a, self.b).collision_frames
        twin = Twin(C).without_contacts([C.frames[i].name for i in solid])
        try:
            poses = twin.simulate(FALL_DURATION).poses(self.b, np.array([0, -1]))
        except SimulationError:
            return np.inf
        return float(np.linalg.norm(poses[1, :3] - poses[0, :3]))

    def _alone(self, C: Config) -> list[Inequality]:
        """Rows that keep b away from all but a."""
        a, b = find_object(C, self.a, self.b), find_object(C, self.b, self.a)
        pairs = C.collision_indices()
        mine = np.isin(pairs, b.frames)
        others = set(pairs[mine[:, ::-1]].tolist()) - {*a.frames, *b.frames}
        if not others:
            return []
        rest = type(b)(C, "everything else", tuple(sorted(others)))
        return [
            Inequality(
                ObjectPair(C, b, rest, False).feature(
                    beyond_distance_rows(MIN_CLEARANCE)
                )
            )
        ]


def _height_difference(a: Pose, b: Pose) -> Float[jax.Array, "1"]:
    return (a.p - b.p)[2:] + STRICT_MARGIN


def supporting(C: Config, a: str, b: str, **options: Any) -> bool:
    """Whether a holds b up; see `Supporting`, which takes the same options."""
    return Supporting(a, b, **options).holds(C)

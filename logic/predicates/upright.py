"""Upright objects: an axis that stays near the vertical."""

from dataclasses import dataclass, field

import numpy as np

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.upright import tilt_verdict
from ..exact.verdict import Verdict
from ..geometry.frame_groups import find_object
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from .verdict_predicate import VerdictPredicate

DEFAULT_TILT_ANGLE = 0.1
"""Largest tilt of an upright object [rad]; larger ones spill what is full."""
SOLVER_MARGIN = 2e-4
"""Angle by which rows ask for less tilt [rad], more than a solver's tolerance."""


@dataclass(frozen=True)
class Upright(VerdictPredicate):
    """The z axis of a's frame is at most a tilt away from the vertical.

    Args:
        a: an object or frame.
        tilt: largest angle [rad], above 0 and below pi.

    Raises:
        PredicateError: for another tilt.
        ConfigError: when evaluated, for unknown names.
    """

    a: FrameName
    tilt: float = field(default=DEFAULT_TILT_ANGLE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number(
            "Upright: tilt",
            self.tilt,
            "radians, above 0 and below pi",
            lambda x: 0 < x < np.pi,
            PredicateError,
        )

    def verdict(self, C: Config) -> Verdict:
        return tilt_verdict(C, self.a, self.tilt)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return one row: by how much the tilt is too large, or too small [rad]."""
        find_object(C, self.a)
        # Sound: the cosine falls with the angle. Over the sine, the row is an angle.
        sign = -1.0 if truth else 1.0
        limit = self.tilt + sign * SOLVER_MARGIN
        scale, target = sign / np.sin(self.tilt), [np.cos(max(limit, 0.0))]
        axes = [self.a, "world"]
        return Inequality(Feature(FS.scalarProductZZ, axes, scale=scale, target=target))

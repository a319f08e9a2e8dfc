"""`Config` with rai's names."""

from typing import Literal

import numpy as np

import posewise as pw
from posewise.features.typing import Order, ScaleLike, TargetLike
from posewise.robots.typing import Frames

from .config_output import ConfigOutput
from .coverage import Absent
from .features import Feature, make_feature


class Config(ConfigOutput, Absent):
    """Configuration; `C.C` is its posewise world."""

    @classmethod
    def of(cls, world: pw.Config) -> "Config":
        """Return the configuration of a world, which is shared."""
        config = cls()
        config.C = world
        return config

    def __repr__(self) -> str:
        return repr(self.C)

    def feature(
        self,
        featureSymbol: pw.FS,
        frames: Frames = (),
        scale: ScaleLike = (),
        target: TargetLike = (),
        order: Order | Literal[-1] = -1,
    ) -> Feature:
        """Return a feature on frames; its `eval(C)` evaluates it."""
        feature = make_feature(self.C, featureSymbol, frames, scale, target, order)
        feature.check(self.C)
        return Feature(feature)

    def eval(
        self,
        featureSymbol: pw.FS,
        frames: Frames = (),
        scale: ScaleLike = (),
        target: TargetLike = (),
        order: Order | Literal[-1] = -1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return value (D,) and Jacobian (D, n) of a feature at the present state."""
        return self.feature(featureSymbol, frames, scale, target, order).eval(self)

    def getCollidablePairs(self) -> list[str]:
        """Return the names of the frames of all collision pairs, two for each pair.

        Unlike in rai, pairs that no active joint can move against each other are left
        out.
        """
        return [name for pair in self.C.pairs.names() for name in pair]

    def computeCollisions(self) -> None:
        """Do nothing, because collisions always are those of the present state."""

    def getCollisions(self, belowMargin: float = 0.0) -> list[tuple[str, str, float]]:
        """Return pairs of frames nearer than a margin [m], and their signed
        distances."""
        return self.C.collisions(belowMargin)

    def coll_totalViolation(self, return_maximal: bool = False) -> float:
        """Return the sum, or the largest, of all penetration depths [m]."""
        depths = [-d for _, _, d in self.C.collisions()]
        return float(max(depths, default=0.0) if return_maximal else sum(depths))

    def getForceArrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return empty arrays, because configurations hold no forces."""
        return np.zeros(0, np.int32), np.zeros(0)

    def checkConsistency(self) -> bool:
        """Return True, because every edit leaves a consistent world."""
        return True

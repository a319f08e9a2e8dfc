"""The clearances that a problem demands, as pairs of frames and distances."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from posewise.features.collisions import required_distances
from posewise.features.feature import Feature
from posewise.features.table import FS
from posewise.robots.config import Config

from ..clearance.avoidance import CollisionAvoidance, accepted_distances
from ..problem.spec import ProblemSpec
from ..terms.objective import OT, Objective

PAIR_SYMBOLS = FS.accumulatedCollisions.name, FS.collisionRows.name
"""Names of the symbols over all pairs, which those of avoidance have too."""


@dataclass(frozen=True, eq=False)
class ClearanceDemand:
    """A constraint that some pairs of frames keep a distance."""

    objective: Objective
    slack: float
    """Distance by which it may be violated [m]."""
    pair: tuple[str, str] | None = None
    """Names of frames or objects; None: all pairs that can collide."""
    avoidance: CollisionAvoidance | None = None
    """Distances that its rows stand for, if they aim at more than is required."""

    def accepted(self, required: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return distances with which those that are required count as kept [m]."""
        if self.avoidance is not None:
            return accepted_distances(required)
        return required - self.slack

    def pairs(
        self, C: Config, feature: Feature
    ) -> tuple[Int[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
        """Return pairs of frame indices, and the distances that they must keep [m].

        Args:
            C: the world of a mode.
            feature: that of the objective on the frames of this mode.
        """
        if self.pair is not None:
            a, b = (C.pairs.solid_parts(name) for name in feature.frames)
            pairs = np.array([(i, j) for i in a for j in b], int).reshape(-1, 2)
            target = 0.0 if feature.target is None else float(feature.target[0])
            return pairs, np.full(len(pairs), -target)
        pairs, required = required_distances(
            C, feature.symbol, feature.frames, feature.options
        )
        if self.avoidance is not None:
            touching = self.avoidance.touching(self.objective.slices[:1])
            required = self.avoidance.required(C, pairs, touching)
        return pairs, required


def clearance_demands(spec: ProblemSpec, tolerance: float) -> Iterator[ClearanceDemand]:
    """Yield the constraints on clearances among the objectives of a problem.

    Args:
        spec: the problem.
        tolerance: largest violation that counts as satisfied, in scaled units.
    """
    for objective in spec.objectives:
        feature = objective.feature
        scale = np.ones(1) if feature.scale is None else feature.scale
        if feature.order or objective.type is OT.sos or not (scale > 0).all():
            continue
        if objective.fraction is not None:
            # Rows between slices repeat those of their slices.
            continue
        slack = tolerance / float(scale.max())
        if objective.is_avoidance:
            yield ClearanceDemand(objective, slack, avoidance=spec.avoidance)
        elif feature.symbol.name in PAIR_SYMBOLS and feature.target is None:
            yield ClearanceDemand(objective, slack)
        elif feature.symbol is FS.distance.symbol and objective.type is OT.ineq:
            a, b = feature.frames
            yield ClearanceDemand(objective, slack, (a, b))

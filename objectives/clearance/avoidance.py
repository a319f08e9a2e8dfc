"""Avoidance of collisions along a whole path: what is required of each pair, and when.

In slices and between them the distance of two frames is at least a margin. Pairs that
are allowed to touch, for a time, need none, but may not penetrate.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.features.collisions import collision_sum
from posewise.features.feature import Feature
from posewise.features.symbol import Symbol
from posewise.robots.config import Config

from ..chain.modes import original_name
from ..terms.objective import OT, Objective
from ..terms.typing import Slices

TOUCH_DEPTH = 1e-3
"""Depth up to which two frames that may touch overlap [m]. Models of what rests or is
grasped are not more exact; larger values hide more penetration."""
BUFFER = 1e-3
"""Distance beyond the margin that the solver aims at [m], so that a path within its
tolerance keeps the margin. Larger values find no way through narrow passages."""
MARGIN_TOLERANCE = 0.1
"""Fraction of a margin that a path may miss and still be taken to keep it. An inverse
kinematics at the margin ends as much inside; larger values let paths come nearer."""
MAX_MARGIN_TOLERANCE = 1e-3
"""Distance that a path may miss of a large margin [m]: the tolerance of a row of scale
1. Larger values let paths come nearer."""
CONTACT_TOLERANCE = 1e-5
"""Overlap up to which two frames are taken to touch [m]: distances of what stands on a
table, or of an inverse kinematics that ends in contact, are no more exact. It is also
what a path may miss of margins below ten times this. Larger values hide overlap."""
FIRST_FRACTION = 0.5
"""Fraction of the way between two slices at which collisions are measured at first."""

PairName = frozenset[str]


@dataclass(frozen=True)
class AllowedContact:
    """Two frames that may touch in some slices."""

    pair: PairName
    slices: Slices


@dataclass(frozen=True)
class CollisionAvoidance:
    """Distances that a path keeps; see `KOMO.avoid_collisions`."""

    margin: float = 0.0
    self_margin: float = 0.0
    between: bool = True
    allowed: tuple[AllowedContact, ...] = ()

    def required(
        self, C: Config, pairs: Int[np.ndarray, "n 2"], touching: frozenset[PairName]
    ) -> Float[np.ndarray, " n"]:
        """Return the least distance of each pair of frame indices [m].

        Args:
            C: the world.
            pairs: frame indices.
            touching: pairs that may touch.
        """
        margins = np.where(C.pairs.own_links(pairs), self.self_margin, self.margin)
        return np.where(is_among(C, pairs, touching), -TOUCH_DEPTH, margins)

    def touching(self, slices: Iterable[int]) -> frozenset[PairName]:
        """Return the pairs that may touch in any of some slices."""
        chosen = set(slices)
        return frozenset(c.pair for c in self.allowed if chosen & set(c.slices))

    def tolerance(self, slices: Iterable[int]) -> float:
        """Return what any pair's distance may miss in some slices [m]."""
        depth = [-TOUCH_DEPTH] if self.touching(slices) else []
        margins = np.array([self.margin, self.self_margin, *depth])
        return float(np.min(margins - accepted_distances(margins)))

    def objectives(self, T: int) -> tuple[Objective, ...]:
        """Return the objectives in slices, then those between them.

        Args:
            T: number of slices.
        """
        name, between = "avoid collisions", "avoid collisions between slices"
        at_slices = _grouped([self.touching([t]) for t in range(T)])
        on_segments = _grouped([self.touching([t - 1, t]) for t in range(T)])
        # One feature for both, because binding it to a world takes milliseconds.
        kinds = {touching for touching, _ in (*at_slices, *on_segments)}
        features = {touching: Feature(self._sum(touching)) for touching in kinds}
        result = [
            Objective(name, features[touching], OT.ineq, slices)
            for touching, slices in at_slices
        ]
        if self.between:
            result += [
                Objective(
                    between,
                    features[touching],
                    OT.ineq,
                    slices,
                    fraction=FIRST_FRACTION,
                )
                for touching, slices in on_segments
            ]
        return tuple(result)

    def _sum(self, touching: frozenset[PairName]) -> Symbol:
        return collision_sum(partial(self._margins, touching))

    def _margins(
        self, touching: frozenset[PairName], C: Config, pairs: Int[np.ndarray, "n 2"]
    ) -> Float[np.ndarray, " n"]:
        """Return the distances that the solver aims at."""
        required = self.required(C, pairs, touching)
        spare = np.where(is_among(C, pairs, touching), TOUCH_DEPTH / 2, BUFFER)
        return required + spare


def accepted_distances(required: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Return the distances with which required ones are taken to be kept [m].

    They are less by the tolerance of margins, and never below contact, which rounding
    and solvers only meet to `CONTACT_TOLERANCE`.
    """
    tolerance = np.clip(
        MARGIN_TOLERANCE * required, CONTACT_TOLERANCE, MAX_MARGIN_TOLERANCE
    )
    return required - tolerance


def is_among(
    C: Config, pairs: Int[np.ndarray, "n 2"], names: frozenset[PairName]
) -> Bool[np.ndarray, " n"]:
    """Return which pairs of frame indices are named.

    Copies of a frame for its attachments, `frame@k`, count as the frame.
    """
    if not names:
        return np.zeros(len(pairs), bool)
    base = [original_name(name) for name in C.frame_names]
    return np.array([frozenset((base[a], base[b])) in names for a, b in pairs], bool)


def _grouped(
    touching: list[frozenset[PairName]],
) -> list[tuple[frozenset[PairName], Slices]]:
    """Return the slices in which the same pairs may touch."""
    groups: dict[frozenset[PairName], list[int]] = {}
    for t, pairs in enumerate(touching):
        groups.setdefault(pairs, []).append(t)
    return [(pairs, tuple(slices)) for pairs, slices in groups.items()]

"""Configurations and straight motions that keep their distances."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.manifold import difference, integrate

from ..clearance.interval_distances import BATCH, FramePairs, interval_distances
from ..clearance.motion_model import MotionPart
from .coordinate_weights import coordinate_weights
from .tree_growth import (
    NUM_BRANCHES,
    Branches,
    Growth,
    SpaceNumbers,
    Trees,
    branches_between,
    grow_trees,
    trees_from,
)

SPACING = 0.06
"""Largest change, by its weight, of a coordinate between two places of a motion that
are checked [rad, m]. Thin obstacles hide between places that are farther apart."""
ROUNDS_PER_CALL = 16
"""Number of rounds in which trees grow until interrupts and deadlines are heard
(count). More are heard later, fewer take more calls."""
ROUNDING = 1e-6
"""Distance that two evaluations of one configuration differ by at most [m]."""


@dataclass(frozen=True, eq=False)
class FreeSpace:
    """Configurations of a world in which each pair of frames keeps its distance.

    Coordinates that a path does not move, such as those of other objects, keep their
    values.
    """

    K: Kinematics
    pairs: FramePairs
    required: Float[np.ndarray, " pairs"]
    """Least distance of each pair [m]."""
    moving: Int[np.ndarray, " n"]
    """Coordinates in q that may move."""
    limits: Float[np.ndarray, "2 n"]
    """Lower and upper end of the range of these coordinates."""
    weights: Float[np.ndarray, " nq"]
    """Factor of each coordinate's difference in distances; see `coordinate_weights`."""
    spacing: float = SPACING
    """Largest weighted change of a coordinate between two checked places [rad, m]."""

    def sample(
        self, q: Float[np.ndarray, " nq"], count: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "count nq"]:
        """Return configurations with random moving coordinates.

        Args:
            q: a configuration, whose other coordinates are kept.
            count: number of configurations.
            rng: source of randomness.
        """
        samples = np.tile(q, (count, 1))
        samples[:, self.moving] = rng.uniform(
            self.limits[0], self.limits[1], (count, len(self.moving))
        )
        return samples

    def reachable(
        self, start: Float[np.ndarray, "n nq"], goal: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, " n"]:
        """Return the fraction of each straight motion on which all checks succeed.

        Places are checked `spacing` apart: what comes of the path is certified.
        """
        fraction = np.zeros(len(start))
        for first in range(0, len(start), NUM_BRANCHES):
            rows = slice(first, first + NUM_BRANCHES)
            # A second program, only for motions, would take as long to compile.
            branches = branches_between(start[rows], goal[rows])
            trees = trees_from(start[first], goal[:0])
            samples = np.zeros((ROUNDS_PER_CALL, NUM_BRANCHES, start.shape[1]))
            growth = self.grow(trees, branches, samples, rounds=1)
            fraction[rows] = growth.fraction[: len(start[rows])]
        return fraction

    def grow(
        self,
        trees: Trees,
        branches: Branches,
        samples: Float[np.ndarray, "rounds branches nq"],
        rounds: int = ROUNDS_PER_CALL,
    ) -> Growth:
        """Return two trees after some rounds, fewer if they meet or are full.

        Args:
            trees: the trees before.
            branches: what is to grow first.
            samples: random configurations of `ROUNDS_PER_CALL` rounds.
            rounds: number of rounds; one, if branches connect trees, only has these
                grow.
        """
        required = np.full(len(self.pairs.params["margin"]), -np.inf)
        required[: len(self.required)] = self.required
        numbers = SpaceNumbers(
            self.pairs.params, required, self.weights, np.asarray(self.spacing)
        )
        count = np.asarray(rounds, np.int32)
        return Growth(
            *grow_trees(
                self.pairs.types, self.K, numbers, trees, branches, samples, count
            )
        )

    def is_free_path(self, points: Float[np.ndarray, "points nq"]) -> bool:
        """Return whether all checks along a path succeed.

        The program for these is that of the certificate: the search's own one is not
        compiled for paths that need none.
        """
        steps = difference(self.K.tree, points[:-1], points[1:])
        parts = np.maximum(np.ceil(np.abs(steps).max(1) / self.spacing).astype(int), 1)
        segment = np.repeat(np.arange(len(steps)), parts)
        number = np.arange(len(segment)) - (np.cumsum(parts) - parts)[segment]
        share = ((number + 1) / parts[segment])[:, None]
        q = integrate(self.K.tree, points[segment], share * steps[segment])
        for first in range(0, len(q), BATCH):
            if not (self._distances(q[first:][:BATCH]) >= self.required).all():
                return False
        return True

    def admitting(self, q: Float[np.ndarray, "n nq"]) -> "FreeSpace":
        """Return the space in which pairs may be as near as in some configurations."""
        nearest = self._distances(q).min(0) - ROUNDING
        return replace(self, required=np.minimum(self.required, nearest))

    def _distances(self, q: Float[np.ndarray, "n nq"]) -> Float[np.ndarray, "n pairs"]:
        """Return the distance of each pair, or the required one if it is larger."""
        limits = np.broadcast_to(self.required, (len(q), len(self.required)))
        no_motion = np.zeros((len(q), self.K.nv))
        return interval_distances(self.K, self.pairs, q, no_motion, limits).lower


def free_space_with(
    K: Kinematics,
    part: MotionPart,
    required: Float[np.ndarray, " pairs"],
    ends: Float[np.ndarray, "points nq"],
    movable: Int[np.ndarray, " n"],
    spacing: float = SPACING,
) -> FreeSpace:
    """Return the free configurations in a mode of a path, among which are its ends.

    Args:
        K: kinematics of the world.
        part: what is required in the mode.
        required: least distance of each pair, or less where an end has less.
        ends: starts and goals; coordinates vary by no more than π beyond them.
        movable: coordinates that may move.
        spacing: see `FreeSpace`.
    """
    lower, upper = np.asarray(K.limits)[:, movable]
    # Half a turn beyond the ends brings a joint to each direction. Limits of several
    # turns would make most samples useless.
    low = np.maximum(lower, ends[:, movable].min(0) - np.pi)
    high = np.minimum(upper, ends[:, movable].max(0) + np.pi)
    limits = np.stack([low, high])
    weights = coordinate_weights(K, part.pairs, ends, movable)
    space = FreeSpace(K, part.pairs, required, movable, limits, weights, spacing)
    return space.admitting(ends)

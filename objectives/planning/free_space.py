"""Configurations and straight motions that keep their distances."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.manifold import difference, integrate

from ..clearance.interval_distances import FramePairs, interval_distances
from ..clearance.motion_model import MotionPart

SPACING = 0.06
"""Largest change of a coordinate between two places of a motion that are checked [rad,
m]. Thin obstacles hide between places that are farther apart."""
COARSENING = 4
"""Number of places of a motion of which one is checked first. With one, places are
checked in vain that lie behind a blocked one."""
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
    spacing: float = SPACING
    """Largest change of a coordinate between two checked places [rad, m]."""

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
        step = difference(self.K.tree, start, goal)
        parts = np.maximum(np.ceil(np.abs(step).max(1) / self.spacing).astype(int), 1)
        motion = np.repeat(np.arange(len(start)), parts)
        first = np.cumsum(parts) - parts
        number = np.arange(len(motion)) - first[motion]
        fraction = (number + 1) / parts[motion]
        # The number of free places before the first one that is not.
        free = parts.copy()
        is_coarse = (number % COARSENING == COARSENING - 1) | (
            number + 1 == parts[motion]
        )
        for stage in (is_coarse, ~is_coarse):
            rows = np.flatnonzero(stage & (number < free[motion]))
            at = motion[rows]
            q = integrate(self.K.tree, start[at], fraction[rows, None] * step[at])
            blocked = rows[~self.is_free(q)]
            np.minimum.at(free, motion[blocked], number[blocked])
        return free / parts

    def admitting(self, q: Float[np.ndarray, "n nq"]) -> "FreeSpace":
        """Return the space in which pairs may be as near as in some configurations."""
        nearest = self._distances(q).min(0) - ROUNDING
        return replace(self, required=np.minimum(self.required, nearest))

    def is_free(self, q: Float[np.ndarray, "n nq"]) -> Bool[np.ndarray, " n"]:
        """Return which configurations keep all distances."""
        return np.all(self._distances(q) >= self.required, axis=1)

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
    space = FreeSpace(K, part.pairs, required, movable, limits, spacing)
    return space.admitting(ends)

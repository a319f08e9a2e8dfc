"""Closer fits of links that fitted shapes alone would let touch.

A capsule around a link reaches beyond it, and may fill a gap to another link that no
motion opens: then no pose is free of collisions, though the robot has many.
"""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float

from ..kinematics.forward import forward_pass
from ..world.fit_collisions import CollisionFit, fit_link, unfit_link, unfitted
from ..world.frame import Frame
from ..world.frame_tree import FrameTree
from .bodies import body_radii, frame_bodies
from .collision_pairs import FramePair
from .filter import CollisionFilter
from .gjk_numpy import min_distance
from .own_links import adjacent_pairs, robot_roots
from .states import home_within_limits, random_states, usual_clearance

CLOSER_TOLERANCE = 0.01
"""Reach beyond the hull of boxes that replace a fit which fills a gap [m]; a smaller
one takes more boxes, and leaves fewer links as hulls."""
NUM_STATES = 24
"""Number of random states in which a pair may keep its distance (count); more find
pairs that seldom do, and take longer."""
TOUCHING_DISTANCE = 1e-6
"""Distance up to which shapes touch [m]; with a larger one, links are fitted again
that do not touch."""


def fit_closer(
    tree: FrameTree,
    collision_filter: CollisionFilter,
    report: CollisionFit,
) -> tuple[FrameTree, CollisionFit]:
    """Fit links again, closer, until they keep the distances that their hulls keep.

    Of two links of a robot that are no neighbours, the one that reaches farther beyond
    its hull is fitted again by boxes, whose faces are flat, and if that is not enough
    left as hulls, if

    - at home the fits touch, and the hulls do not;
    - the fits keep the usual clearance neither at home nor in any of some random
      states, and the hulls do in one.

    Args:
        tree: The frames, fitted.
        collision_filter: Pairs that never collide.
        report: Its cost.

    Returns:
        The frames, and the cost with the names of the links that were fitted again.
    """
    fits = {tree.index(link.frame): link for link in report.links}
    gaps = _Gaps(tree)
    waiting = set(_pairs(tree, collision_filter, fits))
    boxes: dict[int, None] = {}
    hulls: dict[int, None] = {}
    while waiting:
        # Of each pair the link that reaches farther; boxes touch as little as they can.
        filled = [pair for pair in sorted(waiting) if gaps.are_filled(tree, pair)]
        sides = [[i for i in pair if i in fits and i not in hulls] for pair in filled]
        chosen = {
            max(s, key=lambda i: (i not in boxes, fits[i].max_beyond))
            for s in sides
            if s
        }
        for i in sorted(chosen):
            if i in boxes:
                hulls[i] = None
                tree, fits[i] = unfit_link(tree, i, fits[i])
            else:
                boxes[i] = None
                seconds = fits[i].seconds
                tree, fits[i] = fit_link(tree, i, "boxes", CLOSER_TOLERANCE, seconds)
        waiting = {pair for pair in waiting if chosen & {*pair}}
    names = tree.model.names
    closer = tuple(names[i] for i in boxes if i not in hulls)
    unfitted = tuple(names[i] for i in hulls)
    return tree, CollisionFit(tuple(fits.values()), closer, unfitted)


def _pairs(
    tree: FrameTree, collision_filter: CollisionFilter, fitted: Collection[int]
) -> Iterator[FramePair]:
    """Yield the pairs of a robot's links that count, of which one is fitted."""
    root = robot_roots(tree.frames, collision_filter.attached)
    neighbours = adjacent_pairs(tree, collision_filter.attached)
    for a, b in collision_filter.pairs(tree).tolist():
        if root[a] == root[b] and (a, b) not in neighbours and {a, b} & {*fitted}:
            yield a, b


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Distances of links in the home and in random states."""

    tree: FrameTree

    @cached_property
    def states(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Orientations and origins of all frames, at home and in random states."""
        rng = np.random.default_rng(0)
        qs = [home_within_limits(self.tree), *random_states(self.tree, NUM_STATES, rng)]
        return [forward_pass(self.tree.model.kinematics, q).frames for q in qs]

    @cached_property
    def clearance(self) -> float:
        """Distance that a path usually keeps from other links [m]."""
        return usual_clearance(self.tree)

    def are_filled(self, tree: FrameTree, pair: FramePair) -> bool:
        """Whether fits are nearer than they should be, which their hulls are not."""
        fits = [tree.frames[i] for i in pair]
        hulls = [unfitted(frame) for frame in fits]
        if not self._near(fits, pair, 0, self.clearance):
            return False
        if self._near(fits, pair, 0, TOUCHING_DISTANCE):
            if not self._near(hulls, pair, 0, TOUCHING_DISTANCE):
                return True
        others = range(1, NUM_STATES + 1)
        if any(not self._near(fits, pair, k, self.clearance) for k in others):
            return False
        everywhere = range(NUM_STATES + 1)
        return any(not self._near(hulls, pair, k, self.clearance) for k in everywhere)

    def _near(
        self, frames: list[Frame], pair: FramePair, state: int, distance: float
    ) -> bool:
        """Whether two frames are at most a distance apart in a state."""
        R, p = self.states[state]
        a, b = ((frame, R[i], p[i]) for frame, i in zip(frames, pair, strict=True))
        (center_a, radius_a), (center_b, radius_b) = _ball(*a), _ball(*b)
        if math.dist(center_a, center_b) > radius_a + radius_b + distance:
            return False
        return min_distance([a], [b], distance) is not None


def _ball(
    frame: Frame, R: Float[np.ndarray, "3 3"], p: Float[np.ndarray, "3"]
) -> tuple[Float[np.ndarray, "3"], float]:
    """Return the centre and the radius of a ball around the bodies of a frame."""
    center, radius = _local_ball(frame)
    return p + R @ center, radius


@lru_cache(maxsize=8192)
def _local_ball(frame: Frame) -> tuple[Float[np.ndarray, "3"], float]:
    groups = frame_bodies(frame)
    origins = np.concatenate([np.asarray(group.body.p) for group in groups])
    radii = np.concatenate([body_radii(group.body) for group in groups])
    center = origins.mean(0)
    return center, float((np.linalg.norm(origins - center, axis=1) + radii).max())

"""RRT-Connect: two trees that grow towards random configurations and each other.

After Kuffner and LaValle 2000, "RRT-Connect: An efficient approach to single-query path
planning". Several branches grow at a time, since they are checked in batches.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.manifold import difference, integrate
from posewise.solvers.deadline import check_deadline

from .free_space import FreeSpace

MAX_ROUNDS = 1500
"""Rounds of planning (count), some seconds in a scene with a dozen obstacles.
Of hard problems, such as reaching into a cage, few need more."""
BRANCHES = 32
"""Number of branches that grow at a time (count); they are checked together. With half
of them some narrow places take three to seven times as long, others up to a quarter
less."""
CONNECTIONS = 6
"""Number of these that then grow on to the other tree, the nearest ones (count). The
whole way there is checked, which costs most; few of them get through."""
MAX_BRANCH = 0.5
"""Longest branch towards a random configuration [rad, m]. Longer ones reach farther in
open space and are blocked more often in narrow places."""


class SearchResult(NamedTuple):
    """A free path towards goals."""

    corners: Float[np.ndarray, "n nq"]
    """Configurations that straight, free motions lead to one after the other. Where no
    goal was reached, the last one is the nearest to any."""
    missing: float
    """Largest change of a coordinate that is missing to a goal [rad, m]; 0: reached."""
    is_stopped: bool = False
    """Whether an interrupt or a deadline ended the search."""


class Tree:
    """Configurations, each connected to its parent by a free straight motion."""

    def __init__(self, roots: Float[np.ndarray, "n nq"]) -> None:
        self.nodes = roots
        self.parents = np.full(len(roots), -1)

    def distances(
        self, space: FreeSpace, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nodes"]:
        """Return the squared distance of each configuration to each node."""
        moving = space.moving
        return ((self.nodes[None, :, moving] - q[:, None, moving]) ** 2).sum(-1)

    def grow(
        self, space: FreeSpace, goals: Float[np.ndarray, "n nq"], max_length: float
    ) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Grow branches towards configurations, as far as that is free.

        Returns:
            The index of the last node of each branch, and whether it is the goal.
        """
        parents = self.distances(space, goals).argmin(1)
        start = self.nodes[parents]
        step = difference(space.K.tree, start, goals)
        length = np.abs(step).max(1)
        fraction = np.minimum(1.0, max_length / np.maximum(length, 1e-12))
        ends = integrate(space.K.tree, start, fraction[:, None] * step)
        reached = space.reachable(start, ends)
        ends = integrate(space.K.tree, start, (reached * fraction)[:, None] * step)
        grew = reached > 0
        index = np.where(grew, len(self.nodes) - 1 + np.cumsum(grew), parents)
        self.nodes = np.concatenate([self.nodes, ends[grew]])
        self.parents = np.concatenate([self.parents, parents[grew]])
        return index, (reached * fraction >= 1) & grew

    def path_to(self, node: int) -> Float[np.ndarray, "n nq"]:
        """Return the configurations from the root to a node."""
        indices = [node]
        while (parent := self.parents[indices[-1]]) >= 0:
            indices.append(parent)
        return self.nodes[indices[::-1]]


def rrt_connect(
    space: FreeSpace,
    start: Float[np.ndarray, " nq"],
    goals: Float[np.ndarray, "n nq"],
    rng: np.random.Generator,
    max_rounds: int,
) -> SearchResult:
    """Return a free path from a configuration to one of some goals, if one is found.

    Args:
        space: the free space.
        start: the first configuration, a free one.
        goals: free configurations, any of which may be the last one.
        rng: source of randomness.
        max_rounds: number of rounds in which both trees grow; an interrupt or a
            deadline ends them, too.
    """
    trees = Tree(start[None]), Tree(goals)
    direct = space.reachable(np.tile(start, (len(goals), 1)), goals) >= 1
    if direct.any():
        nearest = np.where(direct, trees[1].distances(space, start[None])[0], np.inf)
        return SearchResult(np.stack([start, goals[int(np.argmin(nearest))]]), 0.0)
    is_stopped = False
    try:
        for k in range(max_rounds):
            check_deadline()
            path = _grow_both(space, *(trees if k % 2 == 0 else trees[::-1]), rng)
            if path is not None:
                return SearchResult(path if k % 2 == 0 else path[::-1], 0.0)
    except KeyboardInterrupt:
        is_stopped = True
    return _nearest(space, trees[0], goals)._replace(is_stopped=is_stopped)


def _grow_both(
    space: FreeSpace, grown: Tree, other: Tree, rng: np.random.Generator
) -> Float[np.ndarray, "n nq"] | None:
    """Grow a tree towards random configurations, and the other one towards it.

    Returns:
        A path from the first tree's root to one of the other's, if the trees meet.
    """
    samples = space.sample(grown.nodes[0], BRANCHES, rng)
    tips, _ = grown.grow(space, samples, MAX_BRANCH)
    nearest = np.argsort(other.distances(space, grown.nodes[tips]).min(1))
    tips = tips[nearest[:CONNECTIONS]]
    ends, met = other.grow(space, grown.nodes[tips], np.inf)
    if not met.any():
        return None
    branch = int(np.flatnonzero(met)[0])
    there = grown.path_to(int(tips[branch]))
    back = other.path_to(int(ends[branch]))[-2::-1]
    return np.concatenate([there, back])


def _nearest(
    space: FreeSpace, tree: Tree, goals: Float[np.ndarray, "n nq"]
) -> SearchResult:
    """Return the path to the configuration of a tree that is nearest to any goal."""
    distances = tree.distances(space, goals)
    goal, node = np.unravel_index(distances.argmin(), distances.shape)
    step = difference(space.K.tree, tree.nodes[node][None], goals[goal][None])
    return SearchResult(tree.path_to(int(node)), float(np.abs(step).max()))

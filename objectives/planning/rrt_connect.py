"""RRT-Connect: two trees that grow towards random configurations and each other.

After Kuffner and LaValle 2000, "RRT-Connect: An efficient approach to single-query path
planning". Several branches grow at a time, since they are checked in batches.
"""

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.manifold import difference, integrate
from posewise.solvers.deadline import check_deadline

from .free_space import FreeSpace

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


class Tree:
    """Configurations, each connected to its parent by a free straight motion."""

    def __init__(self, root: Float[np.ndarray, " nq"]) -> None:
        self.nodes = root[None]
        self.parents = np.array([-1])

    def distances(
        self, space: FreeSpace, q: Float[np.ndarray, "n nq"]
    ) -> Float[np.ndarray, "n nodes"]:
        """Return the squared distance of each configuration to each node."""
        moving = space.moving
        return ((self.nodes[None, :, moving] - q[:, None, moving]) ** 2).sum(-1)

    def grow(
        self, space: FreeSpace, goals: Float[np.ndarray, "n nq"], max_length: float
    ) -> tuple[np.ndarray, np.ndarray]:
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
    goal: Float[np.ndarray, " nq"],
    rng: np.random.Generator,
    max_rounds: int,
) -> Float[np.ndarray, "n nq"] | None:
    """Return corners of a free path between two free configurations, if one is found.

    Args:
        space: the free space.
        start: its first configuration.
        goal: its last configuration.
        rng: source of randomness.
        max_rounds: number of rounds in which both trees grow.

    Raises:
        TimeLimitReached: once the deadline has passed.
    """
    if space.reachable(start[None], goal[None])[0] >= 1:
        return np.stack([start, goal])
    trees = Tree(start), Tree(goal)
    for k in range(max_rounds):
        check_deadline()
        grown, other = trees if k % 2 == 0 else trees[::-1]
        samples = space.sample(start, BRANCHES, rng)
        tips, _ = grown.grow(space, samples, MAX_BRANCH)
        nearest = np.argsort(other.distances(space, grown.nodes[tips]).min(1))
        tips = tips[nearest[:CONNECTIONS]]
        ends, met = other.grow(space, grown.nodes[tips], np.inf)
        if met.any():
            branch = int(np.flatnonzero(met)[0])
            there = grown.path_to(int(tips[branch]))
            back = other.path_to(int(ends[branch]))[-2::-1]
            path = np.concatenate([there, back])
            return path if k % 2 == 0 else path[::-1]
    return None

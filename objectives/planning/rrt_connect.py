"""RRT-Connect: a search for a free path by two trees that grow towards each other.

After Kuffner and LaValle 2000, "RRT-Connect: An efficient approach to single-query path
planning".
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.manifold import difference
from posewise.solvers.deadline import check_deadline

from .free_space import ROUNDS_PER_CALL, FreeSpace
from .tree_growth import (
    NO_NODE_INDEX,
    NUM_BRANCHES,
    Trees,
    branches_between,
    is_full,
    trees_from,
)
from .tree_samples import tree_samples

MAX_ROUNDS = 1500
"""Rounds of planning (count), some seconds in a scene with a dozen obstacles.
Of hard problems, such as reaching into a cage, few need more."""


class SearchResult(NamedTuple):
    """A free path towards goals."""

    corners: Float[np.ndarray, "n nq"]
    """Configurations that straight, free motions lead to one after the other. Where no
    goal was reached, the last one is the nearest to any."""
    missing: float
    """Largest change of a coordinate that is missing to a goal [rad, m]; 0: reached."""
    is_stopped: bool = False
    """Whether an interrupt or a deadline ended the search."""


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
    changes = difference(space.K.tree, np.tile(start, (len(goals), 1)), goals)
    goals = goals[np.argsort(np.linalg.norm(changes, axis=1), kind="stable")]
    nearest = goals[:NUM_BRANCHES]
    # Straight motions to the goals come first.
    straight = branches_between(np.tile(start, (len(nearest), 1)), nearest)
    trees, branches = trees_from(start, goals), straight
    is_stopped, rounds = False, 0
    try:
        while rounds < max_rounds:
            check_deadline()
            if is_full(trees):
                trees, branches = trees_from(start, goals), straight
            count = ROUNDS_PER_CALL * NUM_BRANCHES
            samples = tree_samples(space, trees, start, count, rng)
            growth = space.grow(
                trees, branches, samples.reshape(ROUNDS_PER_CALL, NUM_BRANCHES, -1)
            )
            trees, branches = growth.trees, growth.branches
            junction = growth.junction.tolist()
            if junction[0] != NO_NODE_INDEX:
                ways = map(path_to_node, (trees, trees), (0, 1), junction)
                from_start, from_goal = ways
                return SearchResult(
                    np.concatenate([from_start, from_goal[-2::-1]]), 0.0
                )
            rounds += int(growth.rounds)
    except KeyboardInterrupt:
        is_stopped = True
    return nearest_to_goals(space, trees, goals)._replace(is_stopped=is_stopped)


def path_to_node(trees: Trees, tree: int, node: int) -> Float[np.ndarray, "n nq"]:
    """Return the configurations from a root of a tree to a node."""
    indices = [node]
    while (parent := int(trees.parents[tree, indices[-1]])) != NO_NODE_INDEX:
        indices.append(parent)
    return np.asarray(trees.nodes[tree, indices[::-1]])


def nearest_to_goals(
    space: FreeSpace, trees: Trees, goals: Float[np.ndarray, "n nq"]
) -> SearchResult:
    """Return the path to the configuration of a tree that is nearest to any goal."""
    nodes = trees.nodes[0, : int(trees.counts[0])]
    missing = (goals[:, None] - nodes[None])[..., space.moving]
    distances = np.linalg.norm(missing, axis=-1)
    goal, node = np.unravel_index(distances.argmin(), distances.shape)
    step = difference(space.K.tree, nodes[node][None], goals[goal][None])
    return SearchResult(path_to_node(trees, 0, int(node)), float(np.abs(step).max()))

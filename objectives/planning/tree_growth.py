"""Two trees of free motions that grow towards random configurations and each other.

After Kuffner and LaValle 2000, "RRT-Connect: An efficient approach to single-query path
planning". Many branches grow at a time, since places along them are checked together,
and whole rounds are one program.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.arrays import Array
from posewise.compilation.compaction import dynamic_row, gather, update_slice
from posewise.compilation.program import compile_program
from posewise.features.pair_types import PairTypes
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.kinematics.manifold import difference, integrate

from .motion_check import free_fraction
from .place_check import place_check

NUM_BRANCHES = 32
"""Number of branches that grow at a time (count). With half of them some narrow places
take three to seven times as long, others up to a quarter less."""
NUM_CONNECTIONS = 6
"""Number of these that then grow on to the other tree, the nearest ones (count). The
whole way there is checked, which costs most, and few get through; with fewer, trees
meet later."""
MAX_BRANCH = 0.5
"""Largest weighted change of a coordinate on a branch towards a random configuration
[rad, m]. Longer ones reach farther in open space and are blocked more often in narrow
places."""
MAX_NODES = 4096
"""Number of nodes of each tree at which a search begins again (count). With more, each
call takes longer; with fewer, searches are given up that would have succeeded."""
NODE_CHUNK_SIZE = 64
"""Number of nodes whose distances are measured at a time (count). More waste more work
on small trees; fewer vectorise worse."""
NO_NODE_INDEX = -1
"""Index in place of that of a node where there is none. Nodes have larger ones."""


class Trees(NamedTuple):
    """Two trees: from the start, and from goals."""

    nodes: Float[Array, "2 rows nq"]
    """Configurations; rows beyond the last node mean nothing."""
    parents: Int[Array, "2 rows"]
    """Index of each node's parent; `NO_NODE_INDEX` for roots."""
    counts: Int[Array, " 2"]
    """Number of nodes."""


class Branches(NamedTuple):
    """Straight motions by which one of two trees is to grow."""

    tree: Int[Array, ""]
    """Index of the tree that grows."""
    is_connecting: Bool[Array, ""]
    """Whether the motions lead all the way to nodes of the other tree."""
    parent: Int[Array, " n"]
    """Index of the node that a motion begins at."""
    start: Float[Array, "n nq"]
    """Configuration of that node."""
    target: Float[Array, "n nq"]
    """Configuration that the motion leads to, or towards."""
    tip: Int[Array, " n"]
    """Index of the target in the other tree, if the motions lead to its nodes."""
    counts: Bool[Array, " n"]
    """Whether there is such a motion."""


class Growth(NamedTuple):
    """State of a search between rounds."""

    trees: Trees
    branches: Branches
    """Motions by which a tree is to grow next."""
    fraction: Float[Array, " n"]
    """Fraction of the last motions that is free."""
    junction: Int[Array, " 2"]
    """Index of the node in each tree where they meet; `NO_NODE_INDEX`: nowhere yet."""
    rounds: Int[Array, ""]
    """Number of rounds done in this call."""


class SpaceNumbers(NamedTuple):
    """Arrays of a free space; see `FreeSpace`."""

    params: dict[str, Any]
    """Arrays of the table of pairs."""
    required: Float[Array, " ends"]
    """Least distance of each pair of frames [m]; negative infinity: none."""
    weights: Float[Array, " nq"]
    """Factor of each coordinate's difference in distances."""
    spacing: Float[Array, ""]
    """Largest weighted change of a coordinate between two checked places [rad, m]."""


def _grow_trees(
    types: PairTypes,
    K: Kinematics,
    space: SpaceNumbers,
    trees: Trees,
    branches: Branches,
    samples: Float[Array, "rounds n nq"],
    max_rounds: Int[Array, ""],
) -> Growth:
    """Return two trees after some rounds, fewer if they meet or are full.

    A round grows one tree towards samples, and then the other one towards its tips.

    Args:
        types: of the pairs; static.
        K: kinematics of the world.
        space: the free space.
        trees: the trees before.
        branches: what is to grow first.
        samples: random configurations of each round.
        max_rounds: number of rounds.
    """
    is_free = place_check(types, K, space.params, space.required)
    room = trees.nodes.shape[1] - len(branches.parent)
    coordinate = np.array(K.tree.column_coordinate, int)
    # Columns of quaternions, which no search moves, have no coordinate.
    of_columns = gather(space.weights, np.maximum(coordinate, 0)) * (coordinate >= 0)

    def may_grow(growth: Growth) -> Array:
        is_apart = growth.junction[0] == NO_NODE_INDEX
        has_room = jnp.max(growth.trees.counts) <= room
        return is_apart & has_room & (growth.rounds < max_rounds)

    def grow(growth: Growth) -> Growth:
        trees, branches, _, junction, rounds = growth
        step = difference(K.tree, branches.start, branches.target)
        length = jnp.max(jnp.abs(step) * of_columns.astype(step.dtype), 1)
        share = jnp.minimum(1.0, MAX_BRANCH / jnp.maximum(length, 1e-12))
        share = jnp.where(branches.is_connecting, 1.0, share)
        step = share[:, None].astype(step.dtype) * step
        parts = jnp.ceil(share * length / space.spacing).astype(np.int32)
        parts = jnp.where(branches.counts, jnp.maximum(parts, 1), 0)
        fraction = free_fraction(is_free, K.tree, branches.start, step, parts)
        ends = integrate(K.tree, branches.start, fraction[:, None] * step)
        grew = branches.counts & (fraction > 0)
        trees, index = _with_nodes(trees, branches, ends, grew)
        meets = branches.is_connecting & grew & (fraction >= 1)
        met = jnp.argmin(jnp.where(meets, length, jnp.inf))
        pair = jnp.stack([dynamic_row(x, met) for x in (branches.tip, index)])
        pair = jnp.where(branches.tree == 1, pair, pair[::-1])
        junction = jnp.where(jnp.any(meets), pair, junction)
        sample = dynamic_row(samples, rounds)
        branches = _next_branches(
            trees, branches, space.weights, ends, index, grew, sample
        )
        rounds = rounds + jnp.where(branches.is_connecting, 0, 1).astype(rounds.dtype)
        return Growth(trees, branches, fraction, junction, rounds)

    zero = jnp.zeros((), np.int32)
    first = Growth(
        jax.tree.map(jnp.asarray, trees),
        jax.tree.map(jnp.asarray, branches),
        jnp.zeros(len(branches.parent), branches.start.dtype),
        jnp.full(2, NO_NODE_INDEX, np.int32),
        zero,
    )
    return jax.lax.while_loop(may_grow, grow, first)


def _with_nodes(
    trees: Trees, branches: Branches, ends: Array, grew: Array
) -> tuple[Trees, Array]:
    """Return trees with the ends of motions, and the nodes where the motions end."""
    tree, spare = branches.tree, trees.nodes.shape[1] - 1
    count = dynamic_row(trees.counts, tree)
    new = count - 1 + jnp.cumsum(grew, dtype=count.dtype)
    place = jnp.where(grew, new, spare)

    def add(
        k: Array, known: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        nodes, parents = known
        row, i = dynamic_row(ends, k), dynamic_row(place, k)
        parent = dynamic_row(branches.parent, k)
        return (
            update_slice(nodes, row[None, None], tree, i),
            update_slice(parents, parent[None, None], tree, i),
        )

    known = jnp.asarray(trees.nodes), jnp.asarray(trees.parents)
    nodes, parents = jax.lax.fori_loop(0, len(grew), add, known)
    grown = count + jnp.sum(grew, dtype=count.dtype)
    counts = update_slice(jnp.asarray(trees.counts), grown[None], tree)
    return Trees(nodes, parents, counts), jnp.where(grew, new, branches.parent)


def _next_branches(
    trees: Trees,
    branches: Branches,
    weights: Array,
    ends: Array,
    index: Array,
    grew: Array,
    sample: Array,
) -> Branches:
    """Return what grows next: the other tree to new tips, or the same one to samples.

    Args:
        trees: with the ends of the last branches.
        branches: the last ones.
        weights: see `SpaceNumbers`.
        ends: of the last branches.
        index: of their last nodes.
        grew: which of them have new nodes.
        sample: random configurations.
    """
    was_connecting = branches.is_connecting
    smaller = jnp.argmin(trees.counts).astype(branches.tree.dtype)
    tree = jnp.where(was_connecting, smaller, 1 - branches.tree)
    target = jnp.where(was_connecting, sample, ends)
    nodes = dynamic_row(trees.nodes, tree)
    nearest, distance = _nearest(
        nodes, dynamic_row(trees.counts, tree), weights, target
    )
    distance = jnp.where(grew, distance, jnp.inf)
    k = jnp.arange(len(distance))
    is_nearer = (distance[None] < distance[:, None]) | (
        (distance[None] == distance[:, None]) & (k[None] < k[:, None])
    )
    is_near = grew & (jnp.sum(is_nearer, 1) < NUM_CONNECTIONS)
    return Branches(
        tree,
        ~was_connecting,
        nearest,
        gather(nodes, nearest),
        target,
        index,
        was_connecting | is_near,
    )


def _nearest(
    nodes: Float[Array, "rows nq"], count: Array, weights: Array, targets: Array
) -> tuple[Int[jax.Array, " n"], Float[jax.Array, " n"]]:
    """Return the node nearest to each target, and the square of its distance."""

    def compare(
        k: Array, best: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        index, least = best
        first = k * NODE_CHUNK_SIZE
        rows = jax.lax.dynamic_slice(
            nodes, (first, jnp.zeros_like(first)), (NODE_CHUNK_SIZE, nodes.shape[1])
        )
        square: Any = sum(
            (weights[i] * (rows[None, :, i] - targets[:, None, i])) ** 2
            for i in range(nodes.shape[1])
        )
        number = first + jnp.arange(NODE_CHUNK_SIZE, dtype=first.dtype)
        square = jnp.where(number < count, square, jnp.inf)
        nearest = jnp.argmin(square, 1)
        distance = jnp.min(square, 1)
        is_less = distance < least
        index = jnp.where(is_less, first + nearest.astype(first.dtype), index)
        return index, jnp.where(is_less, distance, least)

    chunks = (count + NODE_CHUNK_SIZE - 1) // NODE_CHUNK_SIZE
    unknown = (
        jnp.zeros(len(targets), np.int32),
        jnp.full(len(targets), jnp.inf, targets.dtype),
    )
    return jax.lax.fori_loop(jnp.zeros_like(chunks), chunks, compare, unknown)


grow_trees = compile_program(_grow_trees, fetches=True)
"""The compiled program; see `_grow_trees`."""


def trees_from(
    start: Float[np.ndarray, " nq"], goals: Float[np.ndarray, "n nq"]
) -> Trees:
    """Return trees that are only roots."""
    nodes = np.zeros((2, MAX_NODES + NUM_BRANCHES, len(start)))
    nodes[0, 0], nodes[1, : len(goals)] = start, goals
    parents = np.full(nodes.shape[:2], NO_NODE_INDEX, np.int32)
    return Trees(nodes, parents, np.array([1, len(goals)], np.int32))


def is_full(trees: Trees) -> bool:
    """Return whether a tree has no room for a round's nodes."""
    return bool(trees.counts.max() > trees.nodes.shape[1] - NUM_BRANCHES)


def branches_between(
    start: Float[np.ndarray, "n nq"], goal: Float[np.ndarray, "n nq"]
) -> Branches:
    """Return motions, at most `NUM_BRANCHES`, from the first tree's root to goals.

    Each goal is the root of this index in the other tree.
    """
    n, missing = len(start), NUM_BRANCHES - len(start)
    return Branches(
        np.zeros((), np.int32),
        np.ones((), bool),
        np.zeros(NUM_BRANCHES, np.int32),
        np.pad(start, ((0, missing), (0, 0)), "edge"),
        np.pad(goal, ((0, missing), (0, 0)), "edge"),
        np.arange(NUM_BRANCHES, dtype=np.int32),
        np.arange(NUM_BRANCHES) < n,
    )

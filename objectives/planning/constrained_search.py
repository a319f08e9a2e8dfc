"""RRT-Connect among configurations that meet equations, such as a cup held upright.

Each step towards a random configuration is moved back onto what is demanded before it
is checked (Berenson, Srinivasa, Ferguson and Kuffner 2009, "Manipulation planning on
constraint manifolds").
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.manifold import difference, integrate
from posewise.solvers.deadline import check_deadline, passed_deadline

from .free_space import FreeSpace
from .rrt_connect import SearchResult, nearest_to_goals, path_to_node
from .tree_growth import Trees, is_full, trees_from
from .tree_samples import tree_samples

Project = Callable[
    [Float[np.ndarray, "n nq"]],
    tuple[Float[np.ndarray, "n nq"], Bool[np.ndarray, " n"]],
]
"""From configurations to ones near by, and whether these meet what is demanded."""

MAX_STEP = 0.2
"""Largest weighted change of a coordinate in a step before the projection [rad, m]. In
longer ones a straight motion leaves the equations farther; shorter ones take more."""
MAX_BEND = 2.0
"""Largest change with the projection, relative to the longest step. Larger ones lead to
other branches of solutions, with no way along the equations."""
MIN_PROGRESS = 1e-3
"""Least weighted distance by which a step comes nearer to its target [rad, m]; a walk
with less stands still."""
SAME_DISTANCE = 1e-2
"""Distance up to which a target is reached [rad, m]. Projections move what meets all
demands by rounding at most."""
MAX_STEPS = 50
"""Number of steps of a walk (count); longer ways take several walks."""
MAX_WALKS = 32
"""Number of random configurations that a tree grows towards in a round (count), those
of a batch of projections. With fewer, batches are not full."""
NUM_CONNECTIONS = 6
"""Number of new nodes that the other tree walks to, the nearest ones (count). Walks
take most of the time; with fewer, trees meet later."""


class Walk(NamedTuple):
    """Steps along equations towards a configuration."""

    points: Float[np.ndarray, "steps nq"]
    """Configurations after each step."""
    arrives: bool
    """Whether the last one is the target."""


def constrained_rrt_connect(
    space: FreeSpace,
    project: Project,
    start: Float[np.ndarray, " nq"],
    goals: Float[np.ndarray, "n nq"],
    rng: np.random.Generator,
    max_rounds: int,
) -> SearchResult:
    """Return a free path on equations to one of some goals, if one is found.

    Args:
        space: the free space.
        project: see `Project`.
        start: the first configuration, a free one. If it does not meet all demands, the
            path first leads straight to where it is projected.
        goals: free configurations that meet all demands, any of which may be the last
            one.
        rng: source of randomness.
        max_rounds: number of rounds in which a tree grows; an interrupt or a deadline
            ends them, too.
    """
    trees, root = trees_from(start, goals), start
    try:
        (projected,), _ = project(start[None])
        if np.abs(projected - start).max() > SAME_DISTANCE:
            root = projected
            if space.reachable(start[None], root[None])[0] < 1:
                return nearest_to_goals(space, trees, goals)
            trees = trees_from(root, goals)
        first = goals[:MAX_WALKS]
        for walk in walks(space, project, np.tile(root, (len(first), 1)), first):
            if walk.arrives:
                points = np.vstack([root, walk.points])
                return _led_onto(start, SearchResult(points, 0.0))
        for _ in range(max_rounds):
            check_deadline()
            if is_full(trees):
                trees = trees_from(root, goals)
            k, nodes = int(np.argmin(trees.counts)), np.asarray(trees.nodes)
            samples = tree_samples(space, trees, start, MAX_WALKS, rng)
            ends, _ = _grow(space, project, trees, k, samples, max_steps=1)
            tips = np.unique(ends)
            _, distances = _nearest(space, trees, 1 - k, nodes[k, tips])
            tips = tips[np.argsort(distances, kind="stable")[:NUM_CONNECTIONS]]
            targets = nodes[k, tips]
            ends, arrives = _grow(space, project, trees, 1 - k, targets, MAX_STEPS)
            if arrives.any():
                nodes_met = int(tips[arrives][0]), int(ends[arrives][0])
                from_start, from_goal = map(
                    path_to_node, (trees, trees), (k, 1 - k), nodes_met
                )
                if k == 1:
                    from_start, from_goal = from_goal, from_start
                corners = np.concatenate([from_start, from_goal[-2::-1]])
                return _led_onto(start, SearchResult(corners, 0.0))
    except KeyboardInterrupt:
        nearest = nearest_to_goals(space, trees, goals)
        return _led_onto(start, nearest._replace(is_stopped=True))
    return _led_onto(start, nearest_to_goals(space, trees, goals))


def _led_onto(start: Float[np.ndarray, " nq"], result: SearchResult) -> SearchResult:
    """Return a path on equations with the start before it, if that misses them."""
    if np.array_equal(start, result.corners[0]):
        return result
    return result._replace(corners=np.vstack([start, result.corners]))


def walks(
    space: FreeSpace,
    project: Project,
    starts: Float[np.ndarray, "n nq"],
    targets: Float[np.ndarray, "n nq"],
    max_steps: int = MAX_STEPS,
) -> list[Walk]:
    """Return walks on equations, each as far towards its target as it is free.

    Args:
        space: the free space.
        project: see `Project`.
        starts: where they begin; meets all demands, or is the start of the path.
        targets: where they lead.
        max_steps: largest number of steps of a walk.
    """
    q, is_open = starts.copy(), np.ones(len(starts), bool)
    arrives = np.zeros(len(starts), bool)
    points: list[list[np.ndarray]] = [[] for _ in starts]
    for _ in range(max_steps):
        rows = np.flatnonzero(is_open)
        if not len(rows):
            break
        step = difference(space.K.tree, q[rows], targets[rows])
        length = _distances(space, q[rows], targets[rows])
        share = np.minimum(1.0, MAX_STEP / np.maximum(length, MIN_PROGRESS))
        ends, is_met = project(integrate(space.K.tree, q[rows], share[:, None] * step))
        remaining = _distances(space, ends, targets[rows])
        is_there = remaining <= SAME_DISTANCE
        ends[is_there] = targets[rows[is_there]]
        low, high = space.limits
        moved = ends[:, space.moving]
        is_met &= ((low <= moved) & (moved <= high)).all(1)
        is_met &= _distances(space, q[rows], ends) <= MAX_BEND * MAX_STEP
        is_met &= remaining <= length - MIN_PROGRESS
        is_met[is_met] = space.reachable(q[rows[is_met]], ends[is_met]) >= 1
        for row, end in zip(rows[is_met], ends[is_met], strict=True):
            points[row].append(end)
        q[rows[is_met]] = ends[is_met]
        arrives[rows] = is_met & is_there
        is_open[rows] = is_met & ~arrives[rows]
    shape = (-1, starts.shape[1])
    return [
        Walk(np.reshape(x, shape), bool(arrived))
        for x, arrived in zip(points, arrives, strict=True)
    ]


def shorten_on_equations(
    space: FreeSpace,
    project: Project,
    points: Float[np.ndarray, "n nq"],
    rng: np.random.Generator,
    rounds: int,
) -> Float[np.ndarray, "m nq"]:
    """Return a shorter path by walks between random points of one; ends are kept.

    A deadline that passes ends the search for it.
    """
    for _ in range(rounds):
        if len(points) <= 2 or passed_deadline():
            break
        pairs = np.sort(rng.integers(0, len(points), (MAX_WALKS, 2)), 1)
        pairs = pairs[pairs[:, 1] - pairs[:, 0] > 1]
        lengths = np.append(0.0, np.cumsum(_distances(space, points[:-1], points[1:])))
        best, saved = None, MIN_PROGRESS
        shortcuts = walks(space, project, points[pairs[:, 0]], points[pairs[:, 1]])
        for (first, last), walk in zip(pairs.tolist(), shortcuts, strict=True):
            if walk.arrives:
                corners = np.vstack([points[first], walk.points])
                gain = lengths[last] - lengths[first]
                gain -= _distances(space, corners[:-1], corners[1:]).sum()
                if gain > saved:
                    best, saved = (first, walk.points[:-1], last), float(gain)
        if best is not None:
            first, between, last = best
            points = np.concatenate([points[: first + 1], between, points[last:]])
    return points


def _grow(
    space: FreeSpace,
    project: Project,
    trees: Trees,
    k: int,
    targets: Float[np.ndarray, "n nq"],
    max_steps: int,
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Add walks of one tree towards targets; return their last nodes and who arrives.

    Walks that do not fit into the tree are left out.
    """
    ends, _ = _nearest(space, trees, k, targets)
    arrives = np.zeros(len(targets), bool)
    starts = np.asarray(trees.nodes)[k, ends]
    for i, walk in enumerate(walks(space, project, starts, targets, max_steps)):
        first = int(trees.counts[k])
        if first + len(walk.points) > trees.nodes.shape[1]:
            break
        new = np.arange(first, first + len(walk.points))
        trees.nodes[k, new] = walk.points
        trees.parents[k, new] = np.append(ends[i], new)[:-1]
        trees.counts[k] += len(new)
        ends[i] = np.append(ends[i], new)[-1]
        arrives[i] = walk.arrives
    return ends, arrives


def _nearest(
    space: FreeSpace, trees: Trees, k: int, q: Float[np.ndarray, "n nq"]
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return the node of a tree nearest to each configuration, and its distance."""
    nodes = np.asarray(trees.nodes)[k, : trees.counts[k]]
    distances = np.linalg.norm(space.weights * (q[:, None] - nodes), axis=-1)
    return distances.argmin(1), distances.min(1)


def _distances(
    space: FreeSpace, a: Float[np.ndarray, "n nq"], b: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, " n"]:
    """Return the largest weighted difference of a coordinate."""
    return np.abs(space.weights * (a - b)).max(1)

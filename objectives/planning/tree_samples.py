"""Random configurations for trees to grow towards: anywhere, and out of narrow places.

From a narrow place uniform samples lead into its walls. Motions that stayed free show
in which combinations of joints it is wide: differences between nodes of a tree are
random directions of this shape, as in differential evolution (Storn and Price 1997,
"Differential evolution: a simple and efficient heuristic for global optimization over
continuous spaces"); for principal directions of nodes see Dalibard and Laumond 2009,
"Control of probabilistic diffusion in motion planning".
"""

import numpy as np
from jaxtyping import Float

from .free_space import FreeSpace
from .tree_growth import Trees

SHARE_ALONG_TREE = 0.5
"""Share of samples that lie along differences between nodes. More neglect what is far
from all nodes; with fewer, a search stays longer in narrow places."""
FACTOR_RANGE = (4.0, 8.0)
"""Range of the factor of a difference between nodes. Samples have to lie well beyond
the nodes, or only those within the tree are extended; many then have coordinates at
ends of their range. Without limit all of them have."""


def tree_samples(
    space: FreeSpace,
    trees: Trees,
    start: Float[np.ndarray, " nq"],
    count: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "count nq"]:
    """Return random configurations, of which a share lies beyond the smaller tree.

    With random nodes a, b and c of this tree they are a + s (b - c), moved into the
    ranges of the coordinates.

    Args:
        space: the free space.
        trees: the trees that are to grow.
        start: a configuration, whose coordinates that do not move are kept.
        count: number of configurations.
        rng: source of randomness.
    """
    samples = space.sample(start, count, rng)
    smaller = int(np.argmin(trees.counts))
    if trees.counts[smaller] == 1:
        return samples
    along = rng.permutation(count)[: int(SHARE_ALONG_TREE * count)]
    nodes = np.asarray(trees.nodes)[smaller, : trees.counts[smaller]][:, space.moving]
    a, b, c = nodes[rng.integers(0, len(nodes), (3, len(along)))]
    factor = rng.uniform(*FACTOR_RANGE, (len(along), 1))
    samples[along[:, None], space.moving] = np.clip(a + factor * (b - c), *space.limits)
    return samples

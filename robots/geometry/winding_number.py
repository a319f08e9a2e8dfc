"""Which points lie inside a surface."""

import numpy as np
from jaxtyping import Bool, Float

MAX_PAIRS_PER_BATCH = 100_000
"""Pairs of a point and a triangle that are looked at together (fits caches)."""
SAMPLES_PER_REGION = 8
"""Nodes of a connected region that are asked where they are."""


def winding_numbers(
    points: Float[np.ndarray, "n 3"], triangles: Float[np.ndarray, "m 3 3"]
) -> Float[np.ndarray, " n"]:
    """How often triangles wind around points: ±1 inside a solid, 0 outside.

    About a surface with holes it is a fraction: the solid angle seen, over 4π.
    """
    step = max(1, MAX_PAIRS_PER_BATCH // len(triangles))
    parts = np.split(points, range(step, len(points), step))
    return np.concatenate([_solid_angles(p, triangles) for p in parts]) / (4 * np.pi)


def _solid_angles(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    a, b, c = np.moveaxis(triangles, 1, 0)[:, None] - points[:, None]
    A, B, C = (np.sqrt(np.einsum("ijk,ijk->ij", x, x)) for x in (a, b, c))
    ab, bc, ca = (np.einsum("ijk,ijk->ij", x, y) for x, y in ((a, b), (b, c), (c, a)))
    volume = np.einsum("ijk,ijk->ij", a, np.cross(b, c))
    return 2 * np.arctan2(volume, A * B * C + ab * C + bc * A + ca * B).sum(1)


def inside_mask(
    distance: Float[np.ndarray, "nx ny nz"],
    origin: Float[np.ndarray, "3"],
    spacing: float,
    triangles: Float[np.ndarray, "m 3 3"],
) -> Bool[np.ndarray, "nx ny nz"]:
    """Whether nodes of a grid lie inside a surface.

    Neighbours whose distances to the surface add up to more than the spacing have none
    of it between them. Nodes joined in this way are inside together, where the winding
    numbers of a few of them are beyond ±1/2 on average. So the sign changes only where
    the surface is near: a hole wider than a cell or two lets the outside in.

    Args:
        distance: of the nodes to the surface, without sign.
        origin: the node (0, 0, 0).
        spacing: of the nodes.
        triangles: the surface.
    """
    label = _connected_regions(distance, spacing)
    order = np.random.default_rng(0).permutation(label.size)
    order = order[np.argsort(label[order], kind="stable")]
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    sizes = np.diff(starts, append=label.size)
    rank = np.arange(label.size) - np.repeat(starts, sizes)
    asked = order[rank < SAMPLES_PER_REGION]
    points = origin + spacing * np.stack(np.unravel_index(asked, distance.shape), -1)
    number = np.bincount(label[asked], winding_numbers(points, triangles))
    inside = np.abs(number / np.bincount(label[asked])) > 0.5
    return inside[label].reshape(distance.shape)


def _connected_regions(distance: np.ndarray, spacing: float) -> np.ndarray:
    """A number for each node, the same for nodes that no surface separates."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    index = np.arange(distance.size).reshape(distance.shape)
    ends = []
    for axis in range(3):
        low, high = (np.moveaxis(x, axis, 0) for x in (distance, index))
        free = low[1:] + low[:-1] > spacing * (1 + 1e-9)
        ends.append(np.stack([high[1:][free], high[:-1][free]]))
    i, j = np.concatenate(ends, axis=1)
    edges = coo_matrix((np.ones(len(i), bool), (i, j)), (index.size, index.size))
    return connected_components(edges, directed=False)[1]

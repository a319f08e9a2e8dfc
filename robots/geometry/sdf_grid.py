"""Signed distance grids of triangle meshes, computed with libigl."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.collision import Grid

from ..errors import ConfigError
from ..validation import integer
from .disk_cache import Arrays, memoize_to_disk
from .mesh_cleaning import Faces, Vertices, clean_triangles, mesh_label
from .shapes import Mesh

MARGIN_CELLS = 4
"""Cells between the mesh and each side of the grid (count); the outermost cell lies
beyond the box in which `grid_distance` interpolates."""
MAX_NODES_PER_BATCH = 1_000_000
"""Nodes whose distances are computed in one call (count); more need more memory."""
SAMPLES_PER_REGION = 8
"""Nodes of a connected region whose winding numbers are averaged (count); more make
the sign of a region more robust on surfaces with holes."""


def signed_distance_grid(mesh: Mesh, resolution: int = 64) -> Grid:
    """Return signed distances to a mesh, negative inside, at the nodes of a grid.

    The values at the nodes are exact. Between nodes `grid_distance` errs most at edges
    and where two parts of the surface are equally near. Measured on eight meshes
    (torus, cup, brackets) at resolution 64, in cells: the median error is at most
    0.003, 99 % of the errors are below 0.17, all below 0.37; on the surface 99 % are
    below 0.16. At resolution 32 the errors are the same in cells, which are wider.

    The sign changes only across the surface: a wall thinner than a cell is represented
    by its distance alone, and a hole wider than a cell or two makes the mesh a shell,
    whose distance is positive on both sides. Inside overlapping solids the distance is
    that to the nearest triangle, including triangles inside another solid.

    At resolution 64 the computation takes below a second for 2000 triangles; grids are
    cached on disk.

    Args:
        mesh: The mesh, of any mode; the grid is meant for mode "sdf".
        resolution: Number of nodes along the longest side, 8 of them in the margins.

    Raises:
        ConfigError: For a mesh without triangles, with NaN vertices, or without extent.
        ImportError: When libigl is not installed; the message names the extra.
    """
    count = integer(
        "signed_distance_grid: resolution",
        resolution,
        "an integer from 12 to 512",
        lambda n: 12 <= n <= 512,
    )
    key = ("grid", count)
    if key not in mesh._cache:
        mesh._cache[key] = _compute_grid(mesh, count)
    return mesh._cache[key]


def _compute_grid(mesh: Mesh, count: int) -> Grid:
    vertices, faces = clean_triangles(mesh)
    low, size = vertices.min(0), np.ptp(vertices, axis=0)
    if not size.max() > 0:
        raise ConfigError(
            f"Mesh: {mesh_label(mesh)} is one point, expected triangles; give Sphere(0)"
            " for a point."
        )
    spacing = float(size.max() / (count - 1 - 2 * MARGIN_CELLS))
    node_counts = np.ceil(size / spacing - 1e-9).astype(int) + 1 + 2 * MARGIN_CELLS
    origin = low + (size - spacing * (node_counts - 1)) / 2

    def build() -> Arrays:
        shape = tuple(node_counts.tolist())
        distance = grid_distances(origin, spacing, shape, vertices, faces)
        inside = inside_mask(distance, origin, spacing, vertices, faces)
        return {"values": np.where(inside, -distance, distance)}

    arrays = memoize_to_disk("grid2", (vertices, faces, count), ("values",), build)
    return Grid(arrays["values"], origin, np.asarray(spacing))


def grid_distances(
    origin: Float[np.ndarray, "3"],
    spacing: float,
    shape: tuple[int, int, int],
    vertices: Vertices,
    faces: Faces,
) -> Float[np.ndarray, "nx ny nz"]:
    """Return the exact unsigned distance of each node of a grid to a mesh [m].

    Args:
        origin: Position of the node (0, 0, 0) [m].
        spacing: Distance of neighbouring nodes [m].
        shape: Number of nodes along x, y, z.
        vertices: Vertices of the mesh [m].
        faces: Indices of the corners of each triangle.
    """
    igl = _import_igl()
    flat = np.arange(np.prod(shape))
    squared = np.empty(len(flat))
    for first in range(0, len(flat), MAX_NODES_PER_BATCH):
        batch = slice(first, first + MAX_NODES_PER_BATCH)
        index = np.stack(np.unravel_index(flat[batch], shape), -1)
        nodes = origin + spacing * index
        squared[batch] = igl.point_mesh_squared_distance(nodes, vertices, faces)[0]
    return np.sqrt(squared).reshape(shape)


def inside_mask(
    distance: Float[np.ndarray, "nx ny nz"],
    origin: Float[np.ndarray, "3"],
    spacing: float,
    vertices: Vertices,
    faces: Faces,
) -> Bool[np.ndarray, "nx ny nz"]:
    """Return which nodes of a grid lie inside a mesh.

    All nodes of a region that the surface does not cut are inside together: where the
    generalized winding numbers of a few sampled nodes are beyond ±1/2 on average
    (Jacobson, Kavan and Sorkine-Hornung 2013). So the sign changes only near the
    surface: a hole wider than a cell or two joins the inside with the outside.

    Args:
        distance: Unsigned distance of the nodes to the surface [m].
        origin: Position of the node (0, 0, 0) [m].
        spacing: Distance of neighbouring nodes [m].
        vertices: Vertices of the mesh [m].
        faces: Indices of the corners of each triangle.
    """
    igl = _import_igl()
    label = _connected_regions(distance, spacing)
    order = np.random.default_rng(0).permutation(label.size)
    order = order[np.argsort(label[order], kind="stable")]
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    sizes = np.diff(starts, append=label.size)
    rank = np.arange(label.size) - np.repeat(starts, sizes)
    sampled = order[rank < SAMPLES_PER_REGION]
    index = np.stack(np.unravel_index(sampled, distance.shape), -1)
    winding = igl.winding_number(vertices, faces, origin + spacing * index)
    mean = np.bincount(label[sampled], winding) / np.bincount(label[sampled])
    inside = np.abs(mean) > 0.5
    return inside[label].reshape(distance.shape)


def _connected_regions(distance: np.ndarray, spacing: float) -> np.ndarray:
    """Return a region number for each node, equal where no surface separates nodes."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    index = np.arange(distance.size).reshape(distance.shape)
    edge_ends = []
    for axis in range(3):
        along, number = (np.moveaxis(x, axis, 0) for x in (distance, index))
        # A distance changes by at most the spacing along an edge, and is zero on the
        # surface: distances that add up to more than the spacing exclude a crossing.
        is_free = along[1:] + along[:-1] > spacing * (1 + 1e-9)
        edge_ends.append(np.stack([number[1:][is_free], number[:-1][is_free]]))
    i, j = np.concatenate(edge_ends, axis=1)
    edges = coo_matrix((np.ones(len(i), bool), (i, j)), (index.size, index.size))
    return connected_components(edges, directed=False)[1]


def _import_igl() -> Any:
    try:
        import igl
    except ImportError as error:
        raise ImportError(
            "Signed distance grids need libigl; install it with"
            ' `pip install "posewise[meshes]"`.'
        ) from error
    return igl

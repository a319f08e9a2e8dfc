"""The signed distance grid of a mesh."""

from typing import Any

import numpy as np

from posewise.collision import Grid

from ..errors import ConfigError
from ..validation import integer
from .disk_cache import Arrays, memoize_to_disk
from .mesh_cleaning import clean_triangles, mesh_label
from .shapes import Mesh
from .triangle_distance import grid_distances
from .winding_number import inside_mask

MARGIN_CELLS = 4
"""Cells on each side of the mesh; the outermost is beyond the grid's box."""


def signed_distance_grid(mesh: Mesh, resolution: Any = 64) -> Grid:
    """Signed distances to a mesh, negative inside, at the nodes of a grid.

    Nodes are exact. Between them `grid_distance` errs most at edges and where two parts
    of the surface are equally near. Measured on eight meshes (torus, cup, brackets) at
    resolution 64, in cells: median at most 0.003, 99 % below 0.17, all below 0.37; on
    the surface 99 % below 0.16. It is the same at resolution 32, with wider cells.

    The sign changes only across the surface: a wall thinner than a cell is known by its
    distance alone, and a hole wider than a cell or two makes the mesh a shell, whose
    distance is positive on both sides. Inside overlapping solids the distance to the
    nearest triangle counts, inner ones too.

    A resolution of 64 takes below a second for 2000 triangles; grids are kept on disk.

    Args:
        mesh: of any mode; this one is meant for mode "sdf".
        resolution: nodes along the longest side, 8 of them in the margins.

    Raises:
        ConfigError: without triangles, with NaN vertices, or with no extent.
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
    nodes = np.ceil(size / spacing - 1e-9).astype(int) + 1 + 2 * MARGIN_CELLS
    origin = low + (size - spacing * (nodes - 1)) / 2
    triangles = vertices[faces]

    def build() -> Arrays:
        shape = tuple(nodes.tolist())
        distance = grid_distances(origin, spacing, shape, triangles)
        inside = inside_mask(distance, origin, spacing, triangles)
        return {"values": np.where(inside, -distance, distance)}

    found = memoize_to_disk("grid1", (vertices, faces, count), ("values",), build)
    return Grid(found["values"], origin, np.asarray(spacing))

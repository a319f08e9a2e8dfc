"""Surfaces that primitives are fitted to, and the primitives with their poses."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..hulls import hull_vertices
from ..shapes import Shape

CONTAINMENT_MARGIN = 1e-9
"""Fraction by which sizes are larger than necessary, against rounding errors."""


MAX_COARSE_FACES = 1500
"""Largest number of triangles of a surface that is not made coarse. Larger ones take
longer to fit."""
GRID_CELLS = 20
"""Number of cells of the grid of coarse surfaces along the longest side. More keep
smaller details."""


class PosedShape(NamedTuple):
    """A shape with its pose (7,) in the frame."""

    shape: Shape
    pose: Float[np.ndarray, "7"]


class CuttingPlane(NamedTuple):
    """The points x with normal · x = offset."""

    normal: Float[np.ndarray, "3"]
    offset: float


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, in no order, that need not be closed [m]."""

    vertices: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]

    @property
    def corners(self) -> Float[np.ndarray, "k 3"]:
        """Extreme points, which span the hull."""
        return self._corners_and_volume[0]

    @property
    def hull_volume(self) -> float:
        """Volume of the hull [m³]."""
        return self._corners_and_volume[1]

    @cached_property
    def _corners_and_volume(self) -> tuple[Float[np.ndarray, "k 3"], float]:
        from scipy.spatial import ConvexHull, QhullError

        try:
            hull = ConvexHull(self.vertices)
        except (QhullError, ValueError):  # flat, or too few vertices
            return hull_vertices(self.vertices), 0.0
        return self.vertices[hull.vertices], float(hull.volume)

    def above(self, plane: CuttingPlane) -> "Surface":
        """Return what is on one side of a plane, normal · x >= offset.

        The hulls of both sides contain all of the surface, and what it encloses: where
        the plane cuts through the inside, the cut is in the hull of its outline.
        """
        return _clip(self, self.vertices @ plane.normal - plane.offset)

    def coarse(self) -> "Surface":
        """Return a surface of few triangles near this one; it need not enclose it.

        Vertices in a cell of a grid become one, and triangles in one cell vanish.
        """
        if len(self.faces) <= MAX_COARSE_FACES:
            return self
        low, size = self.vertices.min(0), np.ptp(self.vertices, axis=0).max()
        cells = ((self.vertices - low) * (GRID_CELLS / size)).astype(int)
        numbers = cells @ [1, GRID_CELLS + 1, (GRID_CELLS + 1) ** 2]
        _, first, cell = np.unique(numbers, return_index=True, return_inverse=True)
        faces = np.unique(np.sort(cell[self.faces], axis=1), axis=0)
        faces = faces[(faces[:, 0] < faces[:, 1]) & (faces[:, 1] < faces[:, 2])]
        return Surface(self.vertices[first], faces) if len(faces) else self


def _clip(surface: Surface, heights: Float[np.ndarray, " n"]) -> Surface:
    """Return the part of a surface whose heights are at least 0."""
    vertices, faces = surface.vertices, surface.faces
    above = heights[faces] >= 0
    inside = faces[above.all(1)]
    cut = above.any(1) & ~above.all(1)
    # Turn each cut triangle so that its odd vertex, alone on its side, comes first.
    corners, is_above = faces[cut], above[cut]
    single = is_above.sum(1) == 1
    odd = np.where(single, is_above.argmax(1), is_above.argmin(1))
    rows = np.arange(len(corners))[:, None]
    a, b, c = corners[rows, (odd[:, None] + np.arange(3)) % 3].T
    count, new = len(vertices), len(corners)
    crossings = []
    for other in (b, c):
        share = (heights[a] / (heights[a] - heights[other]))[:, None]
        crossings.append(vertices[a] + share * (vertices[other] - vertices[a]))
    on_ab = count + np.arange(new)
    on_ac = on_ab + new
    triangles = np.column_stack([a, on_ab, on_ac])[single]
    pair = ~single
    quads = [
        np.column_stack([on_ab, b, c])[pair],
        np.column_stack([on_ab, c, on_ac])[pair],
    ]
    faces = np.concatenate([inside, triangles, *quads])
    vertices = np.concatenate([vertices, *crossings])
    is_used = np.zeros(len(vertices), bool)
    is_used[faces] = True
    return Surface(vertices[is_used], (np.cumsum(is_used) - 1)[faces])

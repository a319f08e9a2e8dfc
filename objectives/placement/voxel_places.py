"""Places for an object among occupied cells: where it overlaps least.

The overlap of an object with what is there, for all positions at once, is a
correlation, which the fast Fourier transform computes (see Cui et al., "Dense,
interlocking-free and scalable spectral packing of generic 3D objects", 2023).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.kinematics.transforms import quat_to_matrix

from .voxels import Solid, VoxelGrid

BEST_PLACES, OTHER_PLACES = 16, 48
"""Numbers of places that are returned for an object in one orientation: of those with
most merit, and of others, in case that constraints do not admit the best ones."""
MERIT_NOISE_SCALE = 5e-2
"""Largest random addition to merits, to choose among places that are about as good
[cells, or a share of the surface]. A larger one takes worse places, too."""


@dataclass(frozen=True, eq=False)
class VoxelModel:
    """An object in one orientation, its origin in the centre of a cell."""

    quaternion: Float[np.ndarray, "4"]
    cells: Int[np.ndarray, "n 3"]
    """Cells that it occupies, relative to that of its origin."""
    shell: Int[np.ndarray, "m 3"]
    """Cells around these."""
    grid: VoxelGrid

    @classmethod
    def of(
        cls, solid: Solid, quaternion: Float[np.ndarray, "4"], grid: VoxelGrid
    ) -> "VoxelModel":
        """Return the model of a solid that is given in the object's frame."""
        from scipy.ndimage import binary_dilation

        R = quat_to_matrix(quaternion)
        points = solid.points @ R.T
        first = np.floor(points.min(0) / grid.spacing).astype(int) - 2
        last = np.ceil(points.max(0) / grid.spacing).astype(int) + 2
        nx, ny, nz = (last - first + 1).tolist()
        window = VoxelGrid(grid.spacing * first, grid.spacing, (nx, ny, nz))
        inside = window.occupied(solid, R)
        around = binary_dilation(inside) & ~inside
        cells, shell = (np.argwhere(x) + first for x in (inside, around))
        return cls(quaternion, cells, shell, grid)

    @cached_property
    def cells_spectrum(self) -> Any:
        """Conjugate Fourier transform of its cells."""
        return self._conjugate_spectrum(self.cells)

    @cached_property
    def shell_spectrum(self) -> Any:
        """Conjugate Fourier transform of the cells around it."""
        return self._conjugate_spectrum(self.shell)

    def _conjugate_spectrum(self, cells: Int[np.ndarray, "n 3"]) -> Any:
        from scipy import fft

        on_grid = np.zeros(self.grid.shape, np.float32)
        on_grid[self.grid.wrapped(cells)] = 1.0
        return np.conj(fft.rfftn(on_grid))


class VoxelPlace(NamedTuple):
    """A place for an object, and how good it is."""

    model: VoxelModel
    cell: Int[np.ndarray, "3"]
    """Cell of its origin."""
    overlap: float
    """Number of its cells that are occupied already."""
    merit: float
    """Share of the cells around it that are occupied, or how low it is."""

    @property
    def pose(self) -> Float[np.ndarray, "7"]:
        """Pose of the object in the world."""
        position = self.model.grid.center(self.cell)
        return np.concatenate([position, self.model.quaternion])

    def occupy(self, cells: Bool[np.ndarray, "x y z"]) -> None:
        """Mark the cells of the object there."""
        cells[self.model.grid.wrapped(self.model.cells + self.cell)] = True


def best_places(
    model: VoxelModel,
    spectrum: Any,
    allowed: Bool[np.ndarray, "x y z"],
    packs: bool,
    rng: np.random.Generator,
) -> list[VoxelPlace]:
    """Return some places of least overlap for an object in one orientation.

    Args:
        model: the object.
        spectrum: Fourier transform of the occupied cells.
        allowed: cells where its origin may be; at least one.
        packs: whether places that touch much are better, otherwise low ones.
        rng: chooses among places that are about as good.
    """
    from scipy import fft

    shape = model.grid.shape
    overlap = np.round(fft.irfftn(spectrum * model.cells_spectrum, shape))
    least = float(overlap[allowed].min())
    cells = np.argwhere(allowed & (overlap <= least))
    if packs:
        touching = fft.irfftn(spectrum * model.shell_spectrum, shape)
        merit = touching[tuple(cells.T)] / len(model.shell)
    else:
        merit = -cells[:, 2].astype(float)
    merit = merit + MERIT_NOISE_SCALE * rng.uniform(size=len(cells))
    order = np.argsort(-merit)
    others = np.linspace(0, len(order) - 1, OTHER_PLACES).astype(int)
    ranks = np.unique(np.concatenate([np.arange(min(len(order), BEST_PLACES)), others]))
    return [VoxelPlace(model, cells[k], least, float(merit[k])) for k in order[ranks]]

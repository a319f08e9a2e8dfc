"""Signed distances sampled on a grid, and the smooth function through them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grid:
    """Signed distances at the nodes `origin + spacing * (i, j, k)`; all of it is data.

    Grids of one shape may be stacked, for `jax.vmap`.

    Attributes:
        values: at least 4 nodes along each axis; the outermost layer only shapes the
            curve in the cells next to it.
        origin: the node (0, 0, 0).
        spacing: of nodes, one for all axes or one for each.
    """

    values: Float[Array, "*grids nx ny nz"]
    origin: Float[Array, "*grids 3"]
    spacing: Float[Array, "*grids"] | Float[Array, "*grids 3"]


def grid_distance(
    grid: Grid, points: Float[Array, "*batch 3"]
) -> Float[Array, "*batch"]:
    """Signed distance of points to what a grid samples, smooth inside its box.

    The box reaches from the second to the last node but one along each axis. Inside it
    a tricubic (Catmull-Rom) curve passes through the nodes; its gradient is continuous
    and, on a plane, exact.

    Outside it, with c the nearest point of the box and D its distance, the answer is
    sqrt(D² + |p - c|²). If the box holds all that is sampled, then the true distance is
    never less, and never more than √2 times that, but for the error of D. The answer is
    continuous; its slope jumps at the box and points away from it outside. Where D < 0
    (the solid leaves the box) it is D + |p - c|, which promises nothing.

    Args:
        grid: the samples.
        points: in the grid's frame; their dtype is the answer's.

    Raises:
        ValueError: when the grid has fewer than 4 nodes along an axis.
    """
    shape = np.array(grid.values.shape)
    if shape.shape != (3,) or shape.min() < 4:
        raise ValueError(
            f"grid_distance: the values have shape {grid.values.shape}, expected three"
            " axes of at least 4 nodes."
        )
    points = jnp.asarray(points)
    origin, spacing = (
        jnp.asarray(x, points.dtype) for x in (grid.origin, grid.spacing)
    )
    free = (points - origin) / spacing
    cells = jnp.clip(free, 1, shape - 2)
    distance = _interpolate(grid.values, cells)
    beyond = jnp.square((free - cells) * spacing).sum(-1)
    outside = beyond > 0
    beyond = jnp.where(outside, beyond, 1.0)  # keeps the root's slope finite
    bound = jnp.sqrt(jnp.maximum(distance, 0) ** 2 + beyond) + jnp.minimum(distance, 0)
    return jnp.where(outside, bound, distance)


def _interpolate(values: Array, cells: Array) -> Array:
    """The value at fractional indices, from the 4 × 4 × 4 nodes around each."""
    low = jnp.clip(jnp.floor(cells), 1, np.array(values.shape) - 3)
    weights = _catmull_rom_weights(cells - low)
    nodes = low.astype(jnp.int32)[..., None] + np.arange(-1, 3)
    x, y, z = nodes[..., 0, :], nodes[..., 1, :], nodes[..., 2, :]
    around = jnp.asarray(values)[
        x[..., :, None, None], y[..., None, :, None], z[..., None, None, :]
    ].astype(cells.dtype)
    for axis in (2, 1, 0):
        around = (around * weights[(..., axis, *[None] * axis, slice(None))]).sum(-1)
    return around


def _catmull_rom_weights(f: Array) -> Array:
    """Weights (..., 4) of the nodes -1, 0, 1, 2 at a place f in [0, 1]."""
    g = 1 - f
    return jnp.stack(
        [
            -f * g * g / 2,
            g * (2 + f * (2 - 3 * f)) / 2,
            f * (2 + g * (2 - 3 * g)) / 2,
            -f * f * g / 2,
        ],
        axis=-1,
    )

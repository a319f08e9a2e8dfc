"""Signed distances sampled on a grid, and their smooth interpolation."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grid:
    """Signed distances at the nodes `origin + spacing * (i, j, k)`.

    All fields are data: a program serves all grids of one shape, and `jax.vmap` accepts
    stacked grids.

    Attributes:
        values: signed distances [m], at least 4 nodes along each axis. The outermost
            layer only shapes the interpolation in the cells next to it.
        origin: position of the node (0, 0, 0) [m].
        spacing: distance of the nodes [m], one for all axes or one for each.
    """

    values: Float[Array, "*grids nx ny nz"]
    origin: Float[Array, "*grids 3"]
    spacing: Float[Array, "*grids"] | Float[Array, "*grids 3"]


def grid_distance(
    grid: Grid, points: Float[Array, "*batch 3"]
) -> Float[Array, "*batch"]:
    """Return signed distances from the sampled solid to points, smooth inside the box.

    The box extends from the second to the second last node along each axis. Inside it,
    tricubic Catmull–Rom interpolation passes through the nodes (Catmull and Rom, "A
    class of local interpolating splines", 1974); its gradient is continuous, and exact
    where the distance is linear.

    Outside, with c the closest point of the box and D its interpolated distance, the
    result is sqrt(D² + |p - c|²). If the solid lies within the box, the true distance
    is between the result and √2 times the result, up to the error of D. The result is
    continuous; its gradient jumps at the box and points away from the box outside.
    Where D < 0 (the solid leaves the box) the result is D + |p - c|, which is no bound.

    Args:
        grid: the samples.
        points: positions in the grid's frame [m]; their dtype is that of the result.

    Raises:
        ValueError: if the grid has fewer than 4 nodes along an axis.
    """
    shape = np.array(grid.values.shape)
    if shape.shape != (3,) or shape.min() < 4:
        raise ValueError(
            f"grid_distance: grid.values has the shape {grid.values.shape}, expected"
            " three axes of at least 4 nodes; sample the solid on more nodes."
        )
    points = jnp.asarray(points)
    origin, spacing = (
        jnp.asarray(x, points.dtype) for x in (grid.origin, grid.spacing)
    )
    index = (points - origin) / spacing
    clamped = jnp.clip(index, 1, shape - 2)
    distance = _interpolate(grid.values, clamped)
    beyond = jnp.square((index - clamped) * spacing).sum(-1)
    outside = beyond > 0
    # keeps the derivative of the root finite where it is not used
    beyond = jnp.where(outside, beyond, 1.0)
    # The solid is at least D away from c, and on the inner side of the plane through c
    # that faces p: by Pythagoras p is at least this far from it.
    bound = jnp.sqrt(jnp.maximum(distance, 0) ** 2 + beyond) + jnp.minimum(distance, 0)
    return jnp.where(outside, bound, distance)


def _interpolate(values: Array, index: Array) -> Array:
    """Return values at fractional indices, from the 4 × 4 × 4 nodes around each."""
    low = jnp.clip(jnp.floor(index), 1, np.array(values.shape) - 3)
    weights = _catmull_rom_weights(index - low)
    nodes = low.astype(jnp.int32)[..., None] + np.arange(-1, 3)
    x, y, z = nodes[..., 0, :], nodes[..., 1, :], nodes[..., 2, :]
    around = jnp.asarray(values)[
        x[..., :, None, None], y[..., None, :, None], z[..., None, None, :]
    ].astype(index.dtype)
    for axis in (2, 1, 0):
        around = (around * weights[(..., axis, *[None] * axis, slice(None))]).sum(-1)
    return around


def _catmull_rom_weights(f: Array) -> Array:
    """Return weights (..., 4) of the nodes -1, 0, 1, 2 at a fraction f in [0, 1]."""
    # cubic Hermite interpolation whose slopes are central differences of the nodes
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

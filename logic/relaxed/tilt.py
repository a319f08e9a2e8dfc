"""Tilt: how far an object moves that comes down on several points of contact."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from posewise.robots.typing import Array

from ..smooth_extrema import largest

TILT_DAMPING = 1e-6
"""Damping of the fit of planes through gaps [m²]: few points may lie in a line. A
larger one makes planes more level."""


class Tilt(NamedTuple):
    """Planes through the gaps of the points that hold each object.

    An object that comes down on its nearest point tips until it lies on others, by as
    much as its gaps differ; gaps are negative where it is pushed out. Where they are
    affine in the position, as between flat faces, a plane tells the motion exactly;
    elsewhere the largest residual is added.
    """

    centre: Float[Array, "objects 3"]
    """Weighted means of the points (objects, 3) [m]."""
    gap: Float[Array, " objects"]
    """Gaps at the centres (objects,) [m]."""
    slope: Float[Array, "objects 3"]
    """Gradients of the gaps, the angles of tipping (objects, 3) [rad]."""
    normal: Float[Array, "objects 3"]
    """Weighted means of the normals (objects, 3) [1]."""
    residual: Float[Array, " objects"]
    """Largest distance of a gap from the plane (objects,) [m]."""

    def motion(self, x: Float[Array, "#objects 3"]) -> Float[Array, "objects 3"]:
        """Return motions of objects at points of theirs (objects, 3), by planes [m]."""
        arm = x - self.centre
        fall = self.gap + jnp.sum(self.slope * arm, -1)
        square = jnp.sum(self.normal * self.normal, -1)
        # The double `where` keeps derivatives finite for objects that nothing holds.
        length = jnp.sqrt(jnp.where(square > 0, square, 1.0))
        up = self.normal / length[:, None]
        height = jnp.sum(self.normal * arm, -1)
        return height[:, None] * self.slope - fall[:, None] * up

    def displacement(self, x: Float[Array, "#objects 3"]) -> Float[Array, " objects"]:
        """Return how far objects move at points of theirs (objects, 3) [m]."""
        return norms(self.motion(x)) + self.residual


def norms(x: Float[Array, "*n 3"]) -> Float[Array, "*n"]:
    """Return lengths of vectors, with a derivative of 0 for those that are 0."""
    square = jnp.sum(x * x, -1)
    moved = square > 0
    return jnp.sqrt(jnp.where(moved, square, 1.0)) * moved


def fit_tilt(
    points: Float[Array, "n 3"],
    normals: Float[Array, "n 3"],
    gaps: Float[Array, " n"],
    weights: Float[Array, "n objects"],
) -> Tilt:
    """Return the planes by weighted least squares.

    Args:
        points: points of contact in the world [m].
        normals: unit normals there.
        gaps: gaps along the normals [m].
        weights: from 0, for a point that does not hold an object, to 1.
    """
    # Without points that hold an object the plane is 0: its gap is counted elsewhere.
    # The double `where` keeps its derivatives finite.
    total = jnp.sum(weights, 0)
    is_held = total > 0
    share = jnp.where(is_held, weights / jnp.where(is_held, total, 1.0), 0.0)
    centre, mean = share.T @ points, share.T @ gaps
    arm = points[:, None] - centre
    spread = jnp.einsum("nk,nki,nkj->kij", share, arm, arm)
    rise = jnp.einsum("nk,nki,n->ki", share, arm, gaps)
    damping = TILT_DAMPING * jnp.eye(3, dtype=rise.dtype)
    slope = jnp.linalg.solve(spread + damping, rise[..., None])[..., 0]
    plane = mean + jnp.einsum("nki,ki->nk", arm, slope)
    residual = largest(weights * jnp.abs(gaps[:, None] - plane))
    return Tilt(centre, mean, slope, share.T @ normals, residual)

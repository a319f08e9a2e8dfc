"""Points at which two convex bodies may touch.

Let q be the point of body B closest to a sample point of body A. It is a point of
contact if q is on A's surface too. For parallel faces, the corners of A projected to B
in this way span most of the common area, and all of it where A's corners are above B.
"""

from enum import IntEnum
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise import collision
from posewise.compilation.arrays import Array
from posewise.robots.geometry.outer_hulls import outer_hull

RIM_POINTS = 12
"""Number of samples on a circular rim; with fewer of them a round object seems to tip
over sooner than it does."""
MAX_HULL_POINTS = 24
"""Number of samples of a convex hull at most; with fewer of them the hull of the
samples stands out farther beyond it."""
MAX_CORNERS_WITH_EDGES = 8
"""Number of corners of a hull up to which middles between them are samples; with more
corners these are near each other."""
MAX_PARTS_WITH_EDGES = 8
"""Number of parts of an object up to which boxes are also sampled at their edges; of
objects with more, corners alone count, which is faster."""


def contact_samples(core: collision.Core, parts: int) -> Float[np.ndarray, "n 3"]:
    """Return points of a core, in its frame, at which it may touch something.

    Args:
        core: without a batch axis.
        parts: number of parts of the object that it belongs to.
    """
    match core:
        case collision.Box(half):
            grid = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
            # Corners have three nonzero coordinates, middles of edges two.
            least = 3 if parts > MAX_PARTS_WITH_EDGES else 2
            corners = np.abs(grid).sum(1) >= least
            is_solid = (half > 0).sum() == 3
            grid = grid[corners] if is_solid else grid
            return np.unique(grid * half, axis=0)
        case collision.BoxPlusEllipsoid(half, radii) if radii[2] == 0:
            # Both end faces of a cylinder: points on the rim, and the middle.
            angle = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
            rim = np.stack([np.cos(angle), np.sin(angle), 0 * angle], -1)
            rim = np.concatenate([rim, np.zeros((1, 3))])
            flat = np.sign(rim) * half * [1, 1, 0] + rim * radii
            ends = [flat + [0, 0, s * half[2]] for s in (-1, 1)]
            return np.unique(np.concatenate(ends), axis=0)
        case collision.BoxPlusEllipsoid(half, radii):
            grid = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
            # Corners of the box, each pushed out along its direction by the ellipsoid.
            length = np.linalg.norm(grid, axis=1, keepdims=True)
            ball = grid / np.where(length > 0, length, 1.0)
            return np.unique(np.sign(grid) * half + ball * radii, axis=0)
        case collision.Hull(vertices):
            corners = outer_hull(np.asarray(vertices), MAX_HULL_POINTS)
            if len(corners) > MAX_CORNERS_WITH_EDGES or parts > MAX_PARTS_WITH_EDGES:
                return corners
            # Middles of edges; those of diagonals lead to points of contact as well.
            middles = (corners[:, None] + corners)[np.triu_indices(len(corners))] / 2
            return np.unique(middles, axis=0)
    raise TypeError(f"{type(core).__name__} has no corners.")


class SurfaceKind(IntEnum):
    """Kind of the surface of a convex part, by how points on it are computed."""

    PLANE = 0
    BOX = 1
    CYLINDER = 2
    """Cylinders about z, and discs."""
    ROUND = 3
    """Other sums of a box and an ellipsoid."""
    HULL = 4


CORE_OF_SURFACE: dict[SurfaceKind, type[collision.Core]] = {
    SurfaceKind.PLANE: collision.HalfSpace,
    SurfaceKind.BOX: collision.Box,
    SurfaceKind.CYLINDER: collision.BoxPlusEllipsoid,
    SurfaceKind.ROUND: collision.BoxPlusEllipsoid,
    SurfaceKind.HULL: collision.Hull,
}
"""Type of the cores of parts with a surface of a kind."""


def surface_kind(core: collision.Core) -> SurfaceKind:
    """Return the kind of the surface of a core without a batch axis."""
    match core:
        case collision.HalfSpace():
            return SurfaceKind.PLANE
        case collision.Box():
            return SurfaceKind.BOX
        case collision.BoxPlusEllipsoid(half, radii):
            half, radii = np.asarray(half), np.asarray(radii)
            is_tube = not half[:2].any() and radii[2] == 0 and radii[0] == radii[1]
            return SurfaceKind.CYLINDER if is_tube else SurfaceKind.ROUND
        case collision.Hull():
            return SurfaceKind.HULL
    raise TypeError(f"{type(core).__name__} has no kind of surface.")


def closest_surface_points(
    kind: SurfaceKind,
    body: collision.Body,
    x: Float[jax.Array, "n 3"],
    is_used: Bool[Array, " n"],
) -> tuple[Float[jax.Array, " n"], Float[jax.Array, "n 3"]]:
    """Return signed distances of points to bodies [m], and the bodies' closest points.

    Args:
        kind: of the surfaces of all bodies.
        body: n bodies.
        x: points in the world [m].
        is_used: which of the results are used; others may be bounds.
    """
    core, radius = body.core, body.radius
    local = jnp.einsum("nji,nj->ni", body.R, x - body.p)
    match core:
        case collision.HalfSpace():
            d = local[:, 2]
            on = local.at[:, 2].set(0.0)
        case collision.Box(half):
            d, on = collision.closest_point_on_box(local, half)
        case collision.BoxPlusEllipsoid(half, radii) if kind == SurfaceKind.CYLINDER:
            d, on = collision.closest_point_on_cylinder(local, half[:, 2], radii[:, 0])
        case _:
            point = collision.Box(jnp.zeros_like(x))
            eye = jnp.broadcast_to(jnp.eye(3, dtype=x.dtype), (len(x), 3, 3))
            points = collision.Body(point, jnp.zeros_like(radius), eye, x)
            limit = jnp.where(is_used, jnp.inf, -jnp.inf)
            contact = collision.contact_within(points, body, limit)
            return contact.distance, contact.point_b
    # From the core's surface to that of the swept body, along the normal.
    outward = (local - on) / jnp.where(jnp.abs(d) > 0, d, 1.0)[:, None]
    on = on + radius[:, None] * outward
    return d - radius, jnp.einsum("nij,nj->ni", body.R, on) + body.p

"""Static balance: the centre of mass over the support polygon of feet."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.typing import Array

from .safe_math import norm
from .symbol import TracedArrays

COLLINEARITY_TOLERANCE = 1e-5
"""Distance from a line up to which points count as on it [m]; above the rounding of
single precision, and far below a sole's size."""

MAX_POINTS = 48
"""Number of points that are tried as corners (count): of more, those that are farthest
in as many directions; the polygon is within that of all. All pairs are tried as edges,
each with all points, so that twice the number takes eight times as long."""

Stack = Float[jax.Array, "frames 3"]
Row = Float[jax.Array, "1"]


class Balance(NamedTuple):
    """A robot over its feet, seen from above."""

    centre: Float[jax.Array, "3"]
    """Centre of mass in the world [m]."""
    centres: Float[jax.Array, "bodies 3"]
    """Centre of mass of each body in the world [m]."""
    points: Float[jax.Array, "n 3"]
    """Points of the feet in the world [m], among them the polygon's corners."""
    foot: Int[jax.Array, " n"]
    """Index of the foot of each point."""
    direction: Float[jax.Array, "2"]
    """Unit vector along which the distance from the polygon grows."""
    weights: Float[jax.Array, " n"]
    """The polygon's nearest point is the sum of weights and points."""

    @property
    def distance(self) -> Row:
        """Distance of the centre of mass from the polygon, negative inside [m]."""
        nearest = jnp.sum(self.weights[:, None] * self.points[:, :2], 0)
        return jnp.sum(self.direction * (self.centre[:2] - nearest))[None]


def balance_of(
    R: Float[jax.Array, "frames 3 3"],
    p: Stack,
    *,
    points: Float[Array, "n 3"],
    radius: Float[Array, " n"],
    foot: Int[Array, " n"],
    mass: Float[Array, " bodies"],
    com: Float[Array, "bodies 3"],
    sole: Float[Array, ""],
) -> Balance:
    """Return where a robot's centre of mass is over its feet.

    Args:
        R: rotations of the feet, then of the bodies, to the world.
        p: their positions.
        points: centres of balls whose convex hull a foot is, in the foot.
        radius: of each ball [m].
        foot: index of each ball's foot.
        mass: of each body [kg].
        com: centre of mass of each body, in the body.
        sole: height up to which points of a foot count as its lowest ones [m].
    """
    bodies = mass.shape[0]
    centres = p[-bodies:] + jnp.sum(R[-bodies:] * com[:, None, :], -1)
    centre = jnp.sum(mass[:, None] * centres, 0) / jnp.sum(mass)
    placed = p[foot] + jnp.sum(R[foot] * points[:, None, :], -1)
    height = jax.lax.stop_gradient(placed[:, 2] - radius)
    same_foot = foot[:, None] == foot[None, :]
    ground = jnp.min(jnp.where(same_foot, height[None, :], jnp.inf), 1)
    # The lowest point of a ball is below its centre, so both are the same from above.
    carries, foot = height <= ground + sole, jnp.asarray(foot)
    if len(points) > MAX_POINTS:
        chosen = _outermost(placed[:, :2], carries)
        placed, foot, carries = placed[chosen], foot[chosen], carries[chosen]
    direction, weights = nearest_of_polygon(centre[:2], placed[:, :2], carries)
    return Balance(centre, centres, placed, foot, direction, weights)


def _outermost(
    points: Float[jax.Array, "n 2"], counts: Bool[jax.Array, " n"]
) -> Int[jax.Array, " k"]:
    """Return the indices of points that are farthest in evenly spread directions."""
    angles = 2 * np.pi * np.arange(MAX_POINTS) / MAX_POINTS
    x, y = jax.lax.stop_gradient(points).T
    along = np.cos(angles)[:, None] * x + np.sin(angles)[:, None] * y
    return jnp.argmax(jnp.where(counts, along, -jnp.inf), 1)


def nearest_of_polygon(
    x: Float[jax.Array, "2"],
    points: Float[jax.Array, "n 2"],
    counts: Bool[jax.Array, " n"],
) -> tuple[Float[jax.Array, "2"], Float[jax.Array, " n"]]:
    """Return which point of a convex polygon is nearest, and the direction from there.

    The polygon is the convex hull of points. Inside, the nearest point is that of the
    nearest edge, and the direction is the edge's outward normal. Polygons without area
    have no inside.

    Args:
        x: where the nearest point is looked for.
        points: any points.
        counts: which of them are used; at least one.

    Returns:
        A unit vector u (zero at the polygon itself, where that has no area), and
        weights w: the signed distance is u · (x - Σ w points).
    """
    # All pairs of points are tried as edges: there are few, and all at once are faster
    # than one after the other.
    n = len(points)
    flat = jax.lax.stop_gradient(points - x)
    a, edge = flat[:, None], flat[None, :] - flat[:, None]
    square = jnp.sum(edge * edge, -1)
    used = counts[:, None] & counts[None, :]
    is_segment = used & (square > 0)
    safe = jnp.where(is_segment, square, 1.0)
    outward = jnp.stack([edge[..., 1], -edge[..., 0]], -1)
    outward = outward / jnp.sqrt(safe)[..., None]
    offset = -jnp.sum(outward * a, -1)
    # Products and not a matrix product, so that the reduction takes no memory.
    beyond = outward[..., :1] * flat[:, 0] + outward[..., 1:] * flat[:, 1]
    beyond = beyond + offset[..., None]
    farthest = jnp.max(jnp.where(counts, beyond, -jnp.inf), -1)
    deepest = jnp.min(jnp.where(counts, beyond, jnp.inf), -1)
    is_edge = (
        is_segment
        & (farthest <= COLLINEARITY_TOLERANCE)
        & (deepest < -COLLINEARITY_TOLERANCE)
    )
    inside = jnp.where(is_edge, offset, -jnp.inf)
    along = jnp.clip(-jnp.sum(edge * a, -1) / safe, 0.0, 1.0)
    gap = a + along[..., None] * edge
    outside = jnp.where(used, jnp.sum(gap * gap, -1), jnp.inf)
    is_inside = jnp.any(is_edge) & (jnp.max(inside) <= 0)
    # Of points on one line, as two feet side by side have them, the outermost are its
    # ends: weights of points between them would extrapolate.
    nearest = inside >= jnp.max(inside) - COLLINEARITY_TOLERANCE
    longest = jnp.argmax(jnp.where(is_edge & nearest, square, -1.0))
    i, j = jnp.divmod(jnp.where(is_inside, longest, jnp.argmin(outside)), n)
    return _nearest_of_edge(x, points, i, j, is_inside)


def _nearest_of_edge(
    x: Float[jax.Array, "2"],
    points: Float[jax.Array, "n 2"],
    i: Int[jax.Array, ""],
    j: Int[jax.Array, ""],
    is_inside: Bool[jax.Array, ""],
) -> tuple[Float[jax.Array, "2"], Float[jax.Array, " n"]]:
    """Return direction and weights of one edge, with derivatives of any order."""
    a, edge = points[i], points[j] - points[i]
    square = jnp.sum(edge * edge)
    safe = jnp.where(square > 0, square, 1.0)
    t = jnp.sum(edge * (x - a)) / safe
    t = jnp.where(is_inside, t, jnp.clip(t, 0.0, 1.0))
    outward = jnp.stack([edge[1], -edge[0]]) / jnp.sqrt(safe)
    gap = x - a - t * edge
    length = norm(gap)
    away = gap / jnp.where(length > 0, length, 1.0)
    index = jnp.arange(len(points))
    weights = jnp.where(index == i, 1 - t, 0.0) + jnp.where(index == j, t, 0.0)
    return jnp.where(is_inside, outward, away), weights


def balance_margin(R: Float[jax.Array, "frames 3 3"], p: Stack, **params: Array) -> Row:
    """Distance of the centre of mass from the support polygon, seen from above [m].

    The polygon is the convex hull of the lowest points of the feet, along z of the
    world. The distance is negative inside, where it is that from the nearest edge: a
    robot at rest stands (Vukobratović and Borovac, "Zero-moment point", 2004). The
    centre of mass is that of all bodies that the base of the robot carries.
    """
    return balance_of(R, p, **params).distance


def linearize_balance(
    R: Float[jax.Array, "*instances frames 3 3"],
    p: Float[jax.Array, "*instances frames 3"],
    **params: Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return `balance_margin` with forces and moments, see `Symbol`."""
    if p.ndim == 2:
        return _linearize(R, p, params)
    params_axis = 0 if params["foot"].ndim > 1 else None
    return jax.vmap(_linearize, (0, 0, params_axis))(R, p, params)


def _linearize(
    R: jax.Array, p: jax.Array, params: TracedArrays
) -> tuple[jax.Array, jax.Array, jax.Array]:
    balance = balance_of(R, p, **params)
    mass, feet = params["mass"], len(p) - len(params["mass"])
    up = jnp.append(balance.direction, 0.0)
    # The centre of mass moves with the bodies, by their share of the mass, and the
    # nearest point moves against it with its feet, by their weights.
    shares = mass / jnp.sum(mass)
    of_foot = jnp.where(balance.foot == jnp.arange(feet)[:, None], balance.weights, 0.0)
    force = jnp.concatenate([-jnp.sum(of_foot, 1), shares])[:, None] * up
    lever = jnp.concatenate(
        [
            -jnp.sum(of_foot[..., None] * balance.points, 1),
            shares[:, None] * balance.centres,
        ]
    )
    return balance.distance, force[None], jnp.cross(lever, up)[None]

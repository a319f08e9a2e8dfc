"""Nearest contacts: the few points of a stack that can touch after it has settled.

Most points are on faces that look away from each other. All are measured, but only the
nearest ones go into equations of equilibrium, which are far larger.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.arrays import Array

from ..smooth_extrema import smallest
from .stack_contacts import ContactPoints

UNSUPPORTED_GAP = 10.0
"""Gap of points that cannot hold an object [m], larger than all others, so that it is
never the least one."""


class NearestContacts(NamedTuple):
    """The nearest points, and how near the others are."""

    points: ContactPoints
    holds: Float[Array, "n objects"]
    """One-hot index of the object that each point can hold."""
    beyond: Float[jax.Array, " n"]
    """Gap of each point beyond that of the nearest point of its object [m]."""
    others_beyond: Float[jax.Array, ""]
    """Least such gap of points that are left out [m]."""


def nearest_contacts(points: ContactPoints, count: int) -> NearestContacts:
    """Return the points with the least gaps beyond those of the nearest ones.

    After an object has settled by its least gap, points touch that are as near as the
    nearest one.

    Args:
        points: all points.
        count: number of points that are kept, if there are more.
    """
    holds, beyond = _gaps_beyond(points)
    if len(points.gap) <= count:
        far = jnp.asarray(UNSUPPORTED_GAP, points.gap.dtype)
        return NearestContacts(points, holds, beyond, far)
    measured = jax.lax.stop_gradient(beyond)
    measured = jnp.where(points.weight > 0, measured, UNSUPPORTED_GAP)
    order = jnp.argsort(measured)
    nearest: ContactPoints = jax.tree.map(
        lambda x: jnp.asarray(x)[order[:count]], points
    )
    # The nearest points are kept, so that gaps beyond them stay the same.
    return NearestContacts(nearest, *_gaps_beyond(nearest), measured[order[count]])


def _gaps_beyond(points: ContactPoints) -> tuple[jax.Array, jax.Array]:
    """Return which object each point can hold (n, objects), and gaps beyond the least.

    The least gap is that of the nearest point that can hold the same object.
    """
    # Of two objects that both move, either may be the upper one.
    is_upright = points.normal[:, 2:] > 0
    holds = jnp.where(is_upright, points.upper, points.lower)
    near = (points.gap + UNSUPPORTED_GAP * (1 - points.weight))[:, None]
    least = smallest(jnp.where(holds > 0, near, UNSUPPORTED_GAP))
    return holds, points.gap - holds @ least

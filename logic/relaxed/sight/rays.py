"""Rays between pixels that hit the parts of targets; see `sight_targets`.

Camera coordinates: x is depth, y left, z up.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.symbol import Arrays, TracedArrays

from ...errors import PredicateError
from ...geometry.frame_groups import FrameGroup
from ...margins import RAY_CLEARANCE, STRICT_MARGIN
from ...smooth_extrema import largest, smallest
from .targets import sight_targets

NORM_EPSILON = 1e-12
"""Added to squared norms, so that their square roots have a derivative at 0 [m²]."""


def target_arrays(a: FrameGroup, positions: Sequence[int]) -> Arrays:
    """Return the arrays of the targets in an object.

    Args:
        a: the object.
        positions: of its frames with shapes, among its frames.

    Raises:
        PredicateError: for objects that are too thin.
    """
    owned_targets = sight_targets([a.C.frames[a.frames[i]] for i in positions])
    if owned_targets is None:
        raise PredicateError(
            f"{a.name!r} has no part thick enough to be seen for sure; give it a"
            " shape of more than 0.2 mm in each direction that is no plane."
        )
    owner, targets = owned_targets
    arrays = targets._asdict() | {"at": np.array(positions)[owner]}
    return arrays | {"scale": np.median(targets.semi_axes, 1)}


def norm(x: Float[jax.Array, "*n d"]) -> Float[jax.Array, "*n"]:
    """Return lengths, a little too long where they are nearly 0."""
    return jnp.sqrt(jnp.sum(x * x, -1) + NORM_EPSILON)


def apply_inverse(R: jax.Array, x: jax.Array) -> Float[jax.Array, "n 3"]:
    """Return Rᵀ x for each of n rotations."""
    return jnp.einsum("nji,nj->ni", R, x)


def target_hits(
    rays: Float[jax.Array, "n k 3"],
    turn: jax.Array,
    origin: jax.Array,
    arrays: TracedArrays,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return whether rays hit the parts of targets, and between which depths.

    A ray hits if it is in the part where it passes the target.

    Args:
        rays: of unit depth, in camera coordinates; each of k must hit.
        turn: orientation of the camera in each target's frame.
        origin: of the camera in each target's frame [m].
        arrays: of the targets.

    Returns:
        A value at most 0 only where rays hit [m], and bounds of the depths at which
        they are inside for sure and hit at the latest [m].
    """
    r = jnp.einsum("nij,nkj->nki", turn, rays)
    # With the ellipsoid as the unit ball about the origin, the ray passes the target
    # at the depth g·r / r·r.
    to_ball = arrays["axes"] / arrays["semi_axes"][:, :, None]
    in_ball = lambda x: jnp.einsum("nij,nkj->nki", to_ball, x)
    r_ball = in_ball(r)
    square = jnp.sum(r_ball * r_ball, -1) + NORM_EPSILON
    g = in_ball((arrays["point"] - origin)[:, None])
    passing = jnp.sum(g * r_ball, -1) / square
    x = origin[:, None] + passing[:, :, None] * r
    distance = norm(in_ball(x - arrays["centre"][:, None]))
    planes = arrays["planes"]
    beyond = jnp.einsum("nfj,nkj->nkf", planes[:, :, :3], x) - planes[:, None, :, 3]
    beyond = largest(jnp.moveaxis(beyond, -1, 0))
    missed = jnp.minimum(arrays["scale"][:, None] * (distance - 1), beyond)
    # A ball of radius 1 - d in the unit ball, or of the distance from the planes, is
    # inside of the part, and the ray has crossed it.
    crossed = jnp.maximum((1 - distance) / jnp.sqrt(square), -beyond / norm(r))
    entry = passing - jnp.maximum(crossed, 0.0)
    return largest(missed.T) + STRICT_MARGIN, smallest(passing.T), largest(entry.T)


def hit_before_near(
    ray: jax.Array,
    spread: jax.Array,
    turn: jax.Array,
    origin: jax.Array,
    arrays: TracedArrays,
) -> Float[jax.Array, " n"]:
    """Return values at most 0 only where parts are not hit before the near plane [m].

    The segment from the camera to the near plane must be beside the box of the part
    along one of the box's axes.
    """
    end = origin + arrays["near"] * jnp.einsum("nij,nj->ni", turn, ray)
    ends = [
        jnp.einsum("nij,nj->ni", arrays["axes"], x - arrays["box_centre"])
        for x in (origin, end)
    ]
    beside = jnp.maximum(jnp.minimum(*ends), -jnp.maximum(*ends)) - arrays["box_half"]
    return RAY_CLEARANCE + spread * arrays["near"] - largest(beside.T)

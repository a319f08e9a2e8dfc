"""Segments of lines of sight, which parts cross or leave free."""

from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision

from ...margins import RAY_CLEARANCE
from ...smooth_extrema import largest
from .rays import norm


def free_lines(
    start: Float[jax.Array, "n 3"],
    end: Float[jax.Array, "n 3"],
    eye: Float[jax.Array, "3"],
    clearance: Float[jax.Array, " n"],
    others: Iterable[collision.Body],
) -> list[Float[jax.Array, "n _"]]:
    """Return values at most 0 only where segments are clear of parts [m].

    Parts that contain the camera do not count, as in the exact check.

    Args:
        start: one end of each segment, in the world.
        end: the other end.
        eye: origin of the camera.
        clearance: least distance of each segment from parts [m].
        others: the parts, one batch for each kind.
    """
    values = []
    for lines, camera in _distances(start, end, eye, others):
        inside = RAY_CLEARANCE + camera
        clear = clearance[:, None] - lines
        values.append(jnp.where(inside <= 0, inside, clear))
    return values


def hidden_boxes(
    corners: Float[jax.Array, "n 8 3"],
    eye: Float[jax.Array, "3"],
    near: Float[jax.Array, ""],
    others: Iterable[collision.Body],
) -> list[Float[jax.Array, "m n"]]:
    """Return values at most 0 only where a part hides all of a box from a camera [m].

    The shadow of a convex part, {e + s (x - e): x in the part, s >= 1} for a camera at
    e, is convex. So it contains a box if it contains its corners: if the part crosses
    the segments from the camera to them.

    Args:
        corners: of each box, in the world.
        eye: origin of the camera.
        near: distance from the camera up to which parts hide nothing [m].
        others: the parts that may hide boxes, one batch for each kind.
    """
    end = corners.reshape(-1, 3)
    start = jnp.broadcast_to(eye, end.shape)
    values = []
    for lines, camera in _distances(start, end, eye, others):
        missed = largest(jnp.moveaxis(lines.reshape(len(corners), 8, -1), 1, 0))
        too_near = jnp.broadcast_to(near - camera, missed.shape)
        values.append(largest(jnp.stack([missed, too_near])).T + RAY_CLEARANCE)
    return values


def _distances(
    start: Float[jax.Array, "n 3"],
    end: Float[jax.Array, "n 3"],
    eye: Float[jax.Array, "3"],
    others: Iterable[collision.Body],
) -> Iterator[tuple[Float[jax.Array, "n m"], Float[jax.Array, "1 m"]]]:
    """Yield signed distances of parts from segments, and from the camera [m]."""
    lines = collision.Body(*_segments(start, end, eye))
    for body in others:
        d = collision.contact(lines, jax.tree.map(lambda x: x[None], body)).distance
        yield d[:-1], d[-1:]


def _segments(start: jax.Array, end: jax.Array, eye: jax.Array) -> Any:
    """Return core, radius and pose of segments, and of the camera as a point.

    The point is the last of them. The arrays have one more axis, for parts.
    """
    along = jnp.concatenate([end - start, jnp.array([[0.0, 0, 1]], end.dtype)])
    length = norm(along)
    z = along / length[:, None]
    # Any x axis will do; the coordinate axis farthest from z makes it well-defined.
    farthest = jnp.argmin(jnp.abs(jax.lax.stop_gradient(z)), -1)
    x = jnp.cross((farthest[:, None] == np.arange(3)).astype(z.dtype), z)
    x = x / norm(x)[:, None]
    zero = jnp.zeros_like(length)
    half = jnp.concatenate([length[:-1] / 2, zero[-1:]])
    core = collision.Box(jnp.stack([zero, zero, half], -1)[:, None])
    R = jnp.stack([x, jnp.cross(z, x), z], -1)
    middle = jnp.concatenate([(start + end) / 2, eye[None]])
    return core, zero[:, None], R[:, None], middle[:, None]

"""Fractions of straight motions that are free, many at a time.

Places along all motions form one queue, from which batches of equal size are checked.
Every fourth place of a motion comes first, since most blocked motions are found so;
what lies behind a place that is blocked is left out.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.arrays import Array
from posewise.compilation.compaction import gather
from posewise.robots.kinematics.manifold import integrate
from posewise.robots.kinematics.tree import KinematicTree

from .place_check import PlaceCheck

BATCH_SIZE = 64
"""Number of places that are checked at a time (count). More waste more work on the last
ones of a queue, and behind places that are blocked; fewer vectorise worse."""
COARSE_STEP = 4
"""Number of places of a motion of which one is checked first (count). With fewer,
places are checked in vain that lie behind a blocked one; with more, blocked ones are
found later."""


class _Queue(NamedTuple):
    """Progress of the check of some motions."""

    is_fine: Int[jax.Array, ""]
    """0: every fourth place is checked; 1: the others."""
    checked: Int[jax.Array, " n"]
    """Number of places checked of each motion since that changed."""
    free: Int[jax.Array, " n"]
    """Number of places before the first one that is known to be blocked."""


def free_fraction(
    is_free: PlaceCheck,
    tree: KinematicTree,
    start: Float[Array, "n nq"],
    step: Float[Array, "n nv"],
    parts: Int[Array, " n"],
) -> Float[jax.Array, " n"]:
    """Return the fraction of each straight motion on which all checks succeed.

    Args:
        is_free: the check of places.
        tree: the kinematics' tree.
        start: where the motions begin; that place itself is not checked.
        step: tangent vectors to their ends.
        parts: number of places along each motion, the last one at its end; 0: none.
    """
    lane = jnp.arange(BATCH_SIZE, dtype=parts.dtype)

    def check(queue: _Queue) -> _Queue:
        waiting = _waiting(queue, parts)
        until = jnp.cumsum(waiting, dtype=parts.dtype)
        before = until - waiting
        motion = jnp.sum(until[None] <= lane[:, None], 1, dtype=parts.dtype)
        is_valid = lane < until[-1]
        motion = jnp.minimum(motion, len(parts) - 1)
        index = gather(queue.checked - before, motion) + lane
        number = jnp.where(
            queue.is_fine > 0,
            index + index // (COARSE_STEP - 1),
            jnp.minimum(COARSE_STEP * (index + 1), gather(parts, motion)) - 1,
        )
        fraction = (number + 1) / jnp.maximum(gather(parts, motion), 1)
        change = fraction[:, None].astype(step.dtype) * gather(step, motion)
        q = integrate(tree, gather(start, motion), change)
        is_blocked = is_valid & ~is_free(q, is_valid)
        of_motion = motion[None] == jnp.arange(len(parts))[:, None]
        blocked = jnp.where(of_motion & is_blocked, number, np.iinfo(np.int32).max)
        free = jnp.minimum(queue.free, blocked.min(1))
        checked = queue.checked + jnp.clip(BATCH_SIZE - before, 0, waiting)
        queue = _Queue(queue.is_fine, checked, free)
        is_done = (jnp.sum(_waiting(queue, parts)) == 0).astype(parts.dtype)
        is_next = is_done * (1 - queue.is_fine)
        return _Queue(queue.is_fine + is_next, checked * (1 - is_next), free)

    nothing = jnp.zeros_like(parts)
    queue = jax.lax.while_loop(
        lambda queue: jnp.sum(_waiting(queue, parts)) > 0,
        check,
        _Queue(nothing[0], nothing, jnp.asarray(parts)),
    )
    return queue.free / jnp.maximum(parts, 1).astype(step.dtype)


def _waiting(queue: _Queue, parts: Int[Array, " n"]) -> Int[Array, " n"]:
    """Return the number of places of each motion that are still to be checked."""
    is_open = queue.free == parts
    coarse = jnp.where(
        is_open, (parts + COARSE_STEP - 1) // COARSE_STEP, queue.free // COARSE_STEP
    )
    # The last place belongs to the coarse ones.
    below = jnp.maximum(jnp.minimum(queue.free, parts - 1), 0)
    fine = below - below // COARSE_STEP
    return jnp.maximum(jnp.where(queue.is_fine > 0, fine, coarse) - queue.checked, 0)

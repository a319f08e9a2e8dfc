"""Sums over pairs of frames that are near: the work is that of those, not of all.

Of pairs of single convex bodies. Bounding balls tell which are near; only these are
posed, and measured exactly. What vmap makes a batch is one list of pairs.

Where nothing overlaps a sum is zero, and tells nothing of what is near. With a slack it
is minus the least gap there, down to minus the slack: as an inequality, the same.
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from ..collision import Body, HalfSpace, bound, contact
from ..collision.broad import bounding_radius
from ..collision.needed import added, least, members, no_members, noted, over, taken
from ..collision.once import once
from ..robots.meetings import Kinds, Meeting

CHUNK, FEW = 32, 8
"""How many pairs are bounded, and measured, at a time."""


def ball_arrays(
    meets: list[Meeting], at: np.ndarray, frames: int
) -> dict[str, np.ndarray]:
    """Of each frame its body's pose and ball, and of each pair its two frames.

    Args:
        meets: pairs of bodies, one for each pair of frames.
        at: of each pair of frames, their places (pairs, 2).
        frames: how many places there are.
    """
    pose, reach = np.zeros((frames, 3, 4)), np.zeros(frames)
    arrays = {}
    for g, meet in enumerate(meets):
        for side, own in (("a", 0), ("b", 1)):
            bodies = getattr(meet, side)
            place = at[meet.pair, np.where(meet.flipped, 1 - own, own)]
            plane = bodies.kind[0] is HalfSpace
            size = np.inf if plane else bounding_radius(bodies.body.core)
            pose[place, :, :3], pose[place, :, 3] = bodies.body.R, bodies.body.p
            reach[place] = size + bodies.body.radius
            arrays[f"place_{side}{g}"] = place
    return arrays | {"pose": pose, "reach": reach}


def near_sum(
    kinds: Kinds,
    R: Float[jax.Array, "*batch frames 3 3"],
    p: Float[jax.Array, "*batch frames 3"],
    params: dict[str, jax.Array],
) -> tuple[Float[jax.Array, "*batch"], Float[jax.Array, "*batch frames 6"]]:
    """Σ max(0, margin - distance) [m], and the wrench it is to each frame.

    With a slack: see above. The params may have the first ones of the leading axes.
    """
    return _near_sum(kinds)(R, p, params)


@lru_cache(maxsize=256)
def _near_sum(kinds: Kinds) -> Any:
    @custom_vmap
    def total(R: Any, p: Any, params: Any) -> Any:
        batch, frames = p.shape[:-2], p.shape[-2]
        own = params["reach"].ndim - 1
        flat = lambda x, axes: x.reshape(-1, *x.shape[axes:])
        params = {k: flat(v, own) for k, v in params.items()}
        R, p = flat(R, len(batch)), flat(p, len(batch))
        y, wrench = _sums(kinds, R, p, params)
        return y.reshape(batch), wrench.reshape(*batch, frames, 6)

    @total.def_vmap
    def spread(size: int, batched: Any, R: Any, p: Any, params: Any) -> Any:
        wide = lambda x, b: x if b else jnp.broadcast_to(x, (size, *jnp.shape(x)))
        R, p = wide(R, batched[0]), wide(p, batched[1])
        if params["reach"].ndim > 1 or any(batched[2].values()):
            params = {k: wide(v, batched[2][k]) for k, v in params.items()}
        return total(R, p, params), (True, True)

    return total


def _sums(kinds: Kinds, R: Any, p: Any, params: Any) -> tuple[jax.Array, jax.Array]:
    """Of n rows, of which n / m after each other share one of m rows of params."""
    n, frames = p.shape[:2]
    shared = n // len(params["margin"])
    poses = once(partial(_posed, shared), R, p, params["pose"])
    slack = jnp.repeat(params["slack"], shared)
    reach = params["margin"] + params["slack"]
    # of each row the least gap, its wrench, and the frames
    nearest = jnp.concatenate([slack[:, None], jnp.zeros((n, 8), p.dtype)], 1)
    sums = jnp.zeros((n, 1), p.dtype), jnp.zeros((n * frames, 6), p.dtype), nearest
    for g, types in enumerate(kinds):
        many = params[f"place_a{g}"].shape[1]

        def posed(k: jax.Array, g=g, types=types, many=many) -> Any:
            k = k.astype(np.int32)  # division takes less time
            pair = jax.lax.div(k, np.int32(shared))
            own = jax.lax.div(pair, np.int32(many))
            at = _At(own * shared + k - pair * shared, pair)
            of = lambda side, core: _bodies(core, side, g, at, poses, params)
            return at.row, own, of("a", types[0]), of("b", types[1])

        def may_be(pair: Any, counts: Any, near: Any, posed: Any = posed) -> Any:
            _, own, (_, a), (_, b) = once(posed, pair)
            lower = once(lambda a, b: bound(a, b)[0], a, b)
            return noted(near, pair, counts & (lower < reach[own]))

        def measured(pair: Any, counts: Any, sums: Any, posed: Any = posed) -> Any:
            y, wrench, nearest = sums
            row, own, (i, a), (j, b) = once(posed, pair)
            out = contact(a, b)
            short = params["margin"][own] - out.distance
            inside = counts & (short > 0)
            moment = jnp.cross(out.point_a, out.normal)
            push = -jnp.concatenate([out.normal, moment], -1)
            gap = jnp.where(counts, -short, jnp.inf)[:, None]
            ends = jnp.stack([i, j], -1).astype(p.dtype)
            nearest = least(nearest, row, jnp.concatenate([gap, push, ends], -1))
            push = jnp.where(inside[:, None], push, 0.0)
            y = added(y, row, jnp.where(inside, short, 0.0)[:, None])
            return y, added(added(wrench, i, push), j, -push), nearest

        places = params[f"place_a{g}"], params[f"place_b{g}"]
        near = _near(poses, params["reach"], reach, *places)
        nearer = over(members(near), CHUNK, may_be, no_members(len(near)))
        sums = over(nearer, FEW, measured, sums)
    y, wrench, nearest = sums
    gap, push, ends = nearest[:, 0], nearest[:, 1:7], nearest[:, 7:].astype(int)
    free = gap > 0
    push = jnp.where(free[:, None], push, 0.0)
    wrench = added(added(wrench, ends[:, 0], push), ends[:, 1], -push)
    return jnp.where(free, -gap, y[:, 0]), wrench


def _posed(shared: int, R: Any, p: Any, local: Any) -> jax.Array:
    """Poses [R p] of bodies in the world: (m, shared, frames, 3, 4)."""
    by_params = lambda x: x.reshape(-1, shared, *x.shape[1:])
    R, p, local = by_params(R), by_params(p), local[:, None]
    turned = sum(R[..., k, None] * local[..., k, None, :] for k in range(3))
    return turned + p[..., None] * np.array([0, 0, 0, 1], p.dtype)


def _near(
    poses: jax.Array, size: jax.Array, reach: jax.Array, a: jax.Array, b: jax.Array
) -> jax.Array:
    """Of all pairs, one after the other, in all rows: whether balls are near."""
    rows_last = lambda x: tuple(jnp.moveaxis(x[..., i, 3], 1, 2) for i in range(3))
    take = lambda x, at: jnp.take_along_axis(
        x, at[:, :, None], 1, mode="promise_in_bounds"
    )
    apart = lambda x, a, b: take(x, a) - take(x, b)
    away = [once(apart, x, a, b) for x in once(rows_last, poses)]
    square = away[0] ** 2 + away[1] ** 2 + away[2] ** 2
    limits = lambda x, a, b, reach: take(x, a) + take(x, b) + reach[:, None, None]
    limit = once(limits, size[..., None], a, b, reach)
    return ((limit > 0) & (square < limit * limit)).reshape(-1)


class _At(NamedTuple):
    """Of some pairs, counted over all rows."""

    row: jax.Array
    own: jax.Array
    """Place among the pairs of params."""


def _bodies(
    core: Any, side: str, g: int, at: _At, poses: jax.Array, params: Any
) -> tuple[jax.Array, Body]:
    """Frames of some pairs, counted over all rows, and their bodies in the world."""
    frames, n = poses.shape[2], len(core._fields)
    own = lambda x: taken(x.reshape(-1, *x.shape[2:]), at.own)
    frame = at.row * frames + own(params[f"place_{side}{g}"])
    sizes = [own(params[f"{side}{g}_{k}"]) for k in range(n + 1)]
    pose = taken(poses.reshape(-1, 3, 4), frame)
    return frame, Body(core(*sizes[:n]), sizes[n], pose[..., :3], pose[..., 3])

"""Sums over pairs of frames that are near: the work is that of those, not of all.

Of pairs of single convex bodies. Bounding balls tell which are near; only these are
posed, and measured exactly. What vmap makes a batch is one list of pairs.

Where nothing overlaps a sum is zero, and tells nothing of what is near. With a slack it
is minus the least gap there, down to minus the slack: as an inequality, the same.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float

from ..collision import Body, HalfSpace, bound, contact
from ..collision.broad import bounding_radius
from ..collision.needed import added, least, members, no_members, noted, over
from ..robots.meetings import Kinds, Meeting

CHUNK, FEW = 32, 8
"""How many pairs are bounded, and measured, at a time."""


def ball_arrays(
    meets: list[Meeting], at: np.ndarray, frames: int
) -> dict[str, np.ndarray]:
    """Of each frame the ball about its body, and of each pair its two frames.

    Args:
        meets: pairs of bodies, one for each pair of frames.
        at: of each pair of frames, their places (pairs, 2).
        frames: how many places there are.
    """
    centre, reach = np.zeros((frames, 3)), np.zeros(frames)
    arrays = {}
    for g, meet in enumerate(meets):
        for side, own in (("a", 0), ("b", 1)):
            bodies = getattr(meet, side)
            place = at[meet.pair, np.where(meet.flipped, 1 - own, own)]
            plane = bodies.kind[0] is HalfSpace
            size = np.inf if plane else bounding_radius(bodies.body.core)
            centre[place], reach[place] = bodies.body.p, size + bodies.body.radius
            arrays[f"place_{side}{g}"] = place
    return arrays | {"centre": centre, "reach": reach}


def near_sum(
    kinds: Kinds,
    R: Float[jax.Array, "frames 3 3"],
    p: Float[jax.Array, "frames 3"],
    params: dict[str, jax.Array],
) -> tuple[Float[jax.Array, ""], Float[jax.Array, "frames 6"]]:
    """Σ max(0, margin - distance) [m], and the wrench it is to each frame.

    With a slack: see above.
    """
    return _near_sum(kinds)(R, p, params)


@lru_cache(maxsize=256)
def _near_sum(kinds: Kinds) -> Any:
    @custom_vmap
    def total(R: Any, p: Any, params: Any) -> Any:
        """Params have the leading axes of R and p, or only the first ones."""
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
    by_params = lambda x: x.reshape(-1, shared, *x.shape[1:])
    offset = jnp.sum(by_params(R) * params["centre"][:, None, :, None, :], -1)
    centre = by_params(p) + offset
    slack = jnp.repeat(params["slack"], shared)
    reach = params["margin"] + params["slack"]
    # of each row the least gap, its wrench, and the frames
    nearest = jnp.concatenate([slack[:, None], jnp.zeros((n, 8), p.dtype)], 1)
    sums = jnp.zeros((n, 1), p.dtype), jnp.zeros((n * frames, 6), p.dtype), nearest
    for g, types in enumerate(kinds):
        many = params[f"place_a{g}"].shape[1]

        def posed(pair: jax.Array, g=g, types=types, many=many) -> Any:
            row = pair // many
            at = _At(row, row // shared * many + pair % many)
            of = lambda side, core: _bodies(core, side, g, at, R, p, params)
            return row, row // shared, of("a", types[0]), of("b", types[1])

        def may_be(pair: Any, counts: Any, near: Any, posed: Any = posed) -> Any:
            _, own, (_, a), (_, b) = posed(pair)
            return noted(near, pair, counts & (bound(a, b)[0] < reach[own]))

        def measured(pair: Any, counts: Any, sums: Any, posed: Any = posed) -> Any:
            y, wrench, nearest = sums
            row, own, (i, a), (j, b) = posed(pair)
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
        near = _near(centre, params["reach"], reach, *places)
        nearer = over(members(near), CHUNK, may_be, no_members(len(near)))
        sums = over(nearer, FEW, measured, sums)
    y, wrench, nearest = sums
    gap, push, ends = nearest[:, 0], nearest[:, 1:7], nearest[:, 7:].astype(int)
    free = gap > 0
    push = jnp.where(free[:, None], push, 0.0)
    wrench = added(added(wrench, ends[:, 0], push), ends[:, 1], -push)
    return jnp.where(free, -gap, y[:, 0]), wrench


def _near(
    centre: Any, size: jax.Array, reach: jax.Array, a: jax.Array, b: jax.Array
) -> jax.Array:
    """Of all pairs, whether the balls are nearer than `reach`."""
    take = lambda x, at: jnp.take_along_axis(x, at[:, None], 2)
    away = [take(centre[..., i], a) - take(centre[..., i], b) for i in range(3)]
    square = away[0] ** 2 + away[1] ** 2 + away[2] ** 2
    of = lambda at: jnp.take_along_axis(size, at, 1)
    limit = (of(a) + of(b) + reach[:, None])[:, None]
    return ((limit > 0) & (square < limit * limit)).reshape(-1)


class _At(NamedTuple):
    """Of some pairs, counted over all rows."""

    row: jax.Array
    own: jax.Array
    """Place among the pairs of params."""


def _bodies(
    core: Any, side: str, g: int, at: _At, R: Any, p: Any, params: Any
) -> tuple[jax.Array, Body]:
    """Frames of some pairs, counted over all rows, and their bodies in the world."""
    frames, n = p.shape[1], len(core._fields)
    of = lambda name: params[name].reshape(-1, *params[name].shape[2:])[at.own]
    frame = at.row * frames + of(f"place_{side}{g}")
    leaves = [of(f"{side}{g}_{k}") for k in range(n + 3)]
    R_f, p_f = R.reshape(-1, 3, 3)[frame], p.reshape(-1, 3)[frame]
    p_b = p_f + jnp.sum(R_f * leaves[n + 2][:, None], -1)
    return frame, Body(core(*leaves[:n]), leaves[n], R_f @ leaves[n + 1], p_b)

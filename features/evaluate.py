"""From poses to values and wrenches; differences over time; target and scale.

A row's *wrench* on a frame is its derivative with respect to a spatial twist of that
frame about the world's origin: (moment, force). The Jacobian of any row is then a
product of wrenches and joint twists; nothing is differentiated through the kinematics.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..robots.kinematics import Kinematics
from ..robots.transforms import matrix_to_quat
from .symbol import Pose, Symbol


class Inputs(NamedTuple):
    """What one grounded feature looks at: `k + 1` slices, oldest first."""

    R: Float[jax.Array, "slices m 3 3"]
    p: Float[jax.Array, "slices m 3"]
    q: Float[jax.Array, "slices n"]
    tau: Float[jax.Array, ""]


class Linear(NamedTuple):
    """A value and its derivatives."""

    y: Float[jax.Array, " rows"]
    moment: Float[jax.Array, "rows slices m 3"]
    force: Float[jax.Array, "rows slices m 3"]
    dq: Float[jax.Array, "rows slices n"]


def value(
    symbol: Symbol, order: int, x: Inputs, params: dict, K: Kinematics | None = None
) -> Float[jax.Array, " rows"]:
    """φ of the given order, before target and scale; plain JAX."""
    signs = _signs(symbol, x)
    d = order - symbol.window
    coefficients = _coefficients(symbol, d, x.tau)
    total = 0.0
    for s in range(d + 1):
        part = slice(s, s + symbol.window + 1)
        args = (x.R[part], x.p[part], x.q[part])
        total = total + coefficients[s] * _call(
            symbol, *args, signs[part], x.tau, params, K
        )
    return jnp.asarray(total)


def linearize(
    symbol: Symbol, order: int, x: Inputs, params: dict, K: Kinematics | None = None
) -> Linear:
    """φ of the given order with its wrenches, before target and scale."""
    signs = _signs(symbol, x)
    d, w = order - symbol.window, symbol.window
    windows = np.arange(d + 1)[:, None] + np.arange(w + 1)

    def one(R, p, q, sign):
        def fn(R, p, q):
            y = _call(symbol, R, p, q, sign, x.tau, params, K)
            return y, y

        (dR, dp, dq), y = jax.jacrev(fn, argnums=(0, 1, 2), has_aux=True)(R, p, q)
        M = dR @ jnp.swapaxes(R, -1, -2)
        spin = jnp.stack(
            [
                M[..., 2, 1] - M[..., 1, 2],
                M[..., 0, 2] - M[..., 2, 0],
                M[..., 1, 0] - M[..., 0, 1],
            ],
            -1,
        )
        return Linear(y, spin + jnp.cross(p, dp), dp, dq)

    if d == 0:
        return one(x.R, x.p, x.q, signs)
    parts = jax.vmap(one)(x.R[windows], x.p[windows], x.q[windows], signs[windows])
    c = jnp.stack(_coefficients(symbol, d, x.tau))
    if w == 0:
        moved = (jnp.moveaxis(a[:, :, 0], 0, 1) for a in parts[1:])
        weight = (c.reshape((1, -1) + (1,) * (a.ndim - 3)) for a in parts[1:])
        spread = (a * b for a, b in zip(moved, weight, strict=True))
        return Linear(jnp.tensordot(c, parts.y, 1), *spread)

    def combine(a):
        out = jnp.zeros((a.shape[1], order + 1, *a.shape[3:]), a.dtype)
        for s in range(d + 1):
            out = out.at[:, s : s + w + 1].add(c[s] * a[s])
        return out

    return Linear(jnp.tensordot(c, parts.y, 1), *(combine(a) for a in parts[1:]))


def aim(
    symbol: Symbol,
    y: Float[jax.Array, " rows"],
    scale: Float[jax.Array, "*scale"],
    target: Float[jax.Array, " rows"],
) -> tuple[Float[jax.Array, " out"], Float[jax.Array, "*signs"]]:
    """`scale · (σ φ - target)`, and σ: the signs given to quaternion rows."""
    sigma = jnp.ones_like(y)
    if symbol.signless is not None:
        rows = symbol.signless
        flip = jnp.where(jnp.sum(y[rows] * target[rows]) < 0, -1.0, 1.0)
        sigma = sigma.at[rows].set(flip)
    sigma = jax.lax.stop_gradient(sigma)
    return apply_scale(scale, sigma * y - target), sigma


def apply_scale(scale: jax.Array, rows: jax.Array) -> jax.Array:
    """A vector scale element-wise, a matrix scale from the left; rows are axis 0."""
    if scale.ndim == 2:
        return jnp.tensordot(scale, rows, 1)
    return scale.reshape((-1,) + (1,) * (rows.ndim - 1)) * rows


def aimed(
    symbol: Symbol,
    order: int,
    x: Inputs,
    params: dict,
    scale: jax.Array,
    target: jax.Array,
    K: Kinematics | None = None,
) -> Linear:
    """`linearize`, then target and scale."""
    raw = linearize(symbol, order, x, params, K)
    y, sigma = aim(symbol, raw.y, scale, target)
    rest = (
        apply_scale(scale, sigma.reshape((-1,) + (1,) * (a.ndim - 1)) * a)
        for a in raw[1:]
    )
    return Linear(y, *rest)


def _call(symbol: Symbol, R, p, q, signs, tau, params, K) -> jax.Array:
    """The symbol's function on the slices of its own window."""
    extra = dict(params)
    if symbol.of == "joints":
        slices = [q[i] for i in range(symbol.window + 1)]
    else:
        slices = [
            tuple(Pose(R[i, j], p[i, j], signs[i, j]) for j in range(R.shape[1]))
            for i in range(symbol.window + 1)
        ]
    if symbol.kinematics:
        extra["K"] = K
    if symbol.window:
        return jnp.atleast_1d(symbol.fn(*slices, tau=tau, **extra))
    if symbol.of == "joints":
        return jnp.atleast_1d(symbol.fn(slices[0], **extra))
    return jnp.atleast_1d(symbol.fn(*slices[0], **extra))


def _coefficients(symbol: Symbol, d: int, tau: jax.Array) -> list[jax.Array]:
    """Of the d-th backward difference, oldest first."""
    unit = tau**d if symbol.rate else jnp.ones_like(tau)
    return [(-1) ** (d - s) * math.comb(d, s) / unit for s in range(d + 1)]


def _signs(symbol: Symbol, x: Inputs) -> jax.Array:
    """Signs of all quaternions: each frame's is continuous from the newest slice back,
    and in the newest slice each frame's is on the side of the first frame's."""
    slices, m = x.p.shape[:2]
    if not symbol.quaternions or slices * m == 1:
        return jnp.ones((slices, m), x.p.dtype)
    quats = matrix_to_quat(jax.lax.stop_gradient(x.R))
    side = lambda dots: jnp.where(dots < 0, -1.0, 1.0)
    last = side(jnp.sum(quats[-1] * quats[-1, :1], -1))
    steps = side(jnp.sum(quats[1:] * quats[:-1], -1))
    back = jnp.cumprod(steps[::-1], 0)[::-1]
    signs = jnp.concatenate([back * last, last[None]], 0)
    return signs.astype(x.p.dtype)

"""From poses to values and wrenches; differences over time; target and scale.

A row's *wrench* on a frame is its derivative with respect to a spatial twist of that
frame about the world's origin: (moment, force). The Jacobian of any row is then a
product of wrenches and joint twists; nothing is differentiated through the kinematics.
"""

import math
from collections.abc import Container, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.typing import Array

from .collision_sums import PairSumBatch, sum_near_pairs
from .symbol import Pose, Symbol


class FeatureInputs(NamedTuple):
    """What one grounded feature looks at: `k + 1` slices, oldest first."""

    R: Float[Array, "slices m 3 3"]
    p: Float[Array, "slices m 3"]
    quaternion: Float[Array, "slices m 4"]
    """Zeros where the symbol does not ask for quaternions."""
    q: Float[Array, "slices n"]
    tau: Float[Array, " steps"]
    """Time from each slice to the next one [s]."""


class LinearizedFeature(NamedTuple):
    """A value and its derivatives."""

    y: Float[jax.Array, " rows"]
    moment: Float[jax.Array, "rows slices m 3"]
    force: Float[jax.Array, "rows slices m 3"]
    dq: Float[jax.Array, "rows slices n"]


def make_quaternions_continuous(quats: Array) -> Array:
    """Quaternions (slices, m, 4) with signs continuous from the newest slice back."""
    if len(quats) == 1:
        return quats
    xp = quats.__array_namespace__()
    steps = xp.where(xp.sum(quats[1:] * quats[:-1], -1, keepdims=True) < 0, -1.0, 1.0)
    back = xp.cumprod(xp.flip(steps, 0), 0)
    signs = xp.concatenate([xp.flip(back, 0), xp.ones_like(back[:1])], 0)
    return quats * signs.astype(quats.dtype)


@full_matmul_precision
def evaluate_symbol(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: dict,
    K: Kinematics | None = None,
) -> Float[jax.Array, " rows"]:
    """φ of the given order, before target and scale; plain JAX."""
    d = order - symbol.window
    coefficients = _difference_coefficients(symbol.divides_by_tau, d, x.tau)
    total: Any = 0.0
    for s in range(d + 1):
        part = slice(s, s + symbol.window + 1)
        args = (x.R[part], x.p[part], x.quaternion[part], x.q[part])
        tau = x.tau[s : s + symbol.window]
        total = total + coefficients[s] * _call_symbol(symbol, *args, tau, params, K)
    return jnp.asarray(total)


@full_matmul_precision
def linearize(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: dict,
    K: Kinematics | None = None,
) -> LinearizedFeature:
    """φ of the given order with its wrenches, before target and scale."""
    return _to_wrenches(symbol, x, *_differentiate(symbol, order, x, params, K))


@full_matmul_precision
def linearize_batch(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: dict,
    params_axis: int | None,
    K: Kinematics | None = None,
) -> LinearizedFeature:
    """`linearize` of many instances, along the first axis.

    Args:
        params_axis: that of params, None where all share them.
    """
    if symbol.value_and_wrenches is None or order:
        one = lambda x, params: _differentiate(symbol, order, x, params, K)
        return _to_wrenches(symbol, x, *jax.vmap(one, (0, params_axis))(x, params))
    y, force, moment = symbol.value_and_wrenches(x.R[:, 0], x.p[:, 0], **params)
    return _to_wrenches(symbol, x, y, force[:, :, None], moment[:, :, None])


def is_pair_sum(symbol: Symbol, order: int, params: Container[str]) -> bool:
    """Whether `linearize_pair_sums` takes it, with params of these names."""
    return symbol.pair_sum is not None and order == 0 and "reach" in params


@full_matmul_precision
def linearize_pair_sums(
    symbols: tuple[Symbol, ...], inputs: Sequence[FeatureInputs], params: Sequence[dict]
) -> list[LinearizedFeature]:
    """Return what `linearize_batch` does for sums over pairs, like ones together."""
    given = [(x.R[:, 0], x.p[:, 0], own) for x, own in zip(inputs, params, strict=True)]
    found = []
    for symbol, x, out in zip(
        symbols, inputs, _evaluate_pair_sums(symbols, given), strict=True
    ):
        y, force, moment = out
        found.append(_to_wrenches(symbol, x, y, force[:, :, None], moment[:, :, None]))
    return found


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _evaluate_pair_sums(symbols: tuple[Symbol, ...], given: Any) -> Any:
    parts: list[Any] = [symbol.pair_sum for symbol in symbols]
    kinds, params_of = zip(*parts, strict=True)
    pairs = zip(params_of, given, strict=True)
    found = sum_near_pairs(
        kinds, [PairSumBatch(R, p, of(own)) for of, (R, p, own) in pairs]
    )
    return [(y[:, None], w[:, None, :, :3], w[:, None, :, 3:]) for y, w in found]


@_evaluate_pair_sums.defjvp
def _pair_sums_jvp(symbols: tuple[Symbol, ...], primals: Any, tangents: Any) -> Any:
    def every(given: Any) -> Any:
        pairs: Any = zip(symbols, given, strict=True)
        return [tuple(s.value_and_wrenches(R, p, **own)) for s, (R, p, own) in pairs]

    return jax.jvp(every, primals, tangents)


def _differentiate(
    symbol: Symbol, order: int, x: FeatureInputs, params: dict, K: Kinematics | None
) -> tuple[jax.Array, ...]:
    """φ, and its derivatives (rows, slices, ...) by what the symbol looks at."""
    d, w = order - symbol.window, symbol.window
    windows = np.arange(d + 1)[:, None] + np.arange(w + 1)

    def one(R, p, quat, q, tau):
        if symbol.value_and_wrenches is not None:
            y, force, moment = symbol.value_and_wrenches(R[0], p[0], **params)
            return y, force[:, None], moment[:, None]

        def fn(R, p, quat, q):
            y = _call_symbol(symbol, R, p, quat, q, tau, params, K)
            return y, y

        of_poses = (0, 1, 2) if symbol.uses_quaternions else (0, 1)
        looked_at = (3,) if symbol.input_kind == "joints" else of_poses
        found, y = jax.jacrev(fn, argnums=looked_at, has_aux=True)(R, p, quat, q)
        return y, *found

    if d == 0:
        return one(*x)
    steps = x.tau[windows[:, :-1]]
    at = FeatureInputs(
        x.R[windows], x.p[windows], x.quaternion[windows], x.q[windows], steps
    )
    y, *slopes = jax.vmap(one)(*at)
    c = jnp.asarray(_difference_coefficients(symbol.divides_by_tau, d, x.tau))
    if w == 0:
        moved = (jnp.moveaxis(a[:, :, 0], 0, 1) for a in slopes)
        weight = (c.reshape((1, -1) + (1,) * (a.ndim - 3)) for a in slopes)
        spread = (a * b for a, b in zip(moved, weight, strict=True))
        return jnp.tensordot(c, y, 1), *spread

    def combine(a):
        none = [(0, 0)] * (a.ndim - 3)
        spread = [
            jnp.pad(c[s] * a[s], [(0, 0), (s, d - s), *none]) for s in range(d + 1)
        ]
        return sum(spread)

    return jnp.tensordot(c, y, 1), *map(combine, slopes)


def _to_wrenches(
    symbol: Symbol, x: FeatureInputs, y: jax.Array, *slopes: jax.Array
) -> LinearizedFeature:
    """What `_differentiate` gives, of one instance or of many, as wrenches."""
    none = lambda a, axes: jnp.zeros((*y.shape, *a.shape[-axes:]), y.dtype)
    if symbol.input_kind == "joints":
        return LinearizedFeature(y, none(x.p, 3), none(x.p, 3), slopes[0])
    if symbol.value_and_wrenches is not None:
        force, moment = slopes
        return LinearizedFeature(y, moment, force, none(x.q, 2))
    R, p, quat = x.R[..., None, :, :, :, :], x.p[..., None, :, :, :], x.quaternion
    moment = _moment_from_pose_derivative(R, p, *slopes[:2])
    if symbol.uses_quaternions:
        moment = moment + _moment_from_quaternion_derivative(
            quat[..., None, :, :, :], slopes[2]
        )
    return LinearizedFeature(y, moment, slopes[1], none(x.q, 2))


@full_matmul_precision
def linearize_per_coordinate(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: dict,
    params_axis: int | None,
    scale: Float[jax.Array, "n rows"],
    target: Float[jax.Array, "n rows"],
    K: Kinematics | None = None,
) -> tuple[Float[jax.Array, "n rows"], Float[jax.Array, "n slices rows"]]:
    """Rows of many instances of a symbol with `each`, after target and scale.

    And each row's derivative by the coordinate that it looks at, in each slice.

    Args:
        params_axis: that of params, None where all share them.
    """
    slices = jnp.eye(x.q.shape[1], dtype=x.q.dtype)

    def one(x: FeatureInputs, params: dict) -> tuple[jax.Array, jax.Array]:
        fn = lambda q: evaluate_symbol(symbol, order, x._replace(q=q), params, K)

        def along(own: jax.Array) -> tuple[jax.Array, jax.Array]:
            return jax.jvp(fn, (x.q,), (own[:, None] * jnp.ones_like(x.q),))

        return jax.vmap(along, out_axes=(None, 0))(slices)

    y, dq = jax.vmap(one, (0, params_axis))(x, params)
    y, sigma = apply_scale_and_target(symbol, y, scale, target)
    slope = scale if sigma is None else scale * sigma
    return y, slope[:, None] * dq


def apply_scale_and_target(
    symbol: Symbol,
    y: Float[jax.Array, "*batch rows"],
    scale: Float[jax.Array, "*batch_and_scale"],
    target: Float[jax.Array, "*batch rows"],
) -> tuple[Float[jax.Array, "*batch out"], Float[jax.Array, "*batch rows"] | None]:
    """`scale · (σ φ - target)`, and σ: the signs given to quaternion rows, if any."""
    sigma = None
    if symbol.quaternion_rows is not None:
        rows = symbol.quaternion_rows
        along = jnp.sum(y[..., rows] * target[..., rows], -1, keepdims=True)
        part = np.zeros(y.shape[-1], bool)
        part[rows] = True
        sigma = jnp.where(part & (along < 0), -1.0, 1.0).astype(y.dtype)
        y = sigma * y
    return apply_scale(scale, y - target, 0), sigma


@full_matmul_precision
def apply_scale(scale: jax.Array, rows: jax.Array, after: int) -> jax.Array:
    """A vector scale element-wise, a matrix scale from the left.

    Args:
        scale: (*batch, rows) or (*batch, out, rows).
        rows: (*batch, rows, ...).
        after: how many axes come after that of the rows.
    """
    first = rows.ndim - after
    if scale.ndim == first:
        return scale.reshape(*scale.shape, *[1] * after) * rows
    rest = rows.shape[first:]
    out = scale @ rows.reshape(*rows.shape[:first], math.prod(rest))
    return out.reshape(*out.shape[:-1], *rest)


def apply_scale_and_target_to_linearization(
    symbol: Symbol, raw: LinearizedFeature, scale: jax.Array, target: jax.Array
) -> LinearizedFeature:
    """What `linearize` gives, of one instance or of many, after target and scale."""
    y, sigma = apply_scale_and_target(symbol, raw.y, scale, target)

    def also(a: jax.Array) -> jax.Array:
        after = a.ndim - raw.y.ndim
        if sigma is not None:
            a = sigma.reshape(*sigma.shape, *[1] * after) * a
        return apply_scale(scale, a, after)

    return LinearizedFeature(y, *map(also, raw[1:]))


def difference_coefficients(
    order: int, tau: Float[jax.Array, "n steps"]
) -> Float[jax.Array, "n slices"]:
    """Of many instances, the share of each slice in a backward difference over time."""
    return jax.vmap(lambda tau: jnp.stack(_difference_coefficients(True, order, tau)))(
        tau
    )


def _moment_from_pose_derivative(R, p, dR, dp) -> jax.Array:
    """Derivative with respect to a turn about the world's origin."""
    # of a matrix M, the vector of M - Mᵀ: (M₂₁ - M₁₂, M₀₂ - M₂₀, M₁₀ - M₀₁)
    M = dR @ jnp.swapaxes(R, -1, -2) + dp[..., :, None] * p[..., None, :]
    M = M - jnp.swapaxes(M, -1, -2)
    return jnp.stack([M[..., 2, 1], M[..., 0, 2], M[..., 1, 0]], -1)


def _moment_from_quaternion_derivative(quat, dquat) -> jax.Array:
    """The same, by the quaternions: a turn ω moves one by ½ (0, ω) ⊗ q."""
    w, x, y, z = (quat[..., i] for i in range(4))
    spins = [(-x, w, -z, y), (-y, z, w, -x), (-z, -y, x, w)]
    half = [jnp.sum(dquat * jnp.stack(s, -1), -1) / 2 for s in spins]
    return jnp.stack(half, -1)


def _call_symbol(symbol: Symbol, R, p, quat, q, tau, params, K) -> jax.Array:
    """The symbol's function on the slices of its own window."""
    extra = dict(params)
    if symbol.takes_frame_stack:
        return symbol.fn(R[0], p[0], **extra)
    if symbol.input_kind == "joints":
        slices = [q[i] for i in range(symbol.window + 1)]
    else:
        slices = [
            tuple(Pose(R[i, j], p[i, j], quat[i, j]) for j in range(R.shape[1]))
            for i in range(symbol.window + 1)
        ]
    if symbol.uses_kinematics:
        extra["K"] = K
    if symbol.window:
        tau = tau[0] if symbol.window == 1 else tau
        return jnp.atleast_1d(symbol.fn(*slices, tau=tau, **extra))
    if symbol.input_kind == "joints":
        return jnp.atleast_1d(symbol.fn(slices[0], **extra))
    return jnp.atleast_1d(symbol.fn(*slices[0], **extra))


def _difference_coefficients(rate: bool, d: int, tau: Array) -> list[Any]:
    """Of the d-th backward difference, oldest first.

    Differences are over the time between the middles of what is subtracted.
    """
    if d == 0 or not rate:
        return [float((-1) ** (d - s) * math.comb(d, s)) for s in range(d + 1)]
    mean = tau.mean()
    if d == 1:
        return [-1 / mean, 1 / mean]
    into, out = 1 / (tau[0] * mean), 1 / (tau[1] * mean)
    return [into, -(into + out), out]

"""Values of features, and their wrenches on frames.

A row's *wrench* on a frame is its derivative with respect to a spatial twist of that
frame about the world's origin: (moment, force). The Jacobian of any row is then a
product of wrenches and joint twists (Featherstone 2008, chapter 2), so that nothing is
differentiated through the kinematics.
"""

from collections.abc import Container, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.zero_tangents import jvp_of_changes
from posewise.robots.kinematics.forward import Kinematics
from posewise.robots.typing import Array

from .differences import backward_difference
from .linearized_feature import FeatureInputs, LinearizedFeature
from .pairs.sums import PairSumBatch, sum_near_pairs
from .scaling import apply_scale_and_target
from .symbol import PERIOD, Symbol, TracedArrays
from .symbol_kinds import StackSymbol


def make_quaternions_continuous(quats: Array) -> Array:
    """Return quaternions (slices, m, 4), signs continuous from the newest slice back.

    q and -q are the same rotation, so each quaternion takes the sign with which it is
    closer to the next one.
    """
    if len(quats) == 1:
        return quats
    xp = quats.__array_namespace__()
    steps = xp.where(xp.sum(quats[1:] * quats[:-1], -1, keepdims=True) < 0, -1.0, 1.0)
    # A flip between two slices turns all older ones, hence the product from the newest
    # back, which keeps its own sign.
    back = xp.cumprod(xp.flip(steps, 0), 0)
    signs = xp.concatenate([xp.flip(back, 0), xp.ones_like(back[:1])], 0)
    return quats * signs.astype(quats.dtype)


@full_matmul_precision
def evaluate_symbol(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: TracedArrays,
    K: Kinematics | None = None,
) -> Float[jax.Array, " rows"]:
    """Return φ of the given order, before target and scale, as plain JAX."""
    d = order - symbol.window
    coefficients = backward_difference(symbol.divides_by_tau, d, x.tau)
    # A symbol of window w is differenced d times over windows that overlap: order k is
    # w + d, and window s covers the slices s, …, s + w.
    total: Any = 0.0
    for s in range(d + 1):
        part = slice(s, s + symbol.window + 1)
        poses = x.R[part], x.p[part], x.quaternion[part]
        tau = x.tau[s : s + symbol.window]
        window = FeatureInputs(*poses, x.q[part], tau)
        total = total + coefficients[s] * symbol.evaluate(window, params, K)
    return jnp.asarray(total)


@full_matmul_precision
def linearize(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: TracedArrays,
    K: Kinematics | None = None,
) -> LinearizedFeature:
    """Return φ of the given order with its wrenches, before target and scale."""
    return symbol.as_wrenches(x, *_differentiate(symbol, order, x, params, K))


@full_matmul_precision
def linearize_batch(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: TracedArrays,
    params_axis: int | None,
    K: Kinematics | None = None,
) -> LinearizedFeature:
    """Return φ with its wrenches for many instances, along the first axis.

    Args:
        symbol: of all instances.
        order: of all instances.
        x: inputs of all instances.
        params: arrays of the symbol.
        params_axis: axis of instances in params; None: all share them.
        K: kinematics, for symbols that use them.
    """
    wrenches = symbol.value_and_wrenches if isinstance(symbol, StackSymbol) else None
    if wrenches is None or order:

        def differentiate(
            x: FeatureInputs, params: TracedArrays
        ) -> tuple[jax.Array, ...]:
            return _differentiate(symbol, order, x, params, K)

        batch = jax.vmap(differentiate, (0, params_axis))(x, params)
        return symbol.as_wrenches(x, *batch)
    # Symbols with derivatives handle a leading axis themselves: a sum over near pairs
    # has one loop over the pairs of all instances instead of one for each.
    y, force, moment = wrenches(x.R[:, 0], x.p[:, 0], **params)
    return symbol.as_wrenches(x, y, force[:, :, None], moment[:, :, None])


def is_pair_sum(symbol: Symbol, order: int, params: Container[str]) -> bool:
    """Return whether a symbol with params of these names is a sum over near pairs."""
    return symbol.pair_sum is not None and order == 0 and "smoothing" not in params


@full_matmul_precision
def linearize_pair_sums(
    symbols: tuple[Symbol, ...],
    inputs: Sequence[FeatureInputs],
    params: Sequence[TracedArrays],
) -> list[LinearizedFeature]:
    """Return φ with its wrenches for symbols that are sums over pairs.

    Symbols with the same pair types share one computation.
    """
    arguments = [
        (x.R[:, 0], x.p[:, 0], symbol_params)
        for x, symbol_params in zip(inputs, params, strict=True)
    ]
    linearized = []
    for symbol, x, out in zip(
        symbols, inputs, _evaluate_pair_sums(symbols, arguments), strict=True
    ):
        y, force, moment = out
        linearized.append(
            symbol.as_wrenches(x, y, force[:, :, None], moment[:, :, None])
        )
    return linearized


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _evaluate_pair_sums(symbols: tuple[Symbol, ...], arguments: Any) -> Any:
    parts: list[Any] = [symbol.pair_sum for symbol in symbols]
    types, params_of = zip(*parts, strict=True)
    pairs = zip(params_of, arguments, strict=True)
    batches = [
        PairSumBatch(R, p, sum_params(symbol_params))
        for sum_params, (R, p, symbol_params) in pairs
    ]
    sums = sum_near_pairs(types, batches)
    return [(y[:, None], w[:, None, :, :3], w[:, None, :, 3:]) for y, w in sums]


def _pair_sums_jvp(symbols: tuple[Symbol, ...], primals: Any, tangents: Any) -> Any:
    # Loops whose length depends on data have no reverse derivative; all pairs have one.
    def sum_all_pairs(arguments: Any) -> Any:
        pairs: Any = zip(symbols, arguments, strict=True)
        return [
            tuple(s.value_and_wrenches(R, p, **symbol_params))
            for s, (R, p, symbol_params) in pairs
        ]

    return jvp_of_changes(sum_all_pairs, primals, tangents)


_evaluate_pair_sums.defjvp(_pair_sums_jvp, symbolic_zeros=True)


def _differentiate(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: TracedArrays,
    K: Kinematics | None,
) -> tuple[jax.Array, ...]:
    """Return φ, and its derivatives (rows, slices, …) with respect to its inputs."""
    # Reverse mode, since features have few rows and many inputs (Griewank and Walther
    # 2008, chapter 3). A difference is linear in the values of windows, so each window
    # is differentiated by itself.
    d, w = order - symbol.window, symbol.window
    windows = np.arange(d + 1)[:, None] + np.arange(w + 1)

    def one_window(*inputs: jax.Array) -> tuple[jax.Array, ...]:
        return symbol.differentiate(FeatureInputs(*inputs), params, K)

    if d == 0:
        return one_window(*x)
    steps = x.tau[windows[:, :-1]]
    inputs = FeatureInputs(
        x.R[windows], x.p[windows], x.quaternion[windows], x.q[windows], steps
    )
    y, *slopes = jax.vmap(one_window)(*inputs)
    c = jnp.asarray(backward_difference(symbol.divides_by_tau, d, x.tau))
    if w == 0:
        # Each window is one slice: derivatives on different slices never add up.
        by_slice = (jnp.moveaxis(a[:, :, 0], 0, 1) for a in slopes)
        weights = (c.reshape((1, -1) + (1,) * (a.ndim - 3)) for a in slopes)
        weighted = (a * b for a, b in zip(by_slice, weights, strict=True))
        return jnp.tensordot(c, y, 1), *weighted

    def combine(a: jax.Array) -> jax.Array:
        """Add up the derivatives of windows that overlap, on all slices."""
        no_pad = [(0, 0)] * (a.ndim - 3)
        # The transpose of taking the slices s, …, s + w: zeros on the s slices before
        # them and the d - s after.
        padded: list[Any] = [
            jnp.pad(c[s] * a[s], [(0, 0), (s, d - s), *no_pad]) for s in range(d + 1)
        ]
        total: jax.Array = sum(padded)
        return total

    return jnp.tensordot(c, y, 1), *map(combine, slopes)


@full_matmul_precision
def linearize_per_coordinate(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: TracedArrays,
    params_axis: int | None,
    scale: Float[jax.Array, "n rows"],
    target: Float[jax.Array, "n rows"],
    K: Kinematics | None = None,
) -> tuple[Float[jax.Array, "n rows"], Float[jax.Array, "n slices rows"]]:
    """Evaluate many instances whose rows depend on one coordinate each.

    One forward derivative for each slice serves all rows, as no two coordinates meet in
    a row.

    Args:
        symbol: one with `rows_per_coordinate`.
        order: of all instances.
        x: inputs of all instances.
        params: arrays of the symbol.
        params_axis: axis of instances in params; None: all share them.
        scale: of each row.
        target: of each row.
        K: kinematics, for symbols that use them.

    Returns:
        Rows after target and scale, and the derivative of each row with respect to its
        coordinate in each slice.
    """
    # Columns of a Jacobian without a common row share one directional derivative
    # (Curtis, Powell and Reid 1974); here these are all coordinates of a slice.
    slices = jnp.eye(x.q.shape[1], dtype=x.q.dtype)

    def linearize_one(
        x: FeatureInputs, params: TracedArrays
    ) -> tuple[jax.Array, jax.Array]:
        def fn(q: jax.Array) -> jax.Array:
            return evaluate_symbol(symbol, order, x._replace(q=q), params, K)

        def derivative_on_slice(slice_: jax.Array) -> tuple[jax.Array, jax.Array]:
            # All coordinates of the slice move at once, which each row sees one of.
            tangent = slice_[:, None] * jnp.ones_like(x.q)
            return jax.jvp(fn, (x.q,), (tangent,))

        return jax.vmap(derivative_on_slice, out_axes=(None, 0))(slices)

    y, dq = jax.vmap(linearize_one, (0, params_axis))(x, params)
    y, sigma = apply_scale_and_target(symbol, y, scale, target, params.get(PERIOD))
    slope = scale if sigma is None else scale * sigma
    return y, slope[:, None] * dq


@full_matmul_precision
def differentiate_by_durations(
    symbol: Symbol,
    order: int,
    x: FeatureInputs,
    params: TracedArrays,
    params_axis: int | None,
    scale: Float[jax.Array, "*n_out_and_rows"],
    target: Float[jax.Array, "n rows"],
    K: Kinematics | None = None,
) -> Float[jax.Array, "n out steps"]:
    """Return derivatives of scaled rows with respect to the durations of steps.

    Arguments are those of `linearize_per_coordinate`, and the scale may be a matrix.
    """

    def rows(
        tau: jax.Array,
        x: FeatureInputs,
        params: TracedArrays,
        scale: jax.Array,
        target: jax.Array,
    ) -> jax.Array:
        y = evaluate_symbol(symbol, order, x._replace(tau=tau), params, K)
        return apply_scale_and_target(symbol, y, scale, target)[0]

    differentiate = jax.vmap(jax.jacfwd(rows), (0, 0, params_axis, 0, 0))
    derivatives: jax.Array = differentiate(x.tau, x, params, scale, target)
    return derivatives

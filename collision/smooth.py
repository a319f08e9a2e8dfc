"""Signed distances without kinks, from softly rounded support functions.

A support function h(d) = max_v v·d becomes h_τ(d) = τ log Σ_v exp(v·d / τ), at least h
and at most h + τ log V. Separations along a normal, s(n) = -n·t - h_a(-n) - h_b(n),
shrink by as much, and so does their maximum over all normals, the signed distance: the
smoothed distance is never above the exact one, and below it at most by the sum of both
bodies' excess. It has a unique normal also where faces are parallel. (Entropic
smoothing of a maximum: Nesterov, "Smooth minimization of non-smooth functions", 2005.)
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import logsumexp
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.compilation.precision import full_matmul_precision

from .contact import CORE_ORDER, Contact, contact
from .cores import (
    Body,
    Box,
    BoxPlusEllipsoid,
    Core,
    HalfSpace,
    Hull,
    Segment,
    broadcast_batch,
)

NUM_ASCENT_STEPS = 24
"""Number of damped Newton steps to the normal of greatest separation. More come nearer
to it, but every pair takes all of them."""
Point = Float[Array, "3"]


def smoothing_excess(core: Core) -> float:
    """Return by how many τ a core's soft support function may exceed the exact one."""
    match core:
        case Segment() | Box():
            # two ends per axis: log 2 for each of three axes
            return float(3 * np.log(2))
        case BoxPlusEllipsoid():
            # sqrt(|r d|² + τ²) exceeds |r d| at most by τ
            return float(3 * np.log(2) + 1)
        case Hull(vertices):
            return float(np.log(np.shape(vertices)[-2]))
        case HalfSpace():
            return 0.0
    raise TypeError(f"{type(core).__name__} has no support function.")


@full_matmul_precision
def smooth_contact(a: Body, b: Body, smoothing: Float[Array, "*batch"]) -> Contact:
    """Return `contact` of softly rounded bodies: distances with smooth derivatives.

    The distance lies between the exact one and that minus (excess of A's core + excess
    of B's core) · smoothing, in overlap as well. The witness points are weighted means
    of the points that may touch: they need not be `distance` apart.

    Args:
        a: bodies of one type of core, with any leading batch axes.
        b: bodies of one type of core; axes of size one are broadcast.
        smoothing: τ > 0 of each pair [m].
    """
    if CORE_ORDER.index(type(a.core)) > CORE_ORDER.index(type(b.core)):
        d, on_b, on_a, n = smooth_contact(b, a, smoothing)
        return Contact(d, on_a, on_b, -n)
    a, b = broadcast_batch(a, b)
    batch = a.p.shape[:-1]
    normal = contact(*jax.lax.stop_gradient((a, b))).normal
    tau = jnp.broadcast_to(smoothing, batch)
    args = jax.tree.map(
        lambda x: x.reshape(-1, *x.shape[len(batch) :]),
        (a, b, jax.lax.stop_gradient(normal), tau),
    )
    out = jax.vmap(_smooth_contact_of_pair)(*args)
    return Contact(*[jnp.reshape(x, (*batch, *x.shape[1:])) for x in out])


def _smooth_contact_of_pair(
    a: Body, b: Body, start: Point, tau: Array
) -> tuple[Array, Point, Point, Point]:
    if isinstance(b.core, HalfSpace):
        n = b.R[:, 2]
    else:
        constants = jax.lax.stop_gradient((a, b, tau))
        n = jax.lax.stop_gradient(_maximize_separation(*constants, start))
        # One more Newton step, of which derivatives are taken: at the maximum, its
        # derivative is that of the maximizer by the implicit function theorem.
        n = _newton_step(_separation_along(a, b, tau, n), n, 0.0)
    s = _separation_along(a, b, tau, n)
    return s.separation, s.on_a - a.radius * n, s.on_b + b.radius * n, n


class _SmoothSeparation(NamedTuple):
    """The separation of two bodies along a normal, with the cores' points."""

    separation: Array
    on_a: Point
    on_b: Point
    curvature: Float[Array, "3 3"]
    """Sum of the Hessians of both support functions."""


_Ascent = tuple[Point, _SmoothSeparation, Array]
"""Normal, its separation, and damping."""


def _separation_along(a: Body, b: Body, tau: Array, n: Point) -> _SmoothSeparation:
    h_a, x_a, W_a = _soft_support(a.core, -a.R.T @ n, tau)
    gap = n @ (a.p - b.p) - h_a - a.radius - b.radius
    on_a, W = a.p + a.R @ x_a, a.R @ W_a @ a.R.T
    if isinstance(b.core, HalfSpace):
        return _SmoothSeparation(gap, on_a, on_a - gap * n, W)
    h_b, x_b, W_b = _soft_support(b.core, b.R.T @ n, tau)
    on_b, W = b.p + b.R @ x_b, W + b.R @ W_b @ b.R.T
    return _SmoothSeparation(gap - h_b, on_a, on_b, W)


def _maximize_separation(a: Body, b: Body, tau: Array, n: Point) -> Point:
    """Return the normal of greatest separation near n, of no smaller separation."""

    def step(_: jax.Array, state: _Ascent) -> _Ascent:
        n, current, damping = state
        turned = _newton_step(current, n, damping)
        trial = _separation_along(a, b, tau, turned)
        better = trial.separation > current.separation
        # Levenberg–Marquardt: less damping after a success, more after a failure
        damping = jnp.where(better, damping * 0.1, jnp.maximum(damping, 1e-3) * 8)
        n, current = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), (turned, trial), (n, current)
        )
        return n, current, damping

    begin = (n, _separation_along(a, b, tau, n), jnp.zeros((), n.dtype))
    best: Point = jax.lax.fori_loop(0, NUM_ASCENT_STEPS, step, begin)[0]
    return best


def _newton_step(s: _SmoothSeparation, n: Point, damping: Array | float) -> Point:
    """Return the normal after a Newton step on the sphere, up the separation."""
    # In tangents T of the sphere, s has the gradient Tᵀ (p_a - p_b) and the Hessian
    # -(Tᵀ W T + n·(p_a - p_b) I), whose second term is the curvature of the sphere.
    T = jax.lax.stop_gradient(_tangent_basis(n))
    apart = s.on_a - s.on_b
    g = T.T @ apart
    A = T.T @ s.curvature @ T + (n @ apart) * jnp.eye(2, dtype=n.dtype)
    A = jax.lax.stop_gradient(A)
    # eigenvalues of the 2 × 2 matrix A: mean ± spread
    mean, skew = (A[0, 0] + A[1, 1]) / 2, (A[0, 0] - A[1, 1]) / 2
    spread = jnp.sqrt(skew * skew + A[0, 1] * A[0, 1])
    extent = jnp.abs(mean) + spread
    # where s is not concave, the least eigenvalue is made positive
    shift = jnp.maximum(1e-6 * extent + 1e-20 - (mean - spread), 0.0) * 2
    A = A + (shift + damping * extent) * jnp.eye(2, dtype=n.dtype)
    y = jnp.stack([A[1, 1] * g[0] - A[0, 1] * g[1], A[0, 0] * g[1] - A[0, 1] * g[0]])
    y = y / (A[0, 0] * A[1, 1] - A[0, 1] * A[0, 1])
    m = n + T @ y
    unit: Point = m / jnp.sqrt(m @ m)
    return unit


def _tangent_basis(n: Point) -> Float[Array, "3 2"]:
    axis = jnp.eye(3, dtype=n.dtype)[jnp.argmin(jnp.abs(n))]
    x = jnp.cross(n, axis)
    x = x / jnp.sqrt(x @ x)
    return jnp.stack([x, jnp.cross(n, x)], -1)


def _soft_support(
    core: Core, d: Point, tau: Array
) -> tuple[Array, Point, Float[Array, "3 3"]]:
    """Return the soft support function along d, its gradient and its Hessian.

    The gradient is a point of the core.
    """
    match core:
        case Segment(half):
            zero = jnp.zeros_like(half)
            return _soft_support(Box(jnp.stack([zero, zero, half])), d, tau)
        case Box(half):
            # per axis τ log(exp(x/τ) + exp(-x/τ)) with x = half d, whose slope in x is
            # tanh(x/τ)
            along = half * d / tau
            # an axis without extent has one end only, so that nothing is added
            soft = jnp.where(half > 0, jnp.logaddexp(along, -along), 0.0)
            h = tau * jnp.sum(soft)
            slope = jnp.tanh(along)
            return h, half * slope, jnp.diag(half * half * (1 - slope**2) / tau)
        case BoxPlusEllipsoid(half, radii):
            # |r d| becomes sqrt(|r d|² + τ²); support functions of sums add up
            h, point, W = _soft_support(Box(half), d, tau)
            swept = jnp.sqrt(jnp.sum((radii * d) ** 2) + tau * tau)
            gradient: Any = radii * radii * d / swept
            round_W = jnp.diag(radii * radii) - jnp.outer(gradient, gradient)
            return h + swept, point + gradient, W + round_W / swept
        case Hull(vertices):
            # the gradient of log-sum-exp is the softmax mean, its Hessian the variance
            along = vertices @ d / tau
            weight = jax.nn.softmax(along)
            point = weight @ vertices
            spread = vertices - point
            W = spread.T @ (weight[:, None] * spread) / tau
            return tau * logsumexp(along), point, W
    raise TypeError(f"{type(core).__name__} has no support function.")

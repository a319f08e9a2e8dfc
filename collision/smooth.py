"""Distances without kinks: those of bodies with softly rounded support functions.

A support function h(d) = max_v v·d becomes h_τ(d) = τ log Σ_v exp(v·d / τ), at least h
and at most τ log V more. Separations along a normal, s(n) = -n·t - h_a(-n) - h_b(n),
shrink by as much, and so does their maximum over all normals, the signed distance: the
smoothed one is never above it, and below it at most by the sum of both bodies' excess.
It has one normal also where faces are parallel. (Entropic smoothing of a maximum:
Nesterov, "Smooth minimization of non-smooth functions", 2005.)
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
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
Point = Float[Array, "3"]


def smoothing_excess(core: Core) -> float:
    """By how many τ the soft support function of a core may exceed the exact one."""
    match core:
        case Segment() | Box():
            return float(3 * np.log(2))
        case BoxPlusEllipsoid():
            return float(3 * np.log(2) + 1)
        case Hull(vertices):
            return float(np.log(np.shape(vertices)[-2]))
        case HalfSpace():
            return 0.0
    raise TypeError(f"{type(core).__name__} has no support function.")


@full_matmul_precision
def smooth_contact(a: Body, b: Body, smoothing: Float[Array, "*batch"]) -> Contact:
    """`contact` of softly rounded bodies: distances with continuous derivatives.

    The distance lies between the exact one and that minus (excess of A's core + that of
    B's) · smoothing, in overlap as well. The points are weighted means of those that
    may touch: they need not be `distance` apart.

    Args:
        a: bodies of one kind of core, any leading batch axes.
        b: bodies of one kind of core; axes of size one are spread.
        smoothing: τ > 0 [m], for each pair.
    """
    if CORE_ORDER.index(type(a.core)) > CORE_ORDER.index(type(b.core)):
        d, on_b, on_a, n = smooth_contact(b, a, smoothing)
        return Contact(d, on_a, on_b, -n)
    a, b = broadcast_batch(a, b)
    batch = a.p.shape[:-1]
    begin = jax.lax.stop_gradient(contact(*jax.lax.stop_gradient((a, b))).normal)
    flat = lambda x: x.reshape(-1, *x.shape[len(batch) :])
    tau = jnp.broadcast_to(smoothing, batch)
    args = jax.tree.map(flat, (a, b, begin, tau))
    out = jax.vmap(_smooth_contact_of_pair)(*args)
    return Contact(*[x.reshape(*batch, *x.shape[1:]) for x in out])


def _smooth_contact_of_pair(a: Body, b: Body, begin: Point, tau: Array) -> Any:
    if isinstance(b.core, HalfSpace):
        n = b.R[:, 2]
    else:
        still = jax.lax.stop_gradient((a, b, tau))
        n = jax.lax.stop_gradient(_maximize_separation(*still, begin))
        # a last step, of which derivatives are taken: Newton's, so that they are exact
        n = _newton_step(_separation_along(a, b, tau, n), n, 0.0)
    at = _separation_along(a, b, tau, n)
    return at.separation, at.on_a - a.radius * n, at.on_b + b.radius * n, n


class _SmoothSeparation(NamedTuple):
    """Two bodies as seen along a normal; points are those of the cores."""

    separation: Array
    on_a: Point
    on_b: Point
    curvature: Float[Array, "3 3"]


def _separation_along(a: Body, b: Body, tau: Array, n: Point) -> _SmoothSeparation:
    height_a, x_a, W_a = _soft_support(a.core, -a.R.T @ n, tau)
    gap = n @ (a.p - b.p) - height_a - a.radius - b.radius
    on_a, W = a.p + a.R @ x_a, a.R @ W_a @ a.R.T
    if isinstance(b.core, HalfSpace):
        return _SmoothSeparation(gap, on_a, on_a - gap * n, W)
    height_b, x_b, W_b = _soft_support(b.core, b.R.T @ n, tau)
    return _SmoothSeparation(
        gap - height_b, on_a, b.p + b.R @ x_b, W + b.R @ W_b @ b.R.T
    )


def _maximize_separation(a: Body, b: Body, tau: Array, n: Point) -> Point:
    """The normal of largest separation near n; never one of a smaller."""

    def step(_: Any, state: Any) -> Any:
        n, at, damping = state
        trial = _newton_step(at, n, damping)
        there = _separation_along(a, b, tau, trial)
        better = there.separation > at.separation
        damping = jnp.where(better, damping * 0.1, jnp.maximum(damping, 1e-3) * 8)
        choose = lambda new, old: jnp.where(better, new, old)
        return *jax.tree.map(choose, (trial, there), (n, at)), damping

    begin = (n, _separation_along(a, b, tau, n), jnp.zeros((), n.dtype))
    return jax.lax.fori_loop(0, NUM_ASCENT_STEPS, step, begin)[0]


def _newton_step(at: _SmoothSeparation, n: Point, damping: Any) -> Point:
    """A Newton step on the sphere, up the separation."""
    still = jax.lax.stop_gradient
    T = still(_tangent_basis(n))
    apart = at.on_a - at.on_b
    g = T.T @ apart
    A = still(T.T @ at.curvature @ T + (n @ apart) * jnp.eye(2, dtype=n.dtype))
    mean, skew = (A[0, 0] + A[1, 1]) / 2, (A[0, 0] - A[1, 1]) / 2
    spread = jnp.sqrt(skew * skew + A[0, 1] * A[0, 1])
    extent = jnp.abs(mean) + spread
    # where the separation is not concave, its curvature is turned round
    convex = jnp.maximum(1e-6 * extent + 1e-20 - (mean - spread), 0.0) * 2
    A = A + (convex + damping * extent) * jnp.eye(2, dtype=n.dtype)
    y = jnp.stack([A[1, 1] * g[0] - A[0, 1] * g[1], A[0, 0] * g[1] - A[0, 1] * g[0]])
    y = y / (A[0, 0] * A[1, 1] - A[0, 1] * A[0, 1])
    m = n + T @ y
    return m / jnp.sqrt(m @ m)


def _tangent_basis(n: Point) -> Float[Array, "3 2"]:
    axis = jnp.eye(3, dtype=n.dtype)[jnp.argmin(jnp.abs(n))]
    x = jnp.cross(n, axis)
    x = x / jnp.sqrt(x @ x)
    return jnp.stack([x, jnp.cross(n, x)], -1)


def _soft_support(core: Core, d: Point, tau: Array) -> tuple[Any, Any, Any]:
    """Soft support function along d, its gradient (a point) and its curvature."""
    match core:
        case Segment(half):
            zero = jnp.zeros_like(half)
            return _soft_support(Box(jnp.stack([zero, zero, half])), d, tau)
        case Box(half):
            along = half * d / tau
            # nothing to be rounded where the box has no extent
            soft = jnp.where(half > 0, jnp.logaddexp(along, -along), 0.0)
            height = tau * jnp.sum(soft)
            slope = jnp.tanh(along)
            return height, half * slope, jnp.diag(half * half * (1 - slope**2) / tau)
        case BoxPlusEllipsoid(half, radii):
            reach, point, turn = _soft_support(Box(half), d, tau)
            reached = jnp.sum((radii * d) ** 2)
            swept = jnp.sqrt(reached + tau * tau)
            toward: Any = radii * radii * d / swept
            round_ = jnp.diag(radii * radii) - jnp.outer(toward, toward)
            return reach + swept, point + toward, turn + round_ / swept
        case Hull(vertices):
            along = vertices @ d / tau
            weight = jax.nn.softmax(along)
            point = weight @ vertices
            spread = vertices - point
            bend = spread.T @ (weight[:, None] * spread) / tau
            return tau * logsumexp(along), point, bend
    raise TypeError(f"{type(core).__name__} has no support function.")

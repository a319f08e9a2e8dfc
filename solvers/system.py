"""The linear system of one step: bands over the slices, bordered by shared columns.

Most columns of the tangent space belong to one slice, and couple only slices nearby.
Shared columns are one variable for all slices; they border the banded matrix, which
stays positive definite, and are eliminated by its Schur complement.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .banded import solve_banded
from .rows import Rows, Weights


class Columns(NamedTuple):
    """The columns of a slice's tangent space that are its own, and the shared ones."""

    own: np.ndarray
    shared: np.ndarray


class System(NamedTuple):
    """Jᵀ curvature J, and Jᵀ slope."""

    gradient: Float[jax.Array, "T nv"]
    """In shared columns the sum over all slices, in each of them."""
    bands: Float[jax.Array, "bands T own own"]
    """`[d, t]` is the block of slices (t, t - d)."""
    border: Float[jax.Array, "T own shared"]
    corner: Float[jax.Array, "shared shared"]


def columns(nv: int, shared: tuple[int, ...]) -> Columns:
    """Own and shared columns out of nv."""
    return Columns(np.setdiff1d(np.arange(nv), shared), np.array(shared, int))


def assemble(
    groups: tuple[Rows, ...],
    weights: tuple[Weights, ...],
    T: int,
    width: int,
    parts: Columns,
) -> System:
    """The system of all rows; `width`: how many slices back a window reaches."""
    own, s = parts.own, len(parts.shared)
    dtype = groups[0].y.dtype
    g = jnp.zeros((T, len(own)), dtype)
    bands = jnp.zeros((width + 1, T, len(own), len(own)), dtype)
    g_shared = jnp.zeros(s, dtype)
    border = jnp.zeros((T, len(own), s), dtype)
    corner = jnp.zeros((s, s), dtype)
    for rows, w in zip(groups, weights, strict=True):
        window = rows.J.shape[1]
        J = rows.J if s == 0 else rows.J[..., own]
        slices = [rows.last - (window - 1 - k) for k in range(window)]
        at = [_inside(t, T) for t in slices]
        weighted = w.curvature[:, None, :, None] * J
        tied = jnp.sum(rows.J[..., parts.shared], 1)
        for k in range(window):
            part = jnp.einsum("nr,nrv->nv", w.slope, J[:, k])
            g = g.at[at[k]].add(part, mode="drop")
            for older in range(k + 1):
                block = jnp.swapaxes(weighted[:, k], -1, -2) @ J[:, older]
                if older < k:
                    inside = slices[older] >= 0
                    block = jnp.where(inside[:, None, None], block, 0.0)
                bands = bands.at[k - older, at[k]].add(block, mode="drop")
            if s:
                block = jnp.swapaxes(weighted[:, k], -1, -2) @ tied
                border = border.at[at[k]].add(block, mode="drop")
        if s:
            g_shared += jnp.einsum("nr,nrs->s", w.slope, tied)
            corner += jnp.einsum("nr,nrs,nru->su", w.curvature, tied, tied)
    return System(_whole(g, g_shared, parts), bands, border, corner)


def newton_step(
    system: System,
    held: Bool[jax.Array, "T nv"],
    damping: Float[jax.Array, ""],
    parts: Columns,
) -> tuple[Float[jax.Array, "T nv"], Float[jax.Array, ""]]:
    """-(H + damping I)⁻¹ g on the variables not held, and the decrease it predicts."""
    free = 1.0 - held.astype(system.gradient.dtype)
    g = system.gradient * free
    free_own, g_own = free[:, parts.own], g[:, parts.own]
    eye = jnp.eye(len(parts.own), dtype=g.dtype)
    bands = [
        band * (free_own[:, :, None] * jnp.roll(free_own, d, 0)[:, None, :])
        for d, band in enumerate(system.bands)
    ]
    diagonal = jnp.where(free_own > 0, damping, 1.0)
    bands[0] = bands[0] + diagonal[:, :, None] * eye
    H = jnp.stack(bands)
    if not len(parts.shared):
        delta = -solve_banded(H, g_own[..., None])[..., 0]
        shared = jnp.zeros(0, g.dtype)
    else:
        free_s, g_s = free[0, parts.shared], g[0, parts.shared]
        border = system.border * free_own[:, :, None] * free_s
        corner = system.corner * free_s[:, None] * free_s
        corner += jnp.diag(jnp.where(free_s > 0, damping, 1.0))
        solved = solve_banded(H, jnp.concatenate([g_own[..., None], border], -1))
        flat = lambda a: a.reshape(-1, a.shape[-1])
        reduced = flat(border).T @ flat(solved)
        schur = corner - reduced[:, 1:]
        shared = -jnp.linalg.solve(schur, g_s - reduced[:, 0])
        delta = -solved[..., 0] - solved[..., 1:] @ shared
    step = _whole(delta, shared, parts)
    once = jnp.ones_like(g).at[1:, parts.shared].set(0.0)
    # g·δ + ½ δᵀHδ = ½ g·δ - ½ damping δ² for the damped step
    predicted = -0.5 * jnp.sum(once * step * (g - damping * step))
    return step, predicted


def _whole(own: jax.Array, shared: jax.Array, parts: Columns) -> jax.Array:
    """(T, nv) from own columns and shared ones, which are repeated."""
    if not len(parts.shared):
        return own
    wide = jnp.broadcast_to(shared, (len(own), len(shared)))
    back = np.argsort(np.concatenate([parts.own, parts.shared]))
    return jnp.concatenate([own, wide], -1)[:, back]


def _inside(t: jax.Array, T: int) -> jax.Array:
    """Slices before the first one are sent out of range, to be dropped."""
    return jnp.where(t < 0, T, t)

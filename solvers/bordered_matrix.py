"""Symmetric matrices with bands over the slices, bordered by shared columns.

Most columns of the tangent space belong to one slice and couple only neighbouring
slices, so that the Gauss–Newton matrix of a path is banded (Toussaint 2014, KOMO).
Shared columns are one variable for all slices; they border the banded matrix, which
stays positive definite, and are eliminated by its Schur complement.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .banded import solve_banded


class TangentVector(NamedTuple):
    """A tangent vector that has each shared variable once."""

    local: Float[jax.Array, "T local"]
    shared: Float[jax.Array, " shared"]


class BorderedMatrix(NamedTuple):
    """A symmetric matrix over tangent vectors."""

    bands: tuple[Float[jax.Array, "T local local"], ...]
    """`[d][t]` is the block of slices (t, t - d)."""
    border: Float[jax.Array, "T local shared"]
    corner: Float[jax.Array, "shared shared"]

    def multiply(self, v: TangentVector) -> TangentVector:
        """Return the product with a vector."""
        # [B C; Cᵀ D] [v; v_s] = [B v + C v_s; Cᵀ v + D v_s]
        local = _multiply_banded(self.bands, v.local) + self.border @ v.shared
        shared = jnp.einsum("tis,ti->s", self.border, v.local)
        return TangentVector(local, shared + self.corner @ v.shared)

    def diagonal(self) -> TangentVector:
        """Return the diagonal."""
        local = jnp.diagonal(self.bands[0], axis1=1, axis2=2)
        return TangentVector(local, jnp.diagonal(self.corner))

    def restrict(
        self, free: TangentVector, diagonal: TangentVector
    ) -> "BorderedMatrix":
        """Set rows and columns that are not free to zero, and add a diagonal."""
        # Rolled along the slices by d, `free` of slice t - d stands beside the block
        # of the slices (t, t - d).
        bands = [
            band * free.local[:, :, None] * jnp.roll(free.local, d, 0)[:, None, :]
            for d, band in enumerate(self.bands)
        ]
        # Fixed variables would leave the matrix singular without a diagonal.
        eye = jnp.eye(free.local.shape[1], dtype=free.local.dtype)
        bands[0] += diagonal.local[:, :, None] * eye
        border = self.border * free.local[:, :, None] * free.shared
        corner = self.corner * free.shared[:, None] * free.shared
        corner += jnp.diag(diagonal.shared)
        return BorderedMatrix(tuple(bands), border, corner)

    def solve(self, b: TangentVector) -> TangentVector:
        """Solve for the vector with the product b.

        The result is NaN if the matrix is not positive definite.
        """
        if not b.shared.size:
            x = solve_banded(self.bands, b.local[..., None])[..., 0]
            return TangentVector(x, b.shared)
        # Block elimination: the border is solved as further right-hand sides, and the
        # Schur complement D - Cᵀ B⁻¹ C is left for the shared variables.
        rhs = jnp.concatenate([b.local[..., None], self.border], -1)
        solved = solve_banded(self.bands, rhs)
        reduced = jnp.einsum("tis,tik->sk", self.border, solved)
        schur = self.corner - reduced[:, 1:]
        b_shared = (b.shared - reduced[:, 0])[None, :, None]
        shared = solve_banded([schur[None]], b_shared)[0, :, 0]
        return TangentVector(solved[..., 0] - solved[..., 1:] @ shared, shared)


def _multiply_banded(bands: tuple[jax.Array, ...], delta: jax.Array) -> jax.Array:
    T = len(delta)
    # (H δ)_t is the sum over d of H_{t,t-d} δ_{t-d} + H_{t+d,t}ᵀ δ_{t+d}.
    total = jnp.einsum("tij,tj->ti", bands[0], delta)
    # Each block below the diagonal also acts transposed above it.
    for d in range(1, min(len(bands), T)):
        total = total.at[d:].add(jnp.einsum("tij,tj->ti", bands[d][d:], delta[:-d]))
        total = total.at[:-d].add(jnp.einsum("tij,ti->tj", bands[d][d:], delta[d:]))
    return total

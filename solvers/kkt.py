"""The linear system of an equality-constrained quadratic problem over a chain.

[H Aᵀ; A 0] [δ; λ] = b, with H in bands, bordered by what all slices share, and A the
active rows; held variables stay. Solved as (H + ν + ω AᵀA), which has the same bands
and border and is positive definite at a strict minimum whatever the rank of A, and
refined until ν and ω no longer matter (a proximal method of multipliers).
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from .banded import solve_banded
from .linear_system import (
    VariablePartition,
    assemble,
    join_columns,
    partition_variables,
)
from .residuals import LagrangianTerms, ResidualBlock, concatenate, expand_columns

MAX_REFINEMENTS = 50
MIN_RELATIVE_ROW_LENGTH = 0.03
"""Rows shorter than this share of the longest one get no larger weight."""


class TangentVector(NamedTuple):
    """A tangent vector, in which shared columns stand once."""

    local: Float[jax.Array, "T own"]
    shared: Float[jax.Array, " shared"]


class BorderedMatrix(NamedTuple):
    """A symmetric matrix over such vectors."""

    bands: tuple[Float[jax.Array, "T own own"], ...]
    """Blocks of slices (t, t - d)."""
    border: Float[jax.Array, "T own shared"]
    corner: Float[jax.Array, "shared shared"]

    def multiply(self, v: TangentVector) -> TangentVector:
        """The product with a vector."""
        own = _multiply_banded(self.bands, v.local) + self.border @ v.shared
        along = jnp.einsum("tis,ti->s", self.border, v.local)
        return TangentVector(own, along + self.corner @ v.shared)

    def diagonal(self) -> TangentVector:
        """Its diagonal."""
        own = jnp.diagonal(self.bands[0], axis1=1, axis2=2)
        return TangentVector(own, jnp.diagonal(self.corner))

    def restrict(
        self, free: TangentVector, diagonal: TangentVector
    ) -> "BorderedMatrix":
        """Without rows and columns that are not free, and something on the diagonal."""
        bands = [
            band * free.local[:, :, None] * jnp.roll(free.local, d, 0)[:, None, :]
            for d, band in enumerate(self.bands)
        ]
        eye = jnp.eye(free.local.shape[1], dtype=free.local.dtype)
        bands[0] += diagonal.local[:, :, None] * eye
        border = self.border * free.local[:, :, None] * free.shared
        corner = self.corner * free.shared[:, None] * free.shared
        corner += jnp.diag(diagonal.shared)
        return BorderedMatrix(tuple(bands), border, corner)

    def solve(self, b: TangentVector) -> TangentVector:
        """x with the product b; NaN where the matrix is not positive definite."""
        if not b.shared.size:
            return TangentVector(
                solve_banded(self.bands, b.local[..., None])[..., 0], b.shared
            )
        right = jnp.concatenate([b.local[..., None], self.border], -1)
        solved = solve_banded(self.bands, right)
        reduced = jnp.einsum("tis,tik->sk", self.border, solved)
        schur = self.corner - reduced[:, 1:]
        short = (b.shared - reduced[:, 0])[None, :, None]
        shared = solve_banded([schur[None]], short)[0, :, 0]
        return TangentVector(solved[..., 0] - solved[..., 1:] @ shared, shared)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KKTSystem:
    """A symmetric system; unknowns are a tangent step and a number for each row.

    Its leaves may be shapes instead of arrays.
    """

    hessian: BorderedMatrix
    rows: tuple[ResidualBlock, ...]
    active: tuple[Any, ...]
    """Which rows count, bool (n, rows) of each group."""
    fixed_mask: Any
    """Which variables stay, bool (T, nv)."""
    shared: tuple[int, ...] = field(metadata={"static": True})
    """Columns of nv that are one variable for all slices."""

    @property
    def partition(self) -> VariablePartition:
        """Own and shared columns."""
        return partition_variables(self.fixed_mask.shape[1], self.shared)

    @property
    def free(self) -> TangentVector:
        """1 where a variable may move, 0 where it is held."""
        return self.split(1.0 - self.fixed_mask)

    def split(self, v: jax.Array) -> TangentVector:
        """A vector from (T, nv), equal in all slices where columns are shared."""
        v = jnp.asarray(v, self.hessian.corner.dtype)
        return TangentVector(v[:, self.partition.local], v[0, self.partition.shared])

    def join(self, v: TangentVector) -> Float[jax.Array, "T nv"]:
        """The reverse."""
        return join_columns(v.local, v.shared, self.partition)

    def row_jacobians(self) -> list[tuple[jax.Array, jax.Array, jax.Array]]:
        """Of each group: rows by own columns, the slices of these, by shared ones."""
        found = []
        for rows in self.rows:
            window = rows.J.shape[1]
            at = rows.last_slice[:, None] - jnp.arange(window - 1, -1, -1)
            inside = (at >= 0)[..., None, None]
            J = expand_columns(rows, self.fixed_mask.shape[1])
            own = jnp.where(inside, J[..., self.partition.local], 0.0)
            found.append((own, at, jnp.sum(J[..., self.partition.shared], 1)))
        return found

    def scales(self) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        """H's largest diagonal entry, never quite zero, and the length of each row.

        Rows much shorter than the longest count as longer than they are: near a
        singular point they say nothing.
        """
        squares = [
            jnp.sum(own**2, (1, 3)) + jnp.sum(tied**2, -1)
            for own, _, tied in self.row_jacobians()
        ]
        longest = jnp.zeros((), self.hessian.corner.dtype)
        for active, square in zip(self.active, squares, strict=True):
            longest = jnp.maximum(longest, jnp.max(active * square, initial=0.0))
        entries = jax.tree.map(
            lambda free, d: free * jnp.abs(d), self.free, self.hessian.diagonal()
        )
        h = _max_norm(entries)
        h = jnp.maximum(jnp.maximum(h, 1e-6 * longest), 1e-30)
        floor = jnp.where(longest > 0, MIN_RELATIVE_ROW_LENGTH**2 * longest, 1.0)
        return h, tuple(jnp.sqrt(jnp.maximum(square, floor)) for square in squares)

    def multiply(
        self, delta: TangentVector, multipliers: Any
    ) -> tuple[TangentVector, Any]:
        """The product with the matrix; the identity on held and inactive unknowns."""
        moving = _multiply_elementwise(self.free, delta)
        pull = self.multiply_rows_transposed(multipliers)
        force = jax.tree.map(jnp.add, pull, self.hessian.multiply(moving))
        along = self.multiply_rows(moving)
        rest = zip(self.active, along, multipliers, strict=True)
        kept = tuple(jnp.where(a, y, m) for a, y, m in rest)
        choose = lambda free, f, d: jnp.where(free > 0, f, d)
        return jax.tree.map(choose, self.free, force, delta), kept

    def multiply_rows(self, delta: TangentVector) -> tuple[jax.Array, ...]:
        """A δ; zero in inactive rows."""
        found = []
        for (own, at, tied), active in zip(
            self.row_jacobians(), self.active, strict=True
        ):
            y = jnp.einsum("nwrv,nwv->nr", own, delta.local[at]) + tied @ delta.shared
            found.append(jnp.where(active, y, 0.0))
        return tuple(found)

    def multiply_rows_transposed(self, multipliers: Any) -> TangentVector:
        """Aᵀ λ of the active rows."""
        pairs = zip(self.active, multipliers, strict=True)
        force = tuple(jnp.where(a, m, 0.0) for a, m in pairs)
        return self.split(self._assembled(force).gradient)

    def regularize(
        self, boost: Any
    ) -> tuple[BorderedMatrix, tuple[jax.Array, ...], jax.Array]:
        """H + ν + Aᵀ ω A with held variables cut out; ω of each row; ν."""
        h, lengths = self.scales()
        eps = jnp.finfo(h.dtype).eps
        shift = boost * eps**0.6 * h
        pairs = zip(self.active, lengths, strict=True)
        penalty = eps**-0.25 * h
        weights = tuple(jnp.where(a, penalty / s**2, 0.0) for a, s in pairs)
        more = self._assembled(weights)
        added = BorderedMatrix(more.bands, more.border, more.corner)
        whole = jax.tree.map(jnp.add, self.hessian, added)
        diagonal = jax.tree.map(lambda free: jnp.where(free > 0, shift, h), self.free)
        return whole.restrict(self.free, diagonal), weights, shift

    def _assembled(self, weights: tuple[jax.Array, ...]) -> Any:
        T, width = len(self.fixed_mask), len(self.hessian.bands) - 1
        each = concatenate(weights)
        return assemble(
            self.rows, LagrangianTerms(each, each, each), T, width, self.partition
        )


def solve_kkt(
    system: KKTSystem,
    force: Float[jax.Array, "T nv"],
    values: tuple[jax.Array, ...],
    boost: Any = 1.0,
) -> tuple[Float[jax.Array, "T nv"], tuple[jax.Array, ...]]:
    """The step δ and multipliers λ with H δ + Aᵀ λ = force and A δ = values.

    Force and δ are equal in all slices where columns are shared; such a force counts
    once. Held variables and inactive rows get zero. NaN where H is not positive
    definite along the directions that A leaves free; of several solutions (flat
    directions, redundant rows) one of nearly least norm. Linear in force and values,
    and differentiable by them. `boost` multiplies ν, which is small.
    """
    pairs = zip(system.active, values, strict=True)
    values = tuple(jnp.where(a, y, 0.0) for a, y in pairs)
    b, parts = ravel_pytree(
        (_multiply_elementwise(system.free, system.split(force)), values)
    )
    flat = lambda z: ravel_pytree(z)[0]
    z = jax.lax.custom_linear_solve(
        lambda z: flat(system.multiply(*parts(z))),
        b,
        lambda _, b: flat(_solve_with_refinement(system, boost, *parts(b))),
        symmetric=True,
    )
    delta, multipliers = parts(z)
    return system.join(delta), multipliers


def min_relative_curvature(system: KKTSystem) -> jax.Array:
    """About the least eigenvalue of H along free directions, over H's largest entry.

    At most about 1e-9 (float64) where the solution is not unique; NaN where x is no
    minimum. By inverse iteration.
    """
    matrix, _, shift = system.regularize(1.0)
    h, _ = system.scales()
    v, parts = ravel_pytree(system.free)
    index = jnp.arange(v.size, dtype=v.dtype)
    v = v * jnp.cos(7.0 * index**1.5 + 1.0)
    growth = jnp.zeros((), v.dtype)
    for _ in range(3):
        v = v / jnp.maximum(jnp.linalg.norm(v), 1e-30)
        v = ravel_pytree(_multiply_elementwise(system.free, matrix.solve(parts(v))))[0]
        growth = jnp.linalg.norm(v)
    least = jnp.where(growth > 0, 1 / jnp.where(growth > 0, growth, 1.0), h)
    return (least - shift) / h


def _solve_with_refinement(
    system: KKTSystem, boost: Any, force: TangentVector, values: Any
) -> Any:
    """Solve with the regular matrix, and again for what is left."""
    matrix, weights, _ = system.regularize(boost)
    h, lengths = system.scales()
    small = 4 * jnp.finfo(h.dtype).eps

    def error(rest: Any, delta: Any) -> jax.Array:
        worst = _max_norm(rest[0]) / h
        for y, length in zip(rest[1], lengths, strict=True):
            worst = jnp.maximum(worst, jnp.max(jnp.abs(y) / length, initial=0.0))
        return worst - small * _max_norm(delta)

    def refine(state: Any) -> Any:
        k, delta, multipliers, (r, y), before, _ = state
        pull = system.multiply_rows_transposed(jax.tree.map(jnp.multiply, weights, y))
        step = _multiply_elementwise(
            system.free, matrix.solve(jax.tree.map(jnp.add, r, pull))
        )
        along = system.multiply_rows(step)
        more = jax.tree.map(lambda w, s, want: w * (s - want), weights, along, y)
        delta = jax.tree.map(jnp.add, delta, step)
        multipliers = jax.tree.map(jnp.add, multipliers, more)
        product = system.multiply(delta, multipliers)
        rest = jax.tree.map(jnp.subtract, (force, values), product)
        return k + 1, delta, multipliers, rest, error(rest, delta), before

    zero = jax.tree.map(jnp.zeros_like, (force, values))
    inf = jnp.full_like(h, jnp.inf)
    begin = (jnp.zeros((), int), *zero, (force, values), inf, inf)
    better = lambda s: (s[0] < 2) | (s[4] < s[5])
    going = lambda s: (s[0] < MAX_REFINEMENTS) & (s[4] > 0) & better(s)
    _, delta, multipliers, *_ = jax.lax.while_loop(going, refine, begin)
    return delta, multipliers


def _multiply_elementwise(a: TangentVector, b: TangentVector) -> TangentVector:
    return TangentVector(a.local * b.local, a.shared * b.shared)


def _max_norm(v: TangentVector) -> jax.Array:
    own, shared = (jnp.max(jnp.abs(a), initial=0.0) for a in v)
    return jnp.maximum(own, shared)


def _multiply_banded(bands: tuple[jax.Array, ...], delta: jax.Array) -> jax.Array:
    T = len(delta)
    total = jnp.einsum("tij,tj->ti", bands[0], delta)
    for d in range(1, min(len(bands), T)):
        total = total.at[d:].add(jnp.einsum("tij,tj->ti", bands[d][d:], delta[:-d]))
        total = total.at[:-d].add(jnp.einsum("tij,ti->tj", bands[d][d:], delta[d:]))
    return total

"""Linear system of an equality-constrained quadratic problem over a chain.

[H Aᵀ; A 0] [δ; λ] = b, with H banded and bordered by shared variables, and A the
active rows; fixed variables stay. It is solved as (H + ν + ω AᵀA), which has the same
bands and border and is positive definite at a strict minimum whatever the rank of A.
Refinement goes on until ν and ω do not matter any more (a proximal method of
multipliers, Rockafellar 1976).
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float

from .bordered_matrix import BorderedMatrix, TangentVector
from .linear_system import (
    VariablePartition,
    assemble,
    multiply_transposed,
    partition_variables,
)
from .merit import LagrangianTerms
from .residuals import ResidualBlock, concatenate, expand_columns

MAX_REFINEMENTS = 50
"""Largest number of refinements of a solution. More serve only systems in which each
gains little."""
MIN_RELATIVE_ROW_LENGTH = 0.03
"""Length, relative to the longest row of A, below which rows count as that long. Higher
values weigh short rows less."""


class RowJacobian(NamedTuple):
    """Jacobian of the rows of a block."""

    local: Float[jax.Array, "n window rows local"]
    """Zero on slices before slice 0."""
    slices: Any
    """Slices of each window (n, window)."""
    shared: Float[jax.Array, "n rows shared"]
    """Summed over the window."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KKTSystem:
    """A symmetric system whose unknowns are a tangent step and a multiplier per row.

    Its leaves may be shapes instead of arrays.
    """

    hessian: BorderedMatrix
    blocks: tuple[ResidualBlock, ...]
    active: tuple[Any, ...]
    """Mask of rows that are part of A, bool (n, rows) for each block."""
    fixed_mask: Any
    """Mask of variables that stay, bool (T, nv)."""
    shared: tuple[int, ...] = field(metadata={"static": True})
    """Columns of nv that are one variable for all slices."""

    @property
    def partition(self) -> VariablePartition:
        """Return the partition into local and shared columns."""
        return partition_variables(self.fixed_mask.shape[1], self.shared)

    @property
    def free(self) -> TangentVector:
        """Return 1 for variables that may move, 0 for fixed ones."""
        return self.split(1.0 - self.fixed_mask)

    def split(self, v: jax.Array) -> TangentVector:
        """Return a vector (T, nv), equal in all slices of shared columns, as parts."""
        return self.partition.split(jnp.asarray(v, self.hessian.corner.dtype))

    def join(self, v: TangentVector) -> Float[jax.Array, "T nv"]:
        """Return a vector (T, nv) from its parts."""
        return self.partition.join(v)

    def undefined_unless(self, is_defined: jax.Array) -> "KKTSystem":
        """Return a system whose solutions are NaN in all unknowns unless `is_defined`.

        The condition is part of the matrix, because one that is applied to a solution
        would turn into zeros in the transposed system of reverse differentiation.
        """
        hessian = jax.tree.map(
            lambda a: jnp.where(is_defined, a, jnp.nan), self.hessian
        )
        active = tuple(mask | ~is_defined for mask in self.active)
        fixed_mask = self.fixed_mask & is_defined
        return replace(self, hessian=hessian, active=active, fixed_mask=fixed_mask)

    def row_jacobians(self) -> list[RowJacobian]:
        """Return the Jacobian of each block."""
        jacobians = []
        for block in self.blocks:
            window = block.J.shape[1]
            slices = block.last_slice[:, None] - jnp.arange(window - 1, -1, -1)
            is_inside = (slices >= 0)[..., None, None]
            J = expand_columns(block, self.fixed_mask.shape[1])
            local = jnp.where(is_inside, J[..., self.partition.local], 0.0)
            shared = jnp.sum(J[..., self.partition.shared], 1)
            jacobians.append(RowJacobian(local, slices, shared))
        return jacobians

    def scales(self) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        """Return H's largest diagonal entry, never zero, and the length of each row.

        Rows much shorter than the longest one count as longer than they are: near a
        singular point their direction means nothing.
        """
        squares = [
            jnp.sum(J.local**2, (1, 3)) + jnp.sum(J.shared**2, -1)
            for J in self.row_jacobians()
        ]
        longest = jnp.zeros((), self.hessian.corner.dtype)
        for active, square in zip(self.active, squares, strict=True):
            longest = jnp.maximum(longest, jnp.max(active * square, initial=0.0))
        entries = jax.tree.map(
            lambda free, d: free * jnp.abs(d), self.free, self.hessian.diagonal()
        )
        # H may vanish where costs are flat; then A sets the scale.
        h = _max_norm(entries)
        h = jnp.maximum(jnp.maximum(h, 1e-6 * longest), 1e-30)
        floor = jnp.where(longest > 0, MIN_RELATIVE_ROW_LENGTH**2 * longest, 1.0)
        return h, tuple(jnp.sqrt(jnp.maximum(square, floor)) for square in squares)

    def multiply(
        self, delta: TangentVector, multipliers: tuple[jax.Array, ...]
    ) -> tuple[TangentVector, Any]:
        """Return the product with the matrix.

        Fixed variables and inactive rows are multiplied by the identity, so that the
        matrix is regular.
        """
        moving = _multiply_elementwise(self.free, delta)
        row_force = self.multiply_rows_transposed(multipliers)
        force = jax.tree.map(jnp.add, row_force, self.hessian.multiply(moving))
        row_values = self.multiply_rows(moving)
        triples = zip(self.active, row_values, multipliers, strict=True)
        values = tuple(jnp.where(active, y, m) for active, y, m in triples)

        def select(free: jax.Array, force: jax.Array, delta: jax.Array) -> jax.Array:
            return jnp.where(free > 0, force, delta)

        return jax.tree.map(select, self.free, force, delta), values

    def multiply_rows(self, delta: TangentVector) -> tuple[jax.Array, ...]:
        """Return A δ for all rows; zero for inactive ones."""
        values = []
        for J, active in zip(self.row_jacobians(), self.active, strict=True):
            y = jnp.einsum("nwrv,nwv->nr", J.local, delta.local[J.slices])
            y = y + J.shared @ delta.shared
            values.append(jnp.where(active, y, 0.0))
        return tuple(values)

    def multiply_rows_transposed(
        self, multipliers: tuple[jax.Array, ...]
    ) -> TangentVector:
        """Return Aᵀ λ."""
        pairs = zip(self.active, multipliers, strict=True)
        active_multipliers = tuple(jnp.where(a, m, 0.0) for a, m in pairs)
        T = len(self.fixed_mask)
        return self.split(
            multiply_transposed(self.blocks, active_multipliers, T, self.partition)
        )

    def regularize(
        self, growth: float | Float[jax.Array, ""]
    ) -> tuple[BorderedMatrix, tuple[jax.Array, ...], jax.Array]:
        """Return H + ν + Aᵀ ω A without fixed variables, ω of each row, and ν.

        Args:
            growth: factor of ν.
        """
        h, lengths = self.scales()
        # ν is small beside H but large beside rounding errors; ω weighs rows more than
        # H and leaves enough digits to solve the sum.
        eps = jnp.finfo(h.dtype).eps
        shift = growth * eps**0.6 * h
        penalty = eps**-0.25 * h
        pairs = zip(self.active, lengths, strict=True)
        # ω is the same for rows of unit length, so that scaling a row changes nothing.
        weights = tuple(jnp.where(a, penalty / length**2, 0.0) for a, length in pairs)
        matrix = jax.tree.map(jnp.add, self.hessian, self._weighted_square(weights))
        diagonal = jax.tree.map(lambda free: jnp.where(free > 0, shift, h), self.free)
        return matrix.restrict(self.free, diagonal), weights, shift

    def _weighted_square(self, weights: tuple[jax.Array, ...]) -> BorderedMatrix:
        """Return Jᵀ W J with a weight of each row."""
        T, order = len(self.fixed_mask), len(self.hessian.bands) - 1
        w = concatenate(weights)
        terms = LagrangianTerms(w, w, w)
        return assemble(self.blocks, terms, T, order, self.partition).hessian


def solve_kkt(
    system: KKTSystem,
    force: Float[jax.Array, "T nv"],
    values: tuple[jax.Array, ...],
    growth: float | Float[jax.Array, ""] = 1.0,
) -> tuple[Float[jax.Array, "T nv"], tuple[jax.Array, ...]]:
    """Solve H δ + Aᵀ λ = force and A δ = values for the step δ and multipliers λ.

    Force and δ are equal in all slices of shared columns; such a force counts once.
    Fixed variables and inactive rows get zero. The result is NaN if H is not positive
    definite along the directions that A leaves free. If there are several solutions
    (flat directions, redundant rows), it is one of nearly least norm. Zeros give zeros,
    whatever H is. It is linear in force and values, and differentiable with respect to
    them.

    Args:
        system: the matrix.
        force: right-hand side of the first equation.
        values: right-hand side of the second one, (n, rows) for each block.
        growth: factor of the small regularisation ν.
    """
    pairs = zip(system.active, values, strict=True)
    values = tuple(jnp.where(active, y, 0.0) for active, y in pairs)
    free_force = _multiply_elementwise(system.free, system.split(force))
    b, unravel = ravel_pytree((free_force, values))

    def multiply(z: jax.Array) -> jax.Array:
        return ravel_pytree(system.multiply(*unravel(z)))[0]

    def solve(_: Any, b: jax.Array) -> jax.Array:
        z = ravel_pytree(_solve_with_refinement(system, growth, *unravel(b)))[0]
        # 0 · NaN: a solution that a loss masks out must not spoil the sum of gradients.
        return jnp.where(jnp.any(b != 0), z, 0.0)

    # Derivatives solve the same system again instead of differentiating the loop.
    z = jax.lax.custom_linear_solve(multiply, b, solve, symmetric=True)
    delta, multipliers = unravel(z)
    return system.join(delta), multipliers


def has_minimum(system: KKTSystem) -> Bool[jax.Array, ""]:
    """Whether H curves up, or is flat, in all directions that rows and bounds leave."""
    matrix, _, _ = system.regularize(1.0)
    solved = matrix.solve(system.free)
    return jnp.all(jnp.isfinite(solved.local)) & jnp.all(jnp.isfinite(solved.shared))


def min_relative_curvature(system: KKTSystem) -> jax.Array:
    """Estimate the least eigenvalue of H along free directions, over H's largest entry.

    It is at most about 1e-9 (float64) if the solution is not unique, and NaN if x is no
    minimum. Three steps of inverse iteration (Golub and Van Loan 2013, section 8.2).
    """
    matrix, _, shift = system.regularize(1.0)
    h, _ = system.scales()
    v, unravel = ravel_pytree(system.free)
    index = jnp.arange(v.size, dtype=v.dtype)
    # An irregular start is unlikely to be orthogonal to an eigenvector.
    v = v * jnp.cos(7.0 * index**1.5 + 1.0)
    growth = jnp.zeros((), v.dtype)
    for _ in range(3):
        v = v / jnp.maximum(jnp.linalg.norm(v), 1e-30)
        solved = matrix.solve(unravel(v))
        v = ravel_pytree(_multiply_elementwise(system.free, solved))[0]
        growth = jnp.linalg.norm(v)
    least = jnp.where(growth > 0, 1 / jnp.where(growth > 0, growth, 1.0), h)
    curvature: jax.Array = (least - shift) / h
    return curvature


_Refinement = tuple[
    jax.Array,
    TangentVector,
    tuple[jax.Array, ...],
    tuple[TangentVector, tuple[jax.Array, ...]],
    jax.Array,
    jax.Array,
]
"""Number of refinements, step, multipliers, residuals, their error and the last one."""


def _solve_with_refinement(
    system: KKTSystem,
    growth: float | Float[jax.Array, ""],
    force: TangentVector,
    values: tuple[jax.Array, ...],
) -> tuple[TangentVector, tuple[jax.Array, ...]]:
    """Solve with the regularised matrix, and again for the residual that is left."""
    matrix, weights, _ = system.regularize(growth)
    h, lengths = system.scales()
    rounding = 4 * jnp.finfo(h.dtype).eps

    def error(
        residual: tuple[TangentVector, tuple[jax.Array, ...]], delta: TangentVector
    ) -> jax.Array:
        """Return the largest relative residual, less its rounding error."""
        largest = _max_norm(residual[0]) / h
        for y, length in zip(residual[1], lengths, strict=True):
            largest = jnp.maximum(largest, jnp.max(jnp.abs(y) / length, initial=0.0))
        beyond: jax.Array = largest - rounding * _max_norm(delta)
        return beyond

    def refine(state: _Refinement) -> _Refinement:
        k, delta, multipliers, (r, y), last_error, _ = state
        # Minimise ½ δᵀ(H + ν)δ + ½ ‖Aδ - y‖²_ω - r·δ, whose multipliers are ω (Aδ - y).
        row_force = system.multiply_rows_transposed(
            jax.tree.map(jnp.multiply, weights, y)
        )
        solved = matrix.solve(jax.tree.map(jnp.add, r, row_force))
        step = _multiply_elementwise(system.free, solved)
        row_values = system.multiply_rows(step)
        change = jax.tree.map(
            lambda w, value, y: w * (value - y), weights, row_values, y
        )
        delta = jax.tree.map(jnp.add, delta, step)
        multipliers = jax.tree.map(jnp.add, multipliers, change)
        product = system.multiply(delta, multipliers)
        residual = jax.tree.map(jnp.subtract, (force, values), product)
        return k + 1, delta, multipliers, residual, error(residual, delta), last_error

    def goes_on(state: _Refinement) -> jax.Array:
        k, _, _, _, error, last_error = state
        # Without improvement, rounding errors are all that is left.
        is_improving = (k < 2) | (error < last_error)
        return (k < MAX_REFINEMENTS) & (error > 0) & is_improving

    delta, multipliers = jax.tree.map(jnp.zeros_like, (force, values))
    infinity = jnp.full_like(h, jnp.inf)
    begin: _Refinement = (
        jnp.zeros((), int),
        delta,
        multipliers,
        (force, values),
        infinity,
        infinity,
    )
    _, delta, multipliers, *_ = jax.lax.while_loop(goes_on, refine, begin)
    return delta, multipliers


def _multiply_elementwise(a: TangentVector, b: TangentVector) -> TangentVector:
    return TangentVector(a.local * b.local, a.shared * b.shared)


def _max_norm(v: TangentVector) -> jax.Array:
    local, shared = (jnp.max(jnp.abs(a), initial=0.0) for a in v)
    return jnp.maximum(local, shared)

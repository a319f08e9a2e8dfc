"""The linear system of an equality-constrained quadratic problem over a chain.

[H Aᵀ; A 0] [δ; λ] = b, with H in bands and A the active rows; held variables stay.
Solved as (H + ν + ω AᵀA), which is banded and positive definite at a strict minimum
whatever the rank of A, and refined until ν and ω no longer matter (a proximal method
of multipliers).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Bool, Float

from .banded import solve_banded
from .rows import Rows, Weights
from .system import Columns, assemble, columns

REFINEMENTS = 50
SHORT = 0.03
"""Rows shorter than this share of the longest one get no larger weight."""


class Saddle(NamedTuple):
    """A symmetric system; unknowns are a tangent step and a number for each row."""

    bands: Float[jax.Array, "bands T nv nv"]
    """H's blocks of slices (t, t - d)."""
    rows: tuple[Rows, ...]
    active: tuple[Bool[jax.Array, "n rows"], ...]
    held: Bool[jax.Array, "T nv"]

    def scales(self) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        """H's largest diagonal entry, never quite zero, and the length of each row.

        Rows much shorter than the longest count as longer than they are: near a
        singular point they say nothing.
        """
        squares = []
        for rows in self.rows:
            window = rows.J.shape[1]
            at = rows.last[:, None] - jnp.arange(window - 1, -1, -1)
            J = jnp.where((at >= 0)[..., None, None], rows.J, 0.0)
            squares.append(jnp.sum(J**2, (1, 3)))
        pairs = list(zip(self.active, squares, strict=True))
        longest = jnp.zeros((), self.bands.dtype)
        for active, square in pairs:
            longest = jnp.maximum(longest, jnp.max(active * square, initial=0.0))
        diagonal = jnp.diagonal(self.bands[0], axis1=1, axis2=2)
        h = jnp.max(jnp.where(self.held, 0.0, jnp.abs(diagonal)), initial=0.0)
        h = jnp.maximum(jnp.maximum(h, 1e-6 * longest), 1e-30)
        floor = jnp.where(longest > 0, SHORT**2 * longest, 1.0)
        return h, tuple(jnp.sqrt(jnp.maximum(square, floor)) for square in squares)

    def times(self, delta: jax.Array, multipliers: Any) -> tuple[jax.Array, Any]:
        """The product with the matrix; the identity on held and inactive unknowns."""
        moving = jnp.where(self.held, 0.0, delta)
        force = self.transposed(multipliers) + _banded_times(self.bands, moving)
        along = self.forward(moving)
        rest = zip(self.active, along, multipliers, strict=True)
        kept = tuple(jnp.where(a, y, m) for a, y, m in rest)
        return jnp.where(self.held, delta, force), kept

    def forward(self, delta: jax.Array) -> tuple[jax.Array, ...]:
        """A δ; zero in inactive rows."""
        found = []
        for rows, active in zip(self.rows, self.active, strict=True):
            window = rows.J.shape[1]
            at = rows.last[:, None] - jnp.arange(window - 1, -1, -1)
            part = jnp.where((at >= 0)[..., None], delta[at], 0.0)
            y = jnp.einsum("nwrv,nwv->nr", rows.J, part)
            found.append(jnp.where(active, y, 0.0))
        return tuple(found)

    def transposed(self, multipliers: Any) -> Float[jax.Array, "T nv"]:
        """Aᵀ λ of the active rows."""
        pairs = zip(self.active, multipliers, strict=True)
        force = tuple(jnp.where(a, m, 0.0) for a, m in pairs)
        weights = tuple(Weights(f, f, f) for f in force)
        T, nv = self.held.shape
        return assemble(self.rows, weights, T, len(self.bands) - 1, _own(nv)).gradient

    def regular(self, boost: Any) -> tuple[jax.Array, tuple[jax.Array, ...], jax.Array]:
        """Bands of H + ν + Aᵀ ω A with held variables cut out; ω of each row; ν."""
        T, nv = self.held.shape
        h, lengths = self.scales()
        eps = jnp.finfo(self.bands.dtype).eps
        shift = boost * eps**0.6 * h
        pairs = zip(self.active, lengths, strict=True)
        penalty = eps**-0.25 * h
        weights = tuple(jnp.where(a, penalty / s**2, 0.0) for a, s in pairs)
        width = self.bands.shape[0] - 1
        each = tuple(Weights(w, w, w) for w in weights)
        bands = self.bands + assemble(self.rows, each, T, width, _own(nv)).bands
        free = ~self.held
        for d in range(width + 1):
            mask = free[:, :, None] & jnp.roll(free, d, 0)[:, None, :]
            bands = bands.at[d].set(jnp.where(mask, bands[d], 0.0))
        diagonal = jnp.where(self.held, h, shift)
        bands = bands.at[0].add(diagonal[:, :, None] * jnp.eye(nv, dtype=bands.dtype))
        return bands, weights, shift


def solve_kkt(
    system: Saddle,
    force: Float[jax.Array, "T nv"],
    values: tuple[jax.Array, ...],
    boost: Any = 1.0,
) -> tuple[Float[jax.Array, "T nv"], tuple[jax.Array, ...]]:
    """The step δ and multipliers λ with H δ + Aᵀ λ = force and A δ = values.

    Held variables and inactive rows get zero. NaN where H is not positive definite
    along the directions that A leaves free; of several solutions (flat directions,
    redundant rows) one of nearly least norm. Linear in force and values, and
    differentiable by them. `boost` multiplies ν, which is small.
    """
    force = jnp.where(system.held, 0.0, force)
    pairs = zip(system.active, values, strict=True)
    values = tuple(jnp.where(a, y, 0.0) for a, y in pairs)
    b, parts = ravel_pytree((force, values))
    flat = lambda z: ravel_pytree(z)[0]
    z = jax.lax.custom_linear_solve(
        lambda z: flat(system.times(*parts(z))),
        b,
        lambda _, b: flat(_refined(system, boost, *parts(b))),
        symmetric=True,
    )
    return parts(z)


def weakest_curvature(system: Saddle) -> jax.Array:
    """About the least eigenvalue of H along free directions, over H's largest entry.

    At most about 1e-9 (float64) where the solution is not unique; NaN where x is no
    minimum. By inverse iteration.
    """
    bands, _, shift = system.regular(1.0)
    h, _ = system.scales()
    index = jnp.arange(system.held.size, dtype=bands.dtype).reshape(system.held.shape)
    v = jnp.where(system.held, 0.0, jnp.cos(7.0 * index**1.5 + 1.0))
    growth = jnp.zeros((), bands.dtype)
    for _ in range(3):
        v = v / jnp.maximum(jnp.linalg.norm(v), 1e-30)
        v = jnp.where(system.held, 0.0, solve_banded(bands, v[..., None])[..., 0])
        growth = jnp.linalg.norm(v)
    least = jnp.where(growth > 0, 1 / jnp.where(growth > 0, growth, 1.0), h)
    return (least - shift) / h


def _refined(system: Saddle, boost: Any, force: jax.Array, values: Any) -> Any:
    """Solve with the regular matrix, and again for what is left."""
    bands, weights, _ = system.regular(boost)
    h, lengths = system.scales()
    small = 4 * jnp.finfo(force.dtype).eps

    def error(rest: Any, delta: Any) -> jax.Array:
        worst = jnp.max(jnp.abs(rest[0]), initial=0.0) / h
        for y, length in zip(rest[1], lengths, strict=True):
            worst = jnp.maximum(worst, jnp.max(jnp.abs(y) / length, initial=0.0))
        return worst - small * jnp.max(jnp.abs(delta), initial=0.0)

    def refine(state: Any) -> Any:
        k, delta, multipliers, (r, y), before, _ = state
        pull = system.transposed(jax.tree.map(jnp.multiply, weights, y))
        step = jnp.where(
            system.held, 0.0, solve_banded(bands, (r + pull)[..., None])[..., 0]
        )
        along = system.forward(step)
        more = jax.tree.map(lambda w, s, want: w * (s - want), weights, along, y)
        delta = delta + step
        multipliers = jax.tree.map(jnp.add, multipliers, more)
        product = system.times(delta, multipliers)
        rest = jax.tree.map(jnp.subtract, (force, values), product)
        return k + 1, delta, multipliers, rest, error(rest, delta), before

    zero = jax.tree.map(jnp.zeros_like, (force, values))
    inf = jnp.full_like(h, jnp.inf)
    begin = (jnp.zeros((), int), *zero, (force, values), inf, inf)
    better = lambda s: (s[0] < 2) | (s[4] < s[5])
    going = lambda s: (s[0] < REFINEMENTS) & (s[4] > 0) & better(s)
    _, delta, multipliers, *_ = jax.lax.while_loop(going, refine, begin)
    return delta, multipliers


def _own(nv: int) -> Columns:
    """All columns belong to one slice."""
    return columns(nv, ())


def _banded_times(bands: jax.Array, delta: jax.Array) -> jax.Array:
    T = len(delta)
    total = jnp.einsum("tij,tj->ti", bands[0], delta)
    for d in range(1, min(bands.shape[0], T)):
        total = total.at[d:].add(jnp.einsum("tij,tj->ti", bands[d, d:], delta[:-d]))
        total = total.at[:-d].add(jnp.einsum("tij,ti->tj", bands[d, d:], delta[d:]))
    return total

"""What the solver's loop carries: a point, the rows there, and the next trial."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from .options import Options


class Linearization(NamedTuple):
    """Of rows, what is not the same at all points; see `Rows`."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows columns"]


class TrialStep(NamedTuple):
    """A step, not yet judged."""

    x: Float[jax.Array, "T nq"]
    step: Float[jax.Array, "T nv"]
    length: Float[jax.Array, ""]
    predicted: Float[jax.Array, ""]
    potential: Float[jax.Array, ""]
    """See `linear_system.diagonal_model_decrease`."""
    cut: Bool[jax.Array, ""]
    """A bound bends the step."""
    pinned: Bool[jax.Array, "T nv"]
    """Directions in which x is at that bound."""
    solvable: Bool[jax.Array, ""]


class SolverState(NamedTuple):
    """Everything the loop carries."""

    x: Float[jax.Array, "T nq"]
    proposal: TrialStep
    rows: tuple[Linearization, ...]
    """Lines in place of those that are flat; see `foretold`."""
    mask: tuple[Bool[jax.Array, "n rows"] | None, ...]
    """Of those."""
    kind: Int[jax.Array, " N"]
    """Of all rows, in line."""
    correct: Bool[jax.Array, ""]
    """Whether the proposal is the step there, which was refused, corrected by them."""
    multipliers: Float[jax.Array, " N"]
    """Of all rows, in line."""
    mu: Float[jax.Array, ""]
    share: Float[jax.Array, " N"]
    """Of mu, in each row; see `residuals.row_scaling`."""
    damping: Float[jax.Array, ""]
    refused: Bool[jax.Array, ""]
    """Whether the last step was."""
    met: Bool[jax.Array, " N"]
    """Inequalities that steps refused from here ran into, or the proposal foresees."""
    pinned: Bool[jax.Array, "T nv"]
    """Directions in which they left bounds that x is at."""
    last_violation: Float[jax.Array, ""]
    stalls: Int[jax.Array, ""]
    patience: Int[jax.Array, ""]
    """Feasible passes in a row."""
    cost: Float[jax.Array, ""]
    """Noted at the first of them, then every `PATIENCE`."""
    iterations: Int[jax.Array, ""]
    last: Float[jax.Array, ""]
    """Of iterations, before there is a pause."""
    status: Int[jax.Array, ""]
    done: Bool[jax.Array, ""]

    @property
    def penalty(self) -> Float[jax.Array, " N"]:
        """Of each row."""
        return self.mu * self.share


def step_is_negligible(options: Options, p: TrialStep, enough: jax.Array) -> jax.Array:
    """Whether a step gains next to nothing."""
    return (p.length < options.step_tolerance) | (p.predicted < enough)


def model_is_flat(p: TrialStep, enough: jax.Array) -> jax.Array:
    """Whether an undamped one would gain little more than that."""
    return p.potential < 10 * enough


def relative_scale(merit: jax.Array) -> jax.Array:
    """What relative decreases of the value are relative to."""
    return 1e-3 + jnp.abs(merit)

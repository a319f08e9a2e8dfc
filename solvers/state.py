"""State of the solver's loop: iterate, next trial step, and what decides about them."""

from typing import Any, NamedTuple, Protocol

import jax
from jaxtyping import Float, Int, PyTree

from .merit import AugmentedLagrangian
from .residuals import FlatResiduals


class Linearization(NamedTuple):
    """Values and derivatives of a `ResidualBlock`, which differ from point to point."""

    y: Float[jax.Array, "n rows"]
    J: Float[jax.Array, "n window rows columns"]


class Iterate(NamedTuple):
    """The point that the solve has reached."""

    x: Float[jax.Array, "T nq"]
    residuals: FlatResiduals
    """All rows at x."""
    linearization: tuple[Linearization, ...]
    """All blocks at x."""


class ScheduleState(NamedTuple):
    """State of the updates of multipliers and penalty."""

    last_violation: Float[jax.Array, ""]
    """Largest violation at the end of the last subproblem."""
    stalls: Int[jax.Array, ""]
    """Consecutive subproblems that hardly reduced the violation."""
    largest_square: Float[jax.Array, ""]
    """Largest sum of squared violations of all iterates; see `steer_penalty`."""


class ProgressWindow(NamedTuple):
    """Cost over the last feasible iterations."""

    feasible_iterations: Int[jax.Array, ""]
    """Consecutive iterations at feasible points."""
    reference_cost: Float[jax.Array, ""]
    """Cost at the first iteration of the window."""


class Counter(NamedTuple):
    """Number of iterations."""

    iterations: Int[jax.Array, ""]
    """Number of evaluated points."""
    pause_at: Float[jax.Array, ""]
    """Number of iterations at which the loop pauses."""


class Trial(Protocol):
    """The point that the loop evaluates next."""

    @property
    def x(self) -> Float[jax.Array, "T nq"]:
        """The point, within the bounds."""
        ...

    @property
    def imbalance(self) -> Float[jax.Array, ""]:
        """Relative gradient at the iterate; see `optimality.gradient_imbalance`."""
        ...


class SolverState(NamedTuple):
    """Everything the loop carries."""

    iterate: Iterate
    trial: Any
    """The step method's `Trial`."""
    lagrangian: AugmentedLagrangian
    search: PyTree
    """The step method's memory from step to step."""
    schedule: ScheduleState
    window: ProgressWindow
    counter: Counter
    status: Int[jax.Array, ""]
    """A `Status`; INTERRUPTED until the solve is done."""

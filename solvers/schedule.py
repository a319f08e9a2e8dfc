"""Updates of multipliers and penalty between subproblems.

Multipliers are updated at the end of each subproblem, and the penalty is raised where
that has reduced the violation too little (ALGENCAN's rule: Birgin and Martínez 2014,
chapter 4; Nocedal and Wright 2006, framework 17.3). It is also raised within a
subproblem, before a step that would give up feasibility for a lower cost.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from .merit import AugmentedLagrangian
from .options import Options
from .residuals import FlatResiduals, total_cost, violation
from .state import ScheduleState

STALL_RATIO = 0.9
"""Share of the violation that a subproblem has to leave to count as a stall. With a
higher one, fewer do."""
MAX_STALLS = 2
"""Number of stalls at the largest penalty that end a solve as infeasible. With more, it
ends later."""
MAX_TRADE = 4.0
"""Growth of the sum of squared violations [1] above which a step trades them for cost.
Lower values raise the penalty sooner, which keeps feasible paths but costs minima."""


class NextSubproblem(NamedTuple):
    """The merit function of the next subproblem."""

    lagrangian: AugmentedLagrangian
    schedule: ScheduleState
    is_infeasible: Bool[jax.Array, ""]
    """Whether the violation has stalled at the largest penalty."""


def next_subproblem(
    options: Options,
    lagrangian: AugmentedLagrangian,
    schedule: ScheduleState,
    residuals: FlatResiduals,
    violation: Float[jax.Array, ""],
    is_solved: Bool[jax.Array, ""],
) -> NextSubproblem:
    """Return the next subproblem where the present one is solved, else the same.

    Args:
        options: of the solver.
        lagrangian: multipliers and penalty of the present one.
        schedule: its state.
        residuals: rows at the iterate.
        violation: the largest one at the iterate.
        is_solved: whether the present subproblem is solved.
    """
    is_unmet = is_solved & (violation > options.tolerance)
    decreases_slowly = (
        violation > options.sufficient_violation_decrease * schedule.last_violation
    )
    has_stalled = violation > STALL_RATIO * schedule.last_violation
    stalls = jnp.where(has_stalled, schedule.stalls + 1, 0)
    # A penalty at its largest value that no longer reduces the violation has found a
    # stationary point of the violation.
    is_infeasible = is_unmet & has_stalled
    is_infeasible = is_infeasible & may_be_infeasible(options, lagrangian, schedule)
    # Multipliers are updated even where the violation stalls, because the penalty grows
    # then, so that they stay bounded.
    multipliers = lagrangian.update_multipliers(residuals)
    mu = jnp.minimum(lagrangian.mu * options.mu_factor, options.mu_max)
    updated = lagrangian._replace(
        multipliers=jnp.where(is_unmet, multipliers, lagrangian.multipliers),
        mu=jnp.where(is_unmet & decreases_slowly, mu, lagrangian.mu),
    )
    state = schedule._replace(
        last_violation=jnp.where(is_solved, violation, schedule.last_violation),
        stalls=jnp.where(is_solved, stalls, schedule.stalls),
    )
    return NextSubproblem(updated, state, is_infeasible)


def may_be_infeasible(
    options: Options, lagrangian: AugmentedLagrangian, schedule: ScheduleState
) -> Bool[jax.Array, ""]:
    """Return whether one more stall of the violation ends the solve as infeasible."""
    is_largest = lagrangian.mu >= options.mu_max
    return is_largest & (schedule.stalls >= MAX_STALLS - 1)


def steer_penalty(
    options: Options,
    lagrangian: AugmentedLagrangian,
    largest_square: Float[jax.Array, ""],
    residual_pair: FlatResiduals,
) -> AugmentedLagrangian:
    """Return the merit function with a larger penalty if a step trades violations.

    A penalty that is too small for the cost lets the first steps leave a feasible path,
    and the solver may not find back. The larger one makes such a step increase the
    merit: it follows from the scales of the problem (steering of penalties: Byrd,
    Nocedal and Waltz 2008; Curtis, Jiang and Robinson 2015).

    Args:
        options: of the solver.
        lagrangian: the merit function.
        largest_square: largest sum of squared violations so far.
        residual_pair: rows (2, N) at the iterate, and after a step that the merit
            function accepts.
    """
    # Violations that count as feasible in solutions are nothing to keep to.
    floor = options.feasibility_tolerance**2
    # Compared with the largest of all iterates: a path that follows a curved constraint
    # violates it again and again, without harm.
    squares = squared_violation(lagrangian, residual_pair)
    is_trade = squares[1] > MAX_TRADE * jnp.maximum(largest_square, floor)
    growth = jnp.maximum(squares[1] - squares[0], 1e-30)
    # With μ above the quotient the step increases the sum of cost and penalty.
    costs = total_cost(residual_pair)
    balance = (costs[0] - costs[1]) / growth
    mu = jnp.maximum(2 * balance, 2 * lagrangian.mu)
    mu = jnp.where(is_trade, jnp.minimum(mu, options.mu_max), lagrangian.mu)
    return lagrangian._replace(mu=mu)


def squared_violation(
    lagrangian: AugmentedLagrangian, residuals: FlatResiduals
) -> Float[jax.Array, "*points"]:
    """Return the sum of squared violations that the penalty multiplies."""
    return jnp.sum(lagrangian.row_scale * violation(residuals) ** 2, -1)

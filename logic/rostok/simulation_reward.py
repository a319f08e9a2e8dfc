"""The weighted sum of criteria."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.robots.validation import number

from .criterion import Criterion, check_result, check_smooth_result
from .errors import EventError
from .event_loop import SimulationResult
from .smooth_events import SmoothResult

ZERO_REWARD_TOLERANCE = 1e-3
"""Largest magnitude of a total [1] that rostok treats as zero; larger ones are kept."""
ZERO_REWARD_LEVEL = 0.02
"""Reward [1] that rostok returns instead of a total of zero, so that such a run differs
from one without a reward."""


class SimulationReward:
    """Weighted sum of criteria.

    Repaired: nothing is rounded. rostok rounds each reward and the total to three
    decimals, and returns 0.02 for a total within 0.001 of zero, more than for a total
    of 0.01.

    Args:
        verbosity: if above 0, rewards are printed.
    """

    def __init__(self, verbosity: int = 0) -> None:
        self.criteria: list[Criterion] = []
        self.weights: list[float] = []
        self.verbosity = verbosity

    def add_criterion(self, citerion: Criterion, weight: float) -> None:
        """Add a criterion.

        Args:
            citerion: the criterion; the name of the argument is rostok's.
            weight: weight of any sign.

        Raises:
            EventError: for an object that is not a criterion, or an infinite weight.
        """
        if not isinstance(citerion, Criterion):
            raise EventError(f"citerion is {citerion!r}, expected a Criterion.")
        label = f"Weight of {type(citerion).__name__}"
        self.weights.append(number(label, weight, error=EventError))
        self.criteria.append(citerion)

    def calculate_reward(
        self, simulation_output: SimulationResult, partial: bool = False
    ) -> float | list[float]:
        """Return the weighted sum, or the single rewards.

        Args:
            simulation_output: result of `run_events`.
            partial: whether to return a list of the rewards without weights, in the
                order in which criteria were added.

        Raises:
            EventError: as the criteria.
        """
        check_result(self, simulation_output)
        legacy = simulation_output.legacy
        rewards = [c.calculate_reward(simulation_output) for c in self.criteria]
        if legacy:
            rewards = [round(r, 3) for r in rewards]
        if self.verbosity > 0:
            names = [type(c).__name__ for c in self.criteria]
            print(dict(zip(names, rewards, strict=True)))
        if partial:
            return rewards
        total = sum(w * r for w, r in zip(self.weights, rewards, strict=True))
        if not legacy:
            return total
        if abs(total) <= ZERO_REWARD_TOLERANCE:
            return ZERO_REWARD_LEVEL
        return round(total, 3)

    @full_matmul_precision
    def smooth(
        self, run: SmoothResult, partial: bool = False
    ) -> Float[jax.Array, "*criteria"]:
        """Return the smooth weighted sum, or the single smooth rewards.

        Args:
            run: result of `smooth_events`.
            partial: whether to return an array of the rewards without weights, in the
                order in which criteria were added.

        Raises:
            EventError: as the criteria.
        """
        check_smooth_result(self, run)
        rewards = jnp.array([c.smooth(run) for c in self.criteria])
        return rewards if partial else rewards @ jnp.array(self.weights)

    def residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        """Return the residuals of all criteria, each times the root of its weight.

        Raises:
            EventError: for a negative weight, and as the criteria.
        """
        check_smooth_result(self, run)
        if min(self.weights, default=0.0) < 0:
            raise EventError(
                f"weights are {self.weights}, expected weights >= 0 because residuals"
                " are squared; use smooth() for negative weights."
            )
        pairs = zip(self.criteria, self.weights, strict=True)
        rows = [math.sqrt(w) * c.residual(run) for c, w in pairs]
        return jnp.concatenate([jnp.zeros(0), *rows])

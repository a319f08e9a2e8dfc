"""The weighted sum of criteria."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.robots.validation import number

from .criterion import Criterion, check_result, check_smooth_result
from .event import EventError

ZERO_REWARD_TOLERANCE = 1e-3
"""rostok: totals within this of zero count as nothing,"""
ZERO_REWARD_REPLACEMENT = 0.02
"""and nothing is worth this."""


class SimulationReward:
    """The weighted sum of criteria.

    Repaired: nothing is rounded. rostok rounds each reward and the total to three
    decimals and makes a total within 0.001 of zero 0.02, more than a true 0.01.

    Args:
        verbosity: above 0 the rewards are printed.
    """

    def __init__(self, verbosity: Any = 0) -> None:
        self.criteria: list[Criterion] = []
        self.weights: list[float] = []
        self.verbosity = verbosity

    def add_criterion(self, citerion: Any, weight: Any) -> None:
        """Add a criterion. (The argument's name is rostok's.)

        Args:
            citerion: a `Criterion`.
            weight: its weight, of any sign.

        Raises:
            EventError: for what is no criterion, or no finite number.
        """
        if not isinstance(citerion, Criterion):
            raise EventError(f"citerion is {citerion!r}, expected a Criterion.")
        what = f"Weight of {type(citerion).__name__}"
        self.weights.append(number(what, weight, error=EventError))
        self.criteria.append(citerion)

    def calculate_reward(
        self, simulation_output: Any, partial: bool = False
    ) -> float | list[float]:
        """The weighted sum; partial: the rewards themselves, without weights.

        Args:
            simulation_output: the result of `run_events`.
            partial: give a list, in the order in which criteria were added.

        Raises:
            EventError: what the criteria raise.
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
        return (
            ZERO_REWARD_REPLACEMENT
            if abs(total) <= ZERO_REWARD_TOLERANCE
            else round(total, 3)
        )

    @full_matmul_precision
    def smooth(self, run: Any, partial: bool = False) -> Float[jax.Array, "*criteria"]:
        """The weighted sum as a smooth function; partial: the rewards themselves.

        Args:
            run: the result of `smooth_events`.
            partial: give an array, in the order in which criteria were added.

        Raises:
            EventError: what the criteria raise.
        """
        check_smooth_result(self, run)
        rewards = jnp.array([c.smooth(run) for c in self.criteria])
        return rewards if partial else rewards @ jnp.array(self.weights)

    def residual(self, run: Any) -> Float[jax.Array, " rows"]:
        """√weight · residual of each criterion, one after another, for sos objectives.

        Args:
            run: the result of `smooth_events`.

        Raises:
            EventError: for a negative weight; what the criteria raise.
        """
        check_smooth_result(self, run)
        if min(self.weights, default=0.0) < 0:
            raise EventError(
                f"weights are {self.weights}; only weights >= 0 have a residual, for"
                " others take smooth()."
            )
        pairs = zip(self.criteria, self.weights, strict=True)
        rows = [math.sqrt(w) * c.residual(run) for c, w in pairs]
        return jnp.concatenate([jnp.zeros(0), *rows])

"""Logistic probabilities of comparisons, and of independent events.

A margin > 0 means that a comparison holds. The temperature tau > 0 is in the unit of
the margin and may be traced; probabilities tend to 0 or 1 as tau -> 0.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.robots.typing import Array

MAX_LOG_ODDS = 40.0
"""Largest magnitude of log odds [1]. Odds beyond exp(40) are numerically certain; the
limit keeps cumulative sums of log probabilities accurate."""


def probability(
    margin: Float[Array, "*n"], tau: Float[Array, ""]
) -> Float[Array, "*n"]:
    """Return the probability sigmoid(margin / tau) that a comparison holds."""
    return jax.nn.sigmoid(margin / tau)


def log_complement(
    margin: Float[Array, "*n"], tau: Float[Array, ""]
) -> Float[Array, "*n"]:
    """Return the log probability log(1 - sigmoid(margin / tau)) that it does not."""
    return -jax.nn.softplus(jnp.clip(margin / tau, -MAX_LOG_ODDS, MAX_LOG_ODDS))


def at_least_two(p: Float[Array, "*n b"]) -> Float[Array, "*n"]:
    """Return the probability that two or more of b independent events occur."""
    zero, one, more = jnp.ones(p.shape[:-1]), *jnp.zeros((2, *p.shape[:-1]))
    # The distribution of min(count, 2), updated by one event after another.
    for b in range(p.shape[-1]):
        x = p[..., b]
        zero, one, more = zero * (1 - x), one * (1 - x) + zero * x, more + one * x
    return more

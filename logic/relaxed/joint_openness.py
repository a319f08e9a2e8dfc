"""Whether joints are open: rows in joint values, as shares of their ranges."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.symbol import Symbol

from ..smooth_extrema import mellowmin_within

STRICT_MARGIN = 1e-6
"""By what strict inequalities are kept, a share of the range."""


def any_open(
    q: Float[jax.Array, " joints"], *, ends: Any, both: Any, least: Any, error: Any
) -> Float[jax.Array, "1"]:
    """At most 0 only where one joint is open.

    Args:
        q: values of the joints.
        ends: of each, where it is closed and where it is open (joints, 2).
        both: 1 where both ends are closed ones.
        least: the share of the range that counts as closed.
        error: how far the row may lie above what is exact.
    """
    return mellowmin_within(STRICT_MARGIN - _margins(q, ends, both, least), error)[None]


def all_closed(
    q: Float[jax.Array, " joints"], *, ends: Any, both: Any, least: Any, error: Any
) -> Float[jax.Array, " joints"]:
    """At most 0 only where no joint is open; see `any_open`."""
    return _margins(q, ends, both, least)


def _margins(q: Any, ends: Any, both: Any, least: Any) -> Any:
    done = (q - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
    beyond = done - least
    return jnp.where(both > 0, jnp.minimum(beyond, 1 - least - done), beyond)


def openness_symbol(truth: bool, numbers: Any) -> Symbol:
    """Of joints; `numbers` gives its arrays in a world."""
    return Symbol(
        any_open if truth else all_closed,
        "opened" if truth else "closed",
        frames=(1, None),
        dim=1 if truth else None,
        input_kind="joints",
        params=lambda C, names: {k: np.asarray(v) for k, v in numbers(C).items()},
    )

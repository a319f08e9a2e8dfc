"""Relaxation of open joints: rows in joint values, as fractions of their ranges."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.arrays import Array
from posewise.features.symbol import Symbol
from posewise.features.symbol_kinds import JointSymbol
from posewise.robots.config import Config

from ..smooth_extrema import mellowmin_within

STRICT_FRACTION = 1e-6
"""Margin that turns a strict inequality into one with <=, as a fraction of a range;
with a larger one joints open farther."""


def any_open(
    q: Float[jax.Array, " joints"],
    *,
    ends: Float[Array, "joints 2"],
    both_ends: Float[Array, " joints"],
    closed_fraction: Float[Array, ""],
    error: Float[Array, ""],
) -> Float[jax.Array, "1"]:
    """Return a row at most 0 only where one joint is open.

    Args:
        q: values of the joints.
        ends: the closed and the open end of each joint (joints, 2).
        both_ends: 1 for joints of which both ends are closed, else 0 (joints,).
        closed_fraction: fraction of the range that counts as closed.
        error: bound on how far the row may be above the exact value.
    """
    # Sound: the mellowmin is at least the minimum over joints.
    margins = _margins(q, ends, both_ends, closed_fraction)
    return mellowmin_within(STRICT_FRACTION - margins, error)[None]


def all_closed(
    q: Float[jax.Array, " joints"],
    *,
    ends: Float[Array, "joints 2"],
    both_ends: Float[Array, " joints"],
    closed_fraction: Float[Array, ""],
    error: Float[Array, ""],
) -> Float[jax.Array, " joints"]:
    """Return rows at most 0 only where no joint is open, exactly; see `any_open`."""
    return _margins(q, ends, both_ends, closed_fraction)


def _margins(q: Any, ends: Any, both_ends: Any, closed_fraction: Any) -> Any:
    """Return by how much each joint is open, as a fraction of its range."""
    # Fractions make joints of different units and ranges comparable in one minimum.
    opened = (q - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
    margin = opened - closed_fraction
    from_both = jnp.minimum(margin, 1 - closed_fraction - opened)
    return jnp.where(both_ends > 0, from_both, margin)


def openness_symbol(
    truth: bool, joint_data: Callable[[Config], Mapping[str, Any]]
) -> Symbol:
    """Return the symbol of a joint being open, or of all being closed.

    Args:
        truth: False for all joints being closed.
        joint_data: returns the arguments of `any_open` in a world.
    """

    def params(C: Config, names: Sequence[str]) -> dict[str, np.ndarray]:
        return {k: np.asarray(v) for k, v in joint_data(C).items()}

    return JointSymbol(
        any_open if truth else all_closed,
        "opened" if truth else "closed",
        frames=(1, None),
        dim=1 if truth else None,
        params=params,
    )

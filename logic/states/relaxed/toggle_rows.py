"""Rows φ <= 0 over a trajectory that switch objects on and off.

φ <= 0 implies the exact truth. Smooth ones are above the exact number by the bound that
each states; the others are exact.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.errors import ConfigError

from ..toggle_slice_rules import PRESS_DISTANCE, PRESS_STEPS
from .aggregates import Scalar, mellowmin

STRICT_MARGIN = 1e-4
"""Of strict inequalities [m]."""


def toggled_rows(
    distance: Float[jax.Array, "T fingers"],
    presses: Sequence[tuple[int, int]],
    threshold: float = PRESS_DISTANCE,
    steps: int = PRESS_STEPS,
    sharpness: Scalar = 1000.0,
) -> Float[jax.Array, " rows"]:
    """A button is pressed in given windows of steps, and left alone in all others [m].

    Each window flips the switch once, in its fifth step. Rows: in windows the nearest
    finger is near (one per step; misses by ln(fingers) / sharpness), elsewhere none is
    (one per step and finger).

    Args:
        distance: of each finger to the button at each step [m].
        presses: windows (first, end) of steps, end excluded, in order.
        threshold: [m].
        steps: least length of a window.
        sharpness: of the mellowmin over fingers [1/m].

    Raises:
        ConfigError: for windows that are too short, out of the trajectory, or not
            apart by at least one step.
    """
    near = np.zeros(len(distance), bool)
    before = -1
    for first, end in presses:
        if first <= before or end - first < steps or end > len(distance) or first < 0:
            raise ConfigError(
                f"toggled_rows: window ({first}, {end}) does not fit: expected {steps}"
                f" steps or more within 0 to {len(distance)}, one or more after the"
                " window before."
            )
        near[first:end] = True
        before = end
    pressed = mellowmin(distance[near], sharpness) - threshold + STRICT_MARGIN
    apart = threshold - distance[~near] + STRICT_MARGIN
    return jnp.concatenate([pressed, apart.reshape(-1)])

"""Rows φ <= 0 over a trajectory that switch an object on and off.

φ <= 0 implies the exact truth, because the smooth minimum is an upper bound.

These are functions of trajectories for problems outside of KOMO. Constraints of KOMO
come from the plans in this folder.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.errors import ConfigError
from posewise.robots.typing import Array

from ...smooth_extrema import Scalar, mellowmin
from ..toggle_slice_rules import PRESS_DISTANCE, PRESS_STEPS

STRICT_MARGIN = 1e-4
"""Margin of strict inequalities [m]; larger is farther from complete."""


def toggled_rows(
    distance: Float[Array, "T fingers"],
    presses: Sequence[tuple[int, int]],
    threshold: float = PRESS_DISTANCE,
    steps: int = PRESS_STEPS,
    smoothing: Scalar = 1e-3,
) -> Float[Array, " rows"]:
    """Return rows of pressing a button in windows of steps, and in no other step [m].

    Each window flips the switch once, in its fifth step. In windows the nearest finger
    is near (one row for each step; misses by at most smoothing · ln(fingers)); in all
    other steps no finger is (one exact row for each step and finger).

    Args:
        distance: of each finger to the button at each step [m].
        presses: windows (first, end) of steps, end excluded, in order.
        threshold: distance below which a finger is near [m].
        steps: least length of a window.
        smoothing: temperature of the mellowmin over fingers [m].

    Raises:
        ConfigError: if a window is too short, not within the trajectory, or not
            separated from the one before by at least one step.
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
    nearest = mellowmin(distance[near], smoothing, axis=-1)
    pressed = nearest - threshold + STRICT_MARGIN
    released = threshold - distance[~near] + STRICT_MARGIN
    return jnp.concatenate([pressed, released.reshape(-1)])

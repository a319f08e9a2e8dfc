"""Rules for buttons that fingers press and for blades that cut, exactly.

iGibson 2.0 (Li et al., 2021), `object_states/toggle.py` and `slicer.py`.
"""

import numpy as np
from jaxtyping import Bool, Float

PRESS_DISTANCE = 0.1
"""Distance below which a finger presses a button [m]; longer is pressed more easily."""
PRESS_STEPS = 5
"""Number of consecutive steps of a press that flip a switch; more need a longer one."""
SLICE_FORCE = 10.0
"""Normal force above which a blade cuts [N]."""


def toggle_step(
    toggled_on: bool,
    near_steps: int,
    distance: float,
    threshold: float = PRESS_DISTANCE,
    steps: int = PRESS_STEPS,
) -> tuple[bool, int]:
    """Return the value of a switch and the count of its press, one step later.

    Args:
        toggled_on: value before the step.
        near_steps: number of steps for which a finger was near before.
        distance: of the nearest finger to the button [m].
        threshold: distance below which a finger is near [m].
        steps: number of consecutive steps that flip the switch.
    """
    near_steps = near_steps + 1 if distance < threshold else 0
    # Equality flips the switch once per press: the finger must leave in between.
    return bool(toggled_on) ^ (near_steps == steps), near_steps


def slice_step(
    sliced: bool,
    normal_force: Float[np.ndarray, "*contacts"],
    blade: Bool[np.ndarray, "*contacts"],
    slice_force: float = SLICE_FORCE,
) -> bool:
    """Return whether an object is cut after a step; a cut is never undone.

    Args:
        sliced: whether it was cut before.
        normal_force: of its contacts [N].
        blade: which contacts are with a slicer's blade.
        slice_force: force that a cut exceeds [N].
    """
    return bool(sliced) or bool(np.any((normal_force > slice_force) & blade))

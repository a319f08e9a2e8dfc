"""Buttons pressed by fingers and blades that cut: iGibson 2.0's rules, exactly."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

PRESS_DISTANCE = 0.1
"""A finger presses a button within less than this [m]."""
PRESS_STEPS = 5
"""For so many steps in a row."""
SLICE_FORCE = 10.0
"""A blade cuts above this normal force [N]."""


def toggle_step(
    toggled_on: bool,
    near_steps: int,
    distance: Any,
    threshold: float = PRESS_DISTANCE,
    steps: int = PRESS_STEPS,
) -> tuple[bool, int]:
    """Value of a switch, and for how many steps a finger was near, one step later.

    It flips once, when the count is reached; the finger has to leave in between.

    Args:
        toggled_on: value before.
        near_steps: count before.
        distance: of the nearest finger to the button [m].
        threshold: [m]; at that distance a finger is not near.
        steps: in a row that flip it.
    """
    near_steps = near_steps + 1 if distance < threshold else 0
    return bool(toggled_on) ^ (near_steps == steps), near_steps


def toggle_history(
    distance: Float[np.ndarray, " T"],
    start: bool = False,
    threshold: float = PRESS_DISTANCE,
    steps: int = PRESS_STEPS,
) -> Bool[np.ndarray, " T"]:
    """Value of a switch after each of T steps; see `toggle_step`."""
    value, near, found = start, 0, np.empty(len(distance), bool)
    for k, d in enumerate(distance):
        value, near = toggle_step(value, near, d, threshold, steps)
        found[k] = value
    return found


def slice_step(
    sliced: Any,
    normal_force: Float[np.ndarray, "*contacts"],
    blade: Bool[np.ndarray, "*contacts"],
    slice_force: float = SLICE_FORCE,
) -> Any:
    """Whether an object is in halves after a step: once cut, always.

    Args:
        sliced: whether it was before.
        normal_force: of its contacts [N].
        blade: which contacts are with a slicer's blade.
        slice_force: a cut needs more [N].
    """
    return bool(sliced) or bool(
        np.any((np.asarray(normal_force) > slice_force) & blade)
    )


def slice_history(
    normal_force: Float[np.ndarray, " T"],
    blade: Bool[np.ndarray, " T"],
    slice_force: float = SLICE_FORCE,
) -> Bool[np.ndarray, " T"]:
    """Whether an object is in halves after each of T steps of one contact."""
    cuts = (np.asarray(normal_force) > slice_force) & blade
    return np.logical_or.accumulate(cuts)

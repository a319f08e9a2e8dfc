"""Series of states that follow from the rules of single steps."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.logic.states.thermal_rules import DEFAULT_STEP, temperature_step
from posewise.logic.states.toggle_slice_rules import toggle_step


def temperature_history(
    start: float,
    in_range: Bool[np.ndarray, "T sources"],
    source_temperature: Float[np.ndarray, " sources"],
    heating_rate: Float[np.ndarray, " sources"],
    dt: float = DEFAULT_STEP,
    **options: float,
) -> Float[np.ndarray, " T"]:
    """Return the temperature [°C] of one object after each of T steps."""
    T, history = np.asarray(start, float), np.empty(len(in_range))
    for k, reached in enumerate(in_range):
        T = temperature_step(
            T, reached, source_temperature, heating_rate, dt, **options
        )
        history[k] = T
    return history


def toggle_history(
    distance: Float[np.ndarray, " T"], **options: float
) -> Bool[np.ndarray, " T"]:
    """Return the value of a switch after each of T steps, off at first."""
    value, near, history = False, 0, np.empty(len(distance), bool)
    for k, d in enumerate(distance.tolist()):
        value, near = toggle_step(value, near, d, **options)
        history[k] = value
    return history

"""Series of states that follow from the rules of single steps."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from posewise.logic.states.thermal_rules import DEFAULT_STEP, temperature_step
from posewise.logic.states.toggle_slice_rules import toggle_step
from posewise.logic.states.water_rules import DROPLET_PERIOD, stream_step
from posewise.robots.annotations.object_states import DROPLETS_PER_SOURCE, Stream


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


def emission(
    running: Bool[np.ndarray, " T"],
    dt: float,
    period: float = DROPLET_PERIOD,
    drops: int = DROPLETS_PER_SOURCE,
) -> Bool[np.ndarray, " T"]:
    """Return in which of T steps a source releases a droplet."""
    stream, released = Stream(left=drops), np.zeros(len(running), bool)
    for k, on in enumerate(running):
        stream = replace(stream, running=bool(on))
        stream, released[k] = stream_step(stream, dt, period)
    return released

"""How temperatures change: iGibson 2.0's rule, exactly, in NumPy."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.errors import ConfigError
from posewise.robots.validation import number
from posewise.robots.world.object_states import AMBIENT_TEMPERATURE

DEFAULT_DECAY = 0.02
"""How fast objects go back to the ambient temperature [1/s]."""
DEFAULT_STEP = 1 / 30
"""Time between two updates of the states [s]."""


BoolLike = Bool[np.ndarray, "..."] | bool


def is_source_active(
    toggled_on: BoolLike,
    open: BoolLike,
    requires_toggled_on: BoolLike,
    requires_closed: BoolLike,
) -> Bool[np.ndarray, "..."]:
    """Whether sources of heat or cold work."""
    on = np.logical_or(toggled_on, np.logical_not(requires_toggled_on))
    return np.asarray(on & ~np.logical_and(open, requires_closed))


def temperature_step(
    temperature: Float[np.ndarray, "*objects"],
    in_range: Bool[np.ndarray, "*objects sources"],
    source_temperature: Float[np.ndarray, " sources"],
    heating_rate: Float[np.ndarray, " sources"],
    dt: float,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY,
) -> Float[np.ndarray, "*objects"]:
    """Temperatures [°C] one step later: T + dt · Σ rate · (T_source - T).

    The sum is over the active sources in range, all with the old temperature; where
    there is none, the object goes toward the ambient temperature.

    Args:
        temperature: of the objects [°C].
        in_range: which sources are active and reach which object.
        source_temperature: [°C].
        heating_rate: [1/s].
        dt: length of the step [s].
        ambient: [°C].
        decay: rate toward the ambient temperature [1/s].
    """
    T = np.asarray(temperature, float)
    toward = heating_rate * (source_temperature - T[..., None])
    heat = np.where(in_range, toward, 0.0).sum(-1)
    alone = ~np.any(in_range, -1)
    return np.asarray(T + dt * np.where(alone, decay * (ambient - T), heat))


def temperature_history(
    start: float,
    in_range: Bool[np.ndarray, "T sources"],
    source_temperature: Float[np.ndarray, " sources"],
    heating_rate: Float[np.ndarray, " sources"],
    dt: float = DEFAULT_STEP,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY,
) -> Float[np.ndarray, " T"]:
    """Temperature [°C] of one object after each of T steps; see `temperature_step`."""
    T, found = np.asarray(start, float), np.empty(len(in_range))
    for k, reached in enumerate(in_range):
        T = temperature_step(
            T, reached, source_temperature, heating_rate, dt, ambient, decay
        )
        found[k] = T
    return found


def dwell_steps(
    start: Any,
    target: Any,
    source_temperature: Any,
    heating_rate: Any,
    dt: Any = DEFAULT_STEP,
) -> int:
    """Steps in range of one source alone until a temperature is reached.

    N = ⌈ln((T_s - T_0) / (T_s - T)) / -ln(1 - r·dt)⌉, from the closed form
    T_k = T_s - (T_s - T_0)(1 - r·dt)^k of the update rule. A source above the start
    heats to the target or more, one below cools to it or less; 0 where that is so from
    the start.

    Args:
        start: [°C].
        target: [°C].
        source_temperature: [°C].
        heating_rate: [1/s].
        dt: length of a step [s].

    Raises:
        ConfigError: when the source never gets the object there.
    """
    T0, T, Ts = (
        number(f"dwell_steps: {name}", x, "a temperature (°C)")
        for name, x in (
            ("start", start),
            ("target", target),
            ("source_temperature", source_temperature),
        )
    )
    dt = number("dwell_steps: dt", dt, "a number > 0 (s)", lambda x: x > 0)
    rate = number(
        "dwell_steps: heating_rate",
        heating_rate,
        f"a number with 0 < rate · dt < 1 (dt is {dt:g} s)",
        lambda x: 0 < x * dt < 1,
    )
    if T == T0 or (T < T0 < Ts) or (T > T0 > Ts):
        return 0
    if (T - Ts) * (T0 - Ts) <= 0:
        raise ConfigError(
            f"A source of {Ts:g} °C never brings an object from {T0:g} °C to {T:g} °C:"
            " it only nears its own temperature."
        )
    return int(np.ceil(np.log((Ts - T0) / (Ts - T)) / -np.log1p(-rate * dt)))

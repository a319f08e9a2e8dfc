"""The rule by which temperatures change, exactly, in NumPy.

iGibson 2.0 (Li et al., 2021), `object_states/temperature.py` and
`heat_source_or_sink.py`.
"""

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.object_states import AMBIENT_TEMPERATURE
from posewise.robots.errors import ConfigError
from posewise.robots.validation import number

DEFAULT_DECAY_RATE = 0.02
"""Rate of return to the ambient temperature [1/s]; higher returns faster."""
DEFAULT_STEP = 1 / 30
"""Time between two updates of the states [s], iGibson's render step; with a larger one
short contacts are missed."""

BoolLike = Bool[np.ndarray, "..."] | bool


def is_source_active(
    toggled_on: BoolLike,
    open: BoolLike,
    requires_toggled_on: BoolLike,
    requires_closed: BoolLike,
) -> Bool[np.ndarray, "..."]:
    """Return whether sources of heat or cold work, elementwise."""
    on = np.logical_or(toggled_on, np.logical_not(requires_toggled_on))
    return np.asarray(on & ~np.logical_and(open, requires_closed))


def temperature_step(
    temperature: Float[np.ndarray, "*objects"],
    in_range: Bool[np.ndarray, "*objects sources"],
    source_temperature: Float[np.ndarray, " sources"],
    heating_rate: Float[np.ndarray, " sources"],
    dt: float,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY_RATE,
) -> Float[np.ndarray, "*objects"]:
    """Return temperatures [°C] one step later, T + dt · Σ rate · (T_source - T).

    The sum is over the active sources in range, all with the old temperature; without
    any, an object approaches the ambient temperature.

    Args:
        temperature: of the objects [°C].
        in_range: which sources are active and reach which object.
        source_temperature: of each source [°C].
        heating_rate: of each source [1/s].
        dt: length of the step [s].
        ambient: temperature of the surroundings [°C].
        decay: rate toward the ambient temperature [1/s].
    """
    T = np.asarray(temperature, float)
    pull = heating_rate * (source_temperature - T[..., None])
    heat = np.where(in_range, pull, 0.0).sum(-1)
    # iGibson applies the ambient decay only where no source acts.
    out_of_range = ~np.any(in_range, -1)
    return np.asarray(T + dt * np.where(out_of_range, decay * (ambient - T), heat))


def dwell_steps(
    start: float,
    target: float,
    source_temperature: float,
    heating_rate: float,
    dt: float = DEFAULT_STEP,
) -> int:
    """Return the number of steps in range of a single source that reach a temperature.

    N = ⌈ln((T_s - T_0) / (T_s - T)) / -ln(1 - r·dt)⌉, from the closed form
    T_k = T_s - (T_s - T_0)(1 - r·dt)^k of the update rule. A source above the start
    heats to the target or more, a source below cools to it or less; 0 where that holds
    from the start.

    Args:
        start: temperature before the first step [°C].
        target: temperature to reach [°C].
        source_temperature: of the source [°C].
        heating_rate: of the source [1/s].
        dt: length of a step [s].

    Raises:
        ConfigError: if an argument is not a suitable number, or the source never brings
            the object to the target.
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
            " it only approaches its own temperature."
        )
    return int(np.ceil(np.log((Ts - T0) / (Ts - T)) / -np.log1p(-rate * dt)))

"""The rule by which temperatures change, exactly, in NumPy.

iGibson 2.0 (Li et al., 2021), `object_states/temperature.py` and
`heat_source_or_sink.py`.
"""

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.object_states import AMBIENT_TEMPERATURE

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

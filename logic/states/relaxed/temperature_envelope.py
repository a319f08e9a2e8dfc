"""Temperatures along trajectories, enclosed from both sides and differentiable.

The exact rule depends on whether a source is in range, yes or no, which has no useful
derivative. Here two smooth gates bound that truth value from below and above, so that
two roll-outs enclose the exact one, for hot and cold sources in any number. All
functions run under jit, vmap and grad.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from posewise.robots.annotations.object_states import AMBIENT_TEMPERATURE
from posewise.robots.errors import ConfigError
from posewise.robots.typing import Array

from ...smooth_extrema import Scalar, smoothstep
from ..thermal_rules import DEFAULT_DECAY, DEFAULT_STEP

Activity = Shaped[Array, "*#time sources"] | float | bool
"""Whether each source is on, 0 or 1, for each step or for all steps."""


class Gates(NamedTuple):
    """Bounds of "in range": 0 <= lower <= exact (0 or 1) <= upper <= 1."""

    lower: Float[Array, "T sources"]
    upper: Float[Array, "T sources"]


class TemperatureEnvelope(NamedTuple):
    """Temperatures after each step [°C]: lower <= exact <= upper."""

    lower: Float[Array, "*T"]
    upper: Float[Array, "*T"]


def range_gates(
    violation: Float[Array, "T sources"],
    delta: float,
    slack: float = 0.0,
    active: Activity = 1.0,
) -> Gates:
    """Return smooth gates of width delta on both sides of the end of a range.

    Args:
        violation: at most 0 in range: distance - distance_threshold [m]; for a source
            that requires_inside, a relaxed `InsideOf`, which implies the exact one.
        delta: width of a gate, in the violation's unit, > 0.
        slack: bound such that in range implies violation <= slack: 0 for distances, the
            bound of a relaxed `InsideOf`.
        active: whether each source is on (0 or 1).
    """
    on = jnp.asarray(active, violation.dtype)
    # Sound: the lower gate is 0 unless violation < 0, the upper one is 1 wherever
    # violation <= slack.
    lower = smoothstep(-violation / delta)
    upper = smoothstep((slack + delta - violation) / delta)
    return Gates(on * lower, on * upper)


def temperature_envelope(
    start: Scalar,
    gates: Gates,
    source_temperature: Float[Array, " sources"],
    heating_rate: Float[Array, " sources"],
    dt: float = DEFAULT_STEP,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY,
) -> TemperatureEnvelope:
    """Return bounds of the exact roll-out of one object's temperature, at every step.

    Each source adds rate · (T_source - T) times the gate that makes the change least
    (or greatest), and so do the surroundings, whose gates are the products of all
    1 - gate.

    Args:
        start: temperature before the first step [°C].
        gates: of the sources at each step.
        source_temperature: of each source [°C].
        heating_rate: of each source [1/s].
        dt: length of a step [s].
        ambient: temperature of the surroundings [°C].
        decay: rate toward the ambient temperature [1/s].

    Raises:
        ConfigError: if dt · (Σ rates + decay) is not within 0 to 1, where the rates are
            not traced.
    """
    _check_step(heating_rate, dt, decay)
    out_of_range = Gates(jnp.prod(1 - gates.upper, -1), jnp.prod(1 - gates.lower, -1))

    def change(
        T: Array, least: Array, most: Array, least_ambient: Array, most_ambient: Array
    ) -> Array:
        """Return T one step later, with a gate for heating and one for cooling."""
        heat = heating_rate * (source_temperature - T)
        rest = decay * (ambient - T)
        pull = jnp.where(heat > 0, least, most) * heat
        return T + dt * (
            pull.sum() + jnp.where(rest > 0, least_ambient, most_ambient) * rest
        )

    def step(
        T: TemperatureEnvelope, at_step: tuple[Gates, Gates]
    ) -> tuple[TemperatureEnvelope, TemperatureEnvelope]:
        # Sound by induction: the exact update increases with T, because its slope
        # 1 - dt · (Σ rates + decay) is not negative, and for each T the gates chosen
        # here make it smallest (greatest).
        gate, rest = at_step
        lower = change(T.lower, gate.lower, gate.upper, rest.lower, rest.upper)
        upper = change(T.upper, gate.upper, gate.lower, rest.upper, rest.lower)
        return TemperatureEnvelope(lower, upper), TemperatureEnvelope(lower, upper)

    T0 = jnp.asarray(start, gates.lower.dtype)
    return jax.lax.scan(step, TemperatureEnvelope(T0, T0), (gates, out_of_range))[1]


def envelope_bound(
    start: Scalar,
    gates: Gates,
    source_temperature: Float[Array, " sources"],
    heating_rate: Float[Array, " sources"],
    dt: float = DEFAULT_STEP,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY,
) -> Float[Array, " T"]:
    """Return a bound of the width of the envelope after each step [°C].

    dt · range · Σ_t (Σ_s rate · (upper - lower) + decay · (same of the surroundings)),
    where range is that of all temperatures in the world: the bound grows only in steps
    that are spent within delta of the end of a source's range.

    Args:
        start: temperature before the first step [°C].
        gates: of the sources at each step.
        source_temperature: of each source [°C].
        heating_rate: of each source [1/s].
        dt: length of a step [s].
        ambient: temperature of the surroundings [°C].
        decay: rate toward the ambient temperature [1/s].
    """
    hottest = jnp.maximum(jnp.max(source_temperature, initial=ambient), start)
    coldest = jnp.minimum(jnp.min(source_temperature, initial=ambient), start)
    uncertain = jnp.sum(heating_rate * (gates.upper - gates.lower), -1)
    rest = jnp.prod(1 - gates.lower, -1) - jnp.prod(1 - gates.upper, -1)
    return dt * (hottest - coldest) * jnp.cumsum(uncertain + decay * rest)


def _check_step(heating_rate: Array, dt: float, decay: float) -> None:
    """Raise a ConfigError if a step overshoots; traced rates are not checked."""
    if any(isinstance(x, jax.core.Tracer) for x in (heating_rate, dt, decay)):
        return
    share = float(dt * (np.sum(heating_rate) + decay))
    if not 0 <= share <= 1:
        raise ConfigError(
            f"dt · (sum of heating rates + decay) is {share:g}, expected 0 to 1: a step"
            " would overshoot, and temperatures could not be enclosed; take a smaller"
            " dt."
        )

"""Temperatures along trajectories, enclosed from both sides and differentiable.

The exact rule asks whether a source is in range, yes or no. Here gates say how much it
surely is and how much it may be; between them lies every answer, so that two roll-outs
enclose the exact one, for hot and cold sources in any number. Everything runs under
jit, vmap and grad.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from posewise.features.safe_math import norm
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import AMBIENT_TEMPERATURE

from ..thermal_rules import DEFAULT_DECAY, DEFAULT_STEP
from .aggregates import smoothstep

Activity = Shaped[Any, "*#time sources"] | float | bool


class Gates(NamedTuple):
    """How far sources reach an object: 0 <= lower <= exact (0 or 1) <= upper <= 1."""

    lower: Float[jax.Array, "T sources"]
    upper: Float[jax.Array, "T sources"]


class TemperatureEnvelope(NamedTuple):
    """Temperatures after each step [°C]: lower <= exact <= upper."""

    lower: Float[jax.Array, " T"]
    upper: Float[jax.Array, " T"]


def source_distances(
    position: Float[Any, "T 3"], sources: Float[Any, "*#time sources 3"]
) -> Float[jax.Array, "T sources"]:
    """Distances of an object to points of sources [m]; gradient zero at zero."""
    return norm(jnp.asarray(position)[:, None] - sources)


def range_gates(
    violation: Float[jax.Array, "T sources"],
    delta: float,
    slack: float = 0.0,
    active: Activity = 1.0,
) -> Gates:
    """Smooth gates of width delta on both sides of the end of a range.

    Args:
        violation: in range where <= 0: distance - distance_threshold [m]; of a source
            that requires_inside, a relaxed Inside, which implies the exact one.
        delta: width of a gate, in the violation's unit, > 0.
        slack: in range implies violation <= slack: 0 for distances, the bound of a
            relaxed Inside.
        active: whether each source is on (0 or 1).
    """
    on = jnp.asarray(active, violation.dtype)
    lower = smoothstep(-violation / delta)
    upper = smoothstep((slack + delta - violation) / delta)
    return Gates(on * lower, on * upper)


def temperature_envelope(
    start: Float[Any, ""] | float,
    gates: Gates,
    source_temperature: Float[Any, " sources"],
    heating_rate: Float[Any, " sources"],
    dt: float = DEFAULT_STEP,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY,
) -> TemperatureEnvelope:
    """Temperatures between which the exact roll-out of one object lies, at every step.

    Each source adds rate · (T_source - T) times the gate that makes it least (most),
    and the surroundings likewise: they count by the product of all 1 - gate. The rule
    increases with T while dt · (Σ rates + decay) <= 1, hence the enclosure.

    Args:
        start: temperature before the first step [°C].
        gates: of the sources at each step.
        source_temperature: [°C].
        heating_rate: [1/s].
        dt: length of a step [s].
        ambient: [°C].
        decay: rate toward the ambient temperature [1/s].

    Raises:
        ConfigError: for a step too long for that, where rates are not traced.
    """
    _check_step(heating_rate, dt, decay)
    alone = Gates(jnp.prod(1 - gates.upper, -1), jnp.prod(1 - gates.lower, -1))

    def change(T: Any, below: Any, above: Any, idle: Any, most: Any) -> Any:
        heat = heating_rate * (source_temperature - T)
        rest = decay * (ambient - T)
        toward = jnp.where(heat > 0, below, above) * heat
        return T + dt * (toward.sum() + jnp.where(rest > 0, idle, most) * rest)

    def step(
        T: TemperatureEnvelope, at: tuple[Gates, Gates]
    ) -> tuple[TemperatureEnvelope, TemperatureEnvelope]:
        gate, idle = at
        lower = change(T.lower, gate.lower, gate.upper, idle.lower, idle.upper)
        upper = change(T.upper, gate.upper, gate.lower, idle.upper, idle.lower)
        return TemperatureEnvelope(lower, upper), TemperatureEnvelope(lower, upper)

    T0 = jnp.asarray(start, gates.lower.dtype)
    return jax.lax.scan(step, TemperatureEnvelope(T0, T0), (gates, alone))[1]


def envelope_bound(
    start: Float[Any, ""] | float,
    gates: Gates,
    source_temperature: Float[Any, " sources"],
    heating_rate: Float[Any, " sources"],
    dt: float = DEFAULT_STEP,
    ambient: float = AMBIENT_TEMPERATURE,
    decay: float = DEFAULT_DECAY,
) -> Float[jax.Array, " T"]:
    """How far apart the envelopes may be after each step [°C], for `bound`.

    dt · span · Σ_t (Σ_s rate · (upper - lower) + decay · (same of the surroundings)),
    span being that of all temperatures there are: it grows only in steps that are spent
    within delta of the end of a range.
    """
    hottest = jnp.maximum(jnp.max(source_temperature, initial=ambient), start)
    coldest = jnp.minimum(jnp.min(source_temperature, initial=ambient), start)
    unsure = jnp.sum(heating_rate * (gates.upper - gates.lower), -1)
    idle = jnp.prod(1 - gates.lower, -1) - jnp.prod(1 - gates.upper, -1)
    return dt * (hottest - coldest) * jnp.cumsum(unsure + decay * idle)


def _check_step(heating_rate: Any, dt: Any, decay: Any) -> None:
    if any(isinstance(x, jax.core.Tracer) for x in (heating_rate, dt, decay)):
        return
    share = float(dt * (np.sum(heating_rate) + decay))
    if not 0 <= share <= 1:
        raise ConfigError(
            f"dt · (sum of heating rates + decay) is {share:g}, expected 0 to 1: a step"
            " would overshoot, and temperatures could not be enclosed; take a smaller"
            " dt."
        )

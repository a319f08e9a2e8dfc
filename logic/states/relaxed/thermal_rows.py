"""Rows φ <= 0 over a trajectory that make an object cooked, burnt or frozen.

φ <= 0 implies the exact truth at the end of the trajectory. Each mellowed row says by
how much it may miss: an exact margin of more than that, plus the distance of the
envelopes (`heating.envelope_bound`), suffices for φ <= 0.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.robots.errors import ConfigError

from .aggregates import Scalar, mellowmax, smooth_max
from .temperature_envelope import TemperatureEnvelope

STRICT_MARGIN = 1e-4
"""Of strict inequalities [°C]."""
ScalarRow = Float[jax.Array, "1"]


def dwell_rows(
    distance: Float[jax.Array, " T"],
    threshold: float,
    steps: int,
    start: int = 0,
    delta: float = 1e-3,
) -> Float[jax.Array, " steps"]:
    """Rows that keep an object in range of a source for so many steps [m].

    With `steps = max(1, dwell_steps(...))` it is cooked (burnt; of a cold source, with
    `start = T - steps`, frozen) exactly: no envelope, and a gradient from anywhere.
    That holds for one source alone, or with further ones that heat (cool) as well.

    Args:
        distance: of the object to the source at each step [m].
        threshold: range of the source [m].
        steps: in a row.
        start: the first of them.
        delta: so far within the range [m]; more than the solver's tolerance.

    Raises:
        ConfigError: when the trajectory has not so many steps.
    """
    if not 0 <= start <= start + steps <= len(distance):
        raise ConfigError(
            f"dwell_rows: steps {start} to {start + steps} are not all in a trajectory"
            f" of {len(distance)}; take more or longer slices, or a hotter source."
        )
    return distance[start : start + steps] - (threshold - delta)


def reached_rows(
    T: TemperatureEnvelope, limit: Scalar, sharpness: Scalar = 5.0
) -> ScalarRow:
    """Cooked, burnt: at some step T >= limit [°C]; misses by ln(T) / sharpness.

    Args:
        T: enclosed temperatures.
        limit: the cook or burn temperature [°C].
        sharpness: of the mellowmax over the steps [1/°C].
    """
    return (limit - mellowmax(T.lower, sharpness))[None]


def not_reached_rows(
    T: TemperatureEnvelope, limit: Scalar, sharpness: Scalar = 5.0
) -> ScalarRow:
    """Not cooked, not burnt: at all steps T < limit [°C]; see `reached_rows`."""
    return (smooth_max(T.upper, sharpness) - limit + STRICT_MARGIN)[None]


def cold_rows(T: TemperatureEnvelope, limit: Scalar) -> ScalarRow:
    """Frozen: after the last step T <= limit [°C]."""
    return (T.upper[-1] - limit)[None]


def not_cold_rows(T: TemperatureEnvelope, limit: Scalar) -> ScalarRow:
    """Not frozen: after the last step T > limit [°C]."""
    return (limit - T.lower[-1] + STRICT_MARGIN)[None]


def cooked_not_burnt_rows(
    T: TemperatureEnvelope, cook: Scalar, burn: Scalar, sharpness: Scalar = 5.0
) -> Float[jax.Array, "2"]:
    """Cooked as the document has it: T_cook <= T_max < T_burn [°C]."""
    rows = reached_rows(T, cook, sharpness), not_reached_rows(T, burn, sharpness)
    return jnp.concatenate(rows)

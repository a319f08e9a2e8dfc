"""Rows φ <= 0 over a trajectory that make an object cooked, burnt or frozen.

φ <= 0 implies the exact truth at the end of the trajectory. Each smooth row states by
how much it may miss: an exact margin of more than that, plus the width of the envelope
(`envelope_bound`), suffices for φ <= 0.

These are functions of trajectories for problems outside of KOMO. Constraints of KOMO
come from the plans in this folder.
"""

from jaxtyping import Float

from posewise.robots.errors import ConfigError
from posewise.robots.typing import Array

from ...smooth_extrema import Scalar, mellowmax, smooth_max
from .temperature_envelope import TemperatureEnvelope

STRICT_MARGIN = 1e-4
"""Margin of strict inequalities [°C]; larger is farther from complete."""
ScalarRow = Float[Array, "1"]


def dwell_rows(
    distance: Float[Array, " T"],
    threshold: float,
    steps: int,
    start: int = 0,
    delta: float = 1e-3,
) -> Float[Array, " steps"]:
    """Return rows that keep an object in range of a source for some steps [m].

    With `steps = max(1, dwell_steps(...))` the object is cooked (burnt; for a cold
    source, with `start = T - steps`, frozen) exactly: without an envelope, and with a
    gradient at every distance. That holds for one source, and if all further sources
    heat (cool) as well.

    Args:
        distance: of the object to the source at each step [m].
        threshold: range of the source [m].
        steps: number of consecutive steps.
        start: the first of them.
        delta: margin within the range [m]; more than the solver's tolerance.

    Raises:
        ConfigError: if the trajectory is too short.
    """
    if not 0 <= start <= start + steps <= len(distance):
        raise ConfigError(
            f"dwell_rows: steps {start} to {start + steps} are not all in a trajectory"
            f" of {len(distance)}; take more or longer slices, or a hotter source."
        )
    return distance[start : start + steps] - (threshold - delta)


def reached_rows(
    T: TemperatureEnvelope, limit: Scalar, smoothing: Scalar = 0.2
) -> ScalarRow:
    """Return a row of T >= limit at some step: cooked, burnt [°C].

    It misses by smoothing · ln(T). Sound, because the lower envelope and the mellowmax
    are both lower bounds of the highest exact temperature.

    Args:
        T: enclosed temperatures.
        limit: the cook or burn temperature [°C].
        smoothing: temperature of the mellowmax over the steps [°C].
    """
    return (limit - mellowmax(T.lower, smoothing))[None]


def not_reached_rows(
    T: TemperatureEnvelope, limit: Scalar, smoothing: Scalar = 0.2
) -> ScalarRow:
    """Return a row of T < limit at all steps: not cooked, not burnt [°C].

    It misses by smoothing · ln(T). Sound, because the upper envelope and the smooth
    maximum are both upper bounds of the highest exact temperature.

    Args:
        T: enclosed temperatures.
        limit: the cook or burn temperature [°C].
        smoothing: temperature of the smooth maximum over the steps [°C].
    """
    return (smooth_max(T.upper, smoothing) - limit + STRICT_MARGIN)[None]

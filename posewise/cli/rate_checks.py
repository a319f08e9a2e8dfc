"""Check of the velocities and accelerations in a file against its positions."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config

from .path_file import PathFile
from .rates_by_positions import RATE_TOLERANCES, RatesByPositions, rounding
from .sample_checks import PathCheck


def check_rates(loaded: PathFile, C: Config) -> list[PathCheck]:
    """Check the velocities and accelerations of a file against its positions.

    Velocities may be off by what accelerations change between two rows, and
    accelerations by half of how much they vary there: the file does not tell when.

    Returns:
        The check; none if the file has no velocities, or no times.
    """
    rates = RatesByPositions.of(loaded, C)
    if rates is None or loaded.velocities is None:
        return []
    lines = [*_velocity_lines(rates)]
    if loaded.accelerations is not None:
        lines += _acceleration_lines(rates)
    name = "velocities and accelerations as the positions tell"
    return [PathCheck(name, not lines, tuple(lines))]


def _velocity_lines(rates: RatesByPositions) -> Iterator[str]:
    """Yield a sentence on each coordinate with wrong velocities, at the worst row."""
    names, v, mean = rates.names, rates.v, rates.velocities
    change = np.abs(rates.a)
    if np.isnan(change).all():
        change = np.abs(np.gradient(v, rates.times, axis=0))
    change = _largest_near(np.nan_to_num(change), 1)
    largest = np.max(np.abs(np.nan_to_num(v)), axis=0)
    slack = rates.steps * np.maximum(change[1:], change[:-1])
    slack = slack + RATE_TOLERANCES.velocity_part * largest + rounding(v)
    slack = slack + rates.velocity_rounding
    # Each mean is between the velocities at both its rows, and the other way round.
    excess = np.full_like(v, -np.inf)
    excess[1:] = _outside(mean, v[:-1], v[1:]) - slack
    excess_over_means = _outside(v[1:-1], mean[:-1], mean[1:]) - np.maximum(
        slack[1:], slack[:-1]
    )
    # The last row may stand still after the end, which comes between two rows.
    excess[1:-2] = np.maximum(excess[1:-2], excess_over_means[:-1])
    excess = np.where(np.isnan(excess), -np.inf, excess)
    for i in np.flatnonzero(excess.max(0) > 0):
        k = int(np.argmax(excess[:, i]))
        yield (
            f"The velocity of {names[i]} at {rates.times[k]:.4g} s (row {k}) is"
            f" {v[k, i]:.4g} by its column, but {mean[k - 1, i]:.4g} by its positions."
        )


def _acceleration_lines(rates: RatesByPositions) -> Iterator[str]:
    """Yield a sentence on each coordinate with wrong accelerations, at the worst row.

    The column is integrated twice, linear between rows, so that the means over rows
    are those of the positions.
    """
    span, names = rates.span, rates.names
    k = rates.centers(span)
    if not len(k):
        return
    a, h = np.nan_to_num(rates.a), rates.steps
    v = _sums(h * (a[1:] + a[:-1]) / 2)
    twice = _sums(h * v[:-1] + h**2 * (2 * a[:-1] + a[1:]) / 6)
    by_column, by_positions = (
        rates.accelerations(values, span) for values in (twice, rates.q)
    )
    high, low = _largest_near(a, span + 1)[k], -_largest_near(-a, span + 1)[k]
    part = RATE_TOLERANCES.acceleration_part
    slack = (high - low) / 2 + part * np.abs(a).max(0)
    slack = slack + rounding(a) + rates.acceleration_rounding(span)
    differences = np.abs(by_column - by_positions)
    excess = np.where(np.isnan(rates.a[k]), -np.inf, differences - slack)
    is_often = np.sum(excess > 0, axis=0) > RATE_TOLERANCES.unseen_rows
    for i in np.flatnonzero(is_often):
        j = int(np.argmax(excess[:, i]))
        yield (
            f"The acceleration of {names[i]} at {rates.times[k[j]]:.4g} s (row {k[j]})"
            f" is {by_column[j, i]:.4g} by its column, but {by_positions[j, i]:.4g} by"
            " its positions."
        )


def _outside(
    values: Float[np.ndarray, "n nq"],
    a: Float[np.ndarray, "n nq"],
    b: Float[np.ndarray, "n nq"],
) -> Float[np.ndarray, "n nq"]:
    """Return how far values are from the range between two others."""
    return np.maximum(np.minimum(a, b) - values, values - np.maximum(a, b))


def _sums(steps: Float[np.ndarray, "steps nq"]) -> Float[np.ndarray, "n nq"]:
    """Return the sums of steps so far, from zero."""
    return np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])


def _largest_near(
    values: Float[np.ndarray, "n nq"], reach: int
) -> Float[np.ndarray, "n nq"]:
    """Return the largest value up to some rows before and after each row."""
    # Ranges that are joined double in each round, up to the whole reach.
    largest, covered = values, 0
    while covered < reach:
        step = min(covered + 1, reach - covered)
        padded = np.pad(largest, [(step, step), (0, 0)], mode="edge")
        n = len(values)
        sides = np.maximum(padded[:n], padded[2 * step : 2 * step + n])
        largest = np.maximum(largest, sides)
        covered += step
    return largest

"""Validation of numbers that users give; errors are sentences."""

from collections.abc import Callable
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import ConfigError

MAX_NUMBER = 1e18
"""Size of the largest number that may describe a world [m, rad, kg, …]; larger ones are
refused.

The square of one is finite in float32, and the product of 17 in float64.
"""
CONVERSION_ERRORS = TypeError, ValueError, OverflowError
"""Errors of `float` and `np.array(…, float)` for values that are no numbers."""


def number(
    label: str,
    value: object,
    expected: str = "a finite number",
    condition: Callable[[float], bool] = lambda x: True,
    error: type[ValueError] = ConfigError,
) -> float:
    """Return a value as one finite number.

    Args:
        label: of the value, the subject of the message.
        value: anything.
        expected: description of valid values, for the message.
        condition: true for valid numbers.
        error: class of the error.

    Raises:
        ConfigError: (or `error`) with the value and what was expected.
    """
    try:
        x = float(value) if isinstance(value, float | int) else _scalar(value)
    except CONVERSION_ERRORS:
        x = nan
    if not isfinite(x) or not condition(x):
        shown = value.tolist() if isinstance(value, np.ndarray) else value
        raise error(f"{label} is {shown!r}, expected {expected}.")
    return x


def _scalar(value: Any) -> float:
    """Return the only number of an array; NaN if it has several, or is a string."""
    array = np.asarray(value, float)
    is_single = array.ndim == 0 and not isinstance(value, str | bytes)
    return float(array) if is_single else nan


def is_bounded(values: ArrayLike) -> bool:
    """Return whether all numbers are finite, and at most `MAX_NUMBER` in size."""
    # NaN compares as false.
    return bool(np.all(np.abs(values) <= MAX_NUMBER))


def open_bounds(bounds: np.ndarray) -> np.ndarray:
    """Return bounds, with ±inf for those that no number of a world can reach.

    Exporters write the largest float where there is no bound.
    """
    return np.where(np.abs(bounds) > MAX_NUMBER, np.copysign(np.inf, bounds), bounds)


def leave_values(low: np.ndarray, high: np.ndarray) -> bool:
    """Return whether there are numbers between all lower and upper bounds."""
    return bool(np.all((low <= high) & (low < np.inf) & (high > -np.inf)))


def integer(
    label: str,
    value: object,
    expected: str = "an integer",
    condition: Callable[[float], bool] = lambda x: True,
    error: type[ValueError] = ConfigError,
) -> int:
    """Return a value as one integer; arguments are those of `number`."""

    def is_valid(x: float) -> bool:
        return x == int(x) and condition(x)

    return int(number(label, value, expected, is_valid, error))


def float_array(
    label: str, value: object, expected: str, error: type[ValueError] = ConfigError
) -> np.ndarray:
    """Return a copy of a value as an array of floats of any shape.

    Arguments and errors are those of `number`.
    """
    try:
        return np.array(value, float)
    except CONVERSION_ERRORS:
        raise error(f"{label} is {value!r}, expected {expected}.") from None


def require_finite(
    label: str, array: np.ndarray, error: type[ValueError] = ConfigError
) -> None:
    """Raise an error that tells where an array has NaN or infinity, if it has.

    Args:
        label: of the array, the subject of the message.
        array: of any shape.
        error: class of the error.
    """
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        first = tuple(bad[0].tolist())
        others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise error(
            f"{label}: {array[first]} at index {list(first)}{others}, expected finite"
            " numbers."
        )

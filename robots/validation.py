"""Numbers that users give, checked with a sentence."""

from collections.abc import Callable
from math import isfinite, nan
from typing import Any

import numpy as np

from .errors import ConfigError

CONVERSION_ERRORS = TypeError, ValueError, OverflowError
"""What floats cannot be made of raises one of these."""


def number(
    label: str,
    value: Any,
    expected: str = "a finite number",
    condition: Callable[[float], bool] = lambda x: True,
    error: type[ValueError] = ConfigError,
) -> float:
    """One finite number for which `condition` is true.

    Raises:
        ConfigError: (or `error`) with what was got and what was expected.
    """
    try:
        x = float(value) if type(value) in (float, int, bool) else _scalar(value)
    except CONVERSION_ERRORS:
        x = nan
    if not isfinite(x) or not condition(x):
        shown = value.tolist() if isinstance(value, np.ndarray) else value
        raise error(f"{label} is {shown!r}, expected {expected}.")
    return x


def _scalar(value: Any) -> float:
    """An array's only number; NaN: it has others."""
    array = np.asarray(value, float)
    alone = array.ndim == 0 and not isinstance(value, str | bytes)
    return float(array) if alone else nan


def integer(
    label: str,
    value: Any,
    expected: str = "an integer",
    condition: Callable[[float], bool] = lambda x: True,
    error: type[ValueError] = ConfigError,
) -> int:
    """One integer for which `condition` is true; see `number`."""
    whole = lambda x: x == int(x) and condition(x)
    return int(number(label, value, expected, whole, error))


def float_array(
    label: str, value: Any, expected: str, error: type[ValueError] = ConfigError
) -> np.ndarray:
    """An array of floats of any shape, not the one that was given; see `number`."""
    try:
        return np.array(value, float)
    except CONVERSION_ERRORS:
        raise error(f"{label} is {value!r}, expected {expected}.") from None

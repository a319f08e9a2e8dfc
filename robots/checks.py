"""Numbers that users give, checked with a sentence."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from .errors import ConfigError


def number(
    what: str,
    value: Any,
    expected: str = "a finite number",
    holds: Callable[[float], bool] = lambda x: True,
    error: type[ValueError] = ConfigError,
) -> float:
    """One finite number for which `holds` is true.

    Raises:
        ConfigError: (or `error`) with what was got and what was expected.
    """
    try:
        array = np.asarray(value, float)
        good = array.ndim == 0 and not isinstance(value, str | bytes)
    except (TypeError, ValueError):
        good = False
    if not good or not isfinite(x := float(array)) or not holds(x):
        shown = value.tolist() if isinstance(value, np.ndarray) else value
        raise error(f"{what} is {shown!r}, expected {expected}.")
    return x


def integer(
    what: str,
    value: Any,
    expected: str = "an integer",
    holds: Callable[[float], bool] = lambda x: True,
    error: type[ValueError] = ConfigError,
) -> int:
    """One integer for which `holds` is true; see `number`."""
    whole = lambda x: x == int(x) and holds(x)
    return int(number(what, value, expected, whole, error))


def floats(
    what: str, value: Any, expected: str, error: type[ValueError] = ConfigError
) -> np.ndarray:
    """An array of floats of any shape, not the one that was given; see `number`."""
    try:
        return np.array(value, float)
    except (TypeError, ValueError):
        raise error(f"{what} is {value!r}, expected {expected}.") from None

"""Numbers of a cell as JSON, and how those of two runs differ."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

EQUAL_TOLERANCE = 1e-6
"""Relative and absolute difference up to which numbers are equal [the number's unit];
a larger one counts more cells as equal."""

NEAR_TOLERANCE = 0.02
"""The same for near numbers [the number's unit]."""

POSE_LENGTH = 7
"""Number of entries of a pose, the last four of which are a quaternion."""

SOLVER_VALUES = ("feasible", "f", "sos", "ineq", "eq")
"""Numbers of a solver's result that do not depend on how it came about."""

NUMBER = re.compile(r"(?<![\w./-])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w/-])")
"""A number that is no part of a word, a path or a version."""
COURSE = re.compile(r"(?:time|evals|done)\S*\s*:?\s*[-+.\deE]+")
"""Words that a solver prints of its course."""


@dataclass(frozen=True)
class Difference:
    """Difference of the numbers of two runs."""

    text: str = ""
    size: float = 0.0
    """The largest difference, relative to numbers above 1; 0 for equal ones."""

    @property
    def is_near(self) -> bool:
        """Whether all numbers are near."""
        return self.size <= NEAR_TOLERANCE


def plain_values(printed: str, result: Any, before: dict, after: dict) -> dict:
    """Return the numbers of a cell by name: printed, of its result, of its variables.

    Args:
        printed: what the cell has printed.
        result: its last expression.
        before: variables before it.
        after: variables after it.
    """
    values = {"printed": [float(n) for n in NUMBER.findall(COURSE.sub("", printed))]}
    changed = {
        name: value
        for name, value in after.items()
        if not name.startswith("_") and before.get(name) is not value
    }
    for name, value in {"the last expression": result, **changed}.items():
        plain = _plain(value)
        if plain is not None:
            values[name] = plain
    return values


def difference(theirs: dict, ours: dict) -> Difference:
    """Return the largest difference of two runs of a cell."""
    worst = Difference()
    for name in theirs:
        if name not in ours:
            return Difference(f"{name} is {_short(theirs[name])} in rai only", np.inf)
        size = _size(theirs[name], ours[name])
        if size > max(worst.size, EQUAL_TOLERANCE):
            text = f"{name} is {_short(theirs[name])} in rai, {_short(ours[name])} here"
            worst = Difference(text, size)
    return worst


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON, or None if it is no number, text, or list of them."""
    if isinstance(value, Enum) or (hasattr(value, "name") and hasattr(value, "value")):
        return str(value.name)
    if hasattr(value, "feasible") and hasattr(value, "sos"):
        return {name: float(getattr(value, name)) for name in SOLVER_VALUES}
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.astype(float).tolist()
    if isinstance(value, dict) and depth < 4:
        plain = {str(k): _plain(v, depth + 1) for k, v in value.items()}
        return {k: v for k, v in plain.items() if v is not None}
    if isinstance(value, list | tuple) and depth < 4:
        return [p for v in value if (p := _plain(v, depth + 1)) is not None]
    return None


def _size(a: Any, b: Any) -> float:
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((_size(a[k], b[k]) for k in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        size = max(map(_size, a, b), default=0.0)
        if len(a) == POSE_LENGTH and size > EQUAL_TOLERANCE:
            # A quaternion and its negative are one rotation.
            flipped = [*a[:3], *(-v if isinstance(v, float) else v for v in a[3:])]
            size = min(size, max(map(_size, flipped, b)))
        return size
    if isinstance(a, float) and isinstance(b, float):
        with np.errstate(invalid="ignore"):
            same = a == b or (np.isnan(a) and np.isnan(b))
            return 0.0 if same else abs(a - b) / max(1.0, abs(a))
    return 0.0 if a == b else float("inf")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""Targets of many problems: rows in a problem file, or in a file beside it."""

import numpy as np
from jaxtyping import Float

from posewise.objectives import ObjectiveError
from posewise.robots.validation import float_array, require_finite

from .yaml_entries import Entry

EXPECTED = "numbers, a row (D) for each problem"


def read_targets(entry: Entry) -> Float[np.ndarray, "problems ..."]:
    """Return targets, a row for each problem; a list of numbers is of rows of one.

    Args:
        entry: a list, or the name of a .csv or .npy file.

    Raises:
        ProblemError: for anything but rows of finite numbers.
    """
    rows = entry.to_python()
    if isinstance(rows, str):
        rows = _stored_rows(entry, rows)
    with entry.locating_errors():
        targets = float_array("targets", rows, EXPECTED, ObjectiveError)
        if targets.ndim not in (1, 2) or not targets.size:
            entry.fail(f"has shape {targets.shape}, expected {EXPECTED}.")
        require_finite("targets", targets, ObjectiveError)
    return targets


def _stored_rows(entry: Entry, name: str) -> np.ndarray:
    """Return the rows in a file."""
    path = entry.path(name)
    try:
        if path.suffix.lower() == ".npy":
            rows: np.ndarray = np.load(path, allow_pickle=False)
            return rows
        if path.suffix.lower() == ".csv":
            return np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        entry.fail(f"{name!r} cannot be read ({error}); expected {EXPECTED}.")
    entry.fail(f"{name!r} is no .csv or .npy file of {EXPECTED}.")

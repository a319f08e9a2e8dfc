"""Film strips of a solution."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posewise.robots.validation import float_array, integer
from posewise.robots.visual.film import film_strip

from ..objective import ObjectiveError

if TYPE_CHECKING:
    from ..solution import Solution


def film_solution(
    solution: "Solution",
    file: Any = None,
    slices: Any = 6,
    view: Any = (25.0, -55.0),
    frames: Sequence[str] | None = None,
) -> Any:
    """Pictures of slices of the path; see `Solution.film`."""
    chosen = _slices(slices, len(solution.path))
    times = solution.times
    worlds = [solution.at(t) for t in chosen]
    titles = [f"slice {t}, {times[t]:.2f} s" for t in chosen]
    made = film_strip(worlds, titles, _view(view), frames)
    if file is not None:
        made.savefig(file, dpi=110)
    return made


def _slices(slices: Any, T: int) -> list[int]:
    """So many, from the first to the last; or those that are listed."""
    if np.ndim(slices) == 0:
        expected = "how many slices (1 or more), or a list of slices"
        count = integer("slices", slices, expected, lambda n: n >= 1, ObjectiveError)
        even = np.linspace(0, T - 1, min(count, T)) if count > 1 else [T - 1]
        return [int(t) for t in np.round(even)]
    listed = list(slices)
    expected = f"a list of slices from {-T} to {T - 1}, or how many"
    for t in listed:
        integer("slices", t, expected, lambda t: -T <= t < T, ObjectiveError)
    if not listed:
        raise ObjectiveError(f"slices is empty, expected {expected}.")
    return [int(t) % T for t in listed]


def _view(view: Any) -> tuple[float, float]:
    expected = "two numbers: height and direction of the eye (degrees)"
    angles = float_array("view", view, expected, ObjectiveError)
    if angles.shape != (2,) or not np.isfinite(angles).all():
        raise ObjectiveError(f"view is {view!r}, expected {expected}.")
    return float(angles[0]), float(angles[1])

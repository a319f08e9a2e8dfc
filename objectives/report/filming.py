"""Film strips: pictures of the world in some slices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from posewise.robots.config import Config
from posewise.robots.typing import FrameName, StrPath
from posewise.robots.validation import integer
from posewise.robots.visual.film import checked_view, film_strip

from ..terms.objective import ObjectiveError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def film_worlds(
    worlds: Sequence[Config],
    titles: Sequence[str],
    view: tuple[float, float],
    frames: Sequence[FrameName] | None,
    file: StrPath | None,
    camera: str | None,
) -> "Figure":
    """Return a figure with a picture of each world; see `Solution.film`.

    Args:
        worlds: the worlds to draw.
        titles: of the pictures.
        view: elevation and azimuth of the eye [degrees].
        frames: names of frames that are drawn; None: all with visual shapes.
        file: where to save the figure, if anywhere.
        camera: name of a camera that sees the worlds, in place of `view`.
    """
    checked = checked_view(view, ObjectiveError)
    figure = film_strip(worlds, titles, checked, frames, camera=camera)
    if file is not None:
        figure.savefig(file, dpi=110)
    return figure


def film_slices(slices: int | Sequence[int], T: int) -> list[int]:
    """Return evenly spaced slices from the first to the last, or the listed ones.

    Args:
        slices: how many, or a list of slices.
        T: number of slices of the path.

    Raises:
        ObjectiveError: for slices that do not exist, or none.
    """
    if np.ndim(slices) == 0:
        expected = "how many slices (1 or more), or a list of slices"
        count = integer("slices", slices, expected, lambda n: n >= 1, ObjectiveError)
        even = np.linspace(0, T - 1, min(count, T)) if count > 1 else [T - 1]
        return [int(t) for t in np.round(even)]
    listed = list(slices)  # type: ignore[arg-type]
    expected = f"a list of slices from {-T} to {T - 1}, or how many"
    for t in listed:
        integer("slices", t, expected, lambda t: -T <= t < T, ObjectiveError)
    if not listed:
        raise ObjectiveError(f"slices is empty, expected {expected}.")
    return [int(t) % T for t in listed]

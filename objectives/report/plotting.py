"""Figures of joint paths and violations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from posewise.robots.typing import StrPath
from posewise.robots.visual.figures import new_figure

from ..terms.objective import OT
from ..terms.objective_report import ObjectiveReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LEGEND_ENTRIES = 16
"""Largest number of joints with a legend; more would not fit beside the figure."""
MIN_DRAWN_VIOLATION = 1e-9
"""Violation at the bottom of the logarithmic axis, in scaled units; smaller ones are
drawn there."""


def plot_path(
    times: Float[np.ndarray, " T"],
    path: Float[np.ndarray, "T nq"],
    names: Sequence[str],
    reports: Sequence[ObjectiveReport],
    tolerance: float,
    title: str,
    file: StrPath | None = None,
) -> "Figure":
    """Return a figure of joint paths, above violations of the constraints over time.

    Args:
        times: of the slices [s].
        path: coordinates of the slices.
        names: of the coordinates.
        reports: of the objectives.
        tolerance: drawn as a line, in scaled units.
        title: of the figure.
        file: where to save the figure, if anywhere.

    Raises:
        ImportError: without matplotlib; names the extra.
    """
    figure = new_figure(8, 6)
    upper, lower = figure.subplots(2, 1, sharex=True)
    style = dict(marker="o", markersize=3, linewidth=1.2)
    legend = dict(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    for i, name in enumerate(names):
        upper.plot(times, path[:, i], label=name, **style)
    upper.set_ylabel("coordinates [rad, m]")
    upper.set_title(title, loc="left")
    if len(names) <= MAX_LEGEND_ENTRIES:
        upper.legend(**legend)
    for report in reports:
        objective = report.objective
        if objective.type is OT.sos:
            continue
        is_equality = objective.type is OT.eq
        size = np.abs(report.values) if is_equality else report.values
        worst = np.maximum(size.max(1, initial=0.0), MIN_DRAWN_VIOLATION)
        label = f"{report.label} ({objective.type.name})"
        lower.semilogy(times[list(objective.slices)], worst, label=label, **style)
    lower.axhline(tolerance, color="0.5", linestyle="--", linewidth=1)
    lower.set_ylim(bottom=MIN_DRAWN_VIOLATION / 2)
    lower.set_ylabel("violation (scaled)")
    lower.set_xlabel("time [s]")
    if len(lower.get_lines()) > 1:
        lower.legend(**legend)
    if file is not None:
        figure.savefig(file, dpi=110)
    return figure

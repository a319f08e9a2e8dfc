"""Pictures of a solution."""

from typing import TYPE_CHECKING, Any

import numpy as np

from posewise.robots.visual.figures import new_figure

from ..objective import OT

if TYPE_CHECKING:
    from ..solution import Solution


def plot_solution(solution: "Solution", file: Any = None) -> Any:
    """Joint paths above, violations of the constraints over time below.

    Raises:
        ImportError: without matplotlib; names the extra.
    """
    made = new_figure(8, 6)
    above, below = made.subplots(2, 1, sharex=True)
    time = solution.times
    style = dict(marker="o", markersize=3, linewidth=1.2)
    for i, name in enumerate(solution.config.coordinate_names):
        above.plot(time, solution.path[:, i], label=name, **style)
    above.set_ylabel("coordinates [rad, m]")
    above.set_title(f"{solution.status.name.lower().replace('_', ' ')}, cost"
                    f" {solution.sos:.3g}", loc="left")  # fmt: skip
    if len(solution.config.coordinate_names) <= 16:
        above.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    floor = 1e-9
    for o in solution.objectives:
        if o.objective.type is OT.sos:
            continue
        size = np.abs(o.values) if o.objective.type is OT.eq else o.values
        worst = np.maximum(size.max(1, initial=0.0), floor)
        label = f"{o.objective.name} ({o.objective.type.name})"
        below.semilogy(time[list(o.objective.slices)], worst, label=label, **style)
    below.axhline(solution.tolerance, color="0.5", linestyle="--", linewidth=1)
    below.set_ylim(bottom=floor / 2)
    below.set_ylabel("violation (scaled)")
    below.set_xlabel("time [s]")
    if len(below.get_lines()) > 1:
        below.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    if file is not None:
        made.savefig(file, dpi=110)
    return made

"""Violation and cost of each objective at a solution."""

from dataclasses import dataclass

import numpy as np

from posewise.solvers import EQ, SOS

from .objective import OT, Objective


@dataclass(frozen=True, eq=False)
class ObjectiveReport:
    """Violation or cost of one objective."""

    objective: Objective
    values: np.ndarray
    """Scaled rows (slices, rows), with inf in place of NaN."""
    violation: float
    """Largest violation in scaled units; 0 for costs."""
    worst_slice: int
    """Slice of the largest violation."""
    cost: float
    """Sum of squares of the rows of a cost; 0 for constraints."""

    @property
    def is_finite(self) -> bool:
        """Whether all values are finite."""
        return bool(np.isfinite(self.values).all())


def report_objective(objective: Objective, values: np.ndarray) -> ObjectiveReport:
    """Return violation and cost from an objective's scaled rows (slices, rows)."""
    values = np.where(np.isnan(values), np.inf, values)
    if objective.type.value == SOS:
        cost = float(np.sum(values**2))
        return ObjectiveReport(objective, values, 0.0, objective.slices[0], cost)
    per_slice = violations(objective.type, values)
    worst = int(np.argmax(per_slice))
    return ObjectiveReport(
        objective, values, float(per_slice[worst]), objective.slices[worst], 0.0
    )


def violations(type: OT, values: np.ndarray) -> np.ndarray:
    """Return the largest violation in each slice of scaled rows (slices, rows)."""
    size = np.abs(values) if type.value == EQ else np.maximum(values, 0.0)
    return size.max(1, initial=0.0)


def format_table(reports: tuple[ObjectiveReport, ...]) -> list[str]:
    """Return the lines of a table of objectives, with type, slices and violation."""
    total_cost = max(float(sum(r.cost for r in reports)), 1e-300)
    width = max([len(r.objective.name) for r in reports], default=4)
    lines = [
        f"{'objective':{width}}  type  unit      slices  violation  at    cost share"
    ]
    for r in reports:
        o = r.objective
        first, last = o.slices[0], o.slices[-1]
        slices = f"{first}-{last}" if len(o.slices) > 1 else f"{first}"
        unit = o.feature.symbol.unit or "1"
        if o.type is OT.sos:
            share = 100 * r.cost / total_cost
            result = f"{'':9}  {'':3}  {r.cost:8.3g} {share:4.0f}%"
        else:
            result = f"{r.violation:9.2e}  {r.worst_slice:3d}"
        lines.append(
            f"{o.name:{width}}  {o.type.name:4}  {unit:8.8}  {slices:>6}  {result}"
        )
    return lines

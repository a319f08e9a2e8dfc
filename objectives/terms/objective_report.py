"""Violation and cost of each objective at a solution.

The solver sees scaled rows, and a solution is feasible if each of them is within the
tolerance. How far a constraint is off in the world is the violation in the feature's
own unit: the row divided by what scales it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from posewise.features import Feature
from posewise.solvers import EQ, SOS

from .objective import OT, Objective

POWERS_OF_TIME = "", "s", "s²", "s³"
"""Denominators of units: of values, velocities, accelerations, and their change."""


@dataclass(frozen=True, eq=False)
class ObjectiveReport:
    """Violation or cost of one objective."""

    objective: Objective
    values: np.ndarray
    """Scaled rows (slices, rows), with inf in place of NaN."""
    violation: float
    """Largest violation in scaled units, which the tolerance is compared with; 0 for
    costs."""
    violation_in_unit: float
    """Largest violation in the feature's own unit; 0 for costs."""
    worst_slice: int
    """Slice of the largest violation in scaled units."""
    cost: float
    """Sum of squares of the rows of a cost; 0 for constraints."""
    number: int = 0
    """Number among objectives of the same name, from 1; 0: no other has this name."""

    @property
    def label(self) -> str:
        """Name of the objective, with its number if others have the same name."""
        return self.objective.name + (f" #{self.number}" if self.number else "")

    @property
    def is_finite(self) -> bool:
        """Whether all values are finite."""
        return bool(np.isfinite(self.values).all())

    @property
    def unit(self) -> str:
        """Unit of the feature, such as "m", "m/s" for its velocity, or "1"."""
        return feature_unit(self.objective.feature)


def report_objectives(
    rows: Sequence[tuple[Objective, np.ndarray]],
) -> tuple[ObjectiveReport, ...]:
    """Return the reports of objectives with their scaled rows (slices, rows)."""
    total = Counter(objective.name for objective, _ in rows)
    occurrences: Counter[str] = Counter()
    reports = []
    for objective, values in rows:
        occurrences[objective.name] += 1
        number = occurrences[objective.name] if total[objective.name] > 1 else 0
        reports.append(replace(report_objective(objective, values), number=number))
    return tuple(reports)


def report_objective(objective: Objective, values: np.ndarray) -> ObjectiveReport:
    """Return violation and cost from an objective's scaled rows (slices, rows)."""
    values = np.where(np.isnan(values), np.inf, values)
    if objective.type.value == SOS:
        cost = float(np.sum(values**2))
        return ObjectiveReport(objective, values, 0.0, 0.0, objective.slices[0], cost)
    per_slice = violations(objective.type, values)
    worst = int(np.argmax(per_slice))
    factors = row_factors(objective, values.shape[1])
    # A row of scale zero is zero, whatever its feature is.
    in_unit = np.divide(values, factors, out=values.copy(), where=factors > 0)
    return ObjectiveReport(
        objective,
        values,
        float(per_slice[worst]),
        float(violations(objective.type, in_unit).max(initial=0.0)),
        objective.slices[worst],
        0.0,
    )


def violations(type: OT, values: np.ndarray) -> np.ndarray:
    """Return the largest violation in each slice of rows (slices, rows)."""
    size = np.abs(values) if type.value == EQ else np.maximum(values, 0.0)
    return size.max(1, initial=0.0)


def row_factors(objective: Objective, num_rows: int) -> np.ndarray:
    """Return by how much each row (slices, rows) exceeds the feature, at least 0.

    A row of a matrix is a direction times its norm: the row divided by the norm is the
    distance of the feature from its target along that direction.
    """
    scale, weights = objective.feature.scale, objective.weights
    if scale is None:
        factors = np.ones(1)
    else:
        factors = np.linalg.norm(scale, axis=1) if scale.ndim == 2 else np.abs(scale)
    per_slice = np.ones(len(objective.slices)) if weights is None else np.abs(weights)
    return per_slice[:, None] * np.broadcast_to(factors, num_rows)


def feature_unit(feature: Feature) -> str:
    """Return the unit of a feature of some order: "m/s" for a velocity; "1" if none."""
    symbol = feature.symbol
    differences = feature.order - symbol.window
    unit = symbol.unit or "1"
    if not differences or not symbol.divides_by_tau:
        return unit
    return ", ".join(_rate(part, differences) for part in unit.split(", "))


def _rate(unit: str, differences: int) -> str:
    """Return the unit of a difference over time: "rad/s" to "rad/s²" for one."""
    base, _, time = unit.partition("/")
    power = POWERS_OF_TIME.index(time) + differences
    return f"{base}/{POWERS_OF_TIME[power]}"


def format_table(reports: tuple[ObjectiveReport, ...]) -> list[str]:
    """Return the lines of a table of objectives: type, unit, slices, violation, cost.

    A violation is printed in the feature's unit, and as the solver scales it.
    """
    total_cost = max(float(sum(r.cost for r in reports)), 1e-300)
    width = max([len(r.label) for r in reports], default=4)
    unit_width = max([len(r.unit) for r in reports] + [4])
    lines = [
        f"{'objective':{width}}  type  {'unit':{unit_width}}  slices  violation"
        "    scaled   at      cost share"
    ]
    for r in reports:
        o = r.objective
        first, last = o.slices[0], o.slices[-1]
        slices = f"{first}-{last}" if len(o.slices) > 1 else f"{first}"
        if o.type is OT.sos:
            share = 100 * r.cost / total_cost
            result = f"{'':9}  {'':8}  {'':3}  {r.cost:8.3g} {share:4.0f}%"
        else:
            pair = f"{r.violation_in_unit:9.2e}  {r.violation:8.2e}"
            result = f"{pair}  {r.worst_slice:3d}"
        lines.append(
            f"{r.label:{width}}  {o.type.name:4}  {r.unit:{unit_width}}  {slices:>6}"
            f"  {result}"
        )
    return lines

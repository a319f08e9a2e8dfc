"""Reports: violations in the feature's unit, beside the scaled ones."""

import json

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.solution.summary import solution_summary
from posewise.objectives.terms.objective import Objective
from posewise.objectives.terms.objective_report import (
    feature_unit,
    format_table,
    report_objective,
    report_objectives,
)

ROW = [0.3, -2.0, 0.5]
"""Difference of a feature from its target [m]."""
SCALES = {
    "none": (None, OT.eq, 2.0, 2.0),
    "number": (10.0, OT.eq, 20.0, 2.0),
    "negative number": (-10.0, OT.eq, 20.0, 2.0),
    "inequality": (10.0, OT.ineq, 5.0, 0.5),
    "inequality from below": (-10.0, OT.ineq, 20.0, 2.0),
    "vector": ([100, 0.1, 0], OT.eq, 30.0, 2.0),
    "row of zeros": ([0, 0, 10], OT.eq, 5.0, 0.5),
    "zero": (0.0, OT.eq, 0.0, 0.0),
    "matrix that selects": (10 * np.eye(3)[:2], OT.eq, 20.0, 2.0),
    "matrix with a row of zeros": ([[0, 0, 0], [4.0, 0, 0]], OT.eq, 1.2, 0.3),
    "direction": ([[0.0, 6, 8]], OT.eq, 8.0, 0.8),
    "direction, inequality": ([[0.0, 6, 8]], OT.ineq, 0.0, 0.0),
}


@pytest.mark.parametrize("case", SCALES)
def test_violation_in_the_unit_of_the_feature(case):
    scale, type, scaled, in_unit = SCALES[case]
    feature = pw.Feature(FS.position, ["a"], scale=scale)
    matrix = np.eye(3) if scale is None else np.asarray(scale, float)
    matrix = matrix if matrix.ndim == 2 else np.eye(3) * matrix
    values = np.stack([0 * matrix @ ROW, matrix @ ROW, 0.5 * matrix @ ROW])
    report = report_objective(Objective("o", feature, type, (3, 5, 8)), values)
    assert report.violation == pytest.approx(scaled)
    assert report.violation_in_unit == pytest.approx(in_unit)
    assert report.worst_slice == (5 if scaled else 3)
    assert report.unit == "m"


def test_weights_of_slices_scale_too():
    feature = pw.Feature(FS.qItself, [], scale=2.0)
    objective = Objective("o", feature, OT.eq, (0, 1), weights=(1.0, 10.0))
    report = report_objective(objective, np.array([[6.0], [20.0]]))
    assert (report.violation, report.worst_slice) == (20.0, 1)
    assert report.violation_in_unit == 3.0


def test_what_is_not_finite_is_infinite_in_any_unit():
    feature = pw.Feature(FS.position, ["a"], scale=[0.0, 10.0, 10.0])
    values = np.array([[np.nan, 0.0, np.inf]])
    report = report_objective(Objective("o", feature, OT.eq, (0,)), values)
    assert report.violation == report.violation_in_unit == np.inf
    assert not report.is_finite


def test_costs_have_no_violation():
    feature = pw.Feature(FS.position, ["a"], scale=10)
    objective = Objective("o", feature, OT.sos, (0,))
    report = report_objective(objective, np.array([[3.0, 4.0, 0.0]]))
    assert (report.violation, report.violation_in_unit, report.cost) == (0, 0, 25)


def test_objectives_of_one_name_are_numbered():
    feature = pw.Feature(FS.position, ["a"])
    names = ["lift", "reach", "lift", "lift"]
    rows = [
        (Objective(name, feature, OT.eq, (t,)), np.ones((1, 3)))
        for t, name in enumerate(names)
    ]
    reports = report_objectives(rows)
    labels = ["lift #1", "reach", "lift #2", "lift #3"]
    assert [report.label for report in reports] == labels
    assert [report.objective.name for report in reports] == names
    lines = format_table(reports)[1:]
    assert all(map(str.startswith, lines, labels))


@pytest.mark.parametrize(
    ("symbol", "order", "unit"),
    [
        (FS.position, 0, "m"),
        (FS.position, 1, "m/s"),
        (FS.position, 2, "m/s²"),
        (FS.vectorX, 0, "1"),
        (FS.vectorX, 1, "1/s"),
        (FS.bodyVel, 1, "m/s"),
        (FS.linangVel, 2, "m/s², rad/s²"),
        (FS.energy, 2, "J"),
        (FS.pose, 1, "m/s, 1/s"),
    ],
)
def test_unit_of_each_order(symbol, order, unit):
    assert feature_unit(pw.Feature(symbol, ["a"], order=order)) == unit


def test_joints():
    assert feature_unit(pw.Feature(FS.qItself, [], order=2)) == "rad/s², m/s²"


def test_two_metres_away_are_two_metres():
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-1.0], [1.0]], shape=pw.Sphere(0.1))
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_objective(
        [1.0], FS.position, ["cart"], target=[3, 0, 0], scale=10, name="far"
    )
    komo.add_objective(
        [1.0], FS.position, ["cart"], target=[0, 0, 0], order=1, name="rest"
    )
    solution = komo.solve()
    far, _ = solution.objectives
    x = float(solution.q[0])
    assert far.violation_in_unit == pytest.approx(3 - x)
    assert solution.eq == far.violation == pytest.approx(10 * (3 - x))
    assert f"far ({3 - x:.2g} m, {10 * (3 - x):.2g} scaled)" in solution.message
    assert repr(solution) == "Solution(INFEASIBLE, not feasible, x (4, 1))"
    line = next(line for line in solution.report().splitlines() if "far" in line)
    assert f"{3 - x:.2e}" in line and f"{10 * (3 - x):.2e}" in line
    data = json.loads(json.dumps(solution_summary(solution)))["objectives"]
    assert [o["unit"] for o in data] == ["m", "m/s"]
    assert data[0]["violation"] == pytest.approx(3 - x)
    assert data[0]["scaled_violation"] == pytest.approx(10 * (3 - x))


def test_columns_of_the_table_are_aligned():
    C = pw.Config()
    C.add_frame("cart", joint="transX", limits=[[-1.0], [1.0]])
    komo = pw.KOMO(C, 1, 4, 2)
    komo.add_control_objective(2)
    komo.add_objective(None, FS.qItself, [], OT.ineq, target=[0.5], scale=10, order=1)
    header, cost, row = format_table(komo.solve().objectives)
    ends = [header.index(name) + len(name) for name in ("scaled", "violation")]
    assert all(row[end - 1] != " " and row[end] == " " for end in ends)
    assert cost[: ends[0]].endswith(" ") and cost.endswith("%")
    assert "rad/s², m/s²" in cost and "rad/s, m/s" in row

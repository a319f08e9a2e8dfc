"""Pulls of objectives on a solution, as rai's `reportLagrangeGradients`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .enums import OT
from .nlp_problem import NLP, row_error

ACTIVE_DISTANCE = 1e-3
"""Distance of an inequality to 0 from which on it does not pull [scaled units]; a
larger one lets more of them pull."""


def lagrange_gradients(
    nlp: NLP, x: np.ndarray, names: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return error and size of the gradient of each objective, the largest first.

    At an optimum the gradients of costs and constraints are in balance. Those of
    constraints are their Jacobian times the multipliers that come nearest to it.

    Args:
        nlp: the problem.
        x: its solution.
        names: names of the rows; rows of a name count as one.
    """
    phi, J = nlp.dense(x)
    types = nlp.getTypes()
    labels = list(names) or [f"phi{i}_{t.name}" for i, t in enumerate(types)]
    weights = np.where([t is OT.sos for t in types], 2 * phi, 0.0)
    weights[[t is OT.f for t in types]] = 1.0
    pulling = [
        t is OT.eq or (t is OT.ineq and y > -ACTIVE_DISTANCE)
        for t, y in zip(types, phi, strict=True)
    ]
    if any(pulling):
        slope = weights @ J
        weights[pulling] = np.linalg.lstsq(J[pulling].T, -slope, rcond=1e-9)[0]
    report: dict[str, dict[str, Any]] = {}
    for label in dict.fromkeys(labels):
        rows = np.array([name == label for name in labels], bool)
        kind = types[int(rows.argmax())].name
        pull = float(np.linalg.norm(weights[rows] @ J[rows]))
        if pull > 0:
            error = row_error(phi[rows], kind)
            report[label] = {"err": error, "grad": pull, "type": kind}
    return dict(sorted(report.items(), key=lambda item: -item[1]["grad"]))

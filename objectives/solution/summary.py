"""Summary of a solution as numbers and texts, for JSON files."""

from typing import Any

from .solution import Solution


def solution_summary(solution: Solution) -> dict[str, Any]:
    """Return status, cost, violations and each objective of a solution."""
    objectives = [
        {
            "name": o.objective.name,
            "type": o.objective.type.name,
            "slices": list(o.objective.slices),
            "unit": o.unit,
            "violation": o.violation_in_unit,
            "scaled_violation": o.violation,
            "worst_slice": o.worst_slice,
            "cost": o.cost,
        }
        for o in solution.objectives
    ]
    return {
        "feasible": solution.feasible,
        "status": solution.status.name,
        "message": solution.message,
        "cost": solution.sos,
        "tolerance": solution.tolerance,
        "kkt_residual": solution.kkt_residual,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "alternatives": list(solution.alternatives),
        "objectives": objectives,
    }

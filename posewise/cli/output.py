"""What the commands print, and write as JSON and NPZ."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posewise.logic.bddl import ActivitySolution
from posewise.logic.formulas.messages import format_predicate
from posewise.objectives import Placement, Solution
from posewise.objectives.objective import select_slices
from posewise.robots.errors import PosewiseError

from .problem_file import ProblemFile, TimedPredicate


@dataclass(frozen=True)
class PredicateCheck:
    """What exact checks say of a predicate."""

    predicate: str
    holds: bool | None
    """None: it was not checked."""
    reason: str

    def __str__(self) -> str:
        sign = {True: "+", False: "-", None: "?"}[self.holds]
        return f"{sign} {self.predicate}\n  {self.reason}"


@dataclass(frozen=True, eq=False)
class CommandResult:
    """What came of a command."""

    is_success: bool
    """Solved, or all predicates hold."""
    text: str
    data: dict[str, Any]
    """For JSON: numbers, texts, lists and mappings."""
    arrays: dict[str, np.ndarray]
    """For NPZ."""


def check_predicates(problem: ProblemFile) -> CommandResult:
    """Whether the predicates hold in the world as the file describes it.

    Raises:
        ProblemError: for predicates that cannot be asked of it.
    """
    if not problem.predicates:
        problem.top.fail("there are no predicates; list them: `predicates: [...]`.")
    verdicts = []
    for statement in problem.predicates:
        with statement.entry.locating_errors():
            p = statement.predicate
            verdicts.append(
                PredicateCheck(
                    format_predicate(p),
                    p.holds(problem.world),
                    p.explain(problem.world),
                )
            )
    count = sum(bool(v.holds) for v in verdicts)
    text = f"{count} of {len(verdicts)} predicates hold.\n{_check_lines(verdicts)}"
    good = count == len(verdicts)
    return CommandResult(good, text, {"holds": good, **_check_data(verdicts)}, {})


def summarize_path(problem: ProblemFile, solution: Solution) -> CommandResult:
    """A path: its report, and exact checks of what shall hold on its slices."""
    per_phase = problem.slices_per_phase
    verdicts = [_check_on_slices(solution, s, per_phase) for s in problem.predicates]
    good = solution.feasible and all(v.holds is not False for v in verdicts)
    names = list(problem.world.joint_names)
    data = {
        "solved": good,
        **_solution_data(solution),
        "joints": names,
        "times": solution.times,
        "path": solution.path,
        **_check_data(verdicts),
    }
    arrays = {
        "path": solution.path,
        "times": solution.times,
        "joints": np.array(names, str),
    }
    return CommandResult(good, _report_text(solution.report(), verdicts), data, arrays)


def summarize_placements(
    problem: ProblemFile, found: Sequence[Placement]
) -> CommandResult:
    """Placements: the report of the best one, and exact checks of each."""
    told = [_check_at_placement(problem, placement) for placement in found]
    fair = [
        placement.feasible and all(v.holds is not False for v in verdicts)
        for placement, verdicts in zip(found, told, strict=True)
    ]
    best = fair.index(True) if any(fair) else 0
    text = _report_text(found[best].report(), told[best])
    text += f"\n{len(found)} distinct placements, {sum(fair)} of them solve it."
    placements = [
        {
            "solved": ok,
            "poses": p.poses,
            **_solution_data(p.solution),
            **_check_data(verdicts),
        }
        for ok, p, verdicts in zip(fair, found, told, strict=True)
    ]
    data = {"solved": any(fair), "best": best, "placements": placements}
    arrays = {
        f"pose of {name}": np.stack([p.poses[name] for p in found])
        for name in found[0].poses
    }
    arrays |= {"solved": np.array(fair), "cost": np.array([p.cost for p in found])}
    return CommandResult(any(fair), text, data, arrays)


def summarize_activity(phases: dict[str, ActivitySolution]) -> CommandResult:
    """An activity of BDDL: each literal of :init and of the goal."""
    good = len(phases) == 2 and all(s.holds for s in phases.values())
    text = "\n\n".join(f"{name}: {solved}" for name, solved in phases.items())
    if len(phases) < 2:
        text += "\n\nthe goal was not tried, since it begins where :init holds."
    data: dict[str, Any] = {"solved": good}
    for name, solved in phases.items():
        literals = [
            {"literal": f.condition, "holds": f.holds, "reason": f.reason}
            for f in solved.report.results
        ]
        data[name] = {
            "solved": solved.holds,
            "alternative": solved.branch,
            "tried": solved.branches_tried,
            "literals": literals,
            "poses": {n: solved.config.pose(n) for n in solved.config.objects},
        }
    return CommandResult(good, text, data, {})


def write_json(file: Path, data: dict[str, Any]) -> None:
    """Write an outcome; what is not finite is null."""
    text = json.dumps(_to_json(data), indent=2, allow_nan=False)
    file.write_text(f"{text}\n", encoding="utf-8")


def write_npz(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays under that very name."""
    with file.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _check_on_slices(
    solution: Solution, statement: TimedPredicate, per_phase: int
) -> PredicateCheck:
    """Whether it holds exactly on all slices on which it shall."""
    p = statement.predicate
    if not p.is_momentary:
        reason = "It speaks of a path: its rows were solved, not checked exactly."
        return PredicateCheck(format_predicate(p), None, reason)
    T = len(solution.path)
    for t in select_slices(statement.times, per_phase, T, format_predicate(p)):
        world = solution.at(t)
        if not p.holds(world):
            break
    return PredicateCheck(
        format_predicate(p), p.holds(world), f"Slice {t}: {p.explain(world)}"
    )


def _check_at_placement(
    problem: ProblemFile, placement: Placement
) -> list[PredicateCheck]:
    """Exact checks where things have been placed."""
    world = placement.solution.config.copy()
    try:
        placement.apply(world)
    except PosewiseError as error:
        return [PredicateCheck("placement", False, str(error))]
    made = [s.predicate for s in problem.predicates]
    return [
        PredicateCheck(format_predicate(p), p.holds(world), p.explain(world))
        for p in made
    ]


def _solution_data(solution: Solution) -> dict[str, Any]:
    objectives = [
        {
            "name": o.objective.name,
            "type": o.objective.type.name,
            "slices": list(o.objective.slices),
            "violation": o.violation,
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
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "alternatives": list(solution.alternatives),
        "objectives": objectives,
    }


def _check_data(verdicts: Sequence[PredicateCheck]) -> dict[str, Any]:
    return {"predicates": [vars(v) for v in verdicts]}


def _report_text(report: str, verdicts: Sequence[PredicateCheck]) -> str:
    return f"{report}\n{_check_lines(verdicts)}" if verdicts else report


def _check_lines(verdicts: Sequence[PredicateCheck]) -> str:
    return "\n".join(map(str, verdicts))


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _to_json(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _to_json(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value

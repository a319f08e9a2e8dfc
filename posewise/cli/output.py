"""Output of the commands: printed text, and data for JSON and NPZ files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from posewise.logic.bddl import ActivitySolution
from posewise.logic.formulas.messages import format_predicate
from posewise.logic.formulas.predicate import Predicate
from posewise.objectives import Placement, Solution
from posewise.objectives.placement.files import placement_header
from posewise.objectives.placement.placement import GAP_CONSTRAINT
from posewise.objectives.solution.summary import solution_summary
from posewise.objectives.terms.objective import select_slices
from posewise.robots.config import Config
from posewise.robots.errors import PosewiseError

from .path_distances import ClearanceLine
from .problem_file import ProblemFile, TimedPredicate, make_path_problem

GAP_OBJECTIVE = (
    "{feature: distance, frames: [a, b], target: -gap, type: ineq} to `objectives`"
)
"""Objective of problem files in place of `GAP_CONSTRAINT`."""


@dataclass(frozen=True)
class PredicateCheck:
    """Result of the exact check of a predicate."""

    predicate: str
    holds: bool | None
    """None if the predicate was not checked."""
    reason: str

    def __str__(self) -> str:
        sign = {True: "+", False: "-", None: "?"}[self.holds]
        return f"{sign} {self.predicate}\n  {self.reason}"


@dataclass(frozen=True, eq=False)
class CommandResult:
    """Result of a command."""

    is_success: bool
    """Whether the problem is solved, or all predicates hold."""
    text: str
    data: dict[str, Any]
    """Data for JSON: numbers, texts, lists and mappings."""
    arrays: dict[str, np.ndarray]
    """Arrays for NPZ."""


def check_problem(problem: ProblemFile) -> CommandResult:
    """Check the predicates exactly in the world of a problem file, and a path problem.

    Without predicates the result is a success if there are no findings on the path
    problem; otherwise it is one if all predicates hold.

    Raises:
        ProblemError: with neither, and for predicates that cannot be checked.
    """
    if not problem.predicates and not problem.has_path:
        problem.top.fail("there are no predicates; list them: `predicates: [...]`.")
    checks = []
    for timed in problem.predicates:
        with timed.entry.locating_errors():
            checks.append(check_in_world(timed.predicate, problem.world))
    count = sum(bool(check.holds) for check in checks)
    lines, is_success = [], count == len(checks)
    if checks:
        lines = [f"{count} of {len(checks)} predicates hold.", _check_lines(checks)]
    findings: tuple[str, ...] = ()
    if problem.has_path:
        findings = make_path_problem(problem)[0].check()
        is_success = is_success and not (findings and not checks)
        count_text = "No findings" if not findings else f"Findings: {len(findings)}"
        lines.append(f"{count_text} on the path problem, before a solve.")
        lines += [f"- {finding}" for finding in findings]
    data = {"holds": is_success, **_check_data(checks), "findings": [*findings]}
    return CommandResult(is_success, "\n".join(lines), data, {})


def summarize_path(
    problem: ProblemFile, solution: Solution, clearance: ClearanceLine | None
) -> CommandResult:
    """Report a path, with exact checks of the predicates on its slices.

    Args:
        problem: the problem.
        solution: its solution.
        clearance: nearest pair of a path that avoids collisions.
    """
    checks = [
        check_on_slices(solution, timed, solution.slices_per_phase)
        for timed in problem.predicates
    ]
    is_success = solution.feasible and _no_check_fails(checks)
    joints = list(problem.world.joint_names)
    data = {
        "solved": is_success,
        **solution_summary(solution),
        "joints": joints,
        "times": solution.times,
        "path": solution.path,
        "clearance": None if clearance is None else clearance.data(),
        **_check_data(checks),
    }
    arrays = {
        "path": solution.path,
        "times": solution.times,
        "joints": np.array(joints, str),
    }
    report = solution.report()
    if clearance is not None:
        report = f"{report}\n{replace(clearance, is_solution=is_success)}"
    return CommandResult(is_success, _report_text(report, checks), data, arrays)


def summarize_placements(
    problem: ProblemFile, placements: Sequence[Placement]
) -> CommandResult:
    """Report placements, with exact checks of each; the best one in detail."""
    checks = [_check_at_placement(problem, placement) for placement in placements]
    solved = [
        placement.feasible and _no_check_fails(placement_checks)
        for placement, placement_checks in zip(placements, checks, strict=True)
    ]
    best = solved.index(True) if any(solved) else 0
    report = placements[best].report().replace(GAP_CONSTRAINT, GAP_OBJECTIVE)
    text = _report_text(report, checks[best])
    text += (
        f"\n{len(placements)} distinct placements, {sum(solved)} of them solve the"
        " problem."
    )
    data = {
        **placement_header(problem.world, placements[0].poses),
        "solved": any(solved),
        "best": best,
        "placements": [
            {
                "solved": is_solved,
                **placement.record(),
                **_check_data(placement_checks),
            }
            for is_solved, placement, placement_checks in zip(
                solved, placements, checks, strict=True
            )
        ],
    }
    arrays = {
        f"pose of {name}": np.stack([p.poses[name] for p in placements])
        for name in placements[0].poses
    }
    arrays["solved"] = np.array(solved)
    arrays["cost"] = np.array([p.cost for p in placements])
    return CommandResult(any(solved), text, data, arrays)


def summarize_activity(phases: dict[str, ActivitySolution]) -> CommandResult:
    """Report an activity of BDDL: each literal of :init and of the goal."""
    is_success = len(phases) == 2 and all(s.holds for s in phases.values())
    text = "\n\n".join(f"{name}: {solution}" for name, solution in phases.items())
    if len(phases) < 2:
        text += "\n\nthe goal was not tried, because it starts from a solved :init."
    data: dict[str, Any] = {"solved": is_success}
    for name, solution in phases.items():
        literals = [
            {"literal": r.condition, "holds": r.holds, "reason": r.reason}
            for r in solution.report.results
        ]
        data[name] = {
            "solved": solution.holds,
            "alternative": solution.branch,
            "tried": solution.branches_tried,
            "literals": literals,
            "doubts": list(solution.doubts),
            "poses": {n: solution.config.pose(n) for n in solution.config.objects},
        }
    return CommandResult(is_success, text, data, {})


def write_npz(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays to a file of exactly this name."""
    # A path would get the suffix .npz, a stream keeps the name.
    with file.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def check_in_world(
    predicate: Predicate, world: Config, place: str = ""
) -> PredicateCheck:
    """Check a predicate exactly; `place` precedes the reason."""
    reason = f"{place}{predicate.explain(world)}"
    return PredicateCheck(format_predicate(predicate), predicate.holds(world), reason)


def _no_check_fails(checks: Sequence[PredicateCheck]) -> bool:
    return all(check.holds is not False for check in checks)


def check_on_slices(
    solution: Solution, timed: TimedPredicate, slices_per_phase: int
) -> PredicateCheck:
    """Check a predicate exactly on its slices, up to the first one where it fails."""
    predicate = timed.predicate
    name = format_predicate(predicate)
    if not predicate.is_momentary:
        reason = "It constrains a path: its rows were solved, not checked exactly."
        return PredicateCheck(name, None, reason)
    T = len(solution.path)
    for t in select_slices(timed.times, slices_per_phase, T, name):
        world = solution.world_at(t)
        if not predicate.holds(world):
            break
    return check_in_world(predicate, world, f"Slice {t}: ")


def _check_at_placement(
    problem: ProblemFile, placement: Placement
) -> list[PredicateCheck]:
    """Check all predicates exactly in the world with the objects placed."""
    world = placement.solution.config.copy()
    try:
        placement.apply(world)
    except PosewiseError as error:
        return [PredicateCheck("placement", False, str(error))]
    return [check_in_world(timed.predicate, world) for timed in problem.predicates]


def _check_data(checks: Sequence[PredicateCheck]) -> dict[str, Any]:
    return {"predicates": [vars(v) for v in checks]}


def _report_text(report: str, checks: Sequence[PredicateCheck]) -> str:
    return f"{report}\n{_check_lines(checks)}" if checks else report


def _check_lines(checks: Sequence[PredicateCheck]) -> str:
    return "\n".join(map(str, checks))

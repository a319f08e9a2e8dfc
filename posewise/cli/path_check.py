"""`posewise check FILE RESULT`: a path against the problem that it is to solve."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from posewise.logic.formulas.messages import format_predicate
from posewise.objectives import KOMO, OT, Solution
from posewise.objectives.checks.limits import LIMIT_TOLERANCE
from posewise.objectives.clearance.avoidance import TOUCH_DEPTH
from posewise.objectives.problem.deviations import (
    bounded_objectives,
    deviations_of_steps,
)
from posewise.objectives.problem.spec import ProblemSpec, mode_sequence
from posewise.objectives.solve.alternatives import resolve_alternatives
from posewise.objectives.solve.given_path import given_path_as_solution
from posewise.objectives.terms.objective_report import format_table
from posewise.robots.config import Config
from posewise.robots.errors import first_few

from .file_slices import FileSlices, find_slices
from .output import CommandResult, PredicateCheck, check_on_slices
from .path_distances import (
    ClearanceLine,
    PlayedFile,
    played_file,
    played_without_slices,
)
from .path_file import PathFile, read_path_file
from .problem_file import ProblemFile, make_path_problem
from .rate_checks import check_rates
from .sample_checks import (
    PathCheck,
    check_limits,
    check_motion_limits,
    check_speeds,
)


def check_path(problem: ProblemFile, file: Path) -> CommandResult:
    """Check a path in a file: limits, objectives, collisions and predicates.

    What the file does not tell is not checked, which is said and does not fail.

    Raises:
        ProblemError: for a problem file without a path problem.
        LoadError: for a path that does not fit the world.
    """
    if not problem.has_path:
        problem.top.fail("there is no komo section; a path is checked against one.")
    komo, arguments = make_path_problem(problem)
    loaded = read_path_file(file, problem.world)
    spec = resolve_alternatives(komo.spec)[0]
    file_slices = find_slices(loaded, spec)
    times = loaded.times
    if times is None and not isinstance(file_slices, str):
        times = (
            file_slices.times if len(file_slices.times) == len(loaded.path) else None
        )
    checks = [check_limits(loaded, komo.config)]
    checks.append(check_speeds(loaded, komo.config, times))
    checks += check_rates(loaded, komo.config)
    tolerance = arguments.get("tolerance", 1e-3)
    solution, played = None, None
    if isinstance(file_slices, str):
        # A file without times, or with other slices, is not one of this problem.
        is_other = loaded.times is None or loaded.slices is not None
        passed = False if is_other else None
        checks.append(PathCheck("objectives", passed, (file_slices,)))
        played = played_without_slices(spec, loaded)
    else:
        solution = _in_slices(spec, file_slices, tolerance)
        checks += _check_objectives(solution, spec, file_slices)
        played = played_file(spec, loaded, file_slices, solution.x)
        checks += _check_deviations(played)
    if loaded.times is not None:
        limits = check_motion_limits(loaded, spec, tolerance)
        checks += [] if limits is None else [limits]
    checks.append(_check_collisions(loaded, komo, solution))
    line = None
    if spec.needs_certificate:
        check, line = _check_distances(played)
        checks.append(check)
    predicates = _check_predicates(problem, solution)
    return _report(solution, loaded, checks, predicates, line)


def _report(
    solution: Solution | None,
    loaded: PathFile,
    checks: list[PathCheck],
    predicates: list[PredicateCheck],
    line: ClearanceLine | None,
) -> CommandResult:
    """Return the checks as a table, lines and data, with what was not checked."""
    is_passed = all(check.passed is not False for check in checks)
    is_passed &= all(check.holds is not False for check in predicates)
    lines = [*map(str, checks), *map(str, predicates)]
    if line is not None:
        lines.append(str(replace(line, is_solution=is_passed)))
    if loaded.absent:
        lines.append(f"Not in the file, kept at the state: {first_few(loaded.absent)}.")
    left_out = [check.name for check in checks if check.passed is None]
    left_out += [check.predicate for check in predicates if check.holds is None]
    if left_out:
        verdict = "All that was checked holds" if is_passed else "Not all holds"
        lines.append(f"{verdict}; not checked: {'; '.join(left_out)}.")
    table = [] if solution is None else format_table(solution.objectives)
    data: dict[str, Any] = {
        "passed": is_passed,
        "checks": [vars(check) for check in checks],
        "predicates": [vars(check) for check in predicates],
        "clearance": None if line is None else line.data(),
    }
    return CommandResult(is_passed, "\n".join([*table, *lines]), data, {})


def _in_slices(
    spec: ProblemSpec, file_slices: FileSlices, tolerance: float
) -> Solution:
    """Return the path in slices; what is between these is checked apart.

    Differences of slices at other times than the problem's mean nothing, so that
    velocities are left out then.
    """
    objectives = tuple(
        replace(o, between=None) for o in spec.objectives if o.fraction is None
    )
    if file_slices.steps is None:
        objectives = tuple(o for o in objectives if not o.feature.order)
    avoidance = spec.avoidance
    if avoidance is not None:
        avoidance = replace(avoidance, between=False)
    in_slices = replace(spec, objectives=objectives, avoidance=avoidance)
    return given_path_as_solution(
        in_slices, file_slices.path, tolerance, file_slices.steps
    )


def _check_objectives(
    solution: Solution, spec: ProblemSpec, file_slices: FileSlices
) -> list[PathCheck]:
    violated = [o for o in solution.objectives if o.violation > solution.tolerance]
    lines = [
        f"{o.label} is violated by {o.violation_in_unit:.2g} {o.unit} in slice"
        f" {o.worst_slice}."
        for o in violated
    ]
    lines += solution.colliding_pairs()
    if violated and file_slices.steps is None:
        lines.append(
            "A path that is rounded or retimed passes beside the slices at its corners;"
            " a smaller `deviation` or more slices bring it nearer."
        )
    checks = [PathCheck("objectives", solution.feasible, tuple(lines))]
    if file_slices.steps is not None:
        return [*checks, *_check_durations(solution, spec)]
    moving = [
        o.name for o in spec.objectives if o.feature.order and o.type is not OT.sos
    ]
    if moving:
        reason = (
            f"{first_few(list(dict.fromkeys(moving)))}: the file passes the slices at"
            " other times than the problem, so that differences of slices are not its"
            " velocities and accelerations."
        )
        checks.append(PathCheck("objectives of order 1 and more", None, (reason,)))
    return checks


def _check_durations(solution: Solution, spec: ProblemSpec) -> list[PathCheck]:
    """Check the durations of phases, if they are variables."""
    if not spec.durations:
        return []
    C = mode_sequence(spec).world
    columns = C.joints.coordinates(spec.durations)
    factors, (low, high) = solution.x[-1, columns], C.limits[:, columns]
    at_first = np.add.reduceat(spec.tau, np.arange(0, spec.T, spec.slices_per_phase))
    lines = [
        f"Phase {k} takes {at_first[k] * factors[k]:.4g} s, expected"
        f" {at_first[k] * low[k]:.4g} to {at_first[k] * high[k]:.4g} s."
        for k in range(len(factors))
        if not low[k] - LIMIT_TOLERANCE <= factors[k] <= high[k] + LIMIT_TOLERANCE
    ]
    return [PathCheck("durations of the phases", not lines, tuple(lines))]


def _check_deviations(played: PlayedFile) -> list[PathCheck]:
    """Check objectives that have a bound between slices, if there are any."""
    if not bounded_objectives(played.spec):
        return []
    measured = deviations_of_steps(played.spec, played.points, played.slices)
    lines = [
        f"{d.objective.name} deviates by {d.amount:.2g} before"
        f" {played.times[d.segment + 1]:.3g} s, expected at most"
        f" {d.objective.between:.2g}."
        for d in measured
        if d.ratio > 1
    ]
    return [PathCheck("objectives between slices", not lines, tuple(lines))]


def _check_distances(
    played: PlayedFile | None,
) -> tuple[PathCheck, ClearanceLine | None]:
    """Check that the whole path keeps the distances, and return the nearest pair."""
    name = "distances on the whole path"
    if played is None:
        reason = (
            "What is required, or what is carried, changes with the slices, which the"
            " file does not tell."
        )
        return PathCheck(name, None, (reason,)), None
    missing = played.missing()
    line = played.clearance()
    return PathCheck(name, not missing, tuple(missing)), line


def _check_predicates(
    problem: ProblemFile, solution: Solution | None
) -> list[PredicateCheck]:
    if solution is not None:
        return [
            check_on_slices(solution, timed, problem.slices_per_phase)
            for timed in problem.predicates
        ]
    reason = "The file does not tell the slices of the problem."
    return [
        PredicateCheck(format_predicate(timed.predicate), None, reason)
        for timed in problem.predicates
    ]


def _check_collisions(
    loaded: PathFile, komo: KOMO, solution: Solution | None
) -> PathCheck:
    """Check configurations of the file; carried objects move along in slices only."""
    name = "collisions at the configurations"
    if solution is None and komo.switches:
        reason = "The file does not tell the slices, in which objects are attached."
        return PathCheck(name, None, (reason,))
    return check_collisions(_worlds(loaded, komo, solution))


def check_collisions(worlds: Iterator[Config]) -> PathCheck:
    """Name pairs that overlap in any of some worlds, deepest first."""
    deepest: dict[tuple[str, str], tuple[float, int]] = {}
    for t, world in enumerate(worlds):
        for a, b, distance in world.collisions():
            if distance < -TOUCH_DEPTH:
                overlap = distance, t
                deepest[a, b] = min(deepest.get((a, b), overlap), overlap)
    lines = [
        f"{a!r} and {b!r} overlap by {-1e3 * d:.1f} mm in configuration {t}."
        for (a, b), (d, t) in sorted(deepest.items(), key=lambda item: item[1])
    ]
    name = "collisions at the configurations"
    return PathCheck(name, not lines, tuple(lines))


def _worlds(
    loaded: PathFile, komo: KOMO, solution: Solution | None
) -> Iterator[Config]:
    if solution is not None and (komo.switches or len(loaded.path) == komo.T):
        yield from (solution.world_at(t) for t in range(komo.T))
        return
    for q in loaded.path:
        C = komo.config.copy()
        C.q = q
        yield C

"""`posewise check FILE RESULT`: a path against the problem that it is to solve."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.objectives import KOMO, Solution
from posewise.objectives.checks.limits import LIMIT_TOLERANCE
from posewise.objectives.objective_report import format_table
from posewise.objectives.problem_spec import ProblemSpec, mode_sequence
from posewise.objectives.solve.alternatives import resolve_alternatives
from posewise.objectives.solve.given_path import given_path_as_solution
from posewise.robots.config import Config
from posewise.robots.errors import first_few

from .output import CommandResult, check_on_slices
from .path_distances import played_file
from .path_file import PathFile, read_path_file
from .problem_file import ProblemFile, make_path_problem

CONTACT_TOLERANCE = 1e-3
"""Depth up to which pairs may overlap [m], as resting bodies do by rounding."""
SPEED_TOLERANCE = 1e-3
"""Relative excess over a speed limit that is none; finite differences are rounded."""
EVEN_TOLERANCE = 1e-3
"""Relative difference of steps that are equal, as times in files are rounded."""


@dataclass(frozen=True)
class PathCheck:
    """One check of a path."""

    name: str
    passed: bool | None
    """None if it could not be made."""
    lines: tuple[str, ...] = ()
    """Sentences on what is wrong, or why nothing was checked."""

    def __str__(self) -> str:
        sign = {True: "+", False: "-", None: "?"}[self.passed]
        return "\n".join([f"{sign} {self.name}", *(f"  {x}" for x in self.lines)])


def check_path(problem: ProblemFile, file: Path) -> CommandResult:
    """Check a path in a file: limits, objectives, collisions and predicates.

    Raises:
        ProblemError: for a problem file without a path problem.
        LoadError: for a path that does not fit the world.
    """
    if not problem.has_path:
        problem.top.fail("there is no komo section; a path is checked against one.")
    komo, arguments = make_path_problem(problem)
    loaded = read_path_file(file, problem.world)
    spec = resolve_alternatives(komo.spec)[0]
    checks = [_check_limits(loaded, komo), _check_speeds(loaded, komo)]
    solution = None
    found = _path_in_slices(loaded, spec)
    if found is None:
        checks.append(_no_slices(loaded, spec))
    else:
        tolerance = arguments.get("tolerance", 1e-3)
        solution = _in_slices(spec, *found, tolerance)
        checks += [_check_objectives(solution), *_check_durations(solution, spec)]
    checks.append(_check_collisions(loaded, komo, solution))
    line = None
    if solution is not None and spec.is_certified:
        played = played_file(spec, loaded, solution)
        missing = played.missing()
        line = played.clearance(not missing)
        name = "distances on the whole path"
        checks.append(PathCheck(name, not missing, tuple(missing)))
    predicates = []
    if solution is not None:
        predicates = [
            check_on_slices(solution, timed, problem.slices_per_phase)
            for timed in problem.predicates
        ]
    passed = all(check.passed for check in checks)
    passed &= all(check.holds is not False for check in predicates)
    lines = [*map(str, checks), *map(str, predicates)]
    if line is not None:
        lines.append(str(line))
    if loaded.absent:
        lines.append(f"Not in the file, kept at the state: {first_few(loaded.absent)}.")
    table = [] if solution is None else format_table(solution.objectives)
    data: dict[str, Any] = {
        "passed": passed,
        "checks": [vars(check) for check in checks],
        "predicates": [vars(check) for check in predicates],
        "clearance": None if line is None else line.data(),
    }
    return CommandResult(passed, "\n".join([*table, *lines]), data, {})


def _path_in_slices(
    loaded: PathFile, spec: ProblemSpec
) -> tuple[Float[np.ndarray, "T nq"], Float[np.ndarray, " T"]] | None:
    """Return the path in slices and the duration of the step into each; None: unknown.

    Variable durations are those of the file.
    """
    steps = spec.tau if not spec.durations else _durations_of_file(loaded, spec)
    path = None if steps is None else loaded.at(np.cumsum(steps))
    return None if path is None or steps is None else (path, steps)


def _durations_of_file(
    loaded: PathFile, spec: ProblemSpec
) -> Float[np.ndarray, " T"] | None:
    """Return the duration of the step into each slice; None: phases are not even."""
    if loaded.times is None or len(loaded.path) != spec.T:
        return None
    steps = np.diff(loaded.times, prepend=0.0)
    for first in range(0, spec.T, spec.slices_per_phase):
        phase = steps[first : first + spec.slices_per_phase]
        if np.ptp(phase) > EVEN_TOLERANCE * phase.mean():
            return None
    return steps


def _no_slices(loaded: PathFile, spec: ProblemSpec) -> PathCheck:
    """Return why objectives, which hold in slices, cannot be checked."""
    count = f"The file has {len(loaded.path)} configurations, the problem {spec.T}"
    reason = (
        f"{count} slices until {spec.tau.sum():g} s; give as many, or times that reach"
        " as far."
    )
    if spec.durations:
        reason = (
            f"{count} slices of free durations; give as many, with their times, in"
            " equal steps within each phase."
        )
    return PathCheck("objectives", None, (reason,))


def _in_slices(
    spec: ProblemSpec,
    path: Float[np.ndarray, "T nq"],
    steps: Float[np.ndarray, " T"],
    tolerance: float,
) -> Solution:
    """Return the path in slices; distances between these are checked apart."""
    objectives = tuple(o for o in spec.objectives if o.fraction is None)
    in_slices = replace(spec, objectives=objectives, avoidance=None)
    return given_path_as_solution(in_slices, path, tolerance, steps)


def _check_limits(loaded: PathFile, komo: KOMO) -> PathCheck:
    C = komo.config
    low, high = C.limits
    excess = np.maximum(low - loaded.path, loaded.path - high)
    lines = []
    for i in np.flatnonzero((excess > LIMIT_TOLERANCE).any(0)):
        t = int(np.argmax(excess[:, i]))
        lines.append(
            f"{C.coordinate_names[i]} is {loaded.path[t, i]:.4g} in configuration {t},"
            f" beyond its limits {low[i]:.4g} to {high[i]:.4g}."
        )
    return PathCheck("limits of the joints", not lines, tuple(lines))


def _check_durations(solution: Solution, spec: ProblemSpec) -> list[PathCheck]:
    """Check the durations of phases, if they are variables."""
    if not spec.durations:
        return []
    C = mode_sequence(spec).world
    columns = C.coordinates(spec.durations)
    factors, (low, high) = solution.x[-1, columns], C.limits[:, columns]
    at_first = np.add.reduceat(spec.tau, np.arange(0, spec.T, spec.slices_per_phase))
    lines = [
        f"Phase {k} takes {at_first[k] * factors[k]:.4g} s, expected"
        f" {at_first[k] * low[k]:.4g} to {at_first[k] * high[k]:.4g} s."
        for k in range(len(factors))
        if not low[k] - LIMIT_TOLERANCE <= factors[k] <= high[k] + LIMIT_TOLERANCE
    ]
    return [PathCheck("durations of the phases", not lines, tuple(lines))]


def _check_speeds(loaded: PathFile, komo: KOMO) -> PathCheck:
    C, times = komo.config, loaded.times
    if times is None and len(loaded.path) == komo.T and not komo.spec.durations:
        times = np.cumsum(komo.tau)
    name = "speed limits of the joints"
    if times is None:
        return PathCheck(name, None, ("The file has no times.",))
    # A path of slices begins at the state, at time 0.
    path = loaded.path
    if times[0] > 0:
        path, times = np.vstack([C.q, path]), np.concatenate([[0.0], times])
    speed = np.abs(np.diff(path, axis=0)) / np.diff(times)[:, None]
    limit = C.max_velocity
    lines = []
    for i in np.flatnonzero((speed > (1 + SPEED_TOLERANCE) * limit).any(0)):
        t = int(np.argmax(speed[:, i]))
        lines.append(
            f"{C.coordinate_names[i]} moves at {speed[t, i]:.3g} before"
            f" {times[t + 1]:.3g} s, faster than {limit[i]:.3g}."
        )
    return PathCheck(name, not lines, tuple(lines))


def _check_objectives(solution: Solution) -> PathCheck:
    violated = [o for o in solution.objectives if o.violation > solution.tolerance]
    lines = [
        f"{o.label} is violated by {o.violation_in_unit:.2g} {o.unit} in slice"
        f" {o.worst_slice}."
        for o in violated
    ]
    lines += solution.colliding_pairs()
    return PathCheck("objectives", solution.feasible, tuple(lines))


def _check_collisions(
    loaded: PathFile, komo: KOMO, solution: Solution | None
) -> PathCheck:
    """Check configurations of the file; carried objects move along in slices only."""
    deepest: dict[tuple[str, str], tuple[float, int]] = {}
    for t, world in enumerate(_worlds(loaded, komo, solution)):
        for a, b, distance in world.collisions():
            if distance < -CONTACT_TOLERANCE:
                found = distance, t
                deepest[a, b] = min(deepest.get((a, b), found), found)
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

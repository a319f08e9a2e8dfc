"""`posewise check FILE RESULT`: placements in a file against the problem."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from posewise.features import Feature
from posewise.objectives import OT
from posewise.objectives.checks.doubts import doubts_of_rest, solution_doubts
from posewise.objectives.clearance.avoidance import TOUCH_DEPTH
from posewise.objectives.presets.preset import Preset
from posewise.objectives.problem.builder import feature_label
from posewise.objectives.terms.interval import select_interval
from posewise.objectives.terms.loose import loose_roots
from posewise.robots.array_files import read_npz
from posewise.robots.config import Config
from posewise.robots.errors import LoadError, first_few

from .output import CommandResult, check_in_world
from .problem_file import ProblemFile, make_placement_arguments
from .sample_checks import PathCheck

POSE_PREFIX = "pose of "
"""Begin of the names under which NPZ files have poses."""


def check_placements(problem: ProblemFile, file: Path) -> CommandResult:
    """Check each placement of a file exactly: objectives, collisions and predicates.

    Passed is a file with a placement that passes everything.

    Raises:
        ProblemError: for a problem file with mistakes.
        LoadError: for a file without placements, or with those of other objects.
    """
    arguments = make_placement_arguments(problem)
    candidates = read_placements(file)
    missing = set(arguments["movable"]) - set(candidates[0])
    if missing:
        raise LoadError(
            f"{file} has poses of {first_few([*candidates[0]])}, but none of"
            f" {first_few(sorted(missing))}, which the problem places."
        )
    lines, data = [], []
    for k, poses in enumerate(candidates):
        world = problem.world.copy()
        for name, pose in poses.items():
            world.set_pose(name, pose)
        checks = [
            _check_objectives(world, arguments),
            _check_collisions(world, problem.world, arguments),
        ]
        predicates = [check_in_world(t.predicate, world) for t in problem.predicates]
        passed = all(c.passed for c in checks)
        passed &= all(c.holds is not False for c in predicates)
        lines.append(f"placement {k}: {'passed' if passed else 'not passed'}")
        lines += map(str, [*checks, *predicates])
        if passed:
            statements = [timed.predicate for timed in problem.predicates]
            loose = [name for name in loose_roots(problem.world) if name in poses]
            doubts = solution_doubts(statements, world)
            doubts += doubts_of_rest(statements, world, loose)
            lines += [f"! {doubt}" for doubt in doubts]
        data.append({
            "passed": passed,
            "checks": [vars(check) for check in checks],
            "predicates": [vars(check) for check in predicates],
        })  # fmt: skip
    count = sum(bool(entry["passed"]) for entry in data)
    lines.append(f"{count} of {len(data)} placements pass every check.")
    result = {"passed": count > 0, "placements": data}
    return CommandResult(count > 0, "\n".join(lines), result, {})


def read_placements(file: Path) -> list[dict[str, np.ndarray]]:
    """Return the poses (7,) by frame of each placement in a JSON or NPZ file.

    Raises:
        LoadError: for a file without placements.
    """
    if file.suffix.lower() == ".json":
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            pose_maps = [placement["poses"] for placement in data["placements"]]
            candidates = [
                {n: _pose(p) for n, p in poses.items()} for poses in pose_maps
            ]
        except OSError as error:
            raise LoadError(f"{file} cannot be read: {error.strerror}.") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            candidates = []
    else:
        arrays = read_npz(file)
        stacks = {
            name.removeprefix(POSE_PREFIX): stack
            for name, stack in arrays.items()
            if name.startswith(POSE_PREFIX) and stack.ndim == 2
        }
        count = min(map(len, stacks.values()), default=0)
        candidates = [{n: s[k] for n, s in stacks.items()} for k in range(count)]
    if not candidates or not candidates[0]:
        raise LoadError(
            f"{file} has no placements; expected what `posewise solve FILE --json` or"
            " `--npz` writes."
        )
    return candidates


def best_placement(file: Path) -> dict[str, np.ndarray] | None:
    """Return the poses of the first placement that is solved, or else of the first.

    Returns:
        Poses (7,) by frame; None if the file has no placements.

    Raises:
        LoadError: for a file that cannot be read.
    """
    if file.suffix.lower() == ".npz":
        arrays = read_npz(file)
        if not any(name.startswith(POSE_PREFIX) for name in arrays):
            return None
        solved = arrays.get("solved", np.zeros(1))
    elif file.suffix.lower() == ".json":
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            solved = np.array([bool(p["solved"]) for p in data["placements"]])
        except (OSError, ValueError, TypeError, KeyError):
            return None
    else:
        return None
    return read_placements(file)[int(np.argmax(solved))]


def _pose(values: Any) -> np.ndarray:
    return np.asarray(values, float).reshape(7)


def _check_objectives(world: Config, arguments: dict[str, Any]) -> PathCheck:
    """Evaluate each feature at the poses, without the solver."""
    tolerance, lines = arguments.get("tolerance", 1e-3), []
    for feature, kind in _objectives(world, arguments["constraints"]):
        if kind is OT.sos:
            continue
        value = np.asarray(feature.eval(world)[0])
        size = np.abs(value) if kind is OT.eq else value
        worst = float(size.max(initial=0.0))
        if worst > tolerance:
            lines.append(
                f"{feature_label(feature)} is violated by {worst:.2g} (scaled),"
                f" expected at most {tolerance:g}."
            )
    return PathCheck("objectives", not lines, tuple(lines))


def _objectives(world: Config, constraints: list[Any]) -> list[tuple[Feature, OT]]:
    """Return the features and types of constraints, without predicates."""
    interval = select_interval(None, 1, np.ones(1), "placement")
    objectives: list[tuple[Feature, OT]] = []
    for constraint in constraints:
        if isinstance(constraint, tuple):
            objectives.append(constraint)
        elif isinstance(constraint, Preset):
            rows = constraint.objectives(world, interval)
            objectives += [(feature, kind) for feature, kind, *_ in rows]
    return objectives


def _check_collisions(
    world: Config, before: Config, arguments: dict[str, Any]
) -> PathCheck:
    """Name pairs that overlap, and did not before anything was placed."""
    if arguments.get("collisions") is False:
        return PathCheck("collisions", True, ("The problem does not ask for them.",))
    moved = [n for n in world.frame_names if _moved(world, before, n)]
    lines = [
        f"{a!r} and {b!r} overlap by {-1e3 * distance:.1f} mm."
        for a, b, distance in world.collisions()
        if distance < -TOUCH_DEPTH and {a, b} & set(moved)
    ]
    return PathCheck("collisions", not lines, tuple(lines))


def _moved(world: Config, before: Config, name: str) -> bool:
    return not np.array_equal(world.pose(name), before.pose(name))

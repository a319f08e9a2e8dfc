"""`posewise solve`, `check` and `bddl`: read, do, print, write; whether all is well."""

from pathlib import Path
from typing import Any

from posewise import logic
from posewise.objectives import Solution
from posewise.robots.errors import LoadError

from . import output
from .problem_file import read_problem, solve


def run_solve(options: Any) -> bool:
    """Solve a problem file.

    Raises:
        PosewiseError: for anything that does not fit, with file, line and key.
        ImportError: without pyyaml.
    """
    check_output_paths(options.json, options.npz)
    problem = read_problem(options.file)
    found = solve(problem)
    if isinstance(found, Solution):
        outcome = output.summarize_path(problem, found)
    else:
        outcome = output.summarize_placements(problem, found)
    return _report_result(outcome, options.json, options.npz)


def run_check(options: Any) -> bool:
    """Check the predicates of a problem file; see `run_solve`."""
    check_output_paths(options.json)
    return _report_result(
        output.check_predicates(read_problem(options.file)), options.json
    )


def run_bddl(options: Any) -> bool:
    """Make a scene for an activity, and solve its :init and its goal.

    Raises:
        PosewiseError: for an unknown activity, and a file that is wrong.
        ImportError: for an activity without the package bddl.
    """
    check_output_paths(options.json)
    name = options.activity
    problem = logic.bddl.load(Path(name) if "(" in name else name)
    seed = options.seed
    world = logic.bddl.make_scene(problem, seed)
    phases = {"init": logic.bddl.solve_init(world, problem, seed=seed)}
    if phases["init"].holds:
        begun = phases["init"].config
        phases["goal"] = logic.bddl.solve_goal(begun, problem, seed=seed)
    return _report_result(output.summarize_activity(phases), options.json)


def check_output_paths(*files: Path | None) -> None:
    """That files can be written, before the work."""
    for file in files:
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise LoadError(
                f"{str(file)!r} cannot be written: expected a file in a folder that"
                " exists."
            )


def _report_result(
    outcome: output.CommandResult, json: Path | None, npz: Path | None = None
) -> bool:
    print(outcome.text)
    if json is not None:
        output.write_json(json, outcome.data)
    if npz is not None:
        output.write_npz(npz, outcome.arrays)
    return outcome.is_success

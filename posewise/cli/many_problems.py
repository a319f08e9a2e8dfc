"""Files of many problems, which differ in the targets of some objectives."""

import numpy as np

from posewise.logic.formulas.messages import format_predicate
from posewise.objectives import SolutionBatch
from posewise.objectives.chunks.folder import part_of
from posewise.solvers import Status

from .output import CommandResult, check_on_slices
from .problem_file import ProblemFile, make_path_problems

NUM_NAMED = 10
"""Number of problems that are named as not solved (count); more make a long line."""


def has_many_problems(problem: ProblemFile) -> bool:
    """Return whether an objective of a path problem has many targets."""
    entries = problem.section("objectives").items("mappings")
    return "komo" in problem.sections and any(
        isinstance(entry.value, dict) and "targets" in entry.value for entry in entries
    )


def solve_many(
    problem: ProblemFile, checkpoint: str | None, share: tuple[int, int] | None
) -> SolutionBatch:
    """Return the solution of each problem.

    Args:
        problem: the file.
        checkpoint: a folder for solutions; None: nothing is stored.
        share: see `KOMO.solve_batch`.

    Raises:
        ProblemError: for invalid input, with file, line and key.
    """
    if not has_many_problems(problem):
        problem.top.fail(
            "--checkpoint is for a file of many problems; give an objective of a path"
            " or a configuration the key targets, a row for each problem."
        )
    komo, arguments, targets = make_path_problems(problem)
    with problem.sections["komo"].locating_errors():
        return komo.solve_batch(
            targets, checkpoint_dir=checkpoint, share=share, **arguments
        )


def share_text(
    solutions: SolutionBatch, checkpoint: str, share: tuple[int, int]
) -> str:
    """Return a text on what a share has stored."""
    problems = _own_problems(solutions, share)
    is_stored = _is_stored(solutions)
    stored, feasible = is_stored[problems].sum(), solutions.feasible[problems].sum()
    return (
        f"Share {share[0]} of {share[1]}: {stored} of its {len(problems)} problems are"
        f" stored, {feasible} feasible."
        f" {checkpoint} has {is_stored.sum()} of {len(solutions)}; the same command"
        " without --share solves what is missing, and reports all."
    )


def is_share_stored(solutions: SolutionBatch, share: tuple[int, int]) -> bool:
    """Return whether all problems of a share are stored, whether feasible or not."""
    return bool(_is_stored(solutions)[_own_problems(solutions, share)].all())


def summarize_many(problem: ProblemFile, solutions: SolutionBatch) -> CommandResult:
    """Report the solutions of all problems, with exact checks of the predicates."""
    is_solved = solutions.feasible.copy()
    checks = [
        [
            check_on_slices(solution, timed, solution.slices_per_phase)
            for timed in problem.predicates
        ]
        for solution in solutions
    ]
    lines = []
    for k, timed in enumerate(problem.predicates):
        fails = np.array([row[k].holds is False for row in checks])
        is_solved &= ~fails
        name = format_predicate(timed.predicate)
        lines.append(f"{'-' if fails.any() else '+'} {name}: {fails.sum()} fail")
    missed = np.flatnonzero(~is_solved)
    text = f"{is_solved.sum()} of {len(solutions)} problems are solved."
    if missed.size:
        names = ", ".join(map(str, missed[:NUM_NAMED].tolist()))
        more = ", …" if missed.size > NUM_NAMED else ""
        text += f" Not solved, counted from 0: {names}{more}."
    joints = list(problem.world.joint_names)
    arrays = {
        "solved": is_solved,
        "path": solutions.path,
        "times": np.stack([solution.times for solution in solutions]),
        "cost": solutions.cost,
        "violation": solutions.violation,
        "iterations": solutions.iterations,
    }
    status = [Status(number).name for number in solutions.status.tolist()]
    data = {**arrays, "solved": bool(is_solved.all()), "each_solved": is_solved}
    return CommandResult(
        bool(is_solved.all()),
        "\n".join([text, *lines]),
        {**data, "status": status, "joints": joints},
        {**arrays, "status": np.array(status), "joints": np.array(joints, str)},
    )


def _own_problems(solutions: SolutionBatch, share: tuple[int, int]) -> range:
    return part_of(range(len(solutions)), *share)


def _is_stored(solutions: SolutionBatch) -> np.ndarray:
    stopped = [Status.INTERRUPTED, Status.TIME_LIMIT]
    return ~np.isin(solutions.status, stopped)

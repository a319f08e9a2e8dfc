"""The commands `posewise solve`, `check` and `bddl`."""

import sys
import warnings
from argparse import Namespace
from pathlib import Path
from typing import cast

from posewise import logic
from posewise.compilation.cache_folder import cache_dir
from posewise.logic.motion import MotionPlan
from posewise.objectives import Solution, prepare
from posewise.objectives.trajectory.files import check_suffix
from posewise.objectives.trajectory.retiming import import_toppra
from posewise.objectives.trajectory.trajectory import Trajectory
from posewise.robots.errors import LoadError, unknown_name
from posewise.robots.json_files import write_json
from posewise.robots.models import model_info, model_names
from posewise.robots.typing import ModelName
from posewise.robots.visual.figures import new_figure

from . import output
from .many_problems import (
    has_many_problems,
    is_share_stored,
    share_text,
    solve_many,
    summarize_many,
)
from .motion_check import check_motion
from .motion_section import solve_motion, summarize_motion
from .moveit_input import read_input
from .path_check import check_path
from .path_distances import clearance_line, search_range
from .placement_check import check_placements
from .problem_file import (
    ProblemFile,
    make_path_problem,
    require_one_kind,
    solve_path,
    solve_placements,
)


def run_solve(options: Namespace) -> bool:
    """Solve a problem file and report the result; return whether it is solved.

    Raises:
        PosewiseError: for invalid input, with file, line and key.
        ImportError: without pyyaml.
    """
    check_output_paths(options.json, options.npz, options.trajectory, options.picture)
    require_suffixes(options)
    _check_trajectory(options)
    _check_share(options)
    problem = read_input(options)
    if has_many_problems(problem) or options.checkpoint is not None:
        require_one_kind(problem)
        return _run_batch(problem, options)
    _check_picture(problem, options)
    is_motion = "motion" in problem.sections
    if options.trajectory is not None and not problem.has_path and not is_motion:
        problem.top.fail(
            "--trajectory writes a path, so it needs the key komo or motion."
        )
    require_one_kind(problem)
    if is_motion:
        return _run_motion(problem, options)
    if not problem.has_path:
        placements = solve_placements(problem)
        result = output.summarize_placements(problem, placements)
        if options.picture is not None:
            best = placements[result.data["best"]]
            best.picture(options.picture, camera=options.camera)
        return _report_result(result, options.json, options.npz)
    komo, solution = solve_path(problem)
    clearance = None
    if komo.spec.needs_certificate:
        path_clearance = solution.clearance(search_range(komo.spec))
        clearance = clearance_line(komo.spec, path_clearance)
    result = output.summarize_path(problem, solution, clearance)
    if options.picture is not None:
        solution.film(options.picture, camera=options.camera)
    is_success = _report_result(result, options.json, options.npz)
    _write_trajectory(solution, options, is_success)
    return is_success


def _run_batch(problem: ProblemFile, options: Namespace) -> bool:
    """Solve a file of many problems, or a share of them; return whether it is done."""
    for name in ("trajectory", "picture", "camera"):
        if getattr(options, name) is not None:
            problem.top.fail(
                f"--{name} is for one problem, and this file has many: it has targets."
            )
    solutions = solve_many(problem, options.checkpoint, options.share)
    if options.share is not None:
        print(share_text(solutions, options.checkpoint, options.share))
        return is_share_stored(solutions, options.share)
    result = summarize_many(problem, solutions)
    return _report_result(result, options.json, options.npz)


def _run_motion(problem: ProblemFile, options: Namespace) -> bool:
    plan = solve_motion(problem)
    is_success = _report_result(summarize_motion(plan), options.json, options.npz)
    if options.picture is not None:
        plan.film(options.picture, camera=options.camera)
    if plan.steps:
        _write_trajectory(plan, options, is_success)
    return is_success


def _check_share(options: Namespace) -> None:
    """Raise an error for a share whose results would be nowhere, before any work."""
    if options.share is None:
        return
    if options.checkpoint is None:
        raise LoadError(
            "--share needs a folder that all processes see: --checkpoint DIR."
        )
    for name in ("json", "npz"):
        if getattr(options, name) is not None:
            raise LoadError(
                f"--{name} has the results of all problems, and --share only solves"
                " some of them; give it to the call without --share."
            )


PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def _check_picture(problem: ProblemFile, options: Namespace) -> None:
    """Raise an error for a picture that cannot be drawn, before any work."""
    if options.picture is None:
        if options.camera is not None:
            raise LoadError(
                "--camera is for a picture; give its file: --picture out.png."
            )
        return
    if options.picture.suffix.lower() not in PICTURE_SUFFIXES:
        raise LoadError(
            f"--picture is {str(options.picture)!r}, expected a name that ends in"
            f" {', '.join(PICTURE_SUFFIXES)}."
        )
    cameras = problem.world.annotations.cameras
    if options.camera is not None and options.camera not in cameras:
        raise LoadError(unknown_name("camera", options.camera, cameras))
    new_figure(1.0, 1.0)  # raises where matplotlib is missing


def _check_trajectory(options: Namespace) -> None:
    """Raise an error for a trajectory that cannot be written, before any work."""
    if options.trajectory is not None:
        check_suffix(options.trajectory)
    chosen = [name for name in ("retime", "rounded") if getattr(options, name)]
    if chosen and options.trajectory is None:
        raise LoadError(
            f"--{chosen[0]} changes the trajectory; give its file: --trajectory"
            " motion.json."
        )
    if len(chosen) > 1:
        raise LoadError("--retime and --rounded exclude each other: --retime rounds.")
    if options.retime:
        import_toppra()


def _write_trajectory(
    solution: Solution | MotionPlan, options: Namespace, is_success: bool
) -> None:
    """Write the path over time, if that is wanted, and say if it is unsolved."""
    if options.trajectory is None:
        return
    with warnings.catch_warnings():
        # The sentence below says it of the file, without the whole report again.
        warnings.filterwarnings("ignore", ".*this path is not feasible")
        _trajectory(solution, options).save(options.trajectory)
    if not is_success:
        print(
            f"posewise: {options.trajectory} holds an unsolved path; a controller"
            " should not play it.",
            file=sys.stderr,
        )


def _trajectory(solution: Solution | MotionPlan, options: Namespace) -> Trajectory:
    """Return the path over time, by the times of its slices or as fast as it can."""
    if options.retime:
        return solution.retime(dt=1 / options.rate)
    if isinstance(solution, MotionPlan):
        if options.rounded:
            raise LoadError("--rounded: motions of steps are rounded by --retime only.")
        return solution.resample(1 / options.rate)
    return solution.resample(1 / options.rate, rounded=options.rounded)


def run_prepare(options: Namespace) -> bool:
    """Compile the programs of a problem file ahead; return True.

    Raises:
        PosewiseError: for invalid input, with file, line and key.
        ImportError: without pyyaml.
    """
    problem = read_input(options)
    if not problem.has_path:
        problem.top.fail("Only paths are prepared, so that it needs the key komo.")
    seconds = prepare(make_path_problem(problem)[0], options.bodies)
    if cache_dir() is None:
        print("The cache of programs is off, so that nothing was kept.")
    else:
        print(f"Compiled for {seconds:.0f} s; programs are in {cache_dir()}.")
    return True


def run_check(options: Namespace) -> bool:
    """Check the problem of a file, or a path; return whether all holds.

    Raises:
        PosewiseError: for invalid input, with file, line and key.
        ImportError: without pyyaml.
    """
    check_output_paths(options.json)
    require_suffixes(options)
    problem = read_input(options)
    if options.result is None:
        if not problem.predicates:
            options.failed = "the problem is doubtful"
        return _report_result(output.check_problem(problem), options.json)
    options.failed = "not every check is passed"
    require_one_kind(problem)
    if has_many_problems(problem):
        problem.top.fail("a file of many problems has no single result to check.")
    check = check_placements
    if problem.has_path:
        check = check_path
    elif "motion" in problem.sections:
        check = check_motion
    return _report_result(check(problem, options.result), options.json)


def run_models() -> bool:
    """Print the models that come with posewise, with what they are."""
    names = model_names()
    width = max(map(len, names))
    for name in names:
        info = model_info(cast(ModelName, name))
        text = info["description"]
        print(f"{name:{width}}  {info['kind']:6}  {text}")
    print('Use them by pw.load("NAME"), or in a problem file: `models: [NAME]`.')
    return True


def run_bddl(options: Namespace) -> bool:
    """Make a scene for an activity, and solve its :init and its goal.

    Returns:
        Whether both are solved.

    Raises:
        PosewiseError: for an unknown activity, or an invalid file.
        ImportError: for the name of an activity without the package bddl.
    """
    check_output_paths(options.json)
    require_suffixes(options)
    name = options.activity
    problem = logic.bddl.load(Path(name) if "(" in name else name)
    seed = options.seed
    world = logic.bddl.make_scene(problem, seed)
    phases = {"init": logic.bddl.solve_init(world, problem, seed=seed)}
    if phases["init"].holds:
        start = phases["init"].config
        phases["goal"] = logic.bddl.solve_goal(start, problem, seed=seed)
    return _report_result(output.summarize_activity(phases), options.json)


def check_output_paths(*files: Path | None) -> None:
    """Raise a LoadError for files that cannot be written, before any work is done."""
    for file in files:
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            raise LoadError(
                f"{str(file)!r} cannot be written; expected a file in an existing"
                " folder."
            )


def require_suffixes(options: Namespace) -> None:
    """Raise a LoadError for --json and --npz with names of other formats."""
    for name in ("json", "npz"):
        file = getattr(options, name, None)
        if file is not None and file.suffix.lower() != f".{name}":
            raise LoadError(
                f"--{name} is {str(file)!r}, expected a name that ends in .{name}."
            )


def _report_result(
    result: output.CommandResult, json: Path | None, npz: Path | None = None
) -> bool:
    print(result.text)
    if json is not None:
        write_json(json, result.data)
    if npz is not None:
        output.write_npz(npz, result.arrays)
    return result.is_success

"""The command line: `posewise demo`, `solve`, `check`, `view`, `bench`, `doctor`, …"""

import argparse
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .cli import help_texts
from .robots.errors import PosewiseError

INTERRUPT_CODE = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, so that shells see what
ended it."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code.

    The code is 0 on success, 1 if something is not solved, 2 for bad input, and 130
    after an interrupt without a result.
    """
    write_utf_8()
    options = make_parser().parse_args(arguments)
    try:
        prepare_jax()
        with warnings_in_one_line():
            is_success = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output, such as `head`, has had enough. Python would write
        # the rest when it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("posewise: interrupted before there was a result", file=sys.stderr)
        return INTERRUPT_CODE
    except (PosewiseError, ImportError, OSError) as error:
        print(f"posewise: {error}", file=sys.stderr)
        return 2
    if not is_success:
        print(f"posewise: {options.failed}", file=sys.stderr)
    return 0 if is_success else 1


def write_utf_8() -> None:
    """Let outputs be UTF-8 whatever the locale is, since names may be of any script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # File names that are no UTF-8 are escaped.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print warnings as sentences, without the line of Python that they came from."""
    present = warnings.formatwarning
    warnings.formatwarning = _format_warning
    try:
        yield
    finally:
        warnings.formatwarning = present


def _format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    return f"posewise: {' '.join(str(message).split())}\n"


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="posewise",
        description="Differentiable features and objectives for robots, on JAX.",
        epilog="The --help of each command has examples.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="solve an inverse kinematics, a path and a placement, and draw them",
        description="Solves three problems, prints a report of each, and writes"
        " pictures. Without --robot the robot is a Franka Panda.",
        epilog="example: posewise demo --robot my_arm.urdf --tip tool0",
    )
    demo.add_argument(
        "--out", type=Path, default=Path("out"), help="folder for pictures (out)"
    )
    demo.add_argument("--robot", type=Path, help="a model: .urdf, .xacro, .xml, .g")
    demo.add_argument("--tip", help="link of that robot to move to a target")
    demo.add_argument(
        "--seed", type=int, default=0, help="seed of targets and starts (0)"
    )
    demo.add_argument(
        "--starts", type=int, default=8, help="random starts for each problem (8)"
    )
    _add_packages(demo)
    demo.set_defaults(run=_demo, failed="not every problem was solved")
    _add_solve(commands)
    _add_prepare(commands)
    _add_check(commands)
    _add_view(commands)
    _add_bddl(commands)
    _add_bench(commands)
    models = commands.add_parser(
        "models",
        help="list the robots and objects that come with posewise",
        description="Lists the models that pw.load and the key models take.",
    )
    models.set_defaults(run=_models, failed="not listed")
    doctor = commands.add_parser(
        "doctor",
        help="print versions, devices, caches and what is missing, and time a solve",
        description="Prints what this installation is, and what it lacks.",
    )
    doctor.set_defaults(run=_doctor, failed="the inverse kinematics was not solved")
    return top


def _add_solve(commands: Any) -> None:
    solve = _add_command(
        commands,
        "solve",
        "solve a problem file: a path or a placement",
        help_texts.SOLVE,
    )
    solve.add_argument("file", type=Path, help="problem file, FILE.yaml")
    solve.add_argument("--json", type=Path, help="write the result to this file")
    solve.add_argument(
        "--npz", type=Path, help="write the path or the poses to this file"
    )
    solve.add_argument(
        "--picture",
        type=Path,
        help="draw the result to this file: .png, .svg or .pdf (needs the extra plot)",
    )
    solve.add_argument(
        "--camera", metavar="NAME", help="camera of the scene that sees the picture"
    )
    solve.add_argument(
        "--trajectory",
        type=Path,
        help="write the path over time to this file: .csv, .npz or .json (ROS)",
    )
    solve.add_argument(
        "--rate",
        type=_positive,
        default=1000.0,
        help="samples of the trajectory per second (1000)",
    )
    solve.add_argument(
        "--rounded",
        action="store_true",
        help="round the corners of the trajectory, so that its speed does not jump",
    )
    solve.add_argument(
        "--retime",
        action="store_true",
        help="make the trajectory as fast as limits allow, rounded (needs toppra)",
    )
    solve.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="keep the solutions of a file of many problems in this folder, and go on"
        " from there",
    )
    solve.add_argument(
        "--share",
        type=_share,
        metavar="K/N",
        help="solve only the K-th of N shares of them, for job arrays",
    )
    _add_moveit(solve)
    _add_packages(solve)
    solve.set_defaults(run=_solve, failed="not solved")


def _add_prepare(commands: Any) -> None:
    command = _add_command(
        commands,
        "prepare",
        "compile ahead what a path problem needs, whatever stands around the robot",
        help_texts.PREPARE,
    )
    command.add_argument("file", type=Path, help="problem file, FILE.yaml")
    command.add_argument(
        "--bodies",
        type=int,
        nargs="+",
        default=[4, 20],
        help="numbers of bodies around the robot to compile for (4 20)",
    )
    _add_moveit(command)
    _add_packages(command)
    command.set_defaults(run=_prepare, failed="not prepared")


def _add_check(commands: Any) -> None:
    check = _add_command(
        commands,
        "check",
        "check the predicates of a problem file, or a path, and explain",
        help_texts.CHECK,
    )
    check.add_argument("file", type=Path, help="problem file, FILE.yaml")
    check.add_argument(
        "result",
        type=Path,
        nargs="?",
        help="path or placements to check: .json, .npz or .csv",
    )
    check.add_argument("--json", type=Path, help="write the checks to this file")
    _add_moveit(check)
    _add_packages(check)
    check.set_defaults(run=_check, failed="not every predicate holds")


def _add_view(commands: Any) -> None:
    view = _add_command(
        commands, "view", "show a world or a solution in the browser", help_texts.VIEW
    )
    view.add_argument("file", type=Path, help="problem, model or page")
    view.add_argument(
        "solution", type=Path, nargs="?", help="solution: .json, .npz or .csv"
    )
    view.add_argument("--html", type=Path, help="write a page to this file, and end")
    _add_packages(view)
    view.set_defaults(run=_view, failed="not shown")


def _add_bench(commands: Any) -> None:
    bench = _add_command(
        commands, "bench", "time standard problems on this machine", help_texts.BENCH
    )
    bench.add_argument("names", nargs="*", help="benchmarks of the repository to run")
    bench.set_defaults(run=_bench, failed="a benchmark ended with an error")


def _add_bddl(commands: Any) -> None:
    bddl = _add_command(
        commands,
        "bddl",
        "solve an activity of BDDL in a generated scene",
        help_texts.BDDL,
    )
    bddl.add_argument("activity", help="name of an activity, or a .bddl file")
    bddl.add_argument("--seed", type=int, default=0, help="seed of the scene (0)")
    bddl.add_argument("--json", type=Path, help="write the literals to this file")
    bddl.set_defaults(run=_bddl, failed="not solved")


def _add_moveit(command: Any) -> None:
    for option, help_text in (
        ("robot", "robot of a scene of MoveIt, e.g. a URDF"),
        ("request", "motion request of MoveIt"),
        ("srdf", "pairs of links that may touch, of that robot"),
    ):
        command.add_argument(f"--{option}", type=Path, metavar="FILE", help=help_text)


def _add_packages(command: Any) -> None:
    command.add_argument(
        "--package",
        type=_package,
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="folder of a ROS package that a model names; may be repeated",
    )


def _positive(text: str) -> float:
    """Return the number in a text, which must be finite and larger than 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}, expected a number > 0")
    return value


def _share(text: str) -> tuple[int, int]:
    """Return the numbers of K/N, with 1 <= K <= N."""
    k, _, n = text.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise argparse.ArgumentTypeError(
            f"{text!r}, expected K/N with 1 <= K <= N, such as 2/8"
        )
    return int(k), int(n)


def _package(text: str) -> tuple[str, Path]:
    """Return the name and the folder in NAME=FOLDER."""
    name, separator, folder = text.partition("=")
    if not (name and separator and folder):
        raise argparse.ArgumentTypeError(f"{text!r}, expected NAME=FOLDER")
    return name, Path(folder)


def _add_command(commands: Any, name: str, summary: str, epilog: str) -> Any:
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _demo(options: Any) -> bool:
    from .demo import run

    return run(
        options.out,
        options.robot,
        options.tip,
        options.seed,
        options.starts,
        dict(options.package),
    )


def _solve(options: Any) -> bool:
    from .cli.commands import run_solve

    return run_solve(options)


def _prepare(options: Any) -> bool:
    from .cli.commands import run_prepare

    return run_prepare(options)


def _check(options: Any) -> bool:
    from .cli.commands import run_check

    return run_check(options)


def _view(options: Any) -> bool:
    from .cli.view import run_view

    return run_view(options)


def _bench(options: Any) -> bool:
    from .cli.bench import run_bench

    return run_bench(options)


def _models(options: Any) -> bool:
    from .cli.commands import run_models

    return run_models()


def _doctor(options: Any) -> bool:
    from .cli.doctor import run_doctor

    return run_doctor()


def _bddl(options: Any) -> bool:
    from .cli.commands import run_bddl

    return run_bddl(options)


def prepare_jax() -> None:
    """Enable float64, and let JAX keep its programs where posewise keeps its own."""
    import jax

    from .caching import cache_programs
    from .compilation.cache_folder import cache_dir

    jax.config.update("jax_enable_x64", True)
    if (folder := cache_dir()) is not None:
        cache_programs(folder)


if __name__ == "__main__":
    sys.exit(main())

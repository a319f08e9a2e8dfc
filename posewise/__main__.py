"""The command line: `posewise demo`."""

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from .robots.errors import PosewiseError


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 when all went well, 1 when not solved, 2 for bad input."""
    options = parser().parse_args(arguments)
    prepare_jax()
    from .demo import run

    try:
        solved = run(
            options.out, options.robot, options.tip, options.seed, options.starts
        )
    except (PosewiseError, ImportError, OSError) as error:
        print(f"posewise: {error}", file=sys.stderr)
        return 2
    if not solved:
        print("posewise: not every problem was solved", file=sys.stderr)
    return 0 if solved else 1


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = argparse.ArgumentParser(
        prog="posewise",
        description="Differentiable features and objectives for robots, on JAX.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo",
        help="solve an inverse kinematics, a path and a placement, and draw them",
        description="Solves three problems, prints how well each objective is met, and"
        " writes pictures. Without --robot the robot is a Franka Panda.",
        epilog="example: posewise demo --robot my_arm.urdf --tip tool0",
    )
    demo.add_argument(
        "--out", type=Path, default=Path("out"), help="folder for pictures (out)"
    )
    demo.add_argument("--robot", type=Path, help="a model file: .urdf, .xml, .g, .yml")
    demo.add_argument("--tip", help="the link of that robot that shall reach a target")
    demo.add_argument("--seed", type=int, default=0, help="of targets and starts (0)")
    demo.add_argument(
        "--starts", type=int, default=8, help="initial guesses for each problem (8)"
    )
    return top


def prepare_jax() -> None:
    """Float64, and compiled programs kept in a private folder of the user's."""
    import jax

    from .caching import cache_programs

    jax.config.update("jax_enable_x64", True)
    with suppress(OSError):
        cache_programs()


if __name__ == "__main__":
    sys.exit(main())

"""Requests answered by programs that are made for their scenes alone.

Each has a process without any compiled program, in which tables have room for exactly
the bodies and pairs of the scene, and programs have code for its kinds only.
What a service's shared program costs beyond it is what padding and further kinds cost.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

TIMES = 3
"""Number of times that a request is answered after the one that compiles (count)."""
FILE = Path(__file__)


def seconds_by_its_program(robot: str, seed: int, number: int) -> float:
    """Return the wall time of a request by a program made for it [s].

    Args:
        robot: one of `SERVICE_ROBOTS`.
        seed: of the requests.
        number: of the request, from 0.

    Raises:
        CalledProcessError: if the request fails; stderr tells why.
    """
    words = [sys.executable, "-m", f"staging.{FILE.stem}", robot, str(seed)]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"POSEWISE_CACHE": folder}
        # Where posewise is not installed, it is found from the folder of the caller.
        paths = [str(FILE.parents[1]), *sys.path]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        run = subprocess.run(
            [*words, str(number)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return float(run.stdout)


def exact_capacities() -> None:
    """Give all tables of this process room for what they hold, not for a class."""
    from posewise.features.pairs import tables
    from posewise.robots.contact import body_table
    from posewise.robots.kinematics import forward

    for module in (tables, body_table, forward):
        # A table has at least one place.
        module.capacity_class = lambda count, least: max(count, 1)


def main() -> None:
    """Print the median time of a request that has been answered once before [s]."""
    from .independent_check import Judge
    from .service_requests import CompilationCounter, answer
    from .service_robots import SERVICE_ROBOTS
    from .service_scenes import draw_scene

    name, seed, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    robot = SERVICE_ROBOTS[name]()
    judge = Judge(robot.world, robot.description, robot.tip)
    scene = draw_scene(robot, judge, np.random.default_rng([seed, number]))
    exact_capacities()
    counter, seconds = CompilationCounter(), []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TIMES + 1):
            reply = answer(robot, scene, Path(folder) / "motion.npz", counter)
            seconds.append(reply.seconds)
    print(np.median(seconds[1:]))


if __name__ == "__main__":
    main()

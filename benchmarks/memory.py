"""Peak memory of large problems, each in a separate process.

    python benchmarks/memory.py [--only starts kitchen batch] [--problems 100000]

starts: 1000 random starts of the path over a wall (`benchmarks/wall.py`), at most 30
iterations each. kitchen: rai's PR2 in rai's kitchen (both from the package `robotic`),
a path of 32 slices with all collisions. batch: inverse kinematics of a Panda, in chunks
of 4096 problems that are kept in a folder. Prints the peak of the resident memory, and
its value before solving.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402


def starts() -> list[pw.Solution]:
    """A batch."""
    import wall

    C = wall.world()
    C.q = [-1.019, 0.513, 0.474, -2.083, -0.39, 2.511, -2.634]
    return wall.over_the_wall(C).solve_all(starts=1000, max_iterations=30)


def kitchen() -> list[pw.Solution]:
    """One path of a robot with many joints among many shapes."""
    import robotic

    models = Path(robotic.__file__).parent / "rai-robotModels"
    C = pw.Config()
    C.add_file(models / "objects/kitchen.g")
    C.add_file(models / "pr2/pr2.g")
    komo = pw.KOMO(C, 1, 32, 2, 5.0)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    hand = C.pose("pr2R")[:3] + [0.2, 0.1, 0.1]
    komo.add_objective([1.0], FS.position, ["pr2R"], OT.eq, target=hand)
    print(f"  {C.nq} coordinates, {len(C.frames)} frames, {len(C.pairs.names())} pairs")
    return [komo.solve()]


def batch(count: int) -> list[pw.Solution]:
    """Many problems in chunks."""
    C = pw.load("panda")
    C.lock("panda_finger_joint1")
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0, scale=0.1)
    tip = ["panda_hand_tcp"]
    goal = komo.add_objective(None, FS.position, tip, OT.eq)
    corners = [0.3, -0.3, 0.3], [0.6, 0.3, 0.6]
    targets = np.random.default_rng(0).uniform(*corners, (count, 3))
    with tempfile.TemporaryDirectory() as folder:
        options = dict(checkpoint_dir=folder, chunk_size=4096, progress=False)
        return komo.solve_batch({goal: targets}, **options)


PROBLEMS = {f.__name__: f for f in (starts, kitchen, batch)}


def peak() -> float:
    """Return the peak of this process so far [MiB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--problems", type=int, default=100_000, help="of batch")
    parser.add_argument("--here", choices=PROBLEMS, help="in this process")
    args = parser.parse_args()
    if args.here:
        before, begin = peak(), time.perf_counter()
        count = [args.problems] if args.here == "batch" else []
        solutions = PROBLEMS[args.here](*count)
        seconds = time.perf_counter() - begin
        share = np.mean([solution.feasible for solution in solutions])
        print(f"  feasible {share:.0%}, {seconds:.0f} s")
        print(f"  peak {peak():.0f} MiB, {before:.0f} of it before", flush=True)
        return
    for name in args.only:
        print(name, flush=True)
        command = [sys.executable, __file__, "--here", name]
        command += ["--problems", str(args.problems)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()

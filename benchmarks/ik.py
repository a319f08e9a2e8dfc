"""Inverse kinematics of the Panda: success, milliseconds, and the first answer.

    python benchmarks/ik.py [--count 1000] [--peers FOLDER]

Targets: poses of random configurations within the limits (seed 0). Success, checked
with pinocchio: within 1 mm and 0.01 rad of the target, and within the limits. Each
solver may start again until it succeeds, at most 20 times. Besides wall time the time
of all processor cores is given, which other work on the machine disturbs less. Then the
time from the start of a process to its first solved IK. pinocchio runs damped least
squares steps with random restarts; TRAC-IK (the package `pytracik`, from `--peers` if
given) with a limit of 50 ms for each problem.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import posewise as pw
from posewise import FS, OT

TIP = "panda_hand_tcp"
FINGER = "panda_finger_joint1"
HOME = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 2.0, 0.785])
STARTS = 20
OPTIONS = dict(mu=1e3, damping=1.0, max_step=1.0, max_iterations=25)
"""Solver options for feasibility only: long Newton steps, and early restarts."""


def panda() -> pw.Config:
    """Return the arm in its home configuration."""
    C = pw.load("panda")
    C.lock(FINGER)
    C.q = HOME
    return C


def reaching(C: pw.Config, pose=None) -> tuple[pw.KOMO, pw.Objective]:
    """The tip at a pose; within the limits, nothing else."""
    komo = pw.KOMO(C)
    aim = dict(scale=[5.0] * 3 + [1.0] * 4, target=pose)
    return komo, komo.add_objective(None, FS.pose, [TIP], OT.eq, **aim)


class Arm:
    """The same arm in pinocchio, which sets and checks the targets."""

    def __init__(self) -> None:
        import pinocchio

        self.pin = pinocchio
        full = pinocchio.buildModelFromUrdf(str(urdf()))
        fingers = [j for j, name in enumerate(full.names) if "finger" in name]
        neutral = pinocchio.neutral(full)
        self.model = pinocchio.buildReducedModel(full, fingers, neutral)
        self.data = self.model.createData()
        self.tip = self.model.getFrameId(TIP)
        self.low = self.model.lowerPositionLimit
        self.high = self.model.upperPositionLimit

    def at(self, q: np.ndarray):
        """The tip's pose."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.tip].copy()

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Within the limits."""
        return rng.uniform(self.low, self.high)

    def error(self, q: np.ndarray, target) -> np.ndarray:
        """The twist that is left to do, in the tip's frame."""
        return self.pin.log6(self.at(q).actInv(target)).vector

    def reached(self, q: np.ndarray, target) -> bool:
        """Success."""
        off = self.at(q)
        turn = np.linalg.norm(self.pin.log3(off.rotation.T @ target.rotation))
        close = np.linalg.norm(off.translation - target.translation) < 1e-3
        inside = np.all(q >= self.low - 1e-4) and np.all(q <= self.high + 1e-4)
        return bool(close and turn < 0.01 and inside)

    def solve(self, target, rng: np.random.Generator) -> np.ndarray:
        """Damped least squares from home, then from random configurations."""
        pin, model, data = self.pin, self.model, self.data
        q = HOME
        for start in range(STARTS):
            q = HOME if start == 0 else self.random(rng)
            for _ in range(40):
                error = self.error(q, target)
                if np.abs(error).max() < 1e-4:
                    return q
                J = pin.computeFrameJacobian(model, data, q, self.tip)
                J = pin.Jlog6(self.at(q).actInv(target)) @ J
                step = J.T @ np.linalg.solve(J @ J.T + 1e-4 * np.eye(6), error)
                q = np.clip(q + step, self.low, self.high)
        return q


def urdf() -> Path:
    """Return the path of posewise's model of the arm."""
    return Path(pw.__file__).parent / "robots/data/panda.urdf"


class Measured(NamedTuple):
    """Success rate and times of a solver over all targets."""

    success: float
    wall: float
    cores: float
    """[ms per problem], as `wall`."""


def measure(solve: Callable[[], list[np.ndarray]], arm: Arm, targets) -> Measured:
    """Return the faster of two runs."""
    times = []
    for _ in range(2):
        wall, cores = time.perf_counter(), time.process_time()
        solutions = solve()
        times.append((time.perf_counter() - wall, time.process_time() - cores))
    good = [arm.reached(q, X) for q, X in zip(solutions, targets, strict=True)]
    wall, cores = 1e3 * np.min(times, 0) / len(targets)
    return Measured(np.mean(good), wall, cores)


def ours(targets) -> Callable[[], list[np.ndarray]]:
    """One batch."""
    import pinocchio

    komo, goal = reaching(panda())
    quaternions = [pinocchio.Quaternion(X.rotation).coeffs() for X in targets]
    poses = [
        [*X.translation, xyzw[3], *xyzw[:3]]
        for X, xyzw in zip(targets, quaternions, strict=True)
    ]
    return lambda: [
        s.q for s in komo.solve_batch({goal: poses}, starts=STARTS, **OPTIONS)
    ]


def tracik(arm: Arm, targets) -> Callable[[], list[np.ndarray]]:
    """TRAC-IK's own restarts; its wheel reads limits as zeros, so they are set."""
    from trac_ik import TracIK

    solver = TracIK("panda_link0", TIP, str(urdf()), timeout=0.05, epsilon=1e-5)
    solver.joint_limits = (arm.low, arm.high)

    def solve() -> list[np.ndarray]:
        solutions = (solver.ik(X.translation, X.rotation, HOME) for X in targets)
        return [HOME if q is None else q for q in solutions]

    return solve


COLD = """
import sys, time
sys.path[:0] = {path}
import jax
jax.config.update("jax_enable_x64", True)
import ik
if {cache!r}:
    ik.pw.cache_programs({cache!r})
C = ik.panda()
C.q = ik.HOME + 0.2
target = C.pose(ik.TIP)
C.q = ik.HOME
solution = ik.reaching(C, target)[0].solve(**ik.OPTIONS)
assert solution.feasible, solution.report()
"""


def cold(cache: str = "") -> float:
    """Seconds from the start of a process to its first solved IK."""
    path = [str(Path(__file__).parent), str(Path(pw.__file__).parents[1])]
    begin = time.perf_counter()
    code = COLD.format(path=path, cache=cache)
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--peers", type=Path, help="folder that holds pytracik")
    args = parser.parse_args()
    if args.peers:
        sys.path.append(str(args.peers))

    print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as cache:
        print(f"first IK, from process start: {cold():6.2f} s")
        cold(cache)
        print(f"with a filled cache:          {cold(cache):6.2f} s", flush=True)

    import jax

    jax.config.update("jax_enable_x64", True)
    arm, rng = Arm(), np.random.default_rng(0)
    targets = [arm.at(arm.random(rng)) for _ in range(args.count)]
    runs = {"posewise": ours(targets)}
    begin = time.perf_counter()
    runs["posewise"]()
    print(f"compilation and first batch:  {time.perf_counter() - begin:6.2f} s")
    restarts = np.random.default_rng(1)
    runs["pinocchio"] = lambda: [arm.solve(X, restarts) for X in targets]
    if importlib.util.find_spec("trac_ik"):
        runs["TRAC-IK"] = tracik(arm, targets)
    print(f"{'':12s}  success   ms/problem   ms of cores")
    for name, solve in runs.items():
        m = measure(solve, arm, targets)
        rate = f"{100 * m.success:6.1f} %"
        print(f"{name:12s} {rate} {m.wall:12.2f} {m.cores:13.2f}", flush=True)


if __name__ == "__main__":
    main()

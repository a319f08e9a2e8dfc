"""Paths in files, right and wrong, on which checks of `posewise check` are tried."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import posewise as pw
from posewise.cli import motion_check
from posewise.cli.file_slices import find_slices
from posewise.cli.path_file import PathFile
from posewise.cli.sample_checks import check_speeds
from posewise.logic.motion.robot import find_robot
from posewise.objectives.problem.spec import ProblemSpec
from posewise.objectives.solve.given_path import given_path_as_solution
from posewise.robots.errors import ProblemWarning

from .sweep_problems import TASKS, Outcome

SLICES = 16
"""Number of slices of the paths in files."""


URDF = """<robot name="r"><link name="world"/><link name="cart"/><link name="lift"/>
<joint name="a" type="prismatic"><parent link="world"/><child link="cart"/>
<axis xyz="1 0 0"/><limit lower="-4" upper="4" effort="1" velocity="{}"/></joint>
<joint name="b" type="prismatic"><parent link="cart"/><child link="lift"/>
<axis xyz="0 0 1"/><limit lower="-4" upper="4" effort="1" velocity="{}"/></joint>
</robot>"""


def sliders(speeds: Iterable[float] = (100.0, 100.0)) -> pw.Config:
    """Return a cart and a lift, with their largest speeds [m/s]."""
    C = pw.Config()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "sliders.urdf"
        file.write_text(URDF.format(*speeds))
        C.add_file(file)
    return C


@cache
def curves() -> list[tuple[ProblemSpec, np.ndarray]]:
    """Return problems of different durations, each with a smooth path from rest."""
    rng, result = np.random.default_rng(4), []
    for duration in (0.5, 2.0, 2.0, 7.0):
        komo = pw.KOMO(sliders(), 1, SLICES, 2, duration)
        komo.add_control_objective(2, 0.1)
        s = np.arange(1, SLICES + 1)[:, None] / SLICES
        waves = rng.uniform(-0.5, 0.5, (3, 2))
        path = sum(a * (1 - np.cos(k * s * np.pi)) for k, a in enumerate(waves, 1))
        result.append((komo.spec, path))
    return result


def rounded(file: PathFile, decimals: int) -> PathFile:
    """Return a file whose numbers have few decimals."""
    names = ("path", "times", "slices", "velocities", "accelerations")
    columns = ((name, getattr(file, name)) for name in names)
    cut = {k: np.round(v, decimals) for k, v in columns if v is not None}
    return replace(file, **cut)


def written(
    spec: ProblemSpec, path: np.ndarray, dt: float, is_rounded: bool
) -> PathFile:
    """Return a path as `solve --trajectory` writes it, with or without its corners."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        solution = given_path_as_solution(spec, path, 1e-3)
        t = solution.resample(dt, rounded=is_rounded)
    columns = t.times, (), t.others["slice"], t.velocities, t.accelerations
    return PathFile(t.positions, *columns)


def without_corners(spec: ProblemSpec, path: np.ndarray) -> np.ndarray:
    """Return where parabolas from one step's middle to the next one's pass slices."""
    whole = np.vstack([spec.config.q, path, path[-1]])
    return path + np.diff(whole, 2, axis=0) / 8


def slices_found() -> list[Outcome]:
    """Look for slices in files; the figure is 100 for a right one that is refused.

    Those that follow the problem's timing have to tell the path within a rounding of
    numbers; those that are faster or slower may not pass for it.
    """
    outcomes = []
    for (spec, path), steps, is_rounded, has_places, has_rates, decimals in product(
        curves(), (3.0, 5.3, 40.0), *[(False, True)] * 3, (3, 5, 9)
    ):
        dt = float(spec.tau[0]) / steps
        file = written(spec, path, dt, is_rounded)
        if not has_places:
            file = replace(file, slices=None)
        if not has_rates:
            file = replace(file, velocities=None, accelerations=None)
            if is_rounded:
                continue
        file = rounded(file, decimals)
        answer = find_slices(file, spec)
        truth = without_corners(spec, path) if is_rounded else path
        step = np.abs(np.diff(path, axis=0)).max()
        largest = 2 * 10.0**-decimals * (1 + step / spec.tau[0]) + 1e-9
        if not has_rates:  # it is taken for straight between samples
            largest += step / steps
        good = not isinstance(answer, str)
        if not isinstance(answer, str):
            good = (answer.steps is None) == is_rounded
            good &= bool(np.abs(answer.path - truth).max() <= largest)
        outcomes.append(Outcome(good, 100.0 * (not good)))
        for stretch in (0.99, 1.01, 1.1):
            wrong = replace(file, times=stretch * file.times)
            answer = find_slices(wrong, spec)
            is_told = isinstance(answer, str) or answer.steps is None
            outcomes.append(Outcome(is_told))
    return outcomes


def speeds_judged() -> list[Outcome]:
    """Judge files whose paths are as fast as allowed, or a little faster.

    The figure is 100 for a right one that is refused.
    """
    outcomes = []
    for (spec, path), steps, decimals in product(curves(), (3.0, 40.0), (4, 5, 9)):
        file = rounded(written(spec, path, float(spec.tau[0]) / steps, False), decimals)
        top = np.abs(np.diff(path, axis=0, prepend=0)).max(0) / spec.tau[0]
        for excess in (0.0, 0.002, 0.01):
            C = sliders(top / (1 + excess))
            check = check_speeds(file, C, file.times)
            good = bool(check.passed) == (not excess)
            outcomes.append(Outcome(good, 100.0 * (not good and not excess)))
    return outcomes


@cache
def carried() -> list[tuple[pw.Config, str, PathFile]]:
    """Return worlds, robots and paths on which hands move objects."""
    plans = {name: TASKS[name].plan() for name in ("gantry", "line", "bar", "mobile")}
    return [
        (plan.start, TASKS[name].robot, PathFile(plan.whole_path, plan.times, ()))
        for name, plan in plans.items()
    ]


def spoilt(C: pw.Config, obj: str, file: PathFile) -> Iterator[np.ndarray]:
    """Yield paths on which an object does not move as a hand does."""
    k = C.joints.coordinates([obj])[:3]
    place = file.path[:, k]
    moves = np.append(np.abs(np.diff(place, axis=0)).max(1) > 1e-5, False)
    first, last = np.flatnonzero(moves)[[0, -1]]
    share = np.clip((np.arange(len(place)) - first) / (last + 1 - first), 0, 1)
    # It slips in the hand, moves a little before it is taken, or is beside the hand.
    yield with_shift(file.path, k, share[:, None] * [0.01, 0, 0])
    before = np.zeros((len(place), 3))
    before[first // 2 + 1 :] = [0.0005, 0, 0]
    yield with_shift(file.path, k, before)
    yield with_shift(file.path, k, np.tile([0.0, 0.0, 0.1], (len(place), 1)))


def with_shift(path: np.ndarray, k: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return a path with some coordinates shifted."""
    result = path.copy()
    result[:, k] += shift
    return result


def hands_judged() -> list[Outcome]:
    """Judge which hands move objects; the figure is 100 for a right file refused."""
    outcomes = []
    for C, name, file in carried():
        robot = find_robot(C, name)
        (obj,) = (n for n in C.objects if C.frame(n).joint is not None)
        for decimals in (4, 5, 6, 9):
            path = np.round(file.path, decimals)
            check, _ = motion_check._check_attachments(
                C, robot, replace(file, path=path)
            )
            good = bool(check.passed)
            outcomes.append(Outcome(good, 100.0 * (not good)))
        for wrong in spoilt(C, obj, file):
            path = np.round(wrong, 6)
            check, _ = motion_check._check_attachments(
                C, robot, replace(file, path=path)
            )
            outcomes.append(Outcome(not check.passed))
    return outcomes

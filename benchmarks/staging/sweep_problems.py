"""Small problems of the mechanisms whose choices `benchmarks/sweeps.py` varies."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import posewise as pw
from posewise import logic
from posewise.cli.path_file import PathFile
from posewise.cli.rate_checks import check_rates
from posewise.cli.rates_by_positions import RatesByPositions
from posewise.logic.motion import (
    CloseJoint,
    Handover,
    MotionPlan,
    MoveUntil,
    OpenJoint,
    Pick,
    Place,
    Push,
    replay,
)
from posewise.logic.motion.goal_poses import find_goal_poses
from posewise.logic.motion.replay_doubts import SegmentEnd, replay_doubts
from posewise.logic.motion.step_types import Step
from posewise.logic.relaxed import stack_equilibrium
from posewise.objectives.trajectory.sampling import rounded_in_time
from posewise.objectives.trajectory.straight_path import StraightPath
from posewise.robots.errors import ProblemWarning

from .motion_scenes import add_mobile_base, door_scene, drawer_scene, table_scene

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from face import rate_files  # noqa: E402
from face.rate_files import rounded  # noqa: E402
from helpers import relaxed_scenes as scenes  # noqa: E402
from helpers.gantry import add_gantry, gantry_world  # noqa: E402

replays = sys.modules["posewise.logic.motion.replay"]


class Outcome(NamedTuple):
    """The result of one problem."""

    success: bool | None
    """None: not counted."""
    figure: float = 0.0
    """A figure beside the success, named in `benchmarks/sweeps.py`."""


class Task(NamedTuple):
    """Steps of a robot, planned with a seed."""

    world: Callable[[], pw.Config]
    robot: str
    steps: Sequence[Step]
    seed: int = 0

    def plan(self) -> MotionPlan:
        """Return the plan."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)
            world = self.world()
            return logic.plan_motion(world, self.robot, self.steps, seed=self.seed)


on, beside = logic.OnTopOf, logic.NextTo


def line_world() -> pw.Config:
    """Return a gantry, a block, and a mark to which it is pushed."""
    C = gantry_world()
    C.add_object("mark", [pw.Box([0.05] * 3)], pose=[0, -0.3, 0.025, 1, 0, 0, 0])
    return C


def bar_world() -> pw.Config:
    """Return two gantries on one stand, two tables, and a bar."""
    C = pw.Config()
    C.add_frame("stand")
    for name, x in (("a_", -0.2), ("b_", 0.2)):
        add_gantry(C, name, x, parent="stand")
    for name, x in (("here", -0.4), ("there", 0.4)):
        C.add_object(name, [pw.Box([0.2, 0.2, 0.1])], pose=[x, 0, 0.05, 1, 0, 0, 0])
    bar, pose = pw.Box([0.4, 0.03, 0.03]), [-0.4, 0, 0.11502, 1, 0, 0, 0]
    C.add_object("bar", [bar], pose=pose, joint="free")
    return C


def mobile_world() -> pw.Config:
    """Return a gantry on a base that drives to a box with a block."""
    C = pw.Config()
    add_mobile_base(C)
    add_gantry(C, parent="base")
    C.add_object("box", [pw.Box([0.3, 0.3, 0.2])], pose=[1.2, 0.3, 0.1, 1, 0, 0, 0])
    pose = [1.15, 0.25, 0.25002, 1, 0, 0, 0]
    C.add_object("block", [pw.Box([0.08, 0.05, 0.1])], pose=pose, joint="free")
    return C


BAR = Pick("bar", hand="a_hand"), Handover("bar"), Place("bar", on("bar", "there"))
TASKS = {
    "gantry": Task(
        gantry_world, "gantry", (Pick("block"), Place("block", on("block", "high")))
    ),
    "shelf": Task(
        table_scene, "panda_link0", (Pick("can"), Place("can", on("can", "shelf")))
    ),
    "door": Task(
        door_scene, "panda_link0", (OpenJoint("cupboard"), CloseJoint("cupboard"))
    ),
    "line": Task(line_world, "gantry", (Push("block", beside("block", "mark")),)),
    "bar": Task(bar_world, "stand", BAR),
    "bar again": Task(bar_world, "stand", BAR, seed=1),
    "until": Task(gantry_world, "gantry", (MoveUntil(beside("left", "high")),)),
    "mobile": Task(mobile_world, "base", (Pick("block"),)),
}
"""Tasks by name; the second handover needs several ways to be done."""


def planned(*names: str) -> Callable[[], list[Outcome]]:
    """Return a call that plans tasks; the figure is the motion's duration [s]."""

    def run() -> list[Outcome]:
        outcomes = []
        for name in names:
            plan = TASKS[name].plan()
            good = plan.solved and plan.is_certified
            outcomes.append(Outcome(good, float(plan.times[-1]) if good else np.nan))
        return outcomes

    return run


def places() -> list[Outcome]:
    """Find places of objects; the figure is how many."""
    outcomes = []
    for world, robot, obj, predicate in (
        (table_scene, "panda_link0", "can", on("can", "shelf")),
        (table_scene, "panda_link0", "block", beside("block", "can")),
        (table_scene, "panda_link0", "block", on("block", "can") | on("block", "tray")),
        (drawer_scene, "panda_link0", "block", logic.InsideOf("block", "drawer")),
        (gantry_world, "gantry", "block", ~logic.Upright("block", tilt=0.5)),
    ):
        poses = find_goal_poses(world(), robot, obj, predicate, 0)
        outcomes.append(Outcome(len(poses) > 0, len(poses)))
    return outcomes


@cache
def plans_to_play() -> dict[str, MotionPlan]:
    """Return plans whose replays end well, by the names of their tasks."""
    return {name: TASKS[name].plan() for name in ("line", "door", "gantry")}


def played() -> list[Outcome]:
    """Play plans; one succeeds without doubts. The figure is the joints' error [mrad].

    With less friction than fingers need or less force, doubts are right, so that what
    they say counts, not how many there are.
    """
    outcomes = []
    for plan in plans_to_play().values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)
            result = replay(plan)
        outcomes.append(Outcome(not result.doubts, 1e3 * result.error))
    return outcomes


@cache
def spoilt_plays() -> list[tuple[MotionPlan, list[SegmentEnd], bool]]:
    """Return plans with the ends of their simulated segments, and whether all is well.

    Each is played as it is, and with fingers that hardly press.
    """
    plays = []
    for plan in plans_to_play().values():
        for force in (None, 1.0):
            ends: list[SegmentEnd] = []
            play_with(plan, ends, force)
            plays.append((plan, ends, force is None))
    return plays


def play_with(plan: MotionPlan, ends: list[SegmentEnd], force: float | None) -> None:
    """Play a plan, with another force of fingers [N] if one is given; add its ends."""
    drive = replays.REPLAY_DRIVE
    record = replays.replay_doubts

    def recorded(plan: MotionPlan, segment_ends: list[SegmentEnd]) -> Iterator[str]:
        ends.extend(segment_ends)
        return record(plan, segment_ends)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        replays.replay_doubts = recorded  # type: ignore[assignment]
        if force is not None:
            replays.REPLAY_DRIVE = replace(drive, grip_force=force)
        try:
            replay(plan)
        finally:
            replays.replay_doubts, replays.REPLAY_DRIVE = record, drive


def doubted() -> list[Outcome]:
    """Judge replays; one succeeds if it is doubted just where fingers hardly press."""
    outcomes = []
    for plan, ends, is_well in spoilt_plays():
        doubts = [*replay_doubts(plan, ends)]
        outcomes.append(Outcome(is_well == (not doubts), len(doubts)))
    return outcomes


STACK_STATES = 60
"""Number of states of each scene."""


def told_stable() -> list[Outcome]:
    """Judge states of resting objects by rows and by simulation.

    Of states that are stable, success is that the rows tell it. The figure, in percent
    of all states, is 100 where the rows wrongly tell it.
    """
    predicate = logic.Stable("a")
    stack_equilibrium.standing_feature.cache_clear()
    outcomes = []
    for name in scenes.RESTING:
        place = f"rest {name}", resting(name)
        truth = scenes.judged(*place, predicate, STACK_STATES)
        is_below = scenes.violations(*place, predicate, STACK_STATES) <= 0
        for is_stable, is_told in zip(truth, is_below, strict=True):
            success = bool(is_told) if is_stable else None
            outcomes.append(Outcome(success, 100.0 * (is_told and not is_stable)))
    return outcomes


@cache
def resting(name: str) -> Callable[..., np.ndarray]:
    """Return one sampler of states for each scene, so that its states are kept."""
    return scenes.resting(name)


def placed_stably() -> list[Outcome]:
    """Place an object where it is stable; the figure is the number of iterations."""
    stack_equilibrium.standing_feature.cache_clear()
    outcomes = []
    for name in ("box", "tower", "ramp"):
        C = scenes.world(f"rest {name}").copy()
        C.q = scenes.states(f"rest {name}", resting(name), STACK_STATES)[0]
        for placement in pw.solve_placement(
            C, [logic.Stable("a")], ["a"], starts=8, seed=0, progress=False
        ):
            solution = placement.solution
            outcomes.append(Outcome(solution.feasible, solution.iterations))
    return outcomes


def random_file(seed: int, kind: str, rate: float) -> PathFile:
    """Return a path with uneven steps and pauses, and a row that stands at its end.

    Of kind "pulses" the first two coordinates speed up and brake within milliseconds.
    """
    rng = np.random.default_rng(seed)
    times = np.append(0.0, np.cumsum(rng.uniform(0.1, 0.5, rng.integers(5, 12))))
    points = np.zeros((len(times), 9))
    moves = rng.normal(0, 0.2, (len(times), 2)) * (rng.random((len(times), 1)) < 0.8)
    points[:, :2] = np.cumsum(moves, 0)
    angle = np.cumsum(rng.normal(0, 0.3, len(times)))
    points[:, 5], points[:, 6] = np.cos(angle), np.sin(angle)
    path = StraightPath(times, points, quaternions=(5,))
    t = np.arange(int(np.ceil(times[-1] * rate)) + 1) / rate
    inside = np.minimum(t, times[-1])
    if kind == "pulses":
        q, v, a = trapezoids(points[0], points[-1], times[-1], inside)
    else:
        q, v, a = (path if kind == "straight" else rounded_in_time(path)).sample(inside)
    v[-1], a[-1] = 0.0, 0.0
    return PathFile(q, t, (), None, v, a)


def trapezoids(
    first: np.ndarray, last: np.ndarray, duration: float, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples of a motion with ramps of velocity of a hundredth of its time."""
    ramp = duration / 100
    speed = 1 / (duration - ramp)
    up, down = np.clip(t / ramp, 0, 1), np.clip((t - duration + ramp) / ramp, 0, 1)
    progress = speed * (
        ramp * up**2 / 2
        + np.clip(t - ramp, 0, duration - 2 * ramp)
        + ramp * (down - down**2 / 2)
    )
    change = np.zeros(9)
    change[:2] = (last - first)[:2]
    rates = speed * (up - down), speed / ramp * ((up < 1) * 1.0 - (down > 0))
    q = first + progress[:, None] * change
    return q, *(rate[:, None] * change for rate in rates)


def faults(path: PathFile) -> Iterator[PathFile]:
    """Yield the path with wrong units, signs, places and factors of one column."""
    v, a = path.velocities, path.accelerations
    for wrong in (np.rad2deg(v), -v, 1.1 * v, np.roll(v, 5, 0)):
        yield replace(path, velocities=wrong)
    for wrong in (np.rad2deg(a), -a, 2 * a, 0 * a):
        yield replace(path, accelerations=wrong)
    yield replace(path, times=1.5 * path.times)


RANDOM_KINDS = "straight", "rounded", "pulses"


def rates_judged() -> list[Outcome]:
    """Judge files by their rates: right and rounded ones, and such with wrong columns.

    Of some wrong ones the first sentence has to name the wrong column.

    The figure, in percent of all files, is 100 for a right one that is refused.
    """
    outcomes, C = [], rate_files.world()

    def judge(path: PathFile, is_right: bool, line: str = "") -> None:
        (check,) = check_rates(path, C)
        is_refused = is_right and not check.passed
        names = is_right or line in "".join(check.lines[:1])
        success = check.passed == is_right and names
        outcomes.append(Outcome(success, 100.0 * is_refused))

    for kind, rate in product(rate_files.KINDS, rate_files.RATES):
        right = rate_files.sampled(kind, rate)
        rates = RatesByPositions.of(right, C)
        jumps = rates is not None and rates.has_jumps
        outcomes.append(Outcome(jumps == (kind == "straight")))
        for decimals in (None, 3, 5, 8):
            judge(right if decimals is None else rounded(right, decimals), True)
    shaken = rate_files.sampled("smooth", 100)
    shaken.path[:, 1] += 0.05 * np.sin(0.2 * np.arange(len(shaken.path)))
    rates = RatesByPositions.of(shaken, C)
    outcomes.append(Outcome(rates is not None and not rates.has_jumps))
    for seed, kind, rate in product(range(6), RANDOM_KINDS, (25, 60, 125, 500)):
        path = random_file(seed, kind, rate)
        judge(path, True)
        judge(rounded(path, 4), True)
        judge(replace(path, times=np.round(path.times, 3)), True)
        if rate > 100:
            for wrong in faults(path):
                judge(wrong, False)
    for name, kind, rate in product(rate_files.CHANGES, rate_files.KINDS, (100, 1000)):
        column, alter, line = rate_files.CHANGES[name]
        path = rate_files.sampled(kind, rate)
        alter(getattr(path, column))
        judge(path, False, line)
    return outcomes

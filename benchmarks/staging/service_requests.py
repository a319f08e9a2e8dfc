"""One request to a planning service: from a scene's arrival to a saved motion."""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

import posewise as pw
from posewise import FS, OT

from .independent_check import Judge, dense
from .service_robots import ServiceRobot
from .service_scenes import Scene

MARGIN = 0.01
"""Distance that requests ask for [m]."""
MISSING = 0.001
"""Part of the margin that a certificate may miss [m]."""
SLICES = 32
STARTS = 4
STEP = 0.01
"""Distance of configurations at which a motion is checked [rad, m]."""
ROUNDING = 1e-5
"""Error of distances that counts as none [m]."""
COMPILATION = "backend_compile_duration"
"""Last part of the name of the event with which JAX tells of a compilation."""
REACHED = 1e-3
"""Largest distance of the tip from its target [m]; the tolerance of a row of scale 10
is a tenth of it."""


@dataclass(frozen=True)
class Answer:
    """What came of a request."""

    solution: pw.Solution
    komo: pw.KOMO
    seconds: float
    """Wall time from the scene's arrival to the motion's file [s]."""
    compiled: int
    """Programs that XLA compiled for it (count)."""
    stages: dict[str, float]
    """Wall time of each part [s]."""


class CompilationCounter:
    """A count of the programs that XLA compiles in any thread, small ones included.

    Programs that are read from the cache on disk do not count.
    """

    def __init__(self) -> None:
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._note)

    def _note(self, event: str, duration: float, **_: object) -> None:
        self.count += event.endswith(COMPILATION)


def answer(
    robot: ServiceRobot, scene: Scene, file: Path, counter: CompilationCounter
) -> Answer:
    """Answer a request: plan, time and save the motion, if there is one.

    Args:
        robot: the robot, as a service has it from its start on.
        scene: what arrives.
        file: where the motion goes.
        counter: of compilations.
    """
    compiled, clock = counter.count, [time.perf_counter()]
    C = robot.world.copy()
    for number, (shape, pose) in enumerate(scene.obstacles):
        C.add_frame(f"obstacle {number}", shape=shape, pose=pose, contact=1)
    komo = pw.KOMO(C, 1, SLICES, k_order=2, duration_per_phase=2.0)
    komo.add_control_objective(order=2, scale=0.1)
    komo.avoid_collisions(MARGIN)
    komo.add_objective(
        [1.0], FS.position, [robot.tip], OT.eq, target=scene.target, scale=10
    )
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    clock.append(time.perf_counter())
    with warnings.catch_warnings():
        # What they say is in the solution's findings.
        warnings.simplefilter("ignore")
        solution = komo.solve(starts=STARTS, progress=False)
    clock.append(time.perf_counter())
    if solution.feasible:
        solution.retime(velocity=robot.velocity).save(file)
    clock.append(time.perf_counter())
    stages = dict(zip(("state", "solve", "save"), np.diff(clock), strict=True))
    programs = counter.count - compiled
    return Answer(solution, komo, clock[-1] - clock[0], programs, stages)


def repeated_seconds(komo: pw.KOMO) -> float:
    """Return the wall time of solving the same problem again [s]."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        komo.solve(starts=STARTS, progress=False)
    return time.perf_counter() - begin


def faults(judge: Judge, scene: Scene, path: np.ndarray, file: Path) -> list[str]:
    """Return what is wrong with a motion, as words.

    The straight path keeps the margin, and the motion in the file, whose corners are
    rounded, touches nothing, stays within the limits, and goes from the start to the
    target.

    Args:
        judge: the robot for the check.
        scene: the request.
        path: start and slices (T + 1, nq).
        file: the motion.
    """
    with np.load(file) as data:
        names, motion = list(data["joint_names"]), data["positions"]
    motion = motion[:, [names.index(joint) for joint in judge.joints]]
    # Every so many samples that no coordinate moves farther than a step.
    travelled = np.abs(np.diff(motion, axis=0)).max(1).cumsum()
    marks = np.arange(0, travelled[-1], STEP)
    played = motion[[*np.searchsorted(travelled, marks), -1]]
    clearance = judge.clearance(dense(path, STEP), scene.obstacles)
    played_clearance = judge.clearance(played, scene.obstacles)
    missed = np.linalg.norm(judge.tip_at(motion[-1]) - scene.target)
    outside = max((judge.low - motion).max(), (motion - judge.high).max())
    moved = np.abs(motion[0] - path[0]).max()
    checks = {
        f"path at {1e3 * clearance:.2f} mm": clearance >= MARGIN - MISSING - ROUNDING,
        f"motion at {1e3 * played_clearance:.2f} mm": played_clearance >= 0,
        f"target missed by {1e3 * missed:.2f} mm": missed <= REACHED,
        f"limits exceeded by {outside:.1e}": outside <= 1e-6,
        f"start missed by {moved:.1e}": moved <= 1e-6,
    }
    return [words for words, is_kept in checks.items() if not is_kept]

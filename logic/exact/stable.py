"""Stability: an object that stays where it is when the world is simulated."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_log,
)
from posewise.robots.loaders.mjcf.contact_settings import TIME_STEP
from posewise.robots.simulation.motion import SimulatedTrajectory, SimulationError
from posewise.robots.simulation.twin import Twin
from posewise.robots.typing import FrameName

from ..geometry.free_joints import free_root
from ..geometry.messages import length
from .verdict import Verdict

LEGACY_DECIMALS = 3
"""Decimals to which PyCRAM rounds positions in metres (count); with fewer, objects that
move count as stable."""


class StabilityLimits(NamedTuple):
    """Limits of the motion of an object that is stable; see `Stable`."""

    shift: float
    turn: float
    speed: float
    settle: float
    seconds: float
    legacy: bool

    @property
    def duration(self) -> float:
        """Duration of the simulation [s]."""
        return self.seconds if self.legacy else self.settle + self.seconds


def stability_verdict(C: Config, a: FrameName, limits: StabilityLimits) -> Verdict:
    """Return whether an object stays where it is in a simulation; see `Stable`."""
    if free_root(C, a) is None:
        return Verdict(True, lambda: f"{a} is below no free joint: stable.")
    try:
        motion = Twin(C).simulate(limits.duration)
    except SimulationError:
        text = f"{a} is thrown out of what it overlaps: not stable."
        return Verdict(False, lambda: text)
    return motion_verdict(motion, a, limits)


def motion_verdict(
    motion: SimulatedTrajectory, a: FrameName, limits: StabilityLimits
) -> Verdict:
    """Return the verdict of a simulation from rest, of at least its duration."""
    drift = _drift(motion, a, limits.duration - limits.seconds, limits.duration)
    if limits.legacy:
        first, last = (np.round(x, LEGACY_DECIMALS) for x in drift.ends)
        truth = bool((first == last).all())
    else:
        truth = bool(
            max(drift.settled, drift.moved) <= limits.shift
            and drift.turned <= limits.turn
            and drift.speed <= limits.speed
        )
    return Verdict(truth, lambda: _sentence(a, drift, limits, truth))


def _sentence(
    a: FrameName, drift: "_Drift", limits: StabilityLimits, truth: bool
) -> str:
    verdict = "stable" if truth else "not stable"
    settled = f"settles by {length(drift.settled)}, then " * (not limits.legacy)
    degrees = np.rad2deg(drift.turned)
    return (
        f"{a} {settled}moves by {length(drift.moved)} and turns by"
        f" {degrees:.2f}° in {limits.seconds:g} s, at last at"
        f" {length(drift.speed)}/s: {verdict}."
    )


class _Drift(NamedTuple):
    """The motion of an object when the world is simulated."""

    settled: float
    """Displacement while settling [m]."""
    moved: float
    """Displacement afterwards [m]."""
    turned: float
    """Rotation afterwards [rad]."""
    speed: float
    """Speed at the end [m/s]."""
    ends: np.ndarray
    """Position after settling and at the end (2, 3) [m]."""


def _drift(
    motion: SimulatedTrajectory, name: str, settle: float, duration: float
) -> _Drift:
    middle, last = round(settle / TIME_STEP), max(round(duration / TIME_STEP), 1)
    instants = np.array([0, middle, last - 1, last])
    start, settled, before, end = motion.poses(name, instants)
    turn = quat_log(pose_multiply(pose_inverse(settled), end)[3:])
    return _Drift(
        _distance(start, settled),
        _distance(settled, end),
        float(np.linalg.norm(turn)),
        _distance(before, end) / TIME_STEP,
        np.stack([settled[:3], end[:3]]),
    )


def _distance(x: Float[np.ndarray, "7"], y: Float[np.ndarray, "7"]) -> float:
    """Return the distance of the positions of two poses [m]."""
    return float(np.linalg.norm(y[:3] - x[:3]))

"""Checks of the rows of a path in a file, which need no slices: limits and speeds."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.objectives.checks.limits import LIMIT_TOLERANCE, looks_like_degrees
from posewise.objectives.problem_spec import ProblemSpec
from posewise.objectives.trajectory.stated_limits import stated_limits
from posewise.robots.config import Config

from .path_file import PathFile

SPEED_TOLERANCE = 1e-3
"""Relative excess over a limit that is none; finite differences are rounded."""


@dataclass(frozen=True)
class PathCheck:
    """One check of a path."""

    name: str
    passed: bool | None
    """None if it could not be made."""
    lines: tuple[str, ...] = ()
    """Sentences on what is wrong, or why nothing was checked."""

    def __str__(self) -> str:
        sign = {True: "+", False: "-", None: "?"}[self.passed]
        return "\n".join([f"{sign} {self.name}", *(f"  {x}" for x in self.lines)])


def check_limits(loaded: PathFile, C: Config) -> PathCheck:
    """Check the limits of the joints at each row."""
    low, high = C.limits
    excess = np.maximum(low - loaded.path, loaded.path - high)
    lines = []
    for i in np.flatnonzero((excess > LIMIT_TOLERANCE).any(0)):
        t = int(np.argmax(excess[:, i]))
        lines.append(
            f"{C.coordinate_names[i]} is {loaded.path[t, i]:.4g} in configuration {t},"
            f" beyond its limits {low[i]:.4g} to {high[i]:.4g}."
        )
    worst = loaded.path[np.argmax(excess, 0), np.arange(C.nq)]
    turns = C.kinematics().tree.is_angle & (excess > LIMIT_TOLERANCE).any(0)
    if looks_like_degrees(C, worst, turns):
        lines.append("The angles look like degrees; files have radians.")
    return PathCheck("limits of the joints", not lines, tuple(lines))


def check_speeds(
    loaded: PathFile, C: Config, times: Float[np.ndarray, " n"] | None
) -> PathCheck:
    """Check the speed limits of the joints between rows.

    Args:
        loaded: the path.
        C: its world, at the start.
        times: of the rows [s], if they are known.
    """
    name = "speed limits of the joints"
    if times is None:
        return PathCheck(name, None, ("The file has no times.",))
    # A path of slices begins at the state, at time 0.
    path = loaded.path
    if times[0] > 0:
        path, times = np.vstack([C.q, path]), np.concatenate([[0.0], times])
    speed = np.abs(np.diff(path, axis=0)) / np.diff(times)[:, None]
    limit = C.max_velocity
    lines = []
    for i in np.flatnonzero((speed > (1 + SPEED_TOLERANCE) * limit).any(0)):
        t = int(np.argmax(speed[:, i]))
        lines.append(
            f"{C.coordinate_names[i]} moves at {speed[t, i]:.3g} before"
            f" {times[t + 1]:.3g} s, faster than {limit[i]:.3g}."
        )
    return PathCheck(name, not lines, tuple(lines))


def check_motion_limits(loaded: PathFile, spec: ProblemSpec) -> PathCheck | None:
    """Check the problem's limits of velocity and acceleration at each row.

    Returns:
        The check; None: the problem or the file has no such limits for all slices.
    """
    lines = [*_excesses(loaded, spec)]
    is_limited = any(True for _ in _limits(loaded, spec))
    if not is_limited:
        return None
    return PathCheck("motion limits at each row", not lines, tuple(lines))


def _excesses(loaded: PathFile, spec: ProblemSpec) -> Iterator[str]:
    """Yield sentences on coordinates that are faster than the problem allows."""
    names, times = spec.config.coordinate_names, loaded.times
    for label, values, limits in _limits(loaded, spec):
        excess = np.nan_to_num(np.abs(values)) / limits
        for i in np.flatnonzero(excess.max(0) > 1 + SPEED_TOLERANCE):
            t = int(np.argmax(excess[:, i]))
            place = f"in row {t}" if times is None else f"at {times[t]:.3g} s"
            yield (
                f"The {label} of {names[i]} is {abs(values[t, i]):.3g} {place},"
                f" expected at most {limits[i]:.3g}."
            )


def _limits(
    loaded: PathFile, spec: ProblemSpec
) -> Iterator[tuple[str, Float[np.ndarray, "n nq"], Float[np.ndarray, " nq"]]]:
    """Yield a word, the values at each row, and the limits that hold in all slices."""
    C = spec.config
    values = {"velocity": loaded.velocities, "acceleration": loaded.accelerations}
    for kind, rows in values.items():
        limits = stated_limits(spec, kind, C.coordinate_names, range(spec.T))
        if rows is not None and np.isfinite(limits).any():
            yield kind, rows, limits

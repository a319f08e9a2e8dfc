"""Checks of the rows of a path in a file, which need no slices: limits and speeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.objectives.checks.limits import LIMIT_TOLERANCE, looks_like_degrees
from posewise.objectives.problem.spec import ProblemSpec
from posewise.objectives.problem.stated_limits import stated_limits
from posewise.robots.config import Config

from .path_file import FILE_TOLERANCES, PathFile
from .rates_by_positions import RatesByPositions


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
    lines, names = [], C.joints.coordinate_names
    for i in np.flatnonzero((excess > LIMIT_TOLERANCE).any(0)):
        t = int(np.argmax(excess[:, i]))
        lines.append(
            f"{names[i]} is {loaded.path[t, i]:.4g} in configuration {t},"
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
    limit = C.joints.max_velocity
    lines = []
    largest = (1 + FILE_TOLERANCES.rounding_part) * limit
    for i in np.flatnonzero((speed > largest).any(0)):
        t = int(np.argmax(speed[:, i]))
        lines.append(
            f"{C.joints.coordinate_names[i]} moves at {speed[t, i]:.3g} before"
            f" {times[t + 1]:.3g} s, faster than {limit[i]:.3g}."
        )
    return PathCheck(name, not lines, tuple(lines))


def check_motion_limits(
    loaded: PathFile, spec: ProblemSpec, tolerance: float
) -> PathCheck | None:
    """Check the problem's limits of velocity and acceleration at each row.

    They are judged by the columns of the file and by its positions.

    Args:
        loaded: the path.
        spec: the problem, without choices.
        tolerance: excess of a solution over its limits [rad/s, m/s, rad/s², m/s²].

    Returns:
        The check; None: the problem has no such limits for all slices, or the file has
        neither times nor velocities.
    """
    samples = [*_samples(loaded, spec)]
    if not samples:
        return None
    lines: dict[tuple[str, str], str] = {}
    for sample in samples:
        for name, line in _excesses(
            sample, spec.config.joints.coordinate_names, tolerance
        ):
            lines.setdefault((sample.kind, name), line)
    return PathCheck("motion limits at each row", not lines, tuple(lines.values()))


@dataclass(frozen=True, eq=False)
class _Samples:
    """Velocities or accelerations of a path, and their limits."""

    kind: str
    """velocity or acceleration."""
    source: str
    """Words on where the values are from."""
    values: Float[np.ndarray, "samples nq"]
    places: Sequence[str]
    """Words on when each sample is."""
    limits: Float[np.ndarray, " nq"]
    rounding: Float[np.ndarray, "#samples #nq"]
    """Largest error of the values by rounded numbers in the file."""


def _excesses(
    samples: _Samples, names: Sequence[str], tolerance: float
) -> Iterator[tuple[str, str]]:
    """Yield the names of coordinates that are too fast, each with a sentence."""
    size = np.abs(samples.values) - samples.rounding - tolerance
    excess = np.nan_to_num(size) / samples.limits
    largest = 1 + FILE_TOLERANCES.rounding_part
    for i in np.flatnonzero(excess.max(0, initial=0.0) > largest):
        t, name = int(np.argmax(excess[:, i])), names[int(i)]
        yield (
            name,
            f"The {samples.kind} of {name} is {abs(samples.values[t, i]):.3g}"
            f" {samples.places[t]}{samples.source}, expected at most"
            f" {samples.limits[i]:.3g}.",
        )


def _samples(loaded: PathFile, spec: ProblemSpec) -> Iterator[_Samples]:
    """Yield the rates of a path that are limited in all slices, by each source."""
    C, rows = spec.config, range(len(loaded.path))
    rates = RatesByPositions.of(loaded, C)
    columns = {"velocity": loaded.velocities, "acceleration": loaded.accelerations}
    at_rows = [f"in row {k}" for k in rows]
    if loaded.times is not None:
        at_rows = [f"at {t:.3g} s" for t in loaded.times]
    for kind, values in columns.items():
        limits = stated_limits(spec, kind, C.joints.coordinate_names, range(spec.T))
        if not np.isfinite(limits).any():
            continue
        if values is not None:
            yield _Samples(kind, "", values, at_rows, limits, np.zeros((1, 1)))
        if rates is None:
            continue
        source = " by its positions"
        if kind == "velocity":
            values, rounding = rates.velocities, rates.velocity_rounding
            yield _Samples(kind, source, values, at_rows[1:], limits, rounding)
        # Of a path that is straight, or may be, differences are no accelerations.
        elif values is not None and not rates.has_jumps:
            values = rates.accelerations(rates.q, 1)
            rounding = rates.acceleration_rounding(1)
            places = [at_rows[k] for k in rates.centers(1).tolist()]
            yield _Samples(kind, source, values, places, limits, rounding)

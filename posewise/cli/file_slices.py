"""Slices of a problem in a path in a file: their configurations and their times."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from posewise.objectives.problem.spec import ProblemSpec

from .path_file import FILE_TOLERANCES, SAME_SLICE, PathFile

COLUMN = "the column `slice`, as .csv and .npz files of `solve --trajectory` have it"
"""Words for what tells the slices of paths with another timing."""


@dataclass(frozen=True, eq=False)
class FileSlices:
    """The slices of a problem in a path in a file."""

    path: Float[np.ndarray, "T nq"]
    times: Float[np.ndarray, " T"]
    """Time of each slice in the file [s]."""
    row_times: Float[np.ndarray, " n"]
    """Time of each row of the file [s]."""
    steps: Float[np.ndarray, " T"] | None
    """Duration of the step into each slice as in the problem [s]; None: the file passes
    the slices at other times, so that differences of slices are no velocities."""


def find_slices(loaded: PathFile, spec: ProblemSpec) -> FileSlices | str:
    """Return the slices in a file, or a sentence on why the file does not tell them.

    Args:
        loaded: the path.
        spec: the problem, without choices.
    """
    if loaded.slices is not None:
        return _by_place(loaded, loaded.slices, spec)
    # Trajectories begin at the start, so that their rows are no slices.
    if len(loaded.path) == spec.T and loaded.velocities is None:
        return _by_row(loaded, spec)
    return _free(loaded, spec) if spec.durations else _by_time(loaded, spec)


def _counts(loaded: PathFile, spec: ProblemSpec) -> str:
    return f"The file has {len(loaded.path)} configurations, the problem {spec.T}"


def _free(loaded: PathFile, spec: ProblemSpec) -> str:
    """Return why slices of free durations are not known."""
    return (
        f"{_counts(loaded, spec)} slices of free durations; give as many, with their"
        f" times, in equal steps within each phase, or {COLUMN}."
    )


def _by_place(
    loaded: PathFile, places: Float[np.ndarray, " n"], spec: ProblemSpec
) -> FileSlices | str:
    """Return the slices where the file's column `slice` has them."""
    slices = np.arange(spec.T, dtype=float)
    if places[0] > SAME_SLICE or places[-1] < slices[-1] - SAME_SLICE:
        return (
            f"The slices of the file reach from {places[0]:g} to {places[-1]:g}, those"
            f" of the problem from 0 to {spec.T - 1}."
        )
    row_times = loaded.times
    if row_times is None:
        knots = np.concatenate([[0.0], np.cumsum(spec.tau)])
        row_times = np.interp(places, np.arange(-1.0, spec.T), knots)
    times = np.interp(slices, places, row_times)
    times[-1] = min(times[-1], _end_time(places, row_times, slices[-1]))
    steps = np.diff(times, prepend=0.0)
    if spec.durations:
        is_same = _is_even(steps, spec)
    else:
        error = np.abs(times - np.cumsum(spec.tau)).max()
        is_same = bool(error <= FILE_TOLERANCES.same_timing * spec.tau.min())
        times, steps = (np.cumsum(spec.tau), spec.tau) if is_same else (times, steps)
    path = loaded.at_slices(slices, times)
    return FileSlices(path, times, row_times, steps if is_same else None)


def _end_time(
    places: Float[np.ndarray, " n"], times: Float[np.ndarray, " n"], last: float
) -> float:
    """Return the time of the last slice, after which the last sample may stand still.

    It is reached at the speed before, if that is sooner than the sample.
    """
    k = int(np.searchsorted(places, last - SAME_SLICE))
    if k < 2 or places[k - 1] <= places[k - 2]:
        return float(times[k])
    rate = (places[k - 1] - places[k - 2]) / (times[k - 1] - times[k - 2])
    return float(times[k - 1] + (last - places[k - 1]) / rate)


def _by_row(loaded: PathFile, spec: ProblemSpec) -> FileSlices | str:
    """Return the rows of the file, which are as many as slices."""
    if not spec.durations:
        times = np.cumsum(spec.tau)
        return FileSlices(loaded.path, times, times, spec.tau)
    steps = None
    if loaded.times is not None:
        steps = np.diff(loaded.times, prepend=0.0)
    if loaded.times is None or steps is None or not _is_even(steps, spec):
        return _free(loaded, spec)
    return FileSlices(loaded.path, loaded.times, loaded.times, steps)


def _by_time(loaded: PathFile, spec: ProblemSpec) -> FileSlices | str:
    """Return the slices at their times, if the file has the problem's timing.

    Paths with rounded corners pass each slice by half a step later.
    """
    row_times, times = loaded.times, np.cumsum(spec.tau)
    late = FILE_TOLERANCES.rounding_part * times[-1]
    if (
        row_times is None
        or row_times[-1] < times[-1] - late
        or row_times[0] > times[0] + late
    ):
        return (
            f"{_counts(loaded, spec)} slices until {times[-1]:g} s; give as many, or"
            f" times that reach as far, or {COLUMN}."
        )
    # The last sample is the first one after the end.
    late += row_times[-1] - row_times[-2]
    excess, half = row_times[-1] - times[-1], spec.tau[0] / 2
    if excess <= late:
        return FileSlices(loaded.at(times), times, row_times, spec.tau)
    if abs(excess - half) <= late:
        return FileSlices(loaded.at(times + half), times + half, row_times, None)
    return (
        f"The file ends at {row_times[-1]:.4g} s, the problem at {times[-1]:g} s, so"
        f" that its times are not those of the slices; give {COLUMN}."
    )


def _is_even(steps: Float[np.ndarray, " T"], spec: ProblemSpec) -> bool:
    """Return whether all steps of each phase are equal and positive."""
    for first in range(0, spec.T, spec.slices_per_phase):
        phase = steps[first : first + spec.slices_per_phase]
        spread = FILE_TOLERANCES.rounding_part * phase.mean()
        if np.ptp(phase) > spread or (phase <= 0).any():
            return False
    return True

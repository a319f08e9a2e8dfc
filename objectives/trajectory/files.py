"""Files of trajectories: CSV, NPZ, and ROS JointTrajectory messages as JSON."""

import csv
import json
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from posewise.robots.array_files import read_npz
from posewise.robots.errors import LoadError, first_few
from posewise.robots.typing import StrPath
from posewise.robots.validation import CONVERSION_ERRORS

from ..objective import ObjectiveError

QUANTITIES = ("position", "velocity", "acceleration")
"""First word of the columns of a CSV file, each followed by the name of a joint."""
OTHER_NAMES = "other_names"
"""Name under which NPZ files have the names of the columns of `others`."""
NANOSECONDS = 1_000_000_000
"""In a second (count)."""


class TrajectoryArrays(NamedTuple):
    """The contents of a file; see `Trajectory`."""

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    others: Mapping[str, np.ndarray] = MappingProxyType({})


def write_trajectory(file: StrPath, arrays: TrajectoryArrays) -> None:
    """Write a file in the format of its suffix; see `Trajectory.save`."""
    path = Path(file)
    write, _ = _format_of(path)
    write(path, arrays)


def read_trajectory(file: StrPath) -> TrajectoryArrays:
    """Return the contents of a file, in the format of its suffix.

    Raises:
        LoadError: for a file that cannot be read, with the place.
    """
    path = Path(file)
    _, read = _format_of(path)
    try:
        return read(path)
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise LoadError(f"{path} cannot be read as text: {error}.") from None


def check_suffix(file: StrPath) -> None:
    """Raise an ObjectiveError for a file whose suffix names no format."""
    _format_of(Path(file))


def _format_of(path: Path) -> tuple[Callable[..., None], Callable[..., Any]]:
    """Return the functions that write and read the format of a file."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise ObjectiveError(
            f"{str(path)!r} is no file for a trajectory; expected a name that ends in"
            f" {', '.join(FORMATS)}."
        ) from None


def _write_csv(path: Path, arrays: TrajectoryArrays) -> None:
    header = ["time"]
    header += [f"{word} {name}" for word in QUANTITIES for name in arrays.joint_names]
    header += arrays.others
    rows = np.column_stack([*arrays[1:-1], *arrays.others.values()])
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows.tolist())


def _read_csv(path: Path) -> TrajectoryArrays:
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if row]
    names = tuple(
        cell.removeprefix("position ")
        for cell in header
        if cell.startswith("position ")
    )
    expected = ["time", *(f"{word} {name}" for word in QUANTITIES for name in names)]
    own, others = header[: len(expected)], header[len(expected) :]
    if own != expected or len(set(others)) < len(others):
        raise LoadError(
            f"{path}:1: the columns are {first_few(header)}; expected time, then"
            " 'position NAME' of each joint, then all velocities and accelerations,"
            " and columns of other names, each once."
        )
    values = np.zeros((len(rows), len(header)))
    for k, (line, row) in enumerate(rows):
        try:
            values[k] = _numbers(row, len(header))
        except ValueError as error:
            raise LoadError(
                f"{path}:{line}: {error}; expected {len(header)} numbers: time,"
                f" positions, velocities and accelerations of {len(names)} joints"
                f"{', '.join(['', *others])}."
            ) from None
    columns = dict(zip(others, values[:, len(expected) :].T, strict=True))
    return _from_rows(names, values[:, : len(expected)], columns)


def _from_rows(
    names: tuple[str, ...], rows: np.ndarray, others: Mapping[str, np.ndarray]
) -> TrajectoryArrays:
    """Return the contents of rows of time, positions, velocities and accelerations."""
    q, v, a = np.split(rows[:, 1:], 3, axis=1)
    return TrajectoryArrays(names, rows[:, 0], q, v, a, others)


def _write_npz(path: Path, arrays: TrajectoryArrays) -> None:
    named: dict[str, Any] = dict(arrays._asdict())
    named["joint_names"] = np.array(arrays.joint_names, str)
    named[OTHER_NAMES] = np.array([*arrays.others], str)
    columns = [*arrays.others.values()]
    named["others"] = np.stack(columns, 1) if columns else np.zeros((len(arrays[1]), 0))
    # A path without the suffix .npz would get one, a stream keeps its name.
    with path.open("wb") as stream:
        np.savez(stream, **named)


def _read_npz(path: Path) -> TrajectoryArrays:
    data = read_npz(path)
    fields = TrajectoryArrays._fields[:-1]
    missing = [name for name in fields if name not in data]
    if missing:
        raise LoadError(
            f"{path} has the arrays {first_few(list(data)) or 'of no name'}; expected"
            f" also {', '.join(missing)}."
        )
    names, *numbers = (data[name] for name in fields)
    # Files of version 0.1 have no others.
    other_names = np.atleast_1d(data.get(OTHER_NAMES, np.array([], str))).tolist()
    try:
        times, q, v, a = (array.astype(float) for array in numbers)
        table = np.asarray(data.get("others", np.zeros((0, 0))), float)
        others = dict(zip(map(str, other_names), table.T, strict=True))
    except CONVERSION_ERRORS as error:
        raise LoadError(f"{path}: expected arrays of numbers: {error}.") from None
    joints = tuple(map(str, np.atleast_1d(names)))
    return TrajectoryArrays(joints, times, q, v, a, others)


def _write_json(path: Path, arrays: TrajectoryArrays) -> None:
    message = joint_trajectory_message(arrays)
    text = json.dumps(message, indent=1, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def joint_trajectory_message(arrays: TrajectoryArrays) -> dict[str, Any]:
    """Return the fields of a ROS JointTrajectory, without header and efforts.

    Warns:
        UserWarning: for joints of several coordinates, which are left out.
    """
    is_single = [not re.search(r":\d+$", name) for name in arrays.joint_names]
    names = np.array(arrays.joint_names, str)
    left_out = dict.fromkeys(name.rpartition(":")[0] for name in names if ":" in name)
    if not all(is_single):
        warnings.warn(
            f"{', '.join(left_out)}: left out, because a JointTrajectory of ROS has"
            " joints of one coordinate only; .csv and .npz files have all of them.",
            UserWarning,
            stacklevel=5,
        )
    kept = (values[:, is_single].tolist() for values in arrays[2:-1])
    points = []
    for time, positions, velocities, accelerations in zip(
        arrays.times.tolist(), *kept, strict=True
    ):
        # Rounded as a whole, so that nanosec stays below one second.
        seconds, nanoseconds = divmod(round(time * NANOSECONDS), NANOSECONDS)
        point = {
            "positions": positions,
            "velocities": velocities,
            "accelerations": accelerations,
            "time_from_start": {"sec": seconds, "nanosec": nanoseconds},
        }
        points.append(point)
    return {"joint_names": names[is_single].tolist(), "points": points}


def _read_json(path: Path) -> TrajectoryArrays:
    try:
        message = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{path} is no JSON: {error}.") from None
    try:
        names, points = tuple(map(str, message["joint_names"])), [*message["points"]]
    except (KeyError, TypeError):
        raise LoadError(
            f"{path} is no JointTrajectory; expected the fields joint_names and points."
        ) from None
    rows = []
    for k, point in enumerate(points):
        try:
            time = point["time_from_start"]
            row = [time["sec"] + time["nanosec"] / NANOSECONDS]
            for quantity in ("positions", "velocities", "accelerations"):
                row += _numbers(point[quantity], len(names))
            rows.append(row)
        except (KeyError, *CONVERSION_ERRORS) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise LoadError(
                f"{path}: point {k}: {reason}; expected time_from_start (sec, nanosec)"
                f" and {len(names)} positions, velocities and accelerations."
            ) from None
    values = np.array(rows, float).reshape(len(rows), 1 + 3 * len(names))
    return _from_rows(names, values, {})


def _numbers(values: Any, count: int) -> list[float]:
    """Return `count` numbers, or raise a ValueError that says what is wrong."""
    numbers = [float(value) for value in values]
    if len(numbers) != count:
        raise ValueError(f"got {len(numbers)} numbers, not {count}")
    return numbers


FORMATS: dict[str, tuple[Callable[..., None], Callable[..., TrajectoryArrays]]] = {
    ".csv": (_write_csv, _read_csv),
    ".npz": (_write_npz, _read_npz),
    ".json": (_write_json, _read_json),
}
"""Functions that write and read each format, by the suffix of its files."""

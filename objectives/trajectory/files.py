"""Files of trajectories: CSV, NPZ, and ROS JointTrajectory messages as JSON."""

import csv
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from posewise.robots.array_files import read_npz
from posewise.robots.errors import LoadError, first_few
from posewise.robots.typing import StrPath
from posewise.robots.validation import CONVERSION_ERRORS, require_finite

from ..terms.objective import ObjectiveError

QUANTITIES = ("position", "velocity", "acceleration")
"""First word of the columns of a CSV file, each followed by the name of a joint."""
OTHER_NAMES = "other_names"
"""Name under which NPZ files have the names of the columns of `others`."""
STAMPS = (("sec", "nanosec"), ("secs", "nsecs"))
"""Names of the parts of a time in messages of ROS 2 and of ROS 1."""


class TrajectoryArrays(NamedTuple):
    """The contents of a file; see `Trajectory`.

    Velocities and accelerations are NaN in rows where a file does not tell them.
    """

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
    for name in (*arrays.joint_names, *arrays.others):
        if name.endswith("\0") or name.encode(errors="replace").decode() != name:
            raise ObjectiveError(
                f"The name {name!a} cannot be kept in {str(path)!r}: it ends in a zero,"
                " or has half a character; rename it."
            )
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
    # Spreadsheets write a mark of byte order first, which "utf-8-sig" leaves out.
    with path.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if row]
    # Other columns come last, so that they may have any names.
    positions = takewhile(lambda cell: cell.startswith("position "), header[1:])
    names = tuple(cell.removeprefix("position ") for cell in positions)
    expected = ["time", *(f"{word} {name}" for word in QUANTITIES for name in names)]
    first_columns, others = header[: len(expected)], header[len(expected) :]
    has_joints = bool(names) or not others
    is_known = first_columns == expected and len(set(others)) == len(others)
    if not (is_known and has_joints):
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
    return _checked(path, _from_rows(names, values[:, : len(expected)], columns))


def _checked(path: Path, arrays: TrajectoryArrays) -> TrajectoryArrays:
    """Return the contents of a file that tells all derivatives."""
    for name in ("positions", "velocities", "accelerations"):
        require_finite(f"{path}: {name}", getattr(arrays, name), LoadError)
    return arrays


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
    return _checked(path, TrajectoryArrays(joints, times, q, v, a, others))


def _write_json(path: Path, arrays: TrajectoryArrays) -> None:
    message = joint_trajectory_message(arrays)
    text = json.dumps(message, indent=1, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def joint_trajectory_message(arrays: TrajectoryArrays) -> dict[str, Any]:
    """Return the fields of a ROS JointTrajectory, without header and efforts.

    Warns:
        UserWarning: for joints of several coordinates, which are left out.
    """
    several = coordinates_of_several(arrays.joint_names)
    is_single = np.array([name not in several for name in arrays.joint_names], bool)
    names = np.array(arrays.joint_names, object)
    if several:
        ordered = names[~is_single]
        left_out = dict.fromkeys(name.rpartition(":")[0] for name in ordered)
        warnings.warn(
            f"{', '.join(left_out)}: left out, because a JointTrajectory of ROS has"
            " joints of one coordinate only; .csv and .npz files have all of them.",
            UserWarning,
            stacklevel=5,
        )
    columns = (values[:, is_single].tolist() for values in arrays[2:-1])
    points = []
    for time, positions, velocities, accelerations in zip(
        arrays.times.tolist(), *columns, strict=True
    ):
        # Rounded as a whole, so that nanosec stays below one second.
        seconds, nanoseconds = divmod(round(time * 10**9), 10**9)
        point = {
            "positions": positions,
            "velocities": velocities,
            "accelerations": accelerations,
            "time_from_start": {"sec": seconds, "nanosec": nanoseconds},
        }
        points.append(point)
    return {"joint_names": names[is_single].tolist(), "points": points}


def coordinates_of_several(names: Sequence[str]) -> set[str]:
    """Return those names that are of joints of several coordinates.

    These are `joint:0`, `joint:1`, and so on, one after the other; a joint may be
    called `robot:1`, too.
    """
    several: set[str] = set()
    for first, name in enumerate(names):
        joint, _, number = name.rpartition(":")
        if number == "0":
            expected = (f"{joint}:{i}" for i in count())
            pairs = zip(names[first:], expected, strict=False)
            group = [
                name for name, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)
            ]
            several |= {*group} if len(group) > 1 else set()
    return several


def _read_json(path: Path) -> TrajectoryArrays:
    try:
        message = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{path} is no JSON: {error}.") from None
    fields = message if isinstance(message, dict) else {}
    # a RobotTrajectory of MoveIt holds one
    inner = fields.get("joint_trajectory")
    fields = inner if isinstance(inner, dict) else fields
    names, points = fields.get("joint_names"), fields.get("points")
    if not isinstance(names, list) or not isinstance(points, list):
        raise LoadError(
            f"{path} is no JointTrajectory; expected the fields joint_names and points."
        )
    rows = []
    for k, point in enumerate(points):
        try:
            rows.append(_row_of_point(point, len(names)))
        except CONVERSION_ERRORS as error:
            raise LoadError(
                f"{path}: point {k}: {error}; expected time_from_start (sec, nanosec),"
                f" {len(names)} positions and, if they are there, as many velocities"
                " and accelerations."
            ) from None
    values = np.array(rows, float).reshape(len(rows), 1 + 3 * len(names))
    return _from_rows(tuple(map(str, names)), values, {})


def _row_of_point(point: Any, joints: int) -> list[float]:
    """Return the numbers of a JointTrajectoryPoint, or raise a ValueError."""
    if not isinstance(point, dict):
        raise ValueError(f"got {point!r:.40}, no message")
    stamp = point.get("time_from_start")
    if not isinstance(stamp, dict):
        raise ValueError(f"time_from_start is {stamp!r:.40}")
    named = [pair for pair in STAMPS if set(pair) & stamp.keys()]
    if len(named) != 1:
        raise ValueError(f"time_from_start has {first_few([*stamp]) or 'nothing'}")
    seconds, nanoseconds = (float(stamp.get(part, 0)) for part in named[0])
    row = [seconds + nanoseconds / 10**9]
    row += _numbers(point.get("positions", []), joints)
    for quantity in ("velocities", "accelerations"):
        values = point.get(quantity)
        # Planners leave out what they do not know.
        if values is None or values == []:
            row += [np.nan] * joints
        else:
            row += _numbers(values, joints)
            if not np.isfinite(row[-joints:]).all():
                raise ValueError(f"{quantity} are {values!r:.40}")
    return row


def estimate_missing(arrays: TrajectoryArrays) -> TrajectoryArrays:
    """Return arrays whose missing derivatives are estimated by differences.

    Those of a quantity are central differences of second order, and one-sided ones at
    both ends; a single sample is at rest.
    """
    times, q, v, a = arrays[1:5]
    if not np.isnan(v).any() and not np.isnan(a).any():
        return arrays
    v = np.where(np.isnan(v), _differences(times, q), v)
    a = np.where(np.isnan(a), _differences(times, v), a)
    return arrays._replace(velocities=v, accelerations=a)


def _differences(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    # Times that do not increase are refused later.
    if len(times) < 2 or not (np.diff(times) > 0).all():
        return np.zeros_like(values)
    return np.gradient(values, times, axis=0)


def _numbers(values: Any, expected: int) -> list[float]:
    """Return some numbers, or raise a ValueError that says what is wrong."""
    if not isinstance(values, list):
        raise ValueError(f"got {values!r:.40}, no list of numbers")
    numbers = [float(value) for value in values]
    if len(numbers) != expected:
        raise ValueError(f"got {len(numbers)} numbers, not {expected}")
    return numbers


FORMATS: dict[str, tuple[Callable[..., None], Callable[..., TrajectoryArrays]]] = {
    ".csv": (_write_csv, _read_csv),
    ".npz": (_write_npz, _read_npz),
    ".json": (_write_json, _read_json),
}
"""Functions that write and read each format, by the suffix of its files."""

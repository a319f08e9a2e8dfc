"""Paths in files: results of `posewise solve`, trajectories, and plain tables."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.objectives.trajectory.trajectory import Trajectory
from posewise.robots.config import Config
from posewise.robots.errors import LoadError, first_few, unknown_name
from posewise.robots.validation import CONVERSION_ERRORS

from .result_files import read_arrays

PATH_KEYS = ("path", "positions", "q")
"""Names under which NPZ and JSON files may have positions."""
NAME_KEYS = ("joint_names", "joints")
"""Names under which they may have the names of joints or coordinates."""


@dataclass(frozen=True, eq=False)
class PathFile:
    """A path as a file has it."""

    path: Float[np.ndarray, "n nq"]
    times: Float[np.ndarray, " n"] | None
    """Time of each row since the start [s], if the file tells."""
    absent: tuple[str, ...]
    """Coordinates that the file lacks, which stay at the state."""

    def at(self, times: Float[np.ndarray, " T"]) -> Float[np.ndarray, "T nq"] | None:
        """Return the path at the times of slices; None if it does not have them.

        Between its rows it is straight. A path with as many rows as slices has them.
        """
        if len(self.path) == len(times):
            return self.path
        late = 1e-6 + 1e-3 * times[-1]
        own = self.times
        if own is None or own[-1] < times[-1] - late or own[0] > times[0] + late:
            return None
        columns = [np.interp(times, own, column) for column in self.path.T]
        return np.stack(columns, 1)


def read_path_file(file: Path, C: Config) -> PathFile:
    """Return the path in a JSON, CSV or NPZ file.

    Args:
        file: what `posewise solve --json` or `--npz` or `Trajectory.save` wrote; or
            positions alone: an NPZ with `positions`, or a CSV with a row for each
            configuration, after a header with the names of joints if there is one.
        C: the world whose coordinates they are.

    Raises:
        LoadError: for a file that cannot be read, or does not fit.
    """
    readers = {".json": _read_json, ".npz": _read_npz, ".csv": _read_csv}
    if file.suffix.lower() not in readers:
        raise LoadError(
            f"{str(file)!r}: expected a path in a file that ends in"
            f" {', '.join(readers)}."
        )
    try:
        values, times, names = readers[file.suffix.lower()](file)
    except OSError as error:
        raise LoadError(f"{file} cannot be read: {error.strerror or error}.") from None
    if values.ndim != 2 or not len(values) or not np.isfinite(values).all():
        raise LoadError(
            f"{file}: the path has shape {values.shape}, expected a row of finite"
            " numbers for each configuration."
        )
    if times is not None and (len(times) != len(values) or (np.diff(times) <= 0).any()):
        raise LoadError(
            f"{file}: expected {len(values)} times that increase, one for each row."
        )
    columns = _columns(file, C, names, values.shape[1])
    path = np.tile(C.q, (len(values), 1))
    path[:, columns] = values
    absent = np.setdiff1d(np.arange(C.nq), columns)
    return PathFile(path, times, tuple(C.coordinate_names[i] for i in absent))


Contents = tuple[np.ndarray, np.ndarray | None, list[str] | None]


def _columns(file: Path, C: Config, names: list[str] | None, count: int) -> np.ndarray:
    """Return the coordinate of each column; names are of coordinates or of joints."""
    if names is None:
        if count != C.nq:
            raise LoadError(
                f"{file}: rows have {count} numbers, expected {C.nq}: values of"
                f" {first_few(list(C.coordinate_names))}."
            )
        return np.arange(C.nq)
    columns: list[int] = []
    for name in names:
        if name in C.coordinate_names:
            columns.append(C.coordinate_names.index(name))
        elif name in C.joint_names:
            columns += C.coordinates([name]).tolist()
        else:
            known = (*C.joint_names, *C.coordinate_names)
            raise LoadError(f"{file}: {unknown_name('joint', name, known)}")
    if len(columns) != count:
        raise LoadError(
            f"{file}: rows have {count} numbers, expected {len(columns)} for the joints"
            f" {first_few(names)}."
        )
    return np.array(columns, int)


def _read_json(file: Path) -> Contents:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LoadError(f"{file} is no JSON: {error}.") from None
    if isinstance(data, dict) and "points" in data:
        return _read_trajectory(file)
    if not isinstance(data, dict):
        data = {"path": data}
    return _from_mapping(file, data)


def _read_npz(file: Path) -> Contents:
    return _from_mapping(file, read_arrays(file))


def _from_mapping(file: Path, data: dict[str, Any]) -> Contents:
    found = [key for key in PATH_KEYS if key in data]
    if not found:
        raise LoadError(
            f"{file} has {first_few([*data]) or 'nothing'}; expected a path under"
            f" {', '.join(PATH_KEYS)}."
        )
    names = next((data[key] for key in NAME_KEYS if key in data), None)
    try:
        values = np.asarray(data[found[0]], float)
        times = data.get("times")
        times = None if times is None else np.asarray(times, float).reshape(-1)
    except CONVERSION_ERRORS:
        raise LoadError(f"{file}: expected numbers under {found[0]}, times.") from None
    return values, times, None if names is None else [str(name) for name in names]


def _read_trajectory(file: Path) -> Contents:
    trajectory = Trajectory.load(file)
    return trajectory.positions, trajectory.times, list(trajectory.joint_names)


def _read_csv(file: Path) -> Contents:
    with file.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows:
        raise LoadError(f"{file} is empty.")
    header = [cell.strip() for cell in rows[0]]
    if any(cell.startswith("position ") for cell in header):
        return _read_trajectory(file)
    names = None if all(map(_is_number, header)) else header
    body = rows if names is None else rows[1:]
    if len({len(row) for row in rows}) > 1 or not body:
        raise LoadError(f"{file}: expected rows of numbers of the same length.")
    try:
        values = np.array(body, float)
    except ValueError as error:
        raise LoadError(f"{file}: {error}; expected numbers.") from None
    if names is not None and names[0] in ("time", "times", "t"):
        return values[:, 1:], values[:, 0], names[1:]
    return values, None, names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""Paths in files: results of `posewise solve`, trajectories, and plain tables."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.objectives.trajectory.files import read_trajectory
from posewise.objectives.trajectory.trajectory import Trajectory
from posewise.robots.array_files import read_npz
from posewise.robots.config import Config
from posewise.robots.errors import LoadError, first_few, unknown_name
from posewise.robots.validation import CONVERSION_ERRORS

PATH_KEYS = ("path", "positions", "q")
"""Names under which NPZ and JSON files may have positions."""
NAME_KEYS = ("joint_names", "joints")
"""Names under which they may have the names of joints or coordinates."""
SLICE_KEY = "slice"
"""Name of the column that tells the place of each row on the path, in slices."""
SAME_SLICE = 1e-6
"""Difference of places on a path that are one, as files round [slices]."""


@dataclass(frozen=True, slots=True)
class FileTolerances:
    """Choices of what rows of a file tell, varied in docs/evidence.md."""

    rounding_part: float = 1e-3
    """Relative difference that rounded numbers make [1]: of steps and times that are
    equal, of velocities that follow from accelerations or keep to a limit, and of lines
    that meet. With more, other timings and speeds pass; with less, right ones fail."""
    same_timing: float = 1e-2
    """Difference of the times of slices that are the problem's, as a part of a step
    [1]; with more, other timings are taken for the problem's."""


FILE_TOLERANCES = FileTolerances()


@dataclass(frozen=True, eq=False)
class PathFile:
    """A path as a file has it."""

    path: Float[np.ndarray, "n nq"]
    times: Float[np.ndarray, " n"] | None
    """Time of each row since the start [s], if the file tells."""
    absent: tuple[str, ...]
    """Coordinates that the file lacks, which stay at the state."""
    slices: Float[np.ndarray, " n"] | None = None
    """Place of each row on the path, in slices, -1 at the start, if the file tells."""
    velocities: Float[np.ndarray, "n nq"] | None = None
    """Velocities at each row, if the file tells; NaN where it does not."""
    accelerations: Float[np.ndarray, "n nq"] | None = None
    """Accelerations at each row, likewise."""

    def at(self, times: Float[np.ndarray, " T"]) -> Float[np.ndarray, "T nq"]:
        """Return the path at some times of a file that has times.

        Between rows without velocities it is straight, else a line to the corner where
        the tangents of both rows meet, or a cubic that touches them.

        Raises:
            LoadError: for a file without times.
        """
        if self.times is None:
            raise LoadError("The file has no times; expected one for each row.")
        k = np.clip(np.searchsorted(self.times, times), 1, len(self.times) - 1)
        h = self.times[k] - self.times[k - 1]
        f = np.clip((times - self.times[k - 1]) / h, 0.0, 1.0)[:, None]
        a, b, h = self.path[k - 1], self.path[k], h[:, None]
        straight = (1 - f) * a + f * b
        if self.velocities is None:
            return straight
        va, vb = self.velocities[k - 1], self.velocities[k]
        ahead, back = a + f * h * va, b - (1 - f) * h * vb
        # Cubic Hermite interpolation, as what is added to the straight line.
        bend = f * (1 - f) * ((1 - f) * (h * va - b + a) - f * (h * vb - b + a))
        size = h * np.maximum(np.abs(va), np.abs(vb))
        is_corner = np.abs(ahead - back) <= FILE_TOLERANCES.rounding_part * size
        if self.accelerations is not None:
            # Tangents of a parabola meet half way, too; its velocity changes smoothly.
            change = h * (self.accelerations[k - 1] + self.accelerations[k]) / 2
            part = FILE_TOLERANCES.rounding_part
            is_corner &= np.abs(vb - va - change) > part * np.abs(vb - va)
        curved = np.where(is_corner, ahead, straight + bend)
        return np.where(np.isfinite(curved), curved, straight)

    def at_rows(self, rows: list[int]) -> "PathFile":
        """Return some rows of the path."""
        parts = (
            None if values is None else values[rows]
            for values in (
                self.times, self.slices, self.velocities, self.accelerations
            )
        )  # fmt: skip
        times, *others = parts
        return PathFile(self.path[rows], times, self.absent, *others)

    def at_slices(
        self, slices: Float[np.ndarray, " T"], times: Float[np.ndarray, " T"]
    ) -> Float[np.ndarray, "T nq"]:
        """Return the path at places of a file that tells them.

        Args:
            slices: the places; a row that is at one of them is taken as it is.
            times: at which the file passes them [s].

        Raises:
            LoadError: for a file without places.
        """
        if self.slices is None:
            raise LoadError("The file has no column `slice`.")
        k = np.searchsorted(self.slices, slices - SAME_SLICE)
        k = np.minimum(k, len(self.slices) - 1)
        if self.times is None:
            columns = [np.interp(slices, self.slices, c) for c in self.path.T]
            between = np.stack(columns, 1)
        else:
            between = self.at(times)
        is_row = np.abs(self.slices[k] - slices) <= SAME_SLICE
        return np.where(is_row[:, None], self.path[k], between)


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
        table = readers[file.suffix.lower()](file)
    except OSError as error:
        raise LoadError(f"{file} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise LoadError(f"{file} cannot be read as text: {error}.") from None
    values, times = table.values, table.times
    if values.ndim != 2 or not len(values) or not np.isfinite(values).all():
        raise LoadError(
            f"{file}: the path has shape {values.shape}, expected a row of finite"
            " numbers for each configuration."
        )
    if times is not None and (
        len(times) != len(values) or not (np.diff(times) > 0).all()
    ):
        raise LoadError(
            f"{file}: expected {len(values)} times that increase, one for each row."
        )
    slices = table.slices
    if slices is not None and (
        slices.shape != (len(values),) or not (np.diff(slices) >= 0).all()
    ):
        raise LoadError(
            f"{file}: expected {len(values)} values of `{SLICE_KEY}` that do not"
            " decrease, one for each row."
        )
    columns = _columns(file, C, table.names, values.shape[1])
    path = np.tile(C.q, (len(values), 1))
    path[:, columns] = values
    absent = np.setdiff1d(np.arange(C.nq), columns)
    derivatives = []
    for derivative in (table.velocities, table.accelerations):
        full = np.full_like(path, np.nan)
        if derivative is not None:
            full[:, columns[: derivative.shape[1]]] = derivative
        derivatives.append(None if derivative is None else full)
    names = tuple(C.joints.coordinate_names[i] for i in absent)
    return PathFile(path, times, names, slices, *derivatives)


@dataclass(frozen=True, eq=False)
class Table:
    """The contents of a file, before they are compared with a world."""

    values: np.ndarray
    """A row for each configuration."""
    times: np.ndarray | None
    names: list[str] | None
    """Names of the coordinates, or of the joints, in the order of the columns."""
    slices: np.ndarray | None = None
    velocities: np.ndarray | None = None
    """Velocities of the first columns."""
    accelerations: np.ndarray | None = None


def _columns(file: Path, C: Config, names: list[str] | None, count: int) -> np.ndarray:
    """Return the coordinate of each column; names are of coordinates or of joints."""
    if names is None:
        if count != C.nq:
            raise LoadError(
                f"{file}: rows have {count} numbers, expected {C.nq}: values of"
                f" {first_few(list(C.joints.coordinate_names))}."
            )
        return np.arange(C.nq)
    columns: list[int] = []
    known = (*C.joint_names, *C.joints.coordinate_names)
    for name in names:
        # Names may begin and end with spaces, and so may the columns of a table.
        name = name if name in known else name.strip()
        if name in C.joints.coordinate_names:
            columns.append(C.joints.coordinate_names.index(name))
        elif name in C.joint_names:
            columns += C.joints.coordinates([name]).tolist()
        else:
            raise LoadError(f"{file}: {unknown_name('joint', name, known)}")
    if len(columns) != count:
        raise LoadError(
            f"{file}: rows have {count} numbers, expected {len(columns)} for the joints"
            f" {first_few(names)}."
        )
    return np.array(columns, int)


def _read_json(file: Path) -> Table:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{file} is no JSON: {error}.") from None
    if isinstance(data, dict) and "points" in data:
        return _read_trajectory(file)
    if not isinstance(data, dict):
        data = {"path": data}
    return _from_mapping(file, data)


def _read_npz(file: Path) -> Table:
    arrays = read_npz(file)
    if "velocities" in arrays and "joint_names" in arrays:
        return _read_trajectory(file)
    return _from_mapping(file, arrays)


def _from_mapping(file: Path, data: dict[str, Any]) -> Table:
    keys = [key for key in PATH_KEYS if key in data]
    if not keys:
        raise LoadError(
            f"{file} has {first_few([*data]) or 'nothing'}; expected a path under"
            f" {', '.join(PATH_KEYS)}, or placements, as `posewise solve` writes them."
        )
    names = next((data[key] for key in NAME_KEYS if key in data), None)
    try:
        values = np.asarray(data[keys[0]], float)
        times = data.get("times")
        times = None if times is None else np.asarray(times, float).reshape(-1)
        slices = data.get(SLICE_KEY)
        slices = None if slices is None else np.asarray(slices, float).reshape(-1)
    except CONVERSION_ERRORS:
        raise LoadError(f"{file}: expected numbers under {keys[0]}, times.") from None
    names = None if names is None else [str(name) for name in names]
    return Table(values, times, names, slices)


def _read_trajectory(file: Path) -> Table:
    arrays = read_trajectory(file)
    trajectory = Trajectory.from_arrays(file, arrays)
    others = dict(trajectory.others)
    slices = others.pop(SLICE_KEY, None)
    return Table(
        np.column_stack([trajectory.positions, *others.values()]),
        trajectory.times,
        [*trajectory.joint_names, *others],
        slices,
        # As the file has them: what it lacks is no claim that could be checked.
        arrays.velocities,
        arrays.accelerations,
    )


def _read_csv(file: Path) -> Table:
    with file.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if not rows:
        raise LoadError(f"{file} is empty.")
    header = rows[0]
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
    if names is None:
        return Table(values, None, None)
    if len(set(names)) < len(names):
        raise LoadError(f"{file}: a column is named twice: {first_few(names)}.")
    columns = dict(zip(names, values.T, strict=True))
    is_timed = names[0].strip() in ("time", "times", "t")
    times = columns.pop(names[0]) if is_timed else None
    slices = columns.pop(SLICE_KEY, None)
    coordinates = np.reshape([*columns.values()], (len(columns), len(values))).T
    return Table(coordinates, times, [*columns], slices)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""Mesh files: rai's `.h5` and the formats of trimesh."""

from pathlib import Path
from typing import Any

import numpy as np
import trimesh

from ..dependency_warnings import dependency_warnings_ignored
from ..errors import ConfigError
from ..validation import MAX_NUMBER, is_bounded
from .collada_files import read_collada
from .model_files import READABLE_SUFFIXES, is_existing_file

MAX_FILE_BYTES = 1_000_000_000
"""Size of the largest file that is read [bytes]; larger ones are refused."""
MAX_POINTS = 20_000_000
"""Number of points of the largest array that is read; larger ones are refused."""


def read_mesh(path: Path) -> trimesh.Trimesh:
    """Return the triangles of a mesh file, all parts as one mesh, vertices as stored.

    Of a `.dae` file the lengths are converted to metres; see `collada_files`.

    Args:
        path: An `.h5` file of rai (its group `mesh`), or a file that trimesh reads.

    Raises:
        ConfigError: When the file is missing, of another kind, broken or empty.
        ImportError: When an `.h5` file needs h5py, or a `.dae` file pycollada, and it
            is not installed; names the extra.
    """
    _check_file(path)
    if path.suffix.lower() == ".h5":
        vertices, faces, colors = _read_h5_triangles(path)
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        if colors is not None and colors.shape == (len(vertices), 3):
            mesh.visual = trimesh.visual.ColorVisuals(mesh, vertex_colors=colors)
    else:
        mesh = _read_trimesh(path)
    _check_triangles(path, np.asarray(mesh.vertices), np.asarray(mesh.faces))
    return mesh


def read_convex_parts(path: Path) -> list[np.ndarray]:
    """Return the vertices (n, 3) of each convex part in an `.h5` file's group `decomp`.

    Raises:
        ConfigError: When the file is missing, broken or empty.
        ImportError: When h5py is not installed.
    """
    _check_file(path)
    data = _read_h5(path, "decomp", ("vertices",), ("parts",))
    vertices = _check_points(path, data["vertices"])
    starts = np.unique(np.asarray(data.get("parts", [0]), np.int64).reshape(-1))
    if len(starts) == 0 or starts[0] < 0 or starts[-1] >= len(vertices):
        raise ConfigError(
            f"{path}: 'decomp/parts' must hold start indices of the {len(vertices)}"
            f" vertices, got {starts[:5].tolist()}."
        )
    parts = np.split(vertices, starts[starts > 0])
    return [part for part in parts if len(part)]


def read_points(path: Path) -> np.ndarray:
    """Return the points (n, 3) in the group `points` of an `.h5` file.

    Raises:
        ConfigError: When the file is missing, broken or empty.
        ImportError: When h5py is not installed.
    """
    _check_file(path)
    return _check_points(path, _read_h5(path, "points", ("vertices",))["vertices"])


def _check_file(path: Path) -> None:
    if path.suffix.lower() not in READABLE_SUFFIXES:
        raise ConfigError(
            f"{path}: meshes that end in {path.suffix!r} cannot be read; convert it to"
            f" one of {', '.join(READABLE_SUFFIXES)}."
        )
    if not is_existing_file(path):
        raise ConfigError(f"{path}: this mesh file does not exist; check the path.")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ConfigError(
            f"{path}: the mesh is larger than {MAX_FILE_BYTES / 1e9:g} GB; simplify it."
        )


def _read_h5(
    path: Path, group: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, np.ndarray]:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f'{path}: reading .h5 meshes needs h5py: pip install "posewise[rai]".'
        ) from error
    arrays: dict[str, np.ndarray] = {}
    try:
        with dependency_warnings_ignored(), h5py.File(path, "r") as file:
            for name in (*required, *optional):
                data: Any = file.get(f"{group}/{name}")
                if data is None and name in optional:
                    continue
                if not isinstance(data, h5py.Dataset):
                    raise ConfigError(
                        f"{path}: has no data '{group}/{name}'; expected rai's layout"
                        f" '{group}/vertices' (n, 3), '{group}/faces' (m, 3)."
                    )
                if data.size is None or data.size > 3 * MAX_POINTS:
                    raise ConfigError(
                        f"{path}: '{group}/{name}' has {data.size} numbers, at most"
                        f" {3 * MAX_POINTS} can be read; simplify the mesh."
                    )
                arrays[name] = np.asarray(data[()])
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path}: not a readable .h5 file ({error}).") from error
    return arrays


def _read_h5_triangles(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    data = _read_h5(path, "mesh", ("vertices", "faces"), ("colors",))
    vertices, faces = _check_points(path, data["vertices"]), data["faces"]
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise ConfigError(
            f"{path}: 'mesh/faces' has shape {faces.shape} of {faces.dtype}, expected"
            " (m, 3) integers."
        )
    return vertices, faces.astype(np.int64), data.get("colors")


def _check_points(path: Path, array: np.ndarray) -> np.ndarray:
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "fiu":
        raise ConfigError(
            f"{path}: the vertices have shape {array.shape} of {array.dtype}, expected"
            " (n, 3) numbers."
        )
    points = array.astype(float)
    if not len(points) or not is_bounded(points):
        raise ConfigError(
            f"{path}: has no vertices, or NaN or infinite ones, or some beyond"
            f" {MAX_NUMBER:g}."
        )
    return points


def _read_trimesh(path: Path) -> trimesh.Trimesh:
    read = read_collada if path.suffix.lower() == ".dae" else _load
    try:
        with dependency_warnings_ignored():
            loaded = read(path)
            if isinstance(loaded, trimesh.Scene):
                loaded = loaded.to_mesh()
    except (ConfigError, ImportError):
        raise
    except Exception as error:  # trimesh's parsers raise exceptions of all kinds
        raise ConfigError(
            f"{path}: trimesh cannot read this mesh ({error!r}); check the"
            " file, or export it again."
        ) from error
    if not isinstance(loaded, trimesh.Trimesh):
        raise ConfigError(
            f"{path}: holds a {type(loaded).__name__}, expected triangles."
        )
    return loaded


def _load(path: Path) -> Any:
    return trimesh.load(path, process=False)


def _check_triangles(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    if not len(vertices) or not len(faces):
        raise ConfigError(
            f"{path}: the mesh has {len(vertices)} vertices and {len(faces)} triangles,"
            " expected at least one triangle."
        )
    if not is_bounded(vertices):
        raise ConfigError(
            f"{path}: the mesh has NaN or infinite vertices, or some beyond"
            f" {MAX_NUMBER:g}."
        )
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ConfigError(
            f"{path}: a triangle names vertex {int(faces.max())} of {len(vertices)};"
            " the file is broken."
        )

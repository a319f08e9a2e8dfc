"""Regions of objects: cavities that hold things, and surfaces on which things stand."""

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError, unknown_name
from ..geometry.hulls import volume_and_centroid
from ..kinematics.transforms import quat_to_matrix
from ..typing import RegionKind
from ..validation import float_array
from .argument_parsing import finite_vector, parse_pose

REGION_KINDS = ("cavity", "support")
MAX_EXTENT = 1e3
"""No corner of a cavity is farther along an axis of its frame [m]."""
MAX_PLANES = 32
"""A cavity has no more planes than this."""
COINCIDENCE_TOLERANCE = 1e-9
"""Points nearer than this [m] are one, or lie in one plane."""


@dataclass(frozen=True, eq=False)
class Region:
    """A convex part of space that goes along with a frame of an object."""

    object: str
    name: str
    kind: RegionKind
    """Of a "cavity", all points count as inside the object; a "support" is a face on
    which things stand."""
    frame: str
    """The part of the object that it belongs to."""
    corners: Float[np.ndarray, "n 3"]
    """In the frame; of a support counter-clockwise, seen from where things stand."""
    planes: Float[np.ndarray, "m 4"]
    """Normal and offset in the frame, normal · p <= offset for each point; of a support
    its plane alone, the normal to where things stand."""

    def inset(self, by: float) -> Float[np.ndarray, "n 3"]:
        """Corners of the cavity whose faces lie so much farther in [m]."""
        return polytope_corners(self.planes - [0.0, 0.0, 0.0, by])


def parse_cavity(what: str, size: Any, pose: Any, planes: Any) -> tuple[Any, Any]:
    """Corners and planes of a cavity, from what a user gives of it.

    Raises:
        ConfigError: saying what does not fit.
    """
    if (size is None) == (planes is None):
        raise ConfigError(
            f"{what}: give either size=[x, y, z] and pose of a box, or planes (n, 4),"
            " rows (nx, ny, nz, b) with normal · p <= b inside."
        )
    if planes is None:
        R, p, half = _parse_box(what, size, pose, 3)
        normals = np.concatenate([R.T, -R.T])
        made = np.column_stack([normals, normals @ p + np.tile(half, 2)])
    else:
        made = _parse_planes(what, planes)
        if pose is not None:
            raise ConfigError(f"{what}: planes are in the frame; drop pose.")
    corners = polytope_corners(made)
    if len(corners) < 4 or volume_and_centroid(corners)[0] < COINCIDENCE_TOLERANCE**2:
        raise ConfigError(f"{what}: its planes have no point, or no room, in common.")
    if np.abs(corners).max() >= MAX_EXTENT - 1:
        raise ConfigError(f"{what} is unbounded; close it by further planes.")
    return corners, made


def parse_support(what: str, size: Any, pose: Any, corners: Any) -> tuple[Any, Any]:
    """Corners and the plane of a support, from what a user gives of it.

    Raises:
        ConfigError: saying what does not fit.
    """
    if (size is None) == (corners is None):
        raise ConfigError(
            f"{what}: give either size=[x, y] and pose of a rectangle, whose z points"
            " to where things stand, or corners (n, 3), counter-clockwise seen from"
            " there."
        )
    if corners is None:
        R, p, half = _parse_box(what, size, pose, 2)
        signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        made = p + (signs * half) @ R[:, :2].T
    else:
        made = float_array(f"corners of {what}", corners, "(n, 3) numbers, n >= 3")
        fits = made.ndim == 2 and made.shape[1] == 3 and len(made) >= 3
        if not fits or not np.isfinite(made).all():
            raise ConfigError(
                f"corners of {what} are {made.tolist()}, expected (n, 3) finite"
                " numbers, n >= 3."
            )
        if pose is not None:
            raise ConfigError(f"{what}: corners are in the frame; drop pose.")
    return made, _polygon_plane(what, made)[None]


def _polygon_plane(what: str, corners: np.ndarray) -> np.ndarray:
    """The plane of a convex polygon."""
    middle = corners.mean(0)
    edges = np.roll(corners, -1, 0) - corners
    normal = np.cross(corners - middle, edges).sum(0)
    size = np.linalg.norm(normal)
    normal = normal / size if size > 0 else normal
    length = np.abs(edges).max()
    off = np.abs((corners - middle) @ normal).max()
    turns = np.cross(edges, np.roll(edges, -1, 0)) @ normal
    if size <= COINCIDENCE_TOLERANCE * length or off > 1e-6 or (turns <= 0).any():
        raise ConfigError(
            f"corners of {what} are {corners.tolist()}, expected those of a flat convex"
            " polygon in order, no three on a line."
        )
    return np.append(normal, normal @ middle)


def _parse_box(what: str, size: Any, pose: Any, dim: int) -> tuple[Any, Any, Any]:
    sizes = finite_vector(f"size of {what}", size, dim)
    if (sizes <= 0).any():
        raise ConfigError(f"size of {what} is {sizes.tolist()}, expected lengths > 0.")
    at = parse_pose(what, None, None, np.eye(7)[3] if pose is None else pose)
    return quat_to_matrix(at[3:]), at[:3], sizes / 2


def _parse_planes(what: str, planes: Any) -> np.ndarray:
    """Planes with unit normals."""
    made = float_array(f"planes of {what}", planes, "(n, 4) numbers, n >= 4")
    fits = made.ndim == 2 and made.shape[1] == 4 and 4 <= len(made) <= MAX_PLANES
    if not fits or not np.isfinite(made).all():
        raise ConfigError(
            f"planes of {what} have shape {made.shape}, expected (n, 4) finite numbers,"
            f" 4 <= n <= {MAX_PLANES}: rows (nx, ny, nz, b)."
        )
    length = np.linalg.norm(made[:, :3], axis=1, keepdims=True)
    if (length < COINCIDENCE_TOLERANCE).any():
        raise ConfigError(f"planes of {what}: a normal is zero, expected a direction.")
    return made / length


def polytope_corners(planes: Float[np.ndarray, "m 4"]) -> Float[np.ndarray, "n 3"]:
    """Corners of what is on the inner side of all planes, or within 1 km."""
    ends = [[*(s * np.eye(3)[k]), MAX_EXTENT] for k, s in product(range(3), (1, -1))]
    every = np.concatenate([planes, ends])
    threes = every[list(combinations(range(len(every)), 3))]
    normals, offsets = threes[..., :3], threes[..., 3]
    meet = np.abs(np.linalg.det(normals)) > COINCIDENCE_TOLERANCE
    points = np.linalg.solve(normals[meet], offsets[meet][..., None])[..., 0]
    inside = (points @ every[:, :3].T <= every[:, 3] + COINCIDENCE_TOLERANCE).all(1)
    return np.unique(points[inside].round(9), axis=0)


def region_frame(name: str, parts: tuple[str, ...], frame: Any) -> str:
    """The part of an object that a region belongs to; None: its root.

    Raises:
        ConfigError: for what is no part of it, with near matches.
    """
    if frame is None:
        return name
    if frame not in parts:
        raise ConfigError(unknown_name(f"part of {name!r}", frame, parts))
    return str(frame)

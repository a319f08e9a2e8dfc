"""Regions of objects: cavities, and faces that support other objects."""

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError, unknown_name
from ..geometry.hulls import volume_and_centroid
from ..kinematics.transforms import quat_to_matrix
from ..typing import MatrixLike, PoseLike, RegionKind, VectorLike
from ..validation import float_array, is_bounded
from ..world.argument_parsing import finite_vector, parse_pose

REGION_KINDS = ("cavity", "support")
MAX_EXTENT = 1e3
"""Largest coordinate of a corner of a cavity in its frame [m]; a larger one allows
larger cavities, at less accuracy."""
MAX_PLANES = 32
"""Largest number of planes of a cavity (count); more are refused, because its corners
take time cubic in it."""
COINCIDENCE_TOLERANCE = 1e-9
"""Distance within which points coincide, or lie in a plane [m]."""


@dataclass(frozen=True, eq=False)
class Region:
    """A convex part of space that is fixed to a frame of an object."""

    object: str
    name: str
    kind: RegionKind
    """All points of a "cavity" count as inside the object; a "support" is a face that
    other objects stand on."""
    frame: str
    """The part of the object to which the region is fixed."""
    corners: Float[np.ndarray, "n 3"]
    """Corners in the frame; those of a support are counter-clockwise from above."""
    planes: Float[np.ndarray, "m 4"]
    """Normals and offsets in the frame, normal · p <= offset for each point; a support
    has one plane, whose normal points to the objects on it."""

    def inset(self, margin: float) -> Float[np.ndarray, "n 3"]:
        """Return the corners of the cavity with all faces moved inwards [m]."""
        return polytope_corners(self.planes - [0.0, 0.0, 0.0, margin])


def parse_cavity(
    label: str,
    size: VectorLike | None,
    pose: PoseLike | None,
    planes: MatrixLike | None,
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "m 4"]]:
    """Return corners and planes of a cavity; see `Config.annotations.add_region`.

    Raises:
        ConfigError: for an argument that does not fit.
    """
    if (size is None) == (planes is None):
        raise ConfigError(
            f"{label}: give either size=[x, y, z] and pose of a box, or planes (n, 4),"
            " rows (nx, ny, nz, b) with normal · p <= b inside."
        )
    if planes is None:
        R, p, half = _parse_box(label, size, pose, 3)
        normals = np.concatenate([R.T, -R.T])
        parsed = np.column_stack([normals, normals @ p + np.tile(half, 2)])
    else:
        parsed = _parse_planes(label, planes)
        if pose is not None:
            raise ConfigError(f"{label}: planes are in the frame; drop pose.")
    corners = polytope_corners(parsed)
    if len(corners) < 4 or volume_and_centroid(corners)[0] < COINCIDENCE_TOLERANCE**2:
        raise ConfigError(f"{label}: its planes have no point, or no room, in common.")
    if np.abs(corners).max() >= MAX_EXTENT - 1:
        raise ConfigError(f"{label} is unbounded; close it by further planes.")
    return corners, parsed


def parse_support(
    label: str,
    size: VectorLike | None,
    pose: PoseLike | None,
    corners: MatrixLike | None,
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "1 4"]]:
    """Return corners and plane of a support; see `Config.annotations.add_region`.

    Raises:
        ConfigError: for an argument that does not fit.
    """
    if (size is None) == (corners is None):
        raise ConfigError(
            f"{label}: give either size=[x, y] and pose of a rectangle, whose z points"
            " to the objects on it, or corners (n, 3), counter-clockwise seen from"
            " there."
        )
    if corners is None:
        R, p, half = _parse_box(label, size, pose, 2)
        signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        points = p + (signs * half) @ R[:, :2].T
    else:
        points = float_array(f"corners of {label}", corners, "(n, 3) numbers, n >= 3")
        fits = points.ndim == 2 and points.shape[1] == 3 and len(points) >= 3
        if not fits or not is_bounded(points):
            raise ConfigError(
                f"corners of {label} are {points.tolist()}, expected (n, 3) finite"
                " numbers, n >= 3."
            )
        if pose is not None:
            raise ConfigError(f"{label}: corners are in the frame; drop pose.")
    return points, _polygon_plane(label, points)[None]


def _polygon_plane(label: str, corners: np.ndarray) -> np.ndarray:
    """Return the plane of a convex polygon, normal and offset (4,)."""
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
            f"corners of {label} are {corners.tolist()}, expected those of a flat"
            " convex polygon in order, no three on a line."
        )
    return np.append(normal, normal @ middle)


def _parse_box(
    label: str, size: VectorLike | None, pose: PoseLike | None, dim: int
) -> tuple[Any, Any, Any]:
    """Return orientation, middle and half sizes of a box or a rectangle."""
    sizes = finite_vector(f"size of {label}", size, dim)
    if (sizes <= 0).any():
        raise ConfigError(f"size of {label} is {sizes.tolist()}, expected lengths > 0.")
    frame = parse_pose(label, None, None, np.eye(7)[3] if pose is None else pose)
    return quat_to_matrix(frame[3:]), frame[:3], sizes / 2


def _parse_planes(label: str, planes: MatrixLike) -> np.ndarray:
    """Return planes (n, 4) with unit normals."""
    parsed = float_array(f"planes of {label}", planes, "(n, 4) numbers, n >= 4")
    fits = parsed.ndim == 2 and parsed.shape[1] == 4 and 4 <= len(parsed) <= MAX_PLANES
    if not fits or not is_bounded(parsed):
        raise ConfigError(
            f"planes of {label} have shape {parsed.shape}, expected (n, 4) finite"
            f" numbers, 4 <= n <= {MAX_PLANES}: rows (nx, ny, nz, b)."
        )
    length = np.linalg.norm(parsed[:, :3], axis=1, keepdims=True)
    if (length < COINCIDENCE_TOLERANCE).any():
        raise ConfigError(f"planes of {label}: a normal is zero, expected a direction.")
    return parsed / length


def polytope_corners(planes: Float[np.ndarray, "m 4"]) -> Float[np.ndarray, "n 3"]:
    """Return the corners of the intersection of half-spaces and a cube of 2 km.

    Every corner is the intersection of three planes; with at most `MAX_PLANES` planes
    all triples are tried.
    """
    cube = [[*(s * np.eye(3)[k]), MAX_EXTENT] for k, s in product(range(3), (1, -1))]
    bounds = np.concatenate([planes, cube])
    triples = bounds[list(combinations(range(len(bounds)), 3))]
    normals, offsets = triples[..., :3], triples[..., 3]
    meet = np.abs(np.linalg.det(normals)) > COINCIDENCE_TOLERANCE
    points = np.linalg.solve(normals[meet], offsets[meet][..., None])[..., 0]
    inside = (points @ bounds[:, :3].T <= bounds[:, 3] + COINCIDENCE_TOLERANCE).all(1)
    return np.unique(points[inside].round(9), axis=0)


def region_frame(name: str, parts: tuple[str, ...], frame: str | None) -> str:
    """Return the part of an object to which a region is fixed; None: its root.

    Raises:
        ConfigError: for a frame that is no part of the object, with near matches.
    """
    if frame is None:
        return name
    if frame not in parts:
        raise ConfigError(unknown_name(f"part of {name!r}", frame, parts))
    return str(frame)

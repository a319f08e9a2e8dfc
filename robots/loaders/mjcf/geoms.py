"""MuJoCo geoms of collision bodies.

Points, balls, capsules, cylinders, ellipsoids and half-spaces become MuJoCo's own
primitives; boxes, hulls and all other rounded bodies become convex meshes. Their flat
faces are exact, their round edges are inscribed polyhedra. (Of MuJoCo's own boxes,
faces that lie on each other turned about their normal lose contact points now and then:
a box at rest on a slope of 12° creeps by 6 mm in 2 s. As meshes the same boxes do not
move.)
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from posewise import collision

from ...contact.bodies import body_sources, frame_bodies
from ...geometry.hulls import cube_directions, hull_planes, hull_vertices
from ...kinematics.transforms import matrix_to_quat
from ...world.frame import ContactMask, Frame

MIN_HALF_SIZE = 1e-5
"""Least half size of a geom [m], because MuJoCo's shapes must have a volume; smaller
ones become as large."""
HALF_SPACE_HALF_SIZE = 100.0
"""Half size of the box that replaces a moving half-space [m]; nothing touches it
beyond."""
LONGITUDES, LATITUDES = 32, 9
"""Numbers of directions in which a rounded BoxPlusEllipsoid has a vertex; more follow
its round sides more closely."""


class GeomSpec(NamedTuple):
    """A geom of MuJoCo in a frame."""

    kind: str
    """Name of the type, as in `mujoco.mjtGeom.mjGEOM_…`."""
    size: Float[np.ndarray, "3"]
    """MuJoCo's half sizes [m]; zero for a mesh."""
    R: Float[np.ndarray, "3 3"]
    """Orientation in the frame."""
    p: Float[np.ndarray, "3"]
    """Position in the frame [m]."""
    vertices: Float[np.ndarray, "n 3"]
    """Vertices of a mesh [m]; else none."""

    @property
    def quaternion(self) -> Float[np.ndarray, "4"]:
        """Orientation in the frame."""
        return matrix_to_quat(self.R)


def frame_geoms(frame: Frame, moves: bool) -> list[GeomSpec]:
    """Return the geoms of a frame's collision bodies, in the order of `frame_bodies`.

    Args:
        frame: A frame with a collision shape.
        moves: Replace half-spaces by boxes of 200 m, because half-spaces of MuJoCo
            cannot move.

    Raises:
        ConfigError: For shapes that cannot be used, as in `frame_bodies`.
    """
    geoms = []
    for group in frame_bodies(frame):
        for k in range(len(group)):
            body: Any = group.rows(slice(k, k + 1)).body
            core = type(body.core)(*(x[0] for x in body.core))
            geoms.append(_core_geom(core, float(body.radius[0]), body.R[0], body.p[0]))
    return [_plane_as_box(g) if moves and g.kind == "PLANE" else g for g in geoms]


ALL_BITS = 2**31 - 1
"""Number with all bits of a geom that may touch all others; one with fewer touches only
those with which it shares a bit."""


def contact_bits(frames: Sequence[Frame]) -> dict[ContactMask | None, tuple[int, int]]:
    """Return MuJoCo's `contype` and `conaffinity` by the mask of a shape.

    Masks count if they are of one model and few classes, since MuJoCo has 31 bits; else
    all shapes of frames that collide may touch.
    """
    masks = {g.mask for frame in frames for g in frame.geometries if g.mask}
    bits: dict[ContactMask | None, tuple[int, int]]
    bits = {mask: (1 << mask.number, mask.met) for mask in masks}
    largest = max((max(pair) for pair in bits.values()), default=0)
    if len({mask.model for mask in masks}) > 1 or largest > ALL_BITS:
        bits = dict.fromkeys(masks, (ALL_BITS, ALL_BITS))
    return bits | {None: (ALL_BITS, ALL_BITS)}


def body_masks(frame: Frame) -> list[ContactMask | None]:
    """Return the masks of a frame's bodies, in the order of `frame_bodies`."""
    sources = body_sources(frame)
    return [sources[n].mask for group in frame_bodies(frame) for n in group.number]


def _core_geom(core: Any, radius: float, R: np.ndarray, p: np.ndarray) -> GeomSpec:
    def primitive(kind: str, *size: float, axes: np.ndarray = R) -> GeomSpec:
        padded = np.resize([*size, 0.0, 0.0], 3)
        return GeomSpec(kind, padded, axes, p, np.zeros((0, 3)))

    def mesh(points: np.ndarray) -> GeomSpec:
        return GeomSpec("MESH", np.zeros(3), R, p, _thickened_hull(points))

    def rounded_mesh(corners: np.ndarray) -> GeomSpec:
        return mesh(_rounded_hull_points(corners, radius) if radius else corners)

    match core:
        case collision.HalfSpace():
            return primitive("PLANE", 0.0, 0.0, 1.0)
        case collision.Box(half):
            long = np.flatnonzero(half > 0)
            if len(long) == 0:
                return primitive("SPHERE", *_at_least_minimal(radius))
            if len(long) == 1 and radius > 0:
                axes = R @ np.roll(np.eye(3), long[0] + 1, 0)
                size = _at_least_minimal(radius, half[long[0]])
                return primitive("CAPSULE", *size, axes=axes)
            return rounded_mesh(np.array(list(product((-1, 1), repeat=3))) * half)
        case collision.BoxPlusEllipsoid(half, radii) if (
            not (radius or half.any()) and radii[2]
        ):
            return primitive("ELLIPSOID", *_at_least_minimal(*radii))
        case collision.BoxPlusEllipsoid(half, radii):
            sides = np.array([*radii, *half[:2]])
            if radius == 0 and np.array_equal(sides, [radii[0]] * 2 + [0] * 3):
                return primitive("CYLINDER", *_at_least_minimal(radii[0], half[2]))
            return mesh(
                _rounded_sum_points(np.asarray(half), np.asarray(radii), radius)
            )
        case collision.Hull(vertices):
            return rounded_mesh(np.asarray(vertices))
    raise TypeError(f"{type(core).__name__} has no geom.")


def _at_least_minimal(*sizes: Any) -> list[float]:
    return [max(float(x), MIN_HALF_SIZE) for x in sizes]


def _rounded_hull_points(corners: np.ndarray, radius: float) -> np.ndarray:
    """Return points of the rounded hull, about each corner and above each face."""
    # The face normals are among the directions so that flat faces are exact.
    directions = np.concatenate([cube_directions(), hull_planes(corners)[:, :3]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (np.unique(corners, axis=0)[:, None] + radius * directions).reshape(-1, 3)


def _rounded_sum_points(
    half: np.ndarray, radii: np.ndarray, radius: float
) -> np.ndarray:
    """Return the support points of a rounded BoxPlusEllipsoid in many directions."""
    azimuth = np.linspace(0, 2 * np.pi, LONGITUDES, endpoint=False)
    # Just off the poles: at a pole the sign of a horizontal component is undefined.
    elevation = np.linspace(-1, 1, LATITUDES) * (np.pi / 2 - 1e-6)
    azimuth, elevation = (x.ravel() for x in np.meshgrid(azimuth, elevation))
    flat = np.cos(elevation)
    d = np.stack(
        [flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], -1
    )
    # Support point of the ellipsoid x = A u: A (A d) / |A d|, with A = diag(radii).
    scaled = radii * d
    size = np.linalg.norm(scaled, axis=1, keepdims=True)
    return half * np.sign(d) + radii * scaled / np.where(size > 0, size, 1) + radius * d


def _thickened_hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of a hull that is thick enough for MuJoCo's compiler."""
    corners = hull_vertices(points)
    centred = corners - corners.mean(0)
    if len(corners) > 3 and np.linalg.svd(centred, compute_uv=False)[2] > MIN_HALF_SIZE:
        return corners
    return hull_vertices(_rounded_hull_points(corners, MIN_HALF_SIZE))


def _plane_as_box(plane: GeomSpec) -> GeomSpec:
    centre = plane.p - HALF_SPACE_HALF_SIZE * plane.R[:, 2]
    return plane._replace(kind="BOX", size=np.full(3, HALF_SPACE_HALF_SIZE), p=centre)

"""Collision bodies as MuJoCo's geoms.

Points, balls, capsules, cylinders, ellipsoids and half-spaces are MuJoCo's own; boxes,
hulls and all else that is rounded are convex meshes. Their flat faces are exact, round
edges are polyhedra inscribed in them. (Of MuJoCo's own boxes, faces that lie on each
other turned about their normal lose contact points now and then; a box at rest on a
slope of 12° creeps by 6 mm in 2 s. As meshes the same boxes do not move.)
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from posewise import collision

from ..contact.bodies import frame_bodies
from ..geometry.hulls import hull_planes, hull_vertices
from ..kinematics.transforms import matrix_to_quat
from ..world.frame import Frame

MIN_HALF_SIZE = 1e-5
"""Least half size [m]: MuJoCo's shapes have a volume."""
HALF_SPACE_HALF_SIZE = 100.0
"""Half size of the box that stands for a half-space that moves [m]."""
LONGITUDES, LATITUDES = 32, 9
"""Directions in which rounded curved shapes have a vertex."""


class GeomSpec(NamedTuple):
    """A shape in a frame."""

    kind: str
    """As in `mujoco.mjtGeom.mjGEOM_…`."""
    size: Float[np.ndarray, "3"]
    """MuJoCo's half sizes; a mesh has none."""
    R: Float[np.ndarray, "3 3"]
    p: Float[np.ndarray, "3"]
    vertices: Float[np.ndarray, "n 3"]
    """Of a mesh, else none."""

    @property
    def quaternion(self) -> Float[np.ndarray, "4"]:
        """Orientation in the frame."""
        return matrix_to_quat(self.R)


def frame_geoms(frame: Frame, moves: bool) -> list[GeomSpec]:
    """The geoms of a frame's collision bodies, in the order of `frame_bodies`.

    Args:
        frame: with a shape for collision.
        moves: MuJoCo has no half-spaces that move; they are boxes of 200 m.

    Raises:
        ConfigError: for shapes that cannot be used, see `frame_bodies`.
    """
    found = []
    for group in frame_bodies(frame):
        for k in range(len(group)):
            body: Any = group.rows(slice(k, k + 1)).body
            core = type(body.core)(*(x[0] for x in body.core))
            found.append(_core_geom(core, float(body.radius[0]), body.R[0], body.p[0]))
    return [_plane_as_box(g) if moves and g.kind == "PLANE" else g for g in found]


def _core_geom(core: Any, radius: float, R: np.ndarray, p: np.ndarray) -> GeomSpec:
    made = lambda kind, *size, turn=R: GeomSpec(
        kind, np.resize([*size, 0.0, 0.0], 3), turn, p, np.zeros((0, 3))
    )
    thick = lambda *size: [max(float(x), MIN_HALF_SIZE) for x in size]
    mesh = lambda points: GeomSpec("MESH", np.zeros(3), R, p, _thickened_hull(points))
    match core:
        case collision.HalfSpace():
            return made("PLANE", 0.0, 0.0, 1.0)
        case collision.Box(half):
            long = np.flatnonzero(half > 0)
            if len(long) == 0:
                return made("SPHERE", *thick(radius))
            if len(long) == 1 and radius > 0:
                turn = np.roll(np.eye(3), long[0] + 1, 0)
                size = thick(radius, half[long[0]])
                return made("CAPSULE", *size, turn=R @ turn)
            corners = np.array(list(product((-1, 1), repeat=3))) * half
            return mesh(_rounded_hull_points(corners, radius) if radius else corners)
        case collision.BoxPlusEllipsoid(half, radii) if (
            not (radius or half.any()) and radii[2]
        ):
            return made("ELLIPSOID", *thick(*radii))
        case collision.BoxPlusEllipsoid(half, radii):
            sides = np.array([*radii, *half[:2]])
            if radius == 0 and np.array_equal(sides, [radii[0]] * 2 + [0] * 3):
                return made("CYLINDER", *thick(radii[0], half[2]))
            return mesh(
                _rounded_sum_points(np.asarray(half), np.asarray(radii), radius)
            )
        case collision.Hull(vertices):
            corners = np.asarray(vertices)
            return mesh(_rounded_hull_points(corners, radius) if radius else corners)
    raise TypeError(f"{type(core).__name__} has no geom.")


def _rounded_hull_points(corners: np.ndarray, radius: float) -> np.ndarray:
    """Points of the rounded hull: about each corner, and above each face."""
    grid = [d for d in product(range(-2, 3), repeat=3) if max(map(abs, d)) == 2]
    directions = np.concatenate([np.array(grid, float), hull_planes(corners)[:, :3]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (np.unique(corners, axis=0)[:, None] + radius * directions).reshape(-1, 3)


def _rounded_sum_points(
    half: np.ndarray, radii: np.ndarray, radius: float
) -> np.ndarray:
    """The furthest points of a rounded curved core in many directions."""
    turn = np.linspace(0, 2 * np.pi, LONGITUDES, endpoint=False)
    rise = np.linspace(-1, 1, LATITUDES) * (np.pi / 2 - 1e-6)
    turn, rise = (x.ravel() for x in np.meshgrid(turn, rise))
    flat = np.cos(rise)
    d = np.stack([flat * np.cos(turn), flat * np.sin(turn), np.sin(rise)], -1)
    scaled = radii * d
    size = np.linalg.norm(scaled, axis=1, keepdims=True)
    return half * np.sign(d) + radii * scaled / np.where(size > 0, size, 1) + radius * d


def _thickened_hull(points: np.ndarray) -> np.ndarray:
    """Corners of a hull that is nowhere thinner than MuJoCo's compiler takes."""
    corners = hull_vertices(points)
    centred = corners - corners.mean(0)
    if len(corners) > 3 and np.linalg.svd(centred, compute_uv=False)[2] > MIN_HALF_SIZE:
        return corners
    return hull_vertices(_rounded_hull_points(corners, MIN_HALF_SIZE))


def _plane_as_box(plane: GeomSpec) -> GeomSpec:
    centre = plane.p - HALF_SPACE_HALF_SIZE * plane.R[:, 2]
    return plane._replace(kind="BOX", size=np.full(3, HALF_SPACE_HALF_SIZE), p=centre)

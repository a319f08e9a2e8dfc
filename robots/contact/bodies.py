"""The convex bodies that stand for a frame in distances and collisions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise import collision

from ..errors import ConfigError
from ..geometry import shapes
from ..geometry.convex_parts import convex_parts
from ..geometry.hulls import hull_vertices
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Frame, Geometry

MIN_HULL_VERTICES = 8
"""Vertex counts are rounded up to this, times a power of two: fewer kinds of hulls."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """Bodies of one kind of core: `collision.Body`, posed in their frames."""

    kind: tuple[Any, ...]
    """Type of the core, and for hulls the number of vertices."""
    body: collision.Body
    """Arrays (n, …)."""

    def __len__(self) -> int:
        return len(self.body.radius)

    def rows(self, at: Any) -> "Bodies":
        """Some of them, or all many times over."""
        body = self.body
        core = type(body.core)(*(np.asarray(a)[at] for a in body.core))
        rest = (np.asarray(a)[at] for a in body[1:])
        return replace(self, body=collision.Body(core, *rest))


@lru_cache(maxsize=8192)
def frame_bodies(frame: Frame) -> list[Bodies]:
    """The bodies of a frame's collision shapes, one group for each kind; kept.

    A frame without any geometry is a point, its origin.

    Raises:
        ConfigError: for a frame that only has other shapes, or one that cannot be used.
    """
    single = [
        b for g in _collision_geometries(frame) for b in _geometry_bodies(frame, g)
    ]
    groups: dict[tuple, list[collision.Body]] = {}
    for body in single:
        vertices = getattr(body.core, "vertices", np.zeros((1, 0, 3)))
        key = (type(body.core), vertices.shape[1])
        groups.setdefault(key, []).append(body)
    return [Bodies(k, concatenate_bodies(v)) for k, v in groups.items()]


POINT_CORE = collision.Box(np.zeros((1, 3)))


def concatenate_bodies(bodies: Sequence[collision.Body]) -> collision.Body:
    """Bodies of one kind, one after the other."""
    first = bodies[0].core
    cores = (np.concatenate(a) for a in zip(*(b.core for b in bodies), strict=True))
    rest = (np.concatenate(a) for a in zip(*(b[1:] for b in bodies), strict=True))
    return collision.Body(type(first)(*cores), *rest)


def _collision_geometries(frame: Frame) -> list[Geometry]:
    found = [g for g in frame.geometries if g.collision]
    if not found and isinstance(frame.shape, shapes.Marker):
        return list(frame.geometries[:1])
    if not found and frame.geometries:
        raise ConfigError(
            f"Frame {frame.name!r} has shapes, but none for collisions; distances need"
            " one (only a Marker, or no shape at all, counts as a point)."
        )
    return found or [Geometry(shapes.Marker(0.0))]


def _geometry_bodies(frame: Frame, g: Geometry) -> list[collision.Body]:
    pose = np.asarray(g.pose, float)
    R, p = quat_to_matrix(pose[3:]), pose[:3]

    def body(core: collision.Core, radius: float = 0.0, at: Any = None):
        where = p if at is None else p + R @ at
        return collision.Body(core, np.array([radius]), R[None], where[None])

    one = lambda x: np.array([x], float)
    match g.shape:
        case shapes.Marker():
            return [body(POINT_CORE)]
        case shapes.Sphere(radius):
            return [body(POINT_CORE, radius)]
        case shapes.Capsule(length, radius):
            return [body(collision.Box(one([0.0, 0.0, length / 2])), radius)]
        case shapes.Box(size, rounding):
            half = np.maximum(np.asarray(size) / 2 - rounding, 0.0)
            return [body(collision.Box(one(half)), rounding)]
        case shapes.Cylinder(length, radius, rounding):
            r = max(radius - rounding, 0.0)
            half = max(length / 2 - rounding, 0.0)
            core = collision.BoxPlusEllipsoid(one([0.0, 0, half]), one([r, r, 0.0]))
            return [body(core, rounding)]
        case shapes.Ellipsoid(radii):
            return [body(collision.BoxPlusEllipsoid(np.zeros((1, 3)), one(radii)))]
        case shapes.Plane():
            return [body(collision.HalfSpace())]
        case shapes.PointCloud(points, radius):
            return [body(POINT_CORE, radius, x) for x in points]
        case shapes.Convex(vertices, rounding):
            return [_hull_body(body, vertices, rounding)]
        case shapes.Mesh(mode="sdf"):
            raise ConfigError(
                f"Frame {frame.name!r}: a Mesh of mode 'sdf' has a distance grid and no"
                " convex parts; use mode 'decompose' or 'convex' for collisions, or"
                " `collision.grid_distance` with points."
            )
        case shapes.Mesh() as mesh:
            return [_hull_body(body, part, 0.0) for part in convex_parts(mesh)]
    raise ConfigError(f"Frame {frame.name!r}: {g.shape!r} has no collision body.")


def _hull_body(body: Any, points: Float[np.ndarray, "n 3"], rounding: float):
    """Vertices about their middle, padded with copies of the first."""
    vertices = hull_vertices(np.asarray(points, float))
    middle = (vertices.min(0) + vertices.max(0)) / 2
    if len(vertices) == 1:
        return body(POINT_CORE, rounding, middle)
    room = MIN_HULL_VERTICES
    while room < len(vertices):
        room *= 2
    copies = np.repeat(vertices[:1], room - len(vertices), 0)
    padded = np.concatenate([vertices, copies]) - middle
    return body(collision.Hull(padded[None]), rounding, middle)

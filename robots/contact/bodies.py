"""Convex bodies that stand for a frame in distances and collisions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise import collision
from posewise.collision.broad_phase import bounding_radius

from ..errors import ConfigError
from ..geometry import shapes
from ..geometry.convex_parts import convex_parts
from ..geometry.hulls import hull_vertices
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Frame, Geometry
from .missing_shapes import warn_of_missing_shapes

MIN_HULL_VERTICES = 8
"""Number of vertices to which small hulls are padded (count); larger ones are padded to
this times a power of two."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """Bodies of one kind of core, posed in their frames."""

    kind: tuple[Any, ...]
    """Type of the core, and for hulls the number of vertices."""
    body: collision.Body
    """Arrays (n, …)."""
    number: Int[np.ndarray, " n"]
    """Number of each body among those of its frame."""

    def __len__(self) -> int:
        return len(self.body.radius)

    def rows(
        self, indices: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"] | slice
    ) -> "Bodies":
        """Return the bodies of some indices, which may repeat."""
        body = self.body
        core = type(body.core)(*(np.asarray(a)[indices] for a in body.core))
        others = (np.asarray(a)[indices] for a in body[1:])
        return replace(
            self, body=collision.Body(core, *others), number=self.number[indices]
        )


def core_kind(core: collision.Core) -> tuple[Any, ...]:
    """Return the type of cores, and for hulls the number of vertices."""
    return type(core), core.vertices.shape[1] if isinstance(core, collision.Hull) else 0


@lru_cache(maxsize=8192)
def frame_bodies(frame: Frame) -> list[Bodies]:
    """Return the bodies of a frame's collision shapes, one group for each kind; cached.

    A frame without any geometry is a point, its origin.

    Raises:
        ConfigError: for a frame whose shapes are all excluded from collisions, or one
            of whose shapes has no convex bodies.
    """
    bodies = [
        body
        for geometry in _collision_geometries(frame)
        for body in _geometry_bodies(frame, geometry)
    ]
    groups: dict[tuple[Any, ...], list[Bodies]] = {}
    for number, body in enumerate(bodies):
        kind = core_kind(body.core)
        groups.setdefault(kind, []).append(Bodies(kind, body, np.array([number])))
    return [concatenate_bodies(group) for group in groups.values()]


@lru_cache(maxsize=8192)
def body_sources(frame: Frame) -> list[Geometry]:
    """Return the shape that each body of a frame is of, by the body's number; cached.

    Raises:
        ConfigError: as for `frame_bodies`.
    """
    return [
        geometry
        for geometry in _collision_geometries(frame)
        for _ in _geometry_bodies(frame, geometry)
    ]


def body_radii(body: collision.Body) -> Float[np.ndarray, " n"]:
    """Return the radii of balls about the origins of bodies; half-spaces: infinity."""
    if isinstance(body.core, collision.HalfSpace):
        return np.full(len(body.radius), np.inf)
    return np.asarray(bounding_radius(body.core)) + body.radius


POINT_CORE = collision.Box(np.zeros((1, 3)))
"""Core of spheres and points: a box of size zero."""


def concatenate_bodies(groups: Sequence[Bodies]) -> Bodies:
    """Return bodies of one kind, one after the other."""
    bodies = [group.body for group in groups]
    cores = (np.concatenate(a) for a in zip(*(b.core for b in bodies), strict=True))
    others = (np.concatenate(a) for a in zip(*(b[1:] for b in bodies), strict=True))
    body = collision.Body(type(bodies[0].core)(*cores), *others)
    return Bodies(groups[0].kind, body, np.concatenate([g.number for g in groups]))


def _collision_geometries(frame: Frame) -> list[Geometry]:
    solid = [g for g in frame.geometries if g.collision]
    if not solid and isinstance(frame.shape, shapes.Marker):
        return list(frame.geometries[:1])
    if not solid and frame.geometries:
        raise ConfigError(
            f"Frame {frame.name!r} has shapes, but none for collisions; distances need"
            " one (only a Marker, or no shape at all, counts as a point)."
        )
    if not solid:
        warn_of_missing_shapes((frame,))
    return solid or [Geometry(shapes.Marker(0.0))]


def _geometry_bodies(frame: Frame, geometry: Geometry) -> list[collision.Body]:
    """Split a shape into convex bodies: each is a core, inflated by a radius."""
    pose = np.asarray(geometry.pose, float)
    R, p = quat_to_matrix(pose[3:]), pose[:3]

    def body(
        core: collision.Core, radius: float = 0.0, center: np.ndarray | None = None
    ) -> collision.Body:
        origin = p if center is None else p + R @ center
        return collision.Body(core, np.array([radius]), R[None], origin[None])

    def row(x: Any) -> np.ndarray:
        return np.array([x], float)

    match geometry.shape:
        case shapes.Marker():
            return [body(POINT_CORE)]
        case shapes.Sphere(radius):
            return [body(POINT_CORE, radius)]
        case shapes.Capsule(length, radius):
            return [body(collision.Box(row([0.0, 0.0, length / 2])), radius)]
        case shapes.Box(size, rounding):
            half = np.maximum(np.asarray(size) / 2 - rounding, 0.0)
            return [body(collision.Box(row(half)), rounding)]
        case shapes.Cylinder(length, radius, rounding):
            r = max(radius - rounding, 0.0)
            h = max(length / 2 - rounding, 0.0)
            # A cylinder is the Minkowski sum of a segment along z and a flat disc.
            core = collision.BoxPlusEllipsoid(row([0.0, 0, h]), row([r, r, 0.0]))
            return [body(core, rounding)]
        case shapes.Ellipsoid(radii):
            return [body(collision.BoxPlusEllipsoid(np.zeros((1, 3)), row(radii)))]
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
    raise ConfigError(f"Frame {frame.name!r}: {geometry.shape!r} has no convex bodies.")


def _hull_body(
    body: Callable[..., collision.Body],
    points: Float[np.ndarray, "n 3"],
    rounding: float,
) -> collision.Body:
    """Return the hull of points, its vertices relative to the middle of their box."""
    vertices = hull_vertices(np.asarray(points, float))
    middle = (vertices.min(0) + vertices.max(0)) / 2
    if len(vertices) == 1:
        return body(POINT_CORE, rounding, middle)
    count = MIN_HULL_VERTICES
    while count < len(vertices):
        count *= 2
    hull = collision.pad_hull(collision.Hull(vertices[None] - middle), count)
    return body(hull, rounding, middle)

"""Mass, centre of mass and inertia of links."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..kinematics.builder import topological_order
from ..kinematics.transforms import pose_multiply, quat_to_matrix
from ..simulation.masses import ball_inertia
from ..world.frame import Frame, Geometry
from . import shapes

if TYPE_CHECKING:
    from ..config import Config


class BodyInertia(NamedTuple):
    """Of a rigid body, in the axes of a frame."""

    mass: float
    """[kg]"""
    com: Float[np.ndarray, "3"]
    """Centre of mass [m]."""
    about_com: Float[np.ndarray, "3 3"]
    """[kg m²]"""


def rigid_group(C: "Config", frame: str) -> dict[str, Float[np.ndarray, "7"]]:
    """A frame and all that is rigidly attached to it, with their poses in it."""
    frames, top = C.frames, C.index(frame)
    if top == len(frames):
        raise ConfigError("The world has no mass; name a frame that can move.")
    poses = {top: np.array([0.0, 0, 0, 1, 0, 0, 0])}
    for i in topological_order(frames):
        up, joint = frames[i].parent, frames[i].joint
        if up in poses and (joint is None or not joint.dim):
            poses[i] = pose_multiply(poses[up], np.asarray(frames[i].origin, float))
    return {frames[i].name: pose for i, pose in poses.items()}


def link_inertia(C: "Config", frame: str) -> BodyInertia:
    """Of a frame with all that is rigidly attached to it, in the frame's axes.

    Masses and centres are those that the frames give; none: no mass, at the centre of
    the shapes. Inertia that is not given, or singular, is that of the shapes for
    collision, of even density, their rounded edges sharp; of a frame without any, that
    of a ball of water.

    Raises:
        ConfigError: for a link without mass, or shapes that have no volume.
    """
    parts = []
    for name, pose in rigid_group(C, frame).items():
        member = C.frame(name)
        if member.mass:
            parts.append(_transform(_frame_inertia(member), pose))
    if not parts:
        raise ConfigError(
            f"Frame {frame!r} has no mass; give it one with C.set_mass(frame, kg)."
        )
    return _combine(parts)


def _frame_inertia(frame: Frame) -> BodyInertia:
    mass, centre = float(frame.mass or 0.0), np.zeros(3)
    solid = [_shape_inertia(g, frame.name) for g in frame.geometries if g.collision]
    about = ball_inertia(mass)
    if solid:
        whole = _combine(solid)
        centre, about = whole.com, whole.about_com * mass / whole.mass
    if frame.com is not None:
        centre = np.asarray(frame.com, float)
    if frame.inertia is not None:
        given = np.asarray(frame.inertia, float)
        about = given if np.linalg.eigvalsh(given)[0] > 0 else about
    return BodyInertia(mass, centre, about)


def _combine(parts: list[BodyInertia]) -> BodyInertia:
    mass = sum(x.mass for x in parts)
    com = sum((x.mass * x.com for x in parts), np.zeros(3)) / mass
    about = np.zeros((3, 3))
    for x in parts:
        d = x.com - com
        about += x.about_com + x.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return BodyInertia(mass, com, about)


def _transform(x: BodyInertia, pose: Any) -> BodyInertia:
    R = quat_to_matrix(pose[3:])
    return BodyInertia(x.mass, R @ x.com + pose[:3], R @ x.about_com @ R.T)


def _shape_inertia(g: Geometry, frame: str) -> BodyInertia:
    """Of density 1."""
    cross = lambda x, y, z: np.diag([y + z, x + z, x + y])
    match g.shape:
        case shapes.Box(size):
            made = _centred_inertia(float(np.prod(size)), cross(*np.square(size) / 12))
        case shapes.Sphere(radius):
            made = _centred_inertia(
                4 / 3 * np.pi * radius**3, 0.4 * radius**2 * np.eye(3)
            )
        case shapes.Ellipsoid(radii):
            made = _centred_inertia(
                4 / 3 * np.pi * np.prod(radii), cross(*np.square(radii) / 5)
            )
        case shapes.Cylinder(length, radius):
            made = _cylinder_inertia(length, radius)
        case shapes.Capsule(length, radius):
            made = _combine(
                [
                    _cylinder_inertia(length, radius),
                    *_hemisphere_inertias(length, radius),
                ]
            )
        case shapes.Convex(vertices):
            made = _hull_inertia(vertices)
        case shapes.Mesh() as mesh:
            made = _hull_inertia(np.asarray(mesh.mesh.convex_hull.vertices))
        case shape:
            raise ConfigError(
                f"Frame {frame!r}: a {type(shape).__name__} has no volume to tell the"
                " inertia from; give the frame a solid shape."
            )
    return _transform(made, np.asarray(g.pose, float))


def _centred_inertia(mass: float, unit: np.ndarray) -> BodyInertia:
    return BodyInertia(float(mass), np.zeros(3), mass * unit)


def _cylinder_inertia(length: float, radius: float) -> BodyInertia:
    aside = radius**2 / 4 + length**2 / 12
    return _centred_inertia(
        np.pi * radius**2 * length, np.diag([aside, aside, radius**2 / 2])
    )


def _hemisphere_inertias(length: float, radius: float) -> list[BodyInertia]:
    """The half balls at the ends of a capsule."""
    mass, rise = 2 / 3 * np.pi * radius**3, 3 / 8 * radius
    about = mass * radius**2 * np.diag([0.4 - 9 / 64, 0.4 - 9 / 64, 0.4])
    ends = (length / 2 + rise) * np.array([[0, 0, 1.0], [0, 0, -1]])
    return [BodyInertia(mass, end, about) for end in ends]


def _hull_inertia(points: np.ndarray) -> BodyInertia:
    import trimesh  # slow to import

    hull = trimesh.convex.convex_hull(points)
    return BodyInertia(float(hull.volume), hull.center_mass, hull.moment_inertia)

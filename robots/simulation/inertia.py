"""Mass, centre of mass and inertia of links."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..config import Config
from ..errors import ConfigError
from ..geometry import shapes
from ..kinematics.transforms import IDENTITY, pose_multiply, quat_to_matrix
from ..world.frame import Frame, Geometry
from ..world.kinematics_builder import topological_order
from .masses import ball_inertia


class BodyInertia(NamedTuple):
    """Mass and inertia of a rigid body, in the axes of a frame."""

    mass: float
    """[kg]"""
    com: Float[np.ndarray, "3"]
    """Centre of mass [m]."""
    about_com: Float[np.ndarray, "3 3"]
    """Inertia about the centre of mass [kg m²]."""


def rigid_group(C: Config, frame: str) -> dict[str, Float[np.ndarray, "7"]]:
    """Return the poses in a frame of the frame itself and all rigidly attached frames.

    Raises:
        ConfigError: For an unknown frame, and for the world.
    """
    frames, root = C.frames, C.index(frame)
    if root == len(frames):
        raise ConfigError("The world has no mass; name a frame that can move.")
    poses = {root: IDENTITY.copy()}
    for i in topological_order(frames):
        parent, joint = frames[i].parent, frames[i].joint
        if parent in poses and (joint is None or not joint.dim):
            poses[i] = pose_multiply(poses[parent], np.asarray(frames[i].origin, float))
    return {frames[i].name: pose for i, pose in poses.items()}


def link_inertia(C: Config, frame: str) -> BodyInertia:
    """Return the inertia of a frame with all rigidly attached frames, in its axes.

    Masses and centres of mass are those of the frames; a frame without a centre of mass
    has it at the centroid of its shapes. Inertia that is missing or singular is that of
    the collision shapes at even density, with their rounded edges sharp; for a frame
    without shapes, that of a ball of water.

    Raises:
        ConfigError: For a link without mass, or shapes that have no volume.
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
    solids = [_shape_inertia(g, frame.name) for g in frame.geometries if g.collision]
    about = ball_inertia(mass)
    if solids:
        whole = _combine(solids)
        centre, about = whole.com, whole.about_com * mass / whole.mass
    if frame.com is not None:
        centre = np.asarray(frame.com, float)
    if frame.inertia is not None:
        given_inertia = np.asarray(frame.inertia, float)
        about = given_inertia if np.linalg.eigvalsh(given_inertia)[0] > 0 else about
    return BodyInertia(mass, centre, about)


def _combine(parts: list[BodyInertia]) -> BodyInertia:
    mass = sum(x.mass for x in parts)
    com = sum((x.mass * x.com for x in parts), np.zeros(3)) / mass
    about = np.zeros((3, 3))
    for x in parts:
        d = x.com - com
        # parallel-axis (Steiner) theorem: I + m (d·d 1 - d dᵀ)
        about += x.about_com + x.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return BodyInertia(mass, com, about)


def _transform(x: BodyInertia, pose: Float[np.ndarray, "7"]) -> BodyInertia:
    R = quat_to_matrix(pose[3:])
    return BodyInertia(x.mass, R @ x.com + pose[:3], R @ x.about_com @ R.T)


def _shape_inertia(geometry: Geometry, frame: str) -> BodyInertia:
    """Return the inertia of a shape of density 1 kg/m³, in the axes of its frame."""
    match geometry.shape:
        case shapes.Box(size):
            unit = _diagonal(np.square(size) / 12)
            body = _centred_inertia(float(np.prod(size)), unit)
        case shapes.Sphere(radius):
            unit = 0.4 * radius**2 * np.eye(3)
            body = _centred_inertia(4 / 3 * np.pi * radius**3, unit)
        case shapes.Ellipsoid(radii):
            unit = _diagonal(np.square(radii) / 5)
            body = _centred_inertia(float(4 / 3 * np.pi * np.prod(radii)), unit)
        case shapes.Cylinder(length, radius):
            body = _cylinder_inertia(length, radius)
        case shapes.Capsule(length, radius):
            cylinder = _cylinder_inertia(length, radius)
            body = _combine([cylinder, *_cap_inertias(length, radius)])
        case shapes.Convex(vertices):
            body = _hull_inertia(vertices)
        case shapes.Mesh() as mesh:
            body = _hull_inertia(np.asarray(mesh.mesh.convex_hull.vertices))
        case shape:
            raise ConfigError(
                f"Frame {frame!r}: a {type(shape).__name__} has no volume to compute"
                " the inertia from; give the frame a solid shape."
            )
    return _transform(body, np.asarray(geometry.pose, float))


def _diagonal(second_moments: np.ndarray) -> np.ndarray:
    """Return the inertia of the second moments ∫x², ∫y², ∫z² per mass."""
    x, y, z = second_moments
    return np.diag([y + z, x + z, x + y])


def _centred_inertia(mass: float, unit_inertia: np.ndarray) -> BodyInertia:
    return BodyInertia(float(mass), np.zeros(3), mass * unit_inertia)


def _cylinder_inertia(length: float, radius: float) -> BodyInertia:
    transverse = radius**2 / 4 + length**2 / 12
    unit = np.diag([transverse, transverse, radius**2 / 2])
    return _centred_inertia(np.pi * radius**2 * length, unit)


def _cap_inertias(length: float, radius: float) -> list[BodyInertia]:
    """Return the inertia of the half balls at the ends of a capsule."""
    # The centroid of a half ball is 3/8 r above its base; 9/64 = (3/8)² moves the
    # inertia 2/5 m r² about the ball's centre to the centroid.
    mass, height = 2 / 3 * np.pi * radius**3, 3 / 8 * radius
    about = mass * radius**2 * np.diag([0.4 - 9 / 64, 0.4 - 9 / 64, 0.4])
    ends = (length / 2 + height) * np.array([[0, 0, 1.0], [0, 0, -1]])
    return [BodyInertia(mass, end, about) for end in ends]


def _hull_inertia(points: np.ndarray) -> BodyInertia:
    import trimesh  # slow to import

    hull = trimesh.convex.convex_hull(points)
    return BodyInertia(float(hull.volume), hull.center_mass, hull.moment_inertia)

"""Inertias of frames, and of shapes at even density."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..geometry import shapes
from ..kinematics.transforms import quat_to_matrix
from ..world.frame import Frame, Geometry
from .frame_masses import ball_inertia


class BodyInertia(NamedTuple):
    """Mass and inertia of a rigid body, in the axes of a frame."""

    mass: float
    """[kg]"""
    com: Float[np.ndarray, "3"]
    """Centre of mass [m]."""
    about_com: Float[np.ndarray, "3 3"]
    """Inertia about the centre of mass [kg m²]."""


def frame_inertia(frame: Frame, mass: float) -> BodyInertia:
    """Return the inertia of a frame of some mass [kg], in its axes.

    Without a centre of mass it is at the centroid of the shapes for collision. Inertia
    that is missing or singular is that of these shapes, with their rounded edges sharp;
    without shapes, that of a ball of water.

    Raises:
        ConfigError: For shapes that have no volume.
    """
    centre = np.zeros(3)
    solids = [_shape_inertia(g, frame.name) for g in frame.geometries if g.collision]
    about = ball_inertia(mass)
    if solids:
        whole = combine_inertias(solids)
        centre, about = whole.com, whole.about_com * mass / whole.mass
    if frame.com is not None:
        centre = np.asarray(frame.com, float)
    if frame.inertia is not None:
        given_inertia = np.asarray(frame.inertia, float)
        about = given_inertia if np.linalg.eigvalsh(given_inertia)[0] > 0 else about
    return BodyInertia(mass, centre, about)


def combine_inertias(parts: list[BodyInertia]) -> BodyInertia:
    """Return the inertia of rigidly connected parts, all in the same axes."""
    mass = sum(x.mass for x in parts)
    com = sum((x.mass * x.com for x in parts), np.zeros(3)) / mass
    about = np.zeros((3, 3))
    for x in parts:
        d = x.com - com
        # parallel-axis (Steiner) theorem: I + m (d·d 1 - d dᵀ)
        about += x.about_com + x.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return BodyInertia(mass, com, about)


def move_inertia(x: BodyInertia, pose: Float[np.ndarray, "7"]) -> BodyInertia:
    """Return an inertia in the axes of a frame in which its own frame has a pose."""
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
            body = combine_inertias([cylinder, *_cap_inertias(length, radius)])
        case shapes.Convex(vertices):
            body = _hull_inertia(vertices)
        case shapes.Mesh() as mesh:
            body = _hull_inertia(np.asarray(mesh.mesh.convex_hull.vertices))
        case shape:
            raise ConfigError(
                f"Frame {frame!r}: a {type(shape).__name__} has no volume to compute"
                " the inertia from; give the frame a solid shape."
            )
    return move_inertia(body, np.asarray(geometry.pose, float))


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

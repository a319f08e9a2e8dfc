"""Masses of frames in a simulation.

A link is a frame with a joint and everything rigidly attached to it. The frames of a
link weigh their masses; where no frame of the link has a mass, the shapes weigh as much
as water (1000 kg/m³). A link with neither masses nor shapes gets a minimal mass.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..contact.bounding_boxes import body_volumes
from ..world.frame import Frame
from ..world.kinematics_builder import topological_order

WATER_DENSITY = 1000.0
"""Density of shapes of links without masses [kg/m³]; a larger one makes them heavier,
so that they move others more."""
MIN_LINK_MASS = 1e-3
"""Mass of a moving link without masses and shapes [kg], small so that it loads no
joint; MuJoCo refuses moving bodies without mass."""


class FrameMass(NamedTuple):
    """The mass of one frame, and its distribution."""

    mass: float
    """[kg]"""
    body_fractions: Float[np.ndarray, " bodies"]
    """Fraction of the mass on each body of the frame; empty: the shapes have no
    volume."""
    com: Float[np.ndarray, "3"]
    """Centre of mass in the frame [m]."""
    inertia: Float[np.ndarray, "3 3"] | None
    """Inertia about the centre of mass, in the frame's axes [kg m²]; None: that of the
    bodies."""


def frame_masses(frames: Sequence[Frame]) -> list[FrameMass]:
    """Return the mass of each frame; that of fixed frames only if it is given.

    Raises:
        ConfigError: For shapes that cannot be used, as in `frame_bodies`.
    """
    roots = link_roots(frames)
    with_mass = {root for f, root in zip(frames, roots, strict=True) if f.mass}
    result = []
    for frame, root in zip(frames, roots, strict=True):
        result.append(_frame_mass(frame, root is None or root in with_mass))
    total: dict[int, float] = {}
    for frame_mass, root in zip(result, roots, strict=True):
        if root is not None:
            total[root] = total.get(root, 0.0) + frame_mass.mass
    for root, mass in total.items():
        if mass == 0:
            inertia = ball_inertia(MIN_LINK_MASS)
            com = result[root].com
            result[root] = FrameMass(MIN_LINK_MASS, np.zeros(0), com, inertia)
    return result


def link_roots(frames: Sequence[Frame]) -> list[int | None]:
    """Return the jointed frame of each frame's link; None: fixed to the world."""
    roots: dict[int, int | None] = {}
    for i in topological_order(frames):
        frame = frames[i]
        inherited = None if frame.parent is None else roots[frame.parent]
        is_root = frame.joint is not None and frame.joint.dim
        roots[i] = i if is_root else inherited
    return [roots[i] for i in range(len(frames))]


def _frame_mass(frame: Frame, link_has_mass: bool) -> FrameMass:
    volumes, centroids = np.zeros(0), np.zeros((0, 3))
    if any(g.collision for g in frame.geometries):
        volumes, centroids = body_volumes(frame)
    volume = float(volumes.sum())
    fractions = volumes / volume if volume > 0 else np.zeros(0)
    com = fractions @ centroids if volume > 0 else np.zeros(3)
    if frame.com is not None:
        com = np.asarray(frame.com, float)
    mass = (frame.mass or 0.0) if link_has_mass else WATER_DENSITY * volume
    inertia = None
    if link_has_mass and frame.inertia is not None:
        given_inertia = np.asarray(frame.inertia, float)
        # Singular inertia, as of placeholder entries in URDF files, is ignored because
        # MuJoCo refuses it.
        if np.linalg.eigvalsh(given_inertia)[0] > 0:
            inertia = given_inertia
    if inertia is None and mass > 0 and not len(fractions):
        inertia = ball_inertia(mass)
    return FrameMass(mass, fractions, com, inertia)


def ball_inertia(mass: float) -> Float[np.ndarray, "3 3"]:
    """Return the inertia [kg m²] of a ball of water of a mass [kg]: 2/5 m r² I."""
    radius = (3 * mass / (4 * np.pi * WATER_DENSITY)) ** (1 / 3)
    return 0.4 * mass * radius**2 * np.eye(3)

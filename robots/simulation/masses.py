"""What frames weigh in a simulation.

A link is a frame with a joint and all that is rigidly attached to it. Its frames weigh
their masses; where none has any, its shapes weigh as water does (1000 kg/m³). A link of
neither is a grain.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..geometry.bounding_boxes import body_volumes
from ..kinematics.builder import topological_order
from ..world.frame import Frame

WATER_DENSITY = 1000.0
"""[kg/m³]"""
MIN_LINK_MASS = 1e-3
"""Mass of a moving link of which nothing is known [kg]."""


class FrameMass(NamedTuple):
    """Of one frame."""

    mass: float
    """[kg]"""
    body_fractions: Float[np.ndarray, " bodies"]
    """How it is spread over the frame's bodies; none: it has no shape of any size."""
    com: Float[np.ndarray, "3"]
    """Centre of mass in the frame [m]."""
    inertia: Float[np.ndarray, "3 3"] | None
    """About it, in the frame's axes [kg m²]; None: that of the bodies."""


def frame_masses(frames: Sequence[Frame]) -> list[FrameMass]:
    """The mass of each frame; of what no joint carries, only what is said.

    Raises:
        ConfigError: for shapes that cannot be used, see `frame_bodies`.
    """
    links = link_roots(frames)
    known = {head for f, head in zip(frames, links, strict=True) if f.mass}
    found = []
    for frame, head in zip(frames, links, strict=True):
        found.append(_frame_mass(frame, head is None or head in known))
    total: dict[int, float] = {}
    for own, head in zip(found, links, strict=True):
        if head is not None:
            total[head] = total.get(head, 0.0) + own.mass
    for head, mass in total.items():
        if mass == 0:
            ball = ball_inertia(MIN_LINK_MASS)
            found[head] = FrameMass(MIN_LINK_MASS, np.zeros(0), found[head].com, ball)
    return found


def link_roots(frames: Sequence[Frame]) -> list[int | None]:
    """The jointed frame of each frame's link; None: it stands in the world."""
    heads: dict[int, int | None] = {}
    for i in topological_order(frames):
        frame = frames[i]
        up = None if frame.parent is None else heads[frame.parent]
        heads[i] = i if frame.joint is not None and frame.joint.dim else up
    return [heads[i] for i in range(len(frames))]


def _frame_mass(frame: Frame, known: bool) -> FrameMass:
    size, centres = np.zeros(0), np.zeros((0, 3))
    if any(g.collision for g in frame.geometries):
        size, centres = body_volumes(frame)
    volume = float(size.sum())
    shares = size / volume if volume > 0 else np.zeros(0)
    com = shares @ centres if volume > 0 else np.zeros(3)
    if frame.com is not None:
        com = np.asarray(frame.com, float)
    mass = (frame.mass or 0.0) if known else WATER_DENSITY * volume
    inertia = None
    if known and frame.inertia is not None:
        given = np.asarray(frame.inertia, float)
        if np.linalg.eigvalsh(given)[0] > 0:
            inertia = given
    if inertia is None and mass > 0 and not len(shares):
        inertia = ball_inertia(mass)
    return FrameMass(mass, shares, com, inertia)


def ball_inertia(mass: float) -> Float[np.ndarray, "3 3"]:
    """Inertia of a ball of water."""
    radius = (3 * mass / (4 * np.pi * WATER_DENSITY)) ** (1 / 3)
    return 0.4 * mass * radius**2 * np.eye(3)

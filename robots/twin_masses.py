"""What frames weigh in a simulation.

A link is all that moves as one. Its frames weigh their masses; where none has any, its
shapes weigh as water does (1000 kg/m³). A link of neither is a grain.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .extents import volumes
from .frame import Frame

DENSITY = 1000.0
"""[kg/m³]"""
GRAIN = 1e-3
"""Mass of a moving link of which nothing is known [kg]."""


class Mass(NamedTuple):
    """Of one frame."""

    mass: float
    """[kg]"""
    shares: Float[np.ndarray, " bodies"]
    """How it is spread over the frame's bodies; none: it has no shape of any size."""
    com: Float[np.ndarray, "3"]
    """Centre of mass in the frame [m]."""
    inertia: Float[np.ndarray, "3 3"] | None
    """About it, in the frame's axes [kg m²]; None: that of the bodies."""


def masses(frames: Sequence[Frame], nodes: Sequence[int]) -> list[Mass]:
    """The mass of each frame.

    Args:
        frames: all of them.
        nodes: for each the link that carries it, -1: the world, which weighs nothing.
    """
    known = {n for f, n in zip(frames, nodes, strict=True) if f.mass}
    found = [_mass(f, n in known, n) for f, n in zip(frames, nodes, strict=True)]
    total: dict[int, float] = {}
    for own, node in zip(found, nodes, strict=True):
        total[node] = total.get(node, 0.0) + own.mass
    for i, node in enumerate(nodes):
        if node >= 0 and total[node] == 0:
            total[node] = GRAIN
            ball = _ball(GRAIN)
            found[i] = found[i]._replace(mass=GRAIN, shares=np.zeros(0), inertia=ball)
    return found


def _mass(frame: Frame, known: bool, node: int) -> Mass:
    size, centres = np.zeros(0), np.zeros((0, 3))
    if any(g.collision for g in frame.geometries):
        size, centres = volumes(frame)
    volume = float(size.sum())
    shares = size / volume if volume > 0 else np.zeros(0)
    com = shares @ centres if volume > 0 else np.zeros(3)
    if frame.com is not None:
        com = np.asarray(frame.com, float)
    mass = (frame.mass or 0.0) if known else DENSITY * volume
    if node < 0:
        mass = 0.0
    inertia = None
    if known and frame.inertia is not None:
        given = np.asarray(frame.inertia, float)
        if np.linalg.eigvalsh(given)[0] > 0:
            inertia = given
    if inertia is None and mass > 0 and not len(shares):
        inertia = _ball(mass)
    return Mass(mass, shares, com, inertia)


def _ball(mass: float) -> Float[np.ndarray, "3 3"]:
    """Inertia of a ball of water."""
    radius = (3 * mass / (4 * np.pi * DENSITY)) ** (1 / 3)
    return 0.4 * mass * radius**2 * np.eye(3)

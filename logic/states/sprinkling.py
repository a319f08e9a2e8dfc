"""Dust and stains placed on the surface of an object."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ...robots.checks import integer
from ...robots.config import Config
from ...robots.errors import ConfigError
from ...robots.object_states import Particles
from .surroundings import surfaces

OUTWARD = 1e-4
"""So far above the surface, particles must not be within another part [m]."""
DOWNWARD = -1e-6
"""A face looks down when its normal's z is less."""
CANDIDATES = 50
"""Places that are looked at for each particle."""


def sprinkle(C: Config, name: str, count: Any = 20, seed: Any = 0) -> Particles:
    """Particles on the shapes of an object's own frame and of what is fixed to it.

    Uniform over the surfaces that do not face down, as the object stands, and are not
    within another part of it.

    Args:
        C: the world.
        name: of the object.
        count: how many particles.
        seed: of their places.

    Raises:
        ConfigError: for an object without enough of such a surface.
    """
    count = integer("count", count, "an integer >= 1", lambda x: x >= 1)
    seed = integer("seed", seed, "an integer >= 0", lambda x: x >= 0)
    rng = np.random.default_rng(seed)
    parts = surfaces(C, _rigid(C, name))
    faces = np.concatenate([np.zeros((0, 3, 3)), *parts])
    normals = _normals(faces)
    area = np.linalg.norm(normals, axis=-1)
    area[normals[:, 2] < DOWNWARD * area] = 0.0
    placed = np.zeros((0, 3))
    if area.sum() > 0:
        at = rng.choice(len(faces), CANDIDATES * count, p=area / area.sum())
        corners = rng.dirichlet(np.ones(3), len(at))
        points = (corners[:, :, None] * faces[at]).sum(1)
        above = points + OUTWARD * normals[at] / area[at, None]
        hidden = [_within(part, above) for part in parts]
        placed = points[~np.any(hidden, 0)][:count]
    if len(placed) < count:
        raise ConfigError(
            f"Object {name!r} has no place for {count} particles: it needs shapes for"
            " collision with a surface that does not face down, on its own frame or"
            " fixed to it."
        )
    poses, i = C.walk().frames, C.index(name)
    return Particles((placed - poses.p[i]) @ poses.R[i], np.ones(count, bool))


def _rigid(C: Config, name: str) -> list[str]:
    """A frame and all that is fixed to it, those of no other object."""
    names, objects = [name], C.objects
    for up in names:
        names += [
            n for n in C.children(up) if C.frame(n).joint is None and n not in objects
        ]
    return names


def _normals(faces: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 3"]:
    """Outward normals, twice as long as the area."""
    return np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])


def _within(
    part: Float[np.ndarray, "n 3 3"], points: Float[np.ndarray, "m 3"]
) -> Bool[np.ndarray, " m"]:
    """Which points are within a convex part."""
    height = ((points[:, None] - part[:, 0]) * _normals(part)).sum(-1)
    return (height <= 0).all(-1)

"""Random particles of dust and stain on the surface of an object."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from posewise.robots.annotations.object_states import Particles
from posewise.robots.config import Config
from posewise.robots.contact.ray_casting import intersect_lines, ray_hits
from posewise.robots.errors import ConfigError
from posewise.robots.validation import integer
from posewise.robots.world.frame import Frame

from ..geometry.frame_groups import FrameGroup, bounding_box

Result = TypeVar("Result")

SURFACE_OFFSET = 1e-6
"""Ratio of the distance from the surface at which a particle is tested to the object's
size; a larger one rejects particles in narrower gaps between parts."""
LINES_PER_BATCH = 2000
"""Number of lines shot at the object at a time; more use more memory."""
MAX_BATCHES = 50
"""Number of batches before giving up, plus one for each particle asked for; with fewer
of them objects with few exposed faces get none."""
UP = np.array([0.0, 0.0, 1.0])
"""The vertical in the world."""


def sample_particles(C: Config, name: str, count: int = 20, seed: int = 0) -> Particles:
    """Sample particles on the shapes of an object's root frame and rigid parts.

    The distribution is uniform over the surfaces that do not face down, as the object
    stands, and are not within another part of it.

    Args:
        C: the world.
        name: of the object.
        count: number of particles.
        seed: of their places.

    Raises:
        ConfigError: if the object has too little of such a surface.
    """
    count = integer("count", count, "an integer >= 1", lambda x: x >= 1)
    seed = integer("seed", seed, "an integer >= 0", lambda x: x >= 0)
    rng = np.random.default_rng(seed)
    group = FrameGroup(C, name, tuple(_rigidly_attached(C, C.index(name))))
    low, high = bounding_box(group)
    has_surface = bool(group.collision_frames) and np.isfinite(high - low).all()
    points = np.zeros((0, 3))
    for _ in range(MAX_BATCHES + count if has_surface else 0):
        points = np.concatenate([points, _surface_points(group, low, high, rng)])
        if len(points) >= count:
            break
    else:
        raise ConfigError(
            f"Object {name!r} has no place for {count} particles: it needs bounded"
            " shapes for collision with a surface that does not face down, on its own"
            " frame or fixed to it."
        )
    R, p = group.pose(C.index(name))
    return Particles((points[:count] - p) @ R, np.ones(count, bool))


def _rigidly_attached(C: Config, root: int) -> list[int]:
    """Return a frame and all frames fixed to it that belong to no other object."""
    attached, objects = [root], C.objects
    for parent in attached:
        attached += [
            i
            for i, frame in enumerate(C.frames)
            if frame.parent == parent
            and frame.joint is None
            and frame.name not in objects
        ]
    return attached


def _surface_points(
    group: FrameGroup,
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "n 3"]:
    """Sample points in the world on a group that may hold particles.

    Args:
        group: frames with shapes.
        low: lower corner of the group's bounding box [m].
        high: upper corner of that box.
        rng: of the lines.
    """
    # Crofton's formula: lines of uniform direction and place enter a convex body at
    # points that are uniform over its surface (Santalo 1976).
    size = np.linalg.norm(high - low)
    direction = _normalize(rng.normal(size=(LINES_PER_BATCH, 3)))
    aside = _normalize(np.cross(direction, rng.normal(size=(LINES_PER_BATCH, 3))))
    radius = size / 2 * np.sqrt(rng.random((LINES_PER_BATCH, 1)))
    origin = (low + high) / 2 + radius * aside - size * direction
    depth = np.concatenate(_intersect_parts(group, ray_hits, origin, direction), -1)
    line, part = np.nonzero(np.isfinite(depth))
    points = origin[line] + depth[line, part, None] * direction[line]
    # A point just outside its own part is rejected within another part, and where its
    # own part is straight above: that surface faces down.
    outside = points - SURFACE_OFFSET * size * direction[line]
    upward = np.broadcast_to(UP, outside.shape)
    hits = _intersect_parts(group, intersect_lines, outside, upward)
    enter, leave = (np.concatenate(x, -1) for x in zip(*hits, strict=True))
    hidden = ((enter <= 0) & (leave >= 0)).any(-1)
    own_enter = enter[np.arange(len(part)), part]
    faces_down = (0 < own_enter) & (own_enter < np.inf)
    return points[~hidden & ~faces_down]


def _normalize(x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _intersect_parts(
    group: FrameGroup,
    intersect: Callable[
        [Frame, Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]], Result
    ],
    origin: Float[np.ndarray, "n 3"],
    direction: Float[np.ndarray, "n 3"],
) -> list[Result]:
    """Return what a function of lines gives for each frame of a group.

    Args:
        group: frames with shapes.
        intersect: of a frame, and of origins and directions in that frame.
        origin: of the lines, in the world [m].
        direction: of the lines, in the world.
    """
    posed = [(group.C.frames[i], *group.pose(i)) for i in group.collision_frames]
    return [intersect(frame, (origin - p) @ R, direction @ R) for frame, R, p in posed]

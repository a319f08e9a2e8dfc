"""Dust and stains placed on the surface of an object."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.ray_casting import intersect_lines, ray_hits
from posewise.robots.errors import ConfigError
from posewise.robots.validation import integer
from posewise.robots.world.object_states import Particles

from ..geometry.frame_groups import FrameGroup, bounding_box

SURFACE_OFFSET = 1e-6
"""So far off its part, by the object's size, a particle must be in no other part, and
not have its own part straight above."""
LINES_PER_BATCH = 2000
"""How many are shot at the object at a time."""
MAX_BATCHES = 50
"""How often, at most, and once more for each particle."""
UP = np.array([0.0, 0.0, 1.0])


def sample_particles(C: Config, name: str, count: Any = 20, seed: Any = 0) -> Particles:
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
    solid = FrameGroup(C, name, tuple(_rigidly_attached(C, C.index(name))))
    low, high = bounding_box(solid)
    usable = bool(solid.collision_frames) and np.isfinite(high - low).all()
    placed = np.zeros((0, 3))
    for _ in range(MAX_BATCHES + count if usable else 0):
        placed = np.concatenate([placed, _surface_points(solid, low, high, rng)])
        if len(placed) >= count:
            break
    else:
        raise ConfigError(
            f"Object {name!r} has no place for {count} particles: it needs bounded"
            " shapes for collision with a surface that does not face down, on its own"
            " frame or fixed to it."
        )
    R, p = solid.pose(C.index(name))
    return Particles((placed[:count] - p) @ R, np.ones(count, bool))


def _rigidly_attached(C: Config, root: int) -> list[int]:
    """A frame and all that is fixed to it, those of no other object."""
    found, objects = [root], C.objects
    for up in found:
        found += [
            i
            for i, frame in enumerate(C.frames)
            if frame.parent == up and frame.joint is None and frame.name not in objects
        ]
    return found


def _surface_points(
    solid: FrameGroup,
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "n 3"]:
    """Points on a thing, in the world, that may hold particles; see `sample_particles`.

    Where lines of uniform direction and place enter a convex part, they do so uniformly
    over its surface (Crofton's formula).

    Args:
        solid: the thing.
        low: corner of the box about it.
        high: the other one.
        rng: of the lines.
    """
    size = np.linalg.norm(high - low)
    direction = _normalize(rng.normal(size=(LINES_PER_BATCH, 3)))
    aside = _normalize(np.cross(direction, rng.normal(size=(LINES_PER_BATCH, 3))))
    radius = size / 2 * np.sqrt(rng.random((LINES_PER_BATCH, 1)))
    origin = (low + high) / 2 + radius * aside - size * direction
    depth = np.concatenate(_intersect_parts(solid, ray_hits, origin, direction), -1)
    line, part = np.nonzero(np.isfinite(depth))
    points = origin[line] + depth[line, part, None] * direction[line]
    above = points - SURFACE_OFFSET * size * direction[line]
    upward = _intersect_parts(
        solid, intersect_lines, above, np.broadcast_to(UP, above.shape)
    )
    enter, leave = (np.concatenate(x, -1) for x in zip(*upward, strict=True))
    hidden = ((enter <= 0) & (leave >= 0)).any(-1)
    own = enter[np.arange(len(part)), part]
    return points[~hidden & ~((0 < own) & (own < np.inf))]


def _normalize(x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _intersect_parts(
    solid: FrameGroup,
    ask: Callable[..., Any],
    origin: Float[np.ndarray, "n 3"],
    direction: Float[np.ndarray, "n 3"],
) -> list[Any]:
    """What `ask` says of lines in the world, for each frame of a thing."""
    posed = [(solid.C.frames[i], *solid.pose(i)) for i in solid.collision_frames]
    return [ask(frame, (origin - p) @ R, direction @ R) for frame, R, p in posed]

"""Sizes of shapes as vectors of numbers."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from .shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere


def sizes_of(shape: Shape, frame: str) -> Float[np.ndarray, " sizes"]:
    """Return the sizes of a shape [m], in the order of its constructor.

    Args:
        shape: a sphere (radius), capsule or cylinder (length, radius), box (x, y, z) or
            ellipsoid (three radii).
        frame: name of its frame, for the message.

    Raises:
        ConfigError: for any other shape.
    """
    match shape:
        case Sphere(radius):
            return np.array([radius])
        case Capsule(length, radius) | Cylinder(length, radius):
            return np.array([length, radius])
        case Box(size):
            return np.array(size, float)
        case Ellipsoid(radii):
            return np.array(radii, float)
    raise ConfigError(
        f"size of {frame!r}: its shape is a {type(shape).__name__}, expected a Sphere,"
        " Capsule, Box, Cylinder or Ellipsoid."
    )


def with_sizes(shape: Shape, sizes: Float[np.ndarray, " sizes"]) -> Shape:
    """Return a shape with other sizes, and the same rounding; see `sizes_of`."""
    match shape:
        case Sphere():
            return Sphere(float(sizes[0]))
        case Capsule():
            return Capsule(float(sizes[0]), float(sizes[1]))
        case Cylinder():
            return replace(shape, length=float(sizes[0]), radius=float(sizes[1]))
        case Box():
            return replace(shape, size=np.array(sizes))
        case Ellipsoid():
            return Ellipsoid(np.array(sizes))
    raise TypeError(f"{type(shape).__name__} has no sizes")

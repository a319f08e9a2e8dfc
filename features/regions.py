"""Regions: inside or above a box or cylinder, standing on a support; <= 0 holds."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..robots import shapes
from ..robots.errors import ConfigError
from .positions import position_rel
from .safe import norm
from .symbol import Pose

Scalar = Float[jax.Array, ""]


def above_box(
    a: Pose, b: Pose, *, half: Float[jax.Array, "2"], margin: Scalar
) -> Float[jax.Array, "4"]:
    """`a` over the footprint of box `b`: x - h, y - h, -x - h, -y - h in b [m].

    h is the half size less the corner radius and the margin; the height is free.
    """
    p = position_rel(a, b)[:2]
    return jnp.concatenate([p - half, -p - half]) + margin


def inside_box(
    a: Pose, b: Pose, *, half: Float[jax.Array, "3"], margin: Scalar
) -> Float[jax.Array, "6"]:
    """Origin of `a` inside box `b`, `margin` (default 1 cm) away from its faces [m]."""
    p = position_rel(a, b)
    h = jnp.maximum(half - margin, 0.01)
    return jnp.concatenate([p - h, -p - h])


def inside_cylinder(
    a: Pose, b: Pose, *, length: Scalar, radius: Scalar, margin: Scalar
) -> Float[jax.Array, "3"]:
    """Origin of `a` inside cylinder `b`: radial, top and bottom excess in b [m]."""
    p = position_rel(a, b)
    rows = [norm(p[:2]) - radius, p[2] - length / 2, -p[2] - length / 2]
    return jnp.stack(rows) + margin


def standing_above(
    a: Pose,
    b: Pose,
    *,
    half: Float[jax.Array, "3"],
    core: Float[jax.Array, "n 3"],
    radii: Float[jax.Array, "3"],
    margin: Scalar,
) -> Float[jax.Array, "5"]:
    """The whole of `a` stands above the top face of box `b`, seen along b's z [m].

    Four rows keep the footprint of `a` within the face (less the margin), the fifth
    keeps its lowest point from going below the face (zero: it touches). Rows are in b:
    x, y, -x, -y excess, then minus the gap. rai declares this symbol without a rule.
    """
    p = position_rel(a, b)
    A = a.R.T @ b.R
    reach = lambda sign: jnp.max(sign * core @ A, 0) + norm((radii[:, None] * A).T)
    high, low = p + reach(1.0), p - reach(-1.0)
    sides = jnp.concatenate([high[:2] - half[:2], -low[:2] - half[:2]]) + margin
    return jnp.concatenate([sides, (half[2] - low[2])[None]])


def box_of(C, frame: str) -> shapes.Box:
    """The box of a frame.

    Raises:
        ConfigError: when its (first) shape is no box.
    """
    shape = C.frame(frame).shape
    if not isinstance(shape, shapes.Box):
        kind = "no shape" if shape is None else f"a {type(shape).__name__}"
        raise ConfigError(f"Frame {frame!r} has {kind}; expected a Box.")
    return shape


def footprint(C, frames, margin: float) -> dict[str, np.ndarray]:
    """Half size of the second frame's box, in x and y, without rounding."""
    box = box_of(C, frames[1])
    half = box.size[:2] / 2 - box.rounding
    return {"half": half, "margin": np.array(float(margin))}


def box_size(C, frames, margin: float) -> dict[str, np.ndarray]:
    """Half size of the second frame's box."""
    return {"half": box_of(C, frames[1]).size / 2, "margin": np.array(float(margin))}


def cylinder_size(C, frames, margin: float) -> dict[str, np.ndarray]:
    """Length and radius of the second frame's cylinder.

    Raises:
        ConfigError: when its (first) shape is no cylinder.
    """
    shape = C.frame(frames[1]).shape
    if not isinstance(shape, shapes.Cylinder | shapes.Capsule):
        kind = "no shape" if shape is None else f"a {type(shape).__name__}"
        raise ConfigError(f"Frame {frames[1]!r} has {kind}; expected a Cylinder.")
    return {
        "length": np.array(float(shape.length)),
        "radius": np.array(float(shape.radius)),
        "margin": np.array(float(margin)),
    }


def standing(C, frames, margin: float) -> dict[str, np.ndarray]:
    """The support's half size, and the core points and radii of what stands on it."""
    core, radii = extent(C, frames[0])
    return {**box_size(C, frames, margin), "core": core, "radii": radii}


def extent(C, frame: str) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) and half axes (3,): the frame's shape lies in the hull of the
    points, each an ellipsoid; exact for all but rounded rims of cylinders.

    Raises:
        ConfigError: for shapes without extent, or several shapes.
    """
    geometries = [g for g in C.frame(frame).geometries if g.collision]
    if len(geometries) != 1 or not np.allclose(geometries[0].pose[:3], 0):
        raise ConfigError(
            f"standingAbove: frame {frame!r} has {len(geometries)} solid shapes;"
            " expected one, centred at the frame."
        )
    match geometries[0].shape:
        case shapes.Sphere(radius):
            return np.zeros((1, 3)), np.full(3, radius)
        case shapes.Ellipsoid(radii):
            return np.zeros((1, 3)), radii
        case shapes.Capsule(length, radius):
            z = np.array([0, 0, length / 2])
            return np.stack([z, -z]), np.full(3, radius)
        case shapes.Box(size, rounding):
            corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
            return corners * (size / 2 - rounding), np.full(3, rounding)
        case shapes.Cylinder(length, radius, _):
            z = np.array([0, 0, length / 2])
            return np.stack([z, -z]), np.array([radius, radius, 0.0])
        case shapes.Convex(vertices, rounding):
            return vertices, np.full(3, rounding)
        case shapes.Mesh() as mesh:
            return np.asarray(mesh.mesh.convex_hull.vertices), np.zeros(3)
        case shape:
            raise ConfigError(
                f"standingAbove: frame {frame!r} has a {type(shape).__name__};"
                " expected a solid shape."
            )

"""Regions: inside or above a box or cylinder, standing on a support; <= 0 inside."""

from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.geometry import shapes
from posewise.robots.kinematics.transforms import IDENTITY, quat_to_matrix
from posewise.robots.typing import Array, FrameName
from posewise.robots.world.frame import Geometry

from .positions import position_rel
from .safe_math import amax, amin, norm
from .symbol import Pose

Scalar = Float[jax.Array, ""]
S = TypeVar("S", bound=shapes.Shape)


def above_box(
    a: Pose, b: Pose, *, half: Float[jax.Array, "2"], margin: Scalar
) -> Float[jax.Array, "4"]:
    """Position of `a` over box `b`: x - h, y - h, -x - h, -y - h in b [m].

    h is the half size minus the corner radius and the margin; the height is free.
    """
    p = position_rel(a, b)[:2]
    rows: jax.Array = jnp.concatenate([p, -p]) + footprint_offset(half, margin)
    return rows


def footprint_offset(half: Array, margin: Array) -> Float[Array, "*batch 4"]:
    """Return the constant part of the rows of `above_box`, in NumPy or in JAX."""
    # Features call it with JAX arrays, and `VectorForm.offset` with NumPy arrays for
    # all instances at once; one function keeps both forms of the rows equal.
    join = half.__array_namespace__().concatenate
    offset: Array = join([-half, -half], -1) + margin[..., None]
    return offset


def inside_box(
    a: Pose, b: Pose, *, half: Float[jax.Array, "3"], margin: Scalar
) -> Float[jax.Array, "6"]:
    """Origin of `a` inside box `b`, `margin` (default 1 cm) away from its faces [m]."""
    p = position_rel(a, b)
    rows: jax.Array = jnp.concatenate([p, -p]) + box_offset(half, margin)
    return rows


def box_offset(half: Array, margin: Array) -> Float[Array, "*batch 6"]:
    """Return the constant part of the rows of `inside_box`, in NumPy or in JAX."""
    # Thin boxes keep 1 cm around the middle, or no point would satisfy the rows.
    xp = half.__array_namespace__()
    h = xp.maximum(half - margin[..., None], 0.01)
    offset: Array = xp.concatenate([-h, -h], -1)
    return offset


def inside_cylinder(
    a: Pose, b: Pose, *, length: Scalar, radius: Scalar, margin: Scalar
) -> Float[jax.Array, "3"]:
    """Origin of `a` inside cylinder `b`: radial, top and bottom excess in b [m]."""
    p = position_rel(a, b)
    # The radial row has a kink on the axis, where `norm` has the derivative 0.
    rows = [norm(p[:2]) - radius, p[2] - length / 2, -p[2] - length / 2]
    return jnp.stack(rows) + margin


def standing_above(
    a: Pose,
    b: Pose,
    *,
    half: Float[jax.Array, "3"],
    core: Float[jax.Array, "n 3"],
    axes: Float[jax.Array, "n 3 3"],
    margin: Scalar,
) -> Float[jax.Array, "5"]:
    """All of `a` stands above the top face of box `b`, along the z axis of b [m].

    Four rows keep the footprint of `a` within the face minus the margin; the fifth
    keeps its lowest point from going below the face (zero: it touches). Rows are in b:
    x, y, -x, -y excess, then minus the gap. rai declares this symbol without a rule.
    """
    p = position_rel(a, b)
    # Points are rows in a, so this matrix on their right takes them to the axes of b.
    A = a.R.T @ b.R
    centers = core @ A
    # An ellipsoid {c + H u: |u| <= 1} extends by |Hᵀ d| along a unit direction d.
    extent = norm(jnp.swapaxes(axes.mT @ A, -1, -2))
    high = p + amax(centers + extent, 0)
    low = p + amin(centers - extent, 0)
    sides = jnp.concatenate([high[:2] - half[:2], -low[:2] - half[:2]]) + margin
    return jnp.concatenate([sides, (half[2] - low[2])[None]])


def centered_shape(
    C: Config, frame: FrameName, kinds: type[S] | tuple[type[S], ...], name: str
) -> S:
    """Return the frame's first shape, which is of given types and centred.

    Raises:
        ConfigError: if it has another type, or is off the frame's origin.
    """
    geometry = next(iter(C.frame(frame).geometries), None)
    if geometry is None or not isinstance(geometry.shape, kinds):
        actual = (
            "no shape" if geometry is None else f"a {type(geometry.shape).__name__}"
        )
        raise ConfigError(f"Frame {frame!r} has {actual}; expected a {name}.")
    # abs, because a quaternion and its negative are the same rotation.
    if not np.allclose(np.abs(geometry.pose), IDENTITY, atol=1e-9):
        raise ConfigError(
            f"Frame {frame!r}: its {name} is not centred at the frame; add a frame with"
            f" a {name} where the region is, and use that."
        )
    return geometry.shape


def footprint_params(
    C: Config, frames: Sequence[FrameName], margin: float
) -> dict[str, np.ndarray]:
    """Return the half size of the second frame's box in x and y, without rounding."""
    box = centered_shape(C, frames[1], shapes.Box, "Box")
    half = box.size[:2] / 2 - box.rounding
    return {"half": half, "margin": np.array(float(margin))}


def box_params(
    C: Config, frames: Sequence[FrameName], margin: float
) -> dict[str, np.ndarray]:
    """Return the half size of the second frame's box."""
    box = centered_shape(C, frames[1], shapes.Box, "Box")
    return {"half": box.size / 2, "margin": np.array(float(margin))}


def cylinder_params(
    C: Config, frames: Sequence[FrameName], margin: float
) -> dict[str, np.ndarray]:
    """Return length and radius of the second frame's cylinder."""
    shape = centered_shape(C, frames[1], shapes.Cylinder, "Cylinder")
    return {
        "length": np.array(float(shape.length)),
        "radius": np.array(float(shape.radius)),
        "margin": np.array(float(margin)),
    }


def standing_params(
    C: Config, frames: Sequence[FrameName], margin: float
) -> dict[str, np.ndarray]:
    """Return the support's half size, and the ellipsoids around the first frame."""
    solid = [g for g in C.frame(frames[0]).geometries if g.collision]
    if not solid:
        raise ConfigError(f"standingAbove: frame {frames[0]!r} has no solid shape.")
    parts = [bounding_ellipsoids(g, frames[0]) for g in solid]
    return {
        **box_params(C, frames, margin),
        "core": np.concatenate([core for core, _ in parts]),
        "axes": np.concatenate([axes for _, axes in parts]),
    }


def bounding_ellipsoids(
    geometry: Geometry, frame: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return ellipsoids whose convex hull contains a shape.

    Rounded rims of cylinders count as sharp.

    Returns:
        Centres (n, 3), and half axes (n, 3, 3) in columns, in the frame.

    Raises:
        ConfigError: for shapes without extent.
    """
    ball = np.eye(3)
    match geometry.shape:
        case shapes.Sphere(radius):
            core, axes = np.zeros((1, 3)), radius * ball
        case shapes.Ellipsoid(radii):
            core, axes = np.zeros((1, 3)), np.diag(radii)
        case shapes.Capsule(length, radius):
            core, axes = np.array([[0, 0, 0.5], [0, 0, -0.5]]) * length, radius * ball
        # A rounded shape is a polytope plus a ball (Minkowski sum), hence the convex
        # hull of the balls around its vertices.
        case shapes.Box(size, rounding):
            corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
            core, axes = corners * (size / 2 - rounding), rounding * ball
        # The convex hull of two discs: ellipsoids without extent along z.
        case shapes.Cylinder(length, radius, _):
            core = np.array([[0, 0, 0.5], [0, 0, -0.5]]) * length
            axes = np.diag([radius, radius, 0.0])
        case shapes.Convex(vertices, rounding):
            core, axes = vertices, rounding * ball
        case shapes.Mesh() as mesh:
            core, axes = np.asarray(mesh.mesh.convex_hull.vertices), 0 * ball
        case shape:
            raise ConfigError(
                f"Frame {frame!r} has a {type(shape).__name__}; expected a solid shape,"
                " such as a Box."
            )
    R = quat_to_matrix(geometry.pose[3:])
    half_axes = np.broadcast_to(R @ axes, (len(core), 3, 3))
    return core @ R.T + geometry.pose[:3], half_axes

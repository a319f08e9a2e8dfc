"""Static balance: the centre of mass over the support polygon of feet."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.geometry import shapes
from posewise.robots.kinematics.joint_types import joint_type
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.simulation.masses import frame_masses
from posewise.robots.typing import Array, FrameName
from posewise.robots.world.frame import Frame, Geometry

from .regions import bounding_ellipsoids
from .safe_math import amax, amin, norm
from .symbol import Resolved, Symbol

RIM_POINTS = 16
"""Number of points on the rim of a cylinder that stands for its flat end (count); the
polygon is within the disc, by 2 % of its radius."""
MAX_SOLE_POINTS = 64
"""Number of directions in which the farthest vertices of a mesh count; the polygon is
within that of all vertices."""
REFINEMENTS = 3
"""Number of times that each edge of the polygon is split: 8 corners become 64."""

VERTICAL = np.array([0.0, 0.0, 1.0])


def balance_margin(
    R: Float[jax.Array, "frames 3 3"],
    p: Float[jax.Array, "frames 3"],
    *,
    points: Float[jax.Array, "n 3"],
    axes: Float[jax.Array, "n 3 3"],
    owner: Int[Array, " n"],
    mass: Float[jax.Array, " bodies"],
    com: Float[jax.Array, "bodies 3"],
    sole: Float[jax.Array, ""],
) -> Float[jax.Array, "1"]:
    """Distance of the centre of mass from the support polygon, seen from above [m].

    The polygon is the convex hull of the lowest points of the feet, along z of the
    world. The distance is negative inside, where it is that from the nearest edge. A
    robot at rest stands if it is negative (Vukobratović and Borovac, "Zero-moment
    point", 2004). The centre of mass is that of all bodies that the base of the robot
    carries, with their masses in `Config.simulation`.

    Args:
        R: rotations of the feet, then of the bodies, to the world.
        p: their positions.
        points: centres of ellipsoids whose convex hull a foot is, in the foot.
        axes: half axes of the ellipsoids, in columns.
        owner: the foot of each ellipsoid.
        mass: of each body [kg].
        com: centre of mass of each body, in the body.
        sole: height up to which points of a foot count as its lowest ones [m].
    """
    bodies = mass.shape[0]
    centres = p[-bodies:] + jnp.einsum("bij,bj->bi", R[-bodies:], com)
    centre = mass @ centres / jnp.sum(mass)
    # An ellipsoid {c + H u: |u| <= 1} is lowest at u = -Hᵀ z / |Hᵀ z|.
    H = R[owner] @ axes
    down = H[:, 2, :]
    length = norm(down)[:, None]
    unit = down / jnp.where(length > 0, length, 1.0)
    lowest = p[owner] + jnp.einsum("nij,nj->ni", R[owner], points)
    lowest = lowest - jnp.einsum("nij,nj->ni", H, unit)
    height = jax.lax.stop_gradient(lowest[:, 2])
    of_foot = owner[:, None] == owner[None, :]
    ground = jnp.min(jnp.where(of_foot, height[None, :], jnp.inf), 1)
    polygon = convex_polygon(lowest[:, :2], height <= ground + sole)
    return distance_from_polygon(centre[:2], polygon)[None]


def convex_polygon(
    points: Float[jax.Array, "n 2"], counts: Bool[jax.Array, " n"]
) -> Float[jax.Array, "corners 2"]:
    """Return corners of the convex hull of points, counter-clockwise, some repeated.

    It begins with the farthest points in eight directions, and adds the farthest one
    beyond each edge three times, as quickhull does (Barber et al. 1996): a number of
    corners that is known when it is compiled. Corners that are left out make the
    polygon smaller.

    Args:
        points: any points.
        counts: which of them are used; at least one.
    """
    angles = np.arange(8) * np.pi / 4
    directions = np.stack([np.cos(angles), np.sin(angles)], -1)
    flat = jax.lax.stop_gradient(points)
    far = jnp.where(counts, directions.astype(flat.dtype) @ flat.T, -jnp.inf)
    corner = jnp.argmax(far, 1)
    for _ in range(REFINEMENTS):
        a, b = flat[corner], flat[jnp.roll(corner, -1)]
        outward = jnp.stack([b[:, 1] - a[:, 1], a[:, 0] - b[:, 0]], -1)
        beyond = outward @ flat.T - jnp.sum(outward * a, -1)[:, None]
        beyond = jnp.where(counts, beyond, -jnp.inf)
        # Where two corners are one point, everything is at distance 0 from their edge.
        is_beyond = jnp.max(beyond, 1) > 1e-6 * jnp.sum(outward * outward, -1)
        between = jnp.where(is_beyond, jnp.argmax(beyond, 1), corner)
        corner = jnp.stack([corner, between], 1).ravel()
    return points[corner]


def distance_from_polygon(
    x: Float[jax.Array, "2"], polygon: Float[jax.Array, "corners 2"]
) -> Float[jax.Array, ""]:
    """Return the distance of a point from a convex polygon, negative inside [m].

    Args:
        x: the point.
        polygon: its corners, counter-clockwise; some may be repeated, and all may be on
            a line or at one point, so that nothing is inside.
    """
    edge = jnp.roll(polygon, -1, 0) - polygon
    square = jnp.sum(edge * edge, -1)
    is_edge = square > 0
    safe = jnp.where(is_edge, square, 1.0)
    outward = jnp.stack([edge[:, 1], -edge[:, 0]], -1) / jnp.sqrt(safe)[:, None]
    offset = jnp.sum(outward * (x - polygon), -1)
    inside = amax(jnp.where(is_edge, offset, -jnp.inf))
    along = jnp.clip(jnp.sum(edge * (x - polygon), -1) / safe, 0.0, 1.0)
    outside = amin(norm(x - polygon - along[:, None] * edge))
    ahead = jnp.roll(polygon, -1, 0)
    area = jnp.sum(polygon[:, 0] * ahead[:, 1] - ahead[:, 0] * polygon[:, 1])
    return jnp.where((inside <= 0) & (area > 0), inside, outside)


_SYMBOL = Symbol(
    balance_margin,
    "supportPolygon",
    frames=(0, None),
    dim=1,
    unit="m",
    takes_frame_stack=True,
)


def resolve_balance(
    C: Config, frames: Sequence[FrameName], sole: float = 0.01
) -> Resolved:
    """Return the symbol in a world: the soles of the feet, and all bodies with a mass.

    Raises:
        ConfigError: for feet that no base or different ones carry, feet without solid
            shapes, and a robot without mass.
    """
    feet = [C.index(name) for name in frames]
    base = _common_base(C, feet)
    carried = _below(C.frames, base)
    weights = frame_masses(C.frames)
    bodies = [i for i in carried if weights[i].mass > 0]
    if not bodies:
        raise ConfigError(
            f"supportPolygon: no frame below {C.frames[base].name!r} has a mass; give"
            " each link one with C.set_mass(frame, kg)."
        )
    soles = [_sole(C.frames[i]) for i in feet]
    params = {
        "points": np.concatenate([points for points, _ in soles]),
        "axes": np.concatenate([axes for _, axes in soles]),
        "owner": np.repeat(np.arange(len(feet)), [len(points) for points, _ in soles]),
        "mass": np.array([weights[i].mass for i in bodies]),
        "com": np.array([weights[i].com for i in bodies]),
        "sole": np.array(float(sole)),
    }
    return _SYMBOL, np.array(feet + bodies), params


def _common_base(C: Config, feet: Sequence[int]) -> int:
    """Return the frame whose joint carries all of a robot."""
    frames, found = C.frames, dict[int, str]()
    for foot in feet:
        base, at = None, foot
        while True:
            joint = frames[at].joint
            base = at if joint is not None and joint.dim else base
            parent = frames[at].parent
            if parent is None:
                break
            at = parent
        name = frames[foot].name
        if base is None or not _translates(frames[base]):
            raise ConfigError(
                f"supportPolygon: the robot of {name!r} cannot fall, because no joint"
                ' moves its base. Put the base on a joint, such as joint="free", and'
                " hold the feet in place by objectives."
            )
        found.setdefault(base, name)
    if len(found) > 1:
        (a, b), names = [frames[i].name for i in found][:2], [*found.values()]
        raise ConfigError(
            f"supportPolygon: {names[0]!r} is carried by {a!r}, but {names[1]!r} by"
            f" {b!r}; expected feet of one robot."
        )
    return next(iter(found))


def _translates(frame: Frame) -> bool:
    """Return whether a frame's joint moves it along an axis."""
    return frame.joint is not None and any(
        node.translations for node in joint_type(frame.joint.type).nodes
    )


def _below(frames: Sequence[Frame], base: int) -> list[int]:
    """Return a frame and all frames that it carries."""

    def is_below(i: int | None) -> bool:
        while i is not None and i != base:
            i = frames[i].parent
        return i == base

    return [i for i in range(len(frames)) if is_below(i)]


def _sole(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return ellipsoids whose convex hull is within a foot, and reaches its bottom.

    Raises:
        ConfigError: for a foot without solid shapes.
    """
    solid = [g for g in frame.geometries if g.collision]
    if not solid:
        raise ConfigError(
            f"supportPolygon: foot {frame.name!r} has no solid shape to stand on; give"
            " it one, or name the frame that has it."
        )
    parts = [_inner_ellipsoids(g, frame.name) for g in solid]
    points, axes = (np.concatenate(x) for x in zip(*parts, strict=True))
    return points, axes


def _inner_ellipsoids(geometry: Geometry, frame: str) -> tuple[Array, Array]:
    """Return ellipsoids whose convex hull is within a shape and as low as that is."""
    match geometry.shape:
        case shapes.Cylinder(length, radius, rounding):
            angle = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
            rim = (radius - rounding) * np.stack([np.cos(angle), np.sin(angle)], -1)
            ends = [
                np.insert(rim, 2, z, 1)
                for z in (length / 2 - rounding, rounding - length / 2)
            ]
            R = quat_to_matrix(geometry.pose[3:])
            points = np.concatenate(ends) @ R.T + geometry.pose[:3]
            return points, np.broadcast_to(rounding * np.eye(3), (len(points), 3, 3))
    points, axes = bounding_ellipsoids(geometry, frame)
    if len(points) > MAX_SOLE_POINTS:
        chosen = np.unique(np.argmax(_directions() @ points.T, 1))
        points, axes = points[chosen], axes[chosen]
    return points, axes


def _directions() -> Float[np.ndarray, "n 3"]:
    """Return directions that are evenly spread over the sphere (a Fibonacci spiral)."""
    k = np.arange(MAX_SOLE_POINTS) + 0.5
    z = 1 - 2 * k / MAX_SOLE_POINTS
    angle = np.pi * (1 + np.sqrt(5)) * k
    ring = np.sqrt(1 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], -1)

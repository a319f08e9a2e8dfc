"""What the roll-out of states asks of the geometry, exactly, each of one world.

Positions, boxes and rays take each part of an object by itself; a mesh is the union of
its convex parts.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise import collision

from ...robots.bodies import frame_bodies
from ...robots.config import Config
from ...robots.convex_parts import convex_parts
from ...robots.drawing import polygons
from ...robots.errors import ConfigError, unknown
from ...robots.frame import Geometry
from ...robots.shapes import Box, Convex, Mesh

Point = Float[np.ndarray, "3"]

CONTACT = 1e-6
"""Surfaces no farther apart than this touch [m]."""
OPEN = 0.05
"""A joint is open beyond this share of its range."""
EDGE = 1e-9
"""Triangles are larger by this share, so that no ray slips between two of them."""
ANGLES = np.arange(8) * np.pi / 8
AXES = np.array([*((np.cos(x), np.sin(x), 0.0) for x in ANGLES), (0.0, 0.0, 1.0)])
"""Eight horizontal ones, of which k and k + 4 are orthogonal, and up."""
REACH = np.array([1.0] * 8 + [5.0])
"""Lengths of rays along them [m]."""


def origin(C: Config, frame: str) -> Point:
    """Origin of a frame in the world [m]."""
    return C.walk().frames.p[C.index(frame)]


def position(C: Config, name: str) -> Point:
    """Centre of mass of an object's own frame, in the world [m]."""
    com = C.frame(name).com
    turned = 0.0 if com is None else C.walk().frames.R[C.index(name)] @ com
    return origin(C, name) + turned


def below(C: Config, frame: str) -> list[str]:
    """A frame and what hangs on it, but no other object: those with shapes."""
    names, objects = [frame], C.objects
    for name in names:
        names += [n for n in C.children(name) if n not in objects]
    return [n for n in names if any(g.collision for g in C.frame(n).geometries)]


def box(C: Config, frame: str) -> tuple[Point, Point]:
    """Corners of the box along the world's axes around a frame and all on it [m].

    Without shapes it is empty: the lower corner is above the upper one.
    """
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for name in below(C, frame):
        i, poses = C.index(name), C.walk().frames
        for bodies in _bodies(C.frame(name)):
            body = bodies.body
            reach = _reach(body.core, poses.R[i] @ body.R)
            middle = body.p @ poses.R[i].T + poses.p[i]
            low = np.minimum(low, (middle + reach[0] - body.radius[:, None]).min(0))
            high = np.maximum(high, (middle + reach[1] + body.radius[:, None]).max(0))
    return low, high


def touching(C: Config, frames: Iterable[str], name: str) -> bool:
    """Whether the shapes of any of the frames touch those of an object."""
    if not below(C, name):
        return False
    return any(C.signed_distance(f, name)[0] <= CONTACT for f in frames)


def is_open(C: Config, name: str) -> bool:
    """Whether a joint of an object is past 5 % of its way from closed to open.

    Of the joints named by `openable`, else of all its joints that have limits.

    Raises:
        ConfigError: when `openable` names a joint that the object does not have.
    """
    thing = C.object(name)
    own = {j.name: j for p in thing.parts if p != name and (j := C.frame(p).joint)}
    annotation = thing.abilities.get("openable", {})
    joints = annotation.get("joints") or dict.fromkeys(own, 1)
    for joint, direction in joints.items():
        if joint not in own:
            raise ConfigError(
                f"openable of {name!r}: " + unknown("joint of it", joint, own)
            )
        limits = own[joint].limits
        if own[joint].dim == 1 and limits is not None:
            closed, opened = limits[::direction, 0]
            share = (C.joint_value(joint)[0] - closed) / (opened - closed)
            both = annotation.get("both_sides", False)
            if share > OPEN and (not both or share < 1 - OPEN):
                return True
    return False


def inside(C: Config, a: str, b: str) -> bool:
    """iGibson 2.0's Inside: b's shapes lie on both sides of a's centre of mass.

    It is in the box of b, and b is hit by rays both up and down (5 m) and both ways
    along one of eight horizontal axes (1 m), or both ways along two orthogonal ones.
    """
    p, (low, high) = position(C, a), box(C, b)
    if not ((low <= p) & (p <= high)).all():
        return False
    depths = first_hits(triangles(C, below(C, b)), p, np.concatenate([AXES, -AXES]))
    both: Any = (depths.reshape(2, -1) <= REACH).all(0)
    across = both[:8]
    return bool((both[8] and across.any()) or (across[:4] & across[4:]).any())


def first_hits(
    faces: Float[np.ndarray, "n 3 3"],
    start: Point,
    directions: Float[np.ndarray, "m 3"],
) -> Float[np.ndarray, " m"]:
    """How far rays get until they enter a shape [m]; inf where they meet none.

    Shapes in which they start are left without being met (Möller & Trumbore 1997).

    Args:
        faces: triangles, counterclockwise as seen from outside.
        start: of all rays.
        directions: of unit length.
    """
    a, u, v = faces[:, 0], faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    normal = np.cross(u, v)
    det = -directions @ normal.T
    entering = det > 1e-14
    scale = 1 / np.where(entering, det, 1.0)
    depth = ((start - a) * normal).sum(-1) * scale
    turned = np.cross(start - a, directions[:, None])
    s, t = (turned * v).sum(-1) * scale, -(turned * u).sum(-1) * scale
    met = entering & (s >= -EDGE) & (t >= -EDGE) & (s + t <= 1 + EDGE) & (0 <= depth)
    return np.min(depth, axis=-1, initial=np.inf, where=met)


def triangles(C: Config, frames: Iterable[str]) -> Float[np.ndarray, "n 3 3"]:
    """Surfaces of the collision shapes of frames, in the world [m]; see `surfaces`."""
    return np.concatenate([np.zeros((0, 3, 3)), *surfaces(C, frames)])


def surfaces(C: Config, frames: Iterable[str]) -> list[Float[np.ndarray, "n 3 3"]]:
    """Triangles of each convex part of the collision shapes of frames [m].

    In the world, counterclockwise as seen from outside; round shapes have 64 sides.
    """
    poses = C.walk().frames
    return [
        part @ poses.R[i].T + poses.p[i]
        for i in (C.index(name) for name in frames)
        for geometry in C.frames[i].geometries
        if geometry.collision
        for part in _parts(geometry)
    ]


_bodies = lru_cache(maxsize=8192)(frame_bodies)


@lru_cache(maxsize=8192)
def _parts(geometry: Geometry) -> tuple[Float[np.ndarray, "n 3 3"], ...]:
    """Triangles of the convex parts of a shape, in its frame."""
    shape, pose = geometry.shape, geometry.pose
    parts = convex_parts(shape) if isinstance(shape, Mesh) else ()
    convex = [Geometry(Convex(part), pose) for part in parts] or [geometry]
    return tuple(_outward(part) for part in convex)


def _outward(geometry: Geometry) -> Float[np.ndarray, "n 3 3"]:
    """Triangles of a convex shape, turned so that their normals point outwards."""
    if isinstance(geometry.shape, Box):
        corners = np.array(list(product((-0.5, 0.5), repeat=3))) * geometry.shape.size
        geometry = Geometry(Convex(corners), geometry.pose)
    faces = polygons(geometry, around=64)
    if not faces:
        return np.zeros((0, 3, 3))
    made = np.array([f[[0, k, k + 1]] for f in faces for k in range(1, len(f) - 1)])
    normal = np.cross(made[:, 1] - made[:, 0], made[:, 2] - made[:, 0])
    out = ((made.mean(1) - made.mean((0, 1))) * normal).sum(-1)
    made[out < 0] = made[out < 0][:, ::-1]
    return made


def _reach(core: collision.Core, R: Float[np.ndarray, "n 3 3"]) -> np.ndarray:
    """How far cores reach along the world's axes, downwards and upwards (2, n, 3)."""
    match core:
        case collision.Box(half):
            far = (np.abs(R) @ half[..., None])[..., 0]
        case collision.Curved(half, radii):
            far = (np.abs(R) @ half[..., None])[..., 0]
            far = far + np.linalg.norm(R * radii[:, None], axis=-1)
        case collision.Hull(vertices):
            turned = vertices @ np.swapaxes(R, -1, -2)
            return np.stack([turned.min(1), turned.max(1)])
        case _:
            far = np.full(R.shape[:-1], np.inf)
    return np.stack([-far, far])

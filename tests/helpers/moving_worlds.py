"""Worlds that move along straight segments, and their distances in NumPy alone."""

from collections.abc import Callable

import numpy as np

import posewise as pw
from posewise.robots.kinematics.manifold import difference, integrate

from .worlds import random_pose, random_q, random_tree

JOINTS = ["hinge", "transXYPhi", "free", "prismatic", "quatBall", "hingeX"]
MORE_JOINTS = ["universal", "phiTransXY", "planar", "XBall"]


def random_balls(rng: np.random.Generator) -> list:
    """Return one to three spheres and capsules with poses."""
    parts = []
    for _ in range(rng.integers(1, 4)):
        radius = rng.uniform(0.03, 0.15)
        is_sphere = rng.uniform() < 0.5
        length = rng.uniform(0.1, 0.5)
        shape = pw.Sphere(radius) if is_sphere else pw.Capsule(length, radius)
        parts.append((shape, random_pose(rng, 0.2)))
    return parts


def random_solid(rng: np.random.Generator) -> object:
    """Return a box, cylinder, ellipsoid, hull or capsule, or two of them on a link."""
    x, y, z = rng.uniform(0.05, 0.3, 3)
    corners = pw.Convex(rng.uniform(-0.2, 0.2, (10, 3)))
    solids = [
        pw.Box([x, y, z]),
        pw.Box([x, y, z], rounding=0.01),
        pw.Cylinder(x, y),
        corners,
        pw.Capsule(x, y),
    ]
    first, second = (solids[rng.integers(len(solids))] for _ in range(2))
    two = [(first, random_pose(rng, 0.1)), (second, random_pose(rng, 0.2))]
    return first if rng.uniform() < 0.7 else two


def solid_world(
    seed: int, shape_of: Callable, joints: int = 6, more: bool = False
) -> pw.Config:
    """Return a random tree whose bodies have shapes, and obstacles beside it.

    Args:
        seed: of all that is random.
        shape_of: returns random shapes of a frame.
        joints: number of joints.
        more: whether rarer types of joints occur, too.
    """
    rng = np.random.default_rng(seed)
    C = random_tree(seed, joints, [*JOINTS, *MORE_JOINTS] if more else JOINTS)
    for name in C.frame_names:
        if name[0] in "fn":
            C.set_shape(name, shape_of(rng))
            C.set_contact(name, 1)
    for k in range(3):
        place = rng.uniform(-0.8, 0.8, 3)
        C.add_frame(f"obstacle{k}", position=place, shape=shape_of(rng))
    C.restore_collisions(list(C.frame_names))
    return C


def moved_q(C: pw.Config, rng: np.random.Generator, q, size: float) -> np.ndarray:
    """Return coordinates at a fraction `size` of the way from q to random ones."""
    tree = C.kinematics().tree
    return integrate(tree, q, size * difference(tree, q, random_q(C, rng)))


def segment_points(C: pw.Config, a, b, count: int) -> np.ndarray:
    """Return configurations (count, nq) on the straight motion from a to b."""
    tree = C.kinematics().tree
    fraction = np.linspace(0, 1, count)[:, None]
    return integrate(tree, np.tile(a, (count, 1)), fraction * difference(tree, a, b))


def distances_of_balls(C: pw.Config, q: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the distances (n, pairs) of frames of spheres and capsules."""
    frames = C.kinematics().forward_pass(q).frames
    R, p = np.asarray(frames.R), np.asarray(frames.p)
    segments = {
        i: [_segment(g, R[:, i], p[:, i]) for g in C.frames[i].geometries]
        for i in np.unique(pairs).tolist()
    }
    return np.stack(
        [
            np.min(
                [
                    segment_distance(*s[:2], *t[:2]) - s[2] - t[2]
                    for s in segments[a]
                    for t in segments[b]
                ],
                0,
            )
            for a, b in pairs.tolist()
        ],
        1,
    )


def _segment(geometry, R: np.ndarray, p: np.ndarray) -> tuple:
    """Return both ends (n, 3) of a sphere's or capsule's axis, and the radius."""
    shape = geometry.shape
    half = shape.length / 2 if isinstance(shape, pw.Capsule) else 0.0
    w, v = geometry.pose[3], geometry.pose[4:]
    # The third column of the rotation matrix of the unit quaternion (w, v).
    axis = 2 * v[2] * v + [2 * w * v[1], -2 * w * v[0], 2 * w * w - 1]
    center = p + R @ geometry.pose[:3]
    return center - R @ (half * axis), center + R @ (half * axis), shape.radius


def segment_distance(a, b, c, d) -> np.ndarray:
    """Return the distances (n,) of segments from a to b and from c to d."""
    u, v, w = b - a, d - c, a - c
    uu, vv, uv, uw, vw = (
        np.sum(x * y, -1) for x, y in [(u, u), (v, v), (u, v), (u, w), (v, w)]
    )
    det = uu * vv - uv * uv
    safe = np.where(det > 1e-12, det, 1.0)
    s, t = (uv * vw - vv * uw) / safe, (uu * vw - uv * uw) / safe
    inside = (det > 1e-12) & (0 <= s) & (s <= 1) & (0 <= t) & (t <= 1)
    gap = np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=-1)
    ends = [point_distance(x, c, d) for x in (a, b)]
    ends += [point_distance(x, a, b) for x in (c, d)]
    return np.where(inside, gap, np.min(ends, 0))


def point_distance(x, a, b) -> np.ndarray:
    """Return the distances (n,) of points from segments."""
    u = b - a
    t = np.sum((x - a) * u, -1) / np.maximum(np.sum(u * u, -1), 1e-300)
    return np.linalg.norm(x - a - np.clip(t, 0, 1)[:, None] * u, axis=-1)

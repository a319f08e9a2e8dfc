"""Intersections of straight lines with the convex bodies of a frame, in NumPy, float64.

Every body is a union of convex primitives. Because the body itself is convex, a line is
in it from where it enters the first primitive to where it leaves the last.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
from jaxtyping import Float

from posewise import collision

from ..geometry.hulls import hull_planes, surface_simplices
from ..world.frame import Frame
from .bodies import frame_bodies
from .ray_primitives import (
    Cylinders,
    Ellipsoids,
    LineIntervals,
    Polytopes,
    PosedPrimitives,
    RayPrimitives,
    RoundedCores,
)

MAX_LINES = 128
"""Number of lines that are cut with a frame at a time (count); more need more memory
than a processor keeps at hand, fewer take more calls."""


def intersect_lines(
    frame: Frame,
    origin: Float[np.ndarray, "lines 3"],
    direction: Float[np.ndarray, "lines 3"],
) -> LineIntervals:
    """Return where lines enter and leave the bodies of a frame, all in the frame.

    Bodies are in the order of `frame_bodies`; no line meets a point.

    Args:
        frame: its collision shapes count, meshes by their convex parts.
        origin: a point of each line.
        direction: of each line, of any length but 0.

    Raises:
        ConfigError: for a frame with shapes that cannot be used, see `frame_bodies`.
    """
    count = sum(len(group) for group in frame_bodies(frame))
    enter = np.full((count, len(origin)), np.inf)
    leave = np.full((count, len(origin)), -np.inf)
    chunks = [slice(k, k + MAX_LINES) for k in range(0, len(origin), MAX_LINES)]
    for group, rows in product(_ray_primitives(frame), chunks):
        first, last = group.intersect(origin[rows], direction[rows])
        missed = first > last
        first, last = np.where(missed, np.inf, first), np.where(missed, -np.inf, last)
        np.minimum.at(enter[:, rows], group.owner, first.T)
        np.maximum.at(leave[:, rows], group.owner, last.T)
    return LineIntervals(enter.T, leave.T)


def ray_hits(
    frame: Frame,
    origin: Float[np.ndarray, "lines 3"],
    direction: Float[np.ndarray, "lines 3"],
) -> Float[np.ndarray, "lines bodies"]:
    """Return how far along each ray it enters each body; inf where it does not.

    A ray that starts in a body does not hit that body, as in Bullet.

    Args:
        frame: its collision shapes count, meshes by their convex parts.
        origin: start of each ray, in the frame.
        direction: of each ray, of any length except 0; distances are its multiples.
    """
    enter, _ = intersect_lines(frame, origin, direction)
    return np.where(enter > 0, enter, np.inf)


@lru_cache(maxsize=8192)
def _ray_primitives(frame: Frame) -> list[RayPrimitives]:
    """Return the primitives of the bodies of a frame, in the frame; cached."""
    polytopes: list[tuple[np.ndarray, int]] = []
    primitives: list[RayPrimitives] = []
    first = 0
    for group in frame_bodies(frame):
        owner = list(range(first, first + len(group)))
        first += len(group)
        R, p, radius = (
            np.asarray(x) for x in (group.body.R, group.body.p, group.body.radius)
        )
        match group.body.core:
            case collision.HalfSpace():
                normal = R[:, :, 2]
                planes = np.column_stack([normal, (normal * p).sum(-1)])
                polytopes += [(x[None], k) for x, k in zip(planes, owner, strict=True)]
            case collision.Hull(vertices):
                points = vertices @ R.swapaxes(-1, -2) + p[:, None]
                for k, corners, r in zip(owner, points, radius, strict=True):
                    polytopes += [(planes, k) for planes in _face_prisms(corners, r)]
                    if r > 0:
                        primitives += _edge_capsules(corners, r, k)
            case core:
                half = np.asarray(core.half)
                radii = np.asarray(getattr(core, "radii", np.zeros_like(half)))
                posed = PosedPrimitives(R, p, half, radii, np.array(owner))
                primitives += _split_by_form(posed, radius)
    if polytopes:
        # Repeated planes do not change a polytope, so that all get equally many.
        count = max(len(planes) for planes, _ in polytopes)
        padded = [planes[np.arange(count) % len(planes)] for planes, _ in polytopes]
        owners = np.array([k for _, k in polytopes])
        primitives.append(Polytopes(np.array(padded), owners))
    return primitives


def _split_by_form(
    posed: PosedPrimitives, radius: Float[np.ndarray, " n"]
) -> list[RayPrimitives]:
    """Sort cores inflated by a radius into primitives; leave out points of no size."""
    primitives: list[RayPrimitives] = []
    is_point = ~(posed.half.any(-1) | posed.radii.any(-1))
    posed = replace(posed, radii=posed.radii + (is_point * radius)[:, None])
    radius = np.where(is_point, 0.0, radius)
    is_sharp = radius == 0
    is_ellipsoid = ~posed.half.any(-1) & (posed.radii[:, 2] > 0)
    is_cylinder = (posed.radii[:, 0] > 0) & ~is_ellipsoid
    is_box = ~is_ellipsoid & ~is_cylinder & posed.half.any(-1)
    if (is_sharp & is_box).any():
        boxes = posed.rows(is_sharp & is_box)
        primitives.append(Polytopes(_box_planes(boxes), boxes.owner))
    if (is_sharp & is_ellipsoid).any():
        primitives.append(Ellipsoids(**vars(posed.rows(is_sharp & is_ellipsoid))))
    if (is_sharp & is_cylinder).any():
        primitives.append(Cylinders(**vars(posed.rows(is_sharp & is_cylinder))))
    is_segment = ~is_sharp & ~is_cylinder & ~posed.half[:, :2].any(-1)
    primitives += _capsules(posed.rows(is_segment), radius[is_segment])
    is_rounded = ~is_sharp & ~is_segment
    if is_rounded.any():
        rounded = vars(posed.rows(is_rounded))
        primitives.append(RoundedCores(**rounded, radius=radius[is_rounded]))
    return primitives


def _capsules(
    segments: PosedPrimitives, radius: Float[np.ndarray, " n"]
) -> list[RayPrimitives]:
    """Return cylinders about segments along z, and balls at their ends."""
    if not len(radius):
        return []
    thick = replace(segments, radii=np.repeat(radius[:, None], 3, axis=1))
    ends = segments.R[:, :, 2] * segments.half[:, 2:]
    balls = [replace(thick, p=segments.p + end) for end in (ends, -ends)]
    ball_fields = zip(*(vars(x).values() for x in balls), strict=True)
    return [Cylinders(**vars(thick)), Ellipsoids(*map(np.concatenate, ball_fields))]


def _box_planes(boxes: PosedPrimitives) -> Float[np.ndarray, "n 6 4"]:
    """Return the six planes of each box."""
    axes, half = boxes.R.swapaxes(-1, -2), boxes.half
    center = (axes * boxes.p[:, None]).sum(-1)
    upper = np.concatenate([axes, (center + half)[..., None]], -1)
    lower = np.concatenate([-axes, (half - center)[..., None]], -1)
    return np.concatenate([upper, lower], 1)


def _face_prisms(points: np.ndarray, radius: float) -> list[np.ndarray]:
    """Return the planes of a hull, and of a prism as high as the radius on each face.

    Together with capsules about the edges these fill the hull inflated by the radius.
    """
    planes = hull_planes(points)
    polytopes = [planes] if len(planes) else []
    if radius == 0:
        return polytopes
    for corners in surface_simplices(points):
        if len(corners) < 3:
            continue
        a, b, c = corners
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        sides = np.cross(np.roll(corners, -1, 0) - corners, normal)
        sides /= np.linalg.norm(sides, axis=-1, keepdims=True)
        faces = np.array([normal, -normal])
        offsets = np.array([1, -1]) * (normal @ a) + radius
        walls = np.column_stack([sides, (sides * corners).sum(-1)])
        polytopes.append(np.concatenate([np.column_stack([faces, offsets]), walls]))
    return polytopes


def _edge_capsules(
    points: np.ndarray, radius: float, owner: int
) -> list[RayPrimitives]:
    """Return capsules about the edges of a hull."""
    ends = [
        (corners[i], corners[i - 1])
        for corners in surface_simplices(points)
        for i in range(len(corners))
    ]
    a, b = (np.array(x) for x in zip(*ends, strict=True))
    length = np.linalg.norm(b - a, axis=-1)
    z = (b - a) / np.where(length > 0, length, 1.0)[:, None]
    # The coordinate axis least aligned with the edge gives a well-conditioned normal.
    helper = np.eye(3)[np.abs(z).argmin(-1)]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    R = np.stack([x, np.cross(z, x), z], -1)
    half = np.zeros((len(a), 3))
    half[:, 2] = length / 2
    owners = np.full(len(a), owner)
    segments = PosedPrimitives(R, (a + b) / 2, half, np.zeros_like(half), owners)
    return _capsules(segments, np.full(len(a), radius))

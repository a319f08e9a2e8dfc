"""Where straight lines cross the convex bodies of a frame: in NumPy, float64.

Every body is a union of pieces; as the body is convex, a line is in it from the first
piece to the last.
"""

from dataclasses import replace
from functools import lru_cache

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


def intersect_lines(
    frame: Frame,
    origin: Float[np.ndarray, "lines 3"],
    direction: Float[np.ndarray, "lines 3"],
) -> LineIntervals:
    """Where lines enter and leave the bodies of a frame, all in the frame.

    Bodies are in the order of `frame_bodies`; points are never met.

    Args:
        frame: its collision shapes count, meshes by their convex parts.
        origin: a point of each line.
        direction: of each line, of any length but 0.

    Raises:
        ConfigError: for a frame with shapes that cannot be used, see `frame_bodies`.
    """
    pieces = _ray_primitives(frame)
    count = sum(len(group) for group in frame_bodies(frame))
    enter = np.full((count, len(origin)), np.inf)
    leave = np.full((count, len(origin)), -np.inf)
    for group in pieces:
        first, last = group.intersect(origin, direction)
        missed = first > last
        first, last = np.where(missed, np.inf, first), np.where(missed, -np.inf, last)
        np.minimum.at(enter, group.owner, first.T)
        np.maximum.at(leave, group.owner, last.T)
    return LineIntervals(enter.T, leave.T)


def ray_hits(
    frame: Frame,
    origin: Float[np.ndarray, "lines 3"],
    direction: Float[np.ndarray, "lines 3"],
) -> Float[np.ndarray, "lines bodies"]:
    """How far along each ray it enters each body, inf where it does not.

    A ray that starts in a body does not enter that one, as in Bullet.
    """
    enter, _ = intersect_lines(frame, origin, direction)
    return np.where(enter > 0, enter, np.inf)


@lru_cache(maxsize=8192)
def _ray_primitives(frame: Frame) -> list[RayPrimitives]:
    """What the bodies of a frame are made of, in the frame."""
    polytopes: list[tuple[np.ndarray, int]] = []
    made: list[RayPrimitives] = []
    first = 0
    for group in frame_bodies(frame):
        owner = list(range(first, first + len(group)))
        first += len(group)
        R, p, radius = (
            np.asarray(x) for x in (group.body.R, group.body.p, group.body.radius)
        )
        match group.body.core:
            case collision.HalfSpace():
                up = R[:, :, 2]
                planes = np.column_stack([up, (up * p).sum(-1)])
                polytopes += [(x[None], k) for x, k in zip(planes, owner, strict=True)]
            case collision.Hull(vertices):
                placed = vertices @ R.swapaxes(-1, -2) + p[:, None]
                for k, points, r in zip(owner, placed, radius, strict=True):
                    polytopes += [(planes, k) for planes in _face_prisms(points, r)]
                    if r > 0:
                        made += _edge_capsules(points, r, k)
            case core:
                half = np.asarray(core.half)
                radii = np.asarray(getattr(core, "radii", np.zeros_like(half)))
                posed = PosedPrimitives(R, p, half, radii, np.array(owner))
                made += _split_by_form(posed, radius)
    if polytopes:
        most = max(len(p) for p, _ in polytopes)
        full = [p[np.arange(most) % len(p)] for p, _ in polytopes]
        made.append(Polytopes(np.array(full), np.array([k for _, k in polytopes])))
    return made


def _split_by_form(
    posed: PosedPrimitives, radius: Float[np.ndarray, " n"]
) -> list[RayPrimitives]:
    """Boxes, cylinders, ellipsoids and balls, rounded ones; no points of no size."""
    made: list[RayPrimitives] = []
    point = ~(posed.half.any(-1) | posed.radii.any(-1))
    posed = replace(posed, radii=posed.radii + (point * radius)[:, None])
    radius = np.where(point, 0.0, radius)
    sharp = radius == 0
    ball = ~posed.half.any(-1) & (posed.radii[:, 2] > 0)
    drum = (posed.radii[:, 0] > 0) & ~ball
    box = ~ball & ~drum & posed.half.any(-1)
    if (sharp & box).any():
        boxes = posed.rows(sharp & box)
        made.append(Polytopes(_box_planes(boxes), boxes.owner))
    if (sharp & ball).any():
        made.append(Ellipsoids(**vars(posed.rows(sharp & ball))))
    if (sharp & drum).any():
        made.append(Cylinders(**vars(posed.rows(sharp & drum))))
    straight = ~sharp & ~drum & ~posed.half[:, :2].any(-1)
    made += _capsules(posed.rows(straight), radius[straight])
    rest = ~sharp & ~straight
    if rest.any():
        made.append(RoundedCores(**vars(posed.rows(rest)), radius=radius[rest]))
    return made


def _capsules(
    segments: PosedPrimitives, radius: Float[np.ndarray, " n"]
) -> list[RayPrimitives]:
    """Cylinders about segments along z, and balls at their ends."""
    if not len(radius):
        return []
    thick = replace(segments, radii=np.repeat(radius[:, None], 3, axis=1))
    ends = segments.R[:, :, 2] * segments.half[:, 2:]
    balls = [replace(thick, p=segments.p + end) for end in (ends, -ends)]
    both = zip(*(vars(x).values() for x in balls), strict=True)
    return [Cylinders(**vars(thick)), Ellipsoids(*map(np.concatenate, both))]


def _box_planes(boxes: PosedPrimitives) -> Float[np.ndarray, "n 6 4"]:
    """Six planes for each box."""
    axes, half = boxes.R.swapaxes(-1, -2), boxes.half
    along = (axes * boxes.p[:, None]).sum(-1)
    over = np.concatenate([axes, (along + half)[..., None]], -1)
    under = np.concatenate([-axes, (half - along)[..., None]], -1)
    return np.concatenate([over, under], 1)


def _face_prisms(points: np.ndarray, radius: float) -> list[np.ndarray]:
    """The hull of points, and on each of its faces a prism as high as the radius."""
    planes = hull_planes(points)
    found = [planes] if len(planes) else []
    if radius == 0:
        return found
    for corners in surface_simplices(points):
        if len(corners) < 3:
            continue
        a, b, c = corners
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        sides = np.cross(np.roll(corners, -1, 0) - corners, normal)
        faces = np.array([normal, -normal])
        offsets = np.array([1, -1]) * (normal @ a) + radius
        walls = np.column_stack([sides, (sides * corners).sum(-1)])
        found.append(np.concatenate([np.column_stack([faces, offsets]), walls]))
    return found


def _edge_capsules(
    points: np.ndarray, radius: float, owner: int
) -> list[RayPrimitives]:
    """Capsules about the edges of a hull."""
    ends = [
        (corners[i], corners[i - 1])
        for corners in surface_simplices(points)
        for i in range(len(corners))
    ]
    a, b = (np.array(x) for x in zip(*ends, strict=True))
    length = np.linalg.norm(b - a, axis=-1)
    z = (b - a) / np.where(length > 0, length, 1.0)[:, None]
    helper = np.eye(3)[np.abs(z).argmin(-1)]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    R = np.stack([x, np.cross(z, x), z], -1)
    half = np.zeros((len(a), 3))
    half[:, 2] = length / 2
    owners = np.full(len(a), owner)
    segments = PosedPrimitives(R, (a + b) / 2, half, np.zeros_like(half), owners)
    return _capsules(segments, np.full(len(a), radius))

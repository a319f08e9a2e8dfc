"""How far convex bodies are apart: in NumPy, float64, without compiling anything.

Descent over simplices of the difference A - B towards the origin (Gilbert, Johnson and
Keerthi 1988), for many pairs at once. Only gaps are found; the depth of overlapping
bodies is for `proximity`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from posewise import collision

from ..world.frame import Frame
from .bodies import frame_bodies

MAX_ITERATIONS = 128
"""Directions that are tried; polytopes need about 10, curved bodies 30."""
RELATIVE_TOLERANCE = 1e-11
"""A gap is found when it is known to this fraction of the bodies' size."""
MAX_PAIRS_PER_CHUNK = 1_000_000
"""Pairs of bodies that are looked at together."""
SIMPLEX_EDGES = np.array(list(combinations(range(4), 2)))
SIMPLEX_FACES = np.array(list(combinations(range(4), 3)))


@dataclass(frozen=True, eq=False)
class SweptHulls:
    """Bodies of any bounded kind: vertices, swept by a box, an ellipsoid and a ball."""

    vertices: Float[np.ndarray, "n V 3"]
    half: Float[np.ndarray, "n 3"]
    radii: Float[np.ndarray, "n 3"]
    radius: Float[np.ndarray, " n"]
    R: Float[np.ndarray, "n 3 3"]
    p: Float[np.ndarray, "n 3"]

    def rows(self, at: Int[np.ndarray, " m"]) -> "SweptHulls":
        """Some of them."""
        return SweptHulls(*(getattr(self, f.name)[at] for f in fields(self)))

    def support(self, d: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        """The point of each core that is furthest along d."""
        own = np.einsum("nji,nj->ni", self.R, d)
        best = np.einsum("nvi,ni->nv", self.vertices, own).argmax(1)
        scaled = self.radii * own
        size = np.linalg.norm(scaled, axis=1, keepdims=True)
        swept = self.radii * scaled / np.where(size > 0, size, 1.0)
        point = self.vertices[np.arange(len(best)), best] + swept
        point += self.half * np.sign(own)
        return np.einsum("nij,nj->ni", self.R, point) + self.p


class Separation(NamedTuple):
    """How two things stand."""

    distance: float
    """[m]; 0 where they overlap."""
    normal: Float[np.ndarray, "3"]
    """Unit, from the second to the first; zero where they overlap."""


PosedFrame = tuple[Frame, Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]
"""A frame, and its orientation and origin in the world."""


def min_distance(
    a: Sequence[PosedFrame], b: Sequence[PosedFrame], limit: float = np.inf
) -> Separation | None:
    """The gap of the nearest two bodies; None where all are farther than the limit.

    Two half-spaces have none.

    Args:
        a: frames of the first thing.
        b: frames of the second.
        limit: [m]; a finite one ends the search as soon as the gap is known to be no
            wider, so that the distance is then a bound from above.

    Raises:
        ConfigError: for a frame with shapes that cannot be used, see `frame_bodies`.
    """
    (convex_a, planes_a), (convex_b, planes_b) = _world_bodies(a), _world_bodies(b)
    found = [
        *_plane_separations(convex_a, planes_b, 1),
        *_plane_separations(convex_b, planes_a, -1),
        *_hull_separations(convex_a, convex_b, limit),
    ]
    nearest = min(found, key=lambda gap: gap.distance, default=None)
    return None if nearest is None or nearest.distance > limit else nearest


def _world_bodies(frames: Sequence[PosedFrame]) -> tuple[SweptHulls, np.ndarray]:
    """Bounded bodies in the world, and the planes (normal, offset) of half-spaces."""
    found: list[list[np.ndarray]] = []
    planes: list[np.ndarray] = []
    for frame, R, p in frames:
        for group in frame_bodies(frame):
            body: Any = group.body
            zero = np.zeros((len(group), 3))
            turn, place = R @ body.R, body.p @ R.T + p
            vertices: Any = zero[:, None]
            half, radii = zero, zero
            match body.core:
                case collision.HalfSpace():
                    up = turn[:, :, 2]
                    planes += [*np.column_stack([up, (up * place).sum(-1)])]
                    continue
                case collision.Hull():
                    vertices = body.core.vertices
                case core:
                    half, radii = core.half, getattr(core, "radii", zero)
            found.append([vertices, half, radii, body.radius, turn, place])
    if not found:
        found = [[np.zeros(s) for s in _EMPTY_SHAPES]]
    most = max(part[0].shape[1] for part in found)
    for part in found:
        part[0] = part[0][:, np.arange(most) % part[0].shape[1]]
    bodies = SweptHulls(*(np.concatenate(x) for x in zip(*found, strict=True)))
    return bodies, np.array(planes).reshape(-1, 4)


_EMPTY_SHAPES = ((0, 1, 3), (0, 3), (0, 3), (0,), (0, 3, 3), (0, 3))


def _plane_separations(
    bodies: SweptHulls, planes: np.ndarray, side: int
) -> list[Separation]:
    """Gaps of bodies over half-spaces, which are the second thing where side is 1."""
    found = []
    for plane in planes:
        down = np.broadcast_to(-plane[:3], bodies.p.shape)
        height = bodies.support(down) @ plane[:3] - plane[3] - bodies.radius
        found += [
            Separation(float(h), side * plane[:3])
            if h > 0
            else Separation(0.0, np.zeros(3))
            for h in height
        ]
    return found


def _hull_separations(a: SweptHulls, b: SweptHulls, limit: float) -> list[Separation]:
    """The nearest of all pairs, if any may be within the limit."""
    found: list[Separation] = []
    if len(b.p):
        step = max(MAX_PAIRS_PER_CHUNK // len(b.p), 1)
        for first in range(0, len(a.p), step):
            rows = np.arange(first, min(first + step, len(a.p)))
            found += _min_separation(a.rows(rows), b, limit)
    return found


def _min_separation(a: SweptHulls, b: SweptHulls, limit: float) -> list[Separation]:
    lower, upper = _ball_bounds(a, b)
    i, j = np.nonzero(lower <= min(limit, upper.min()) * (1 + 1e-9) + 1e-12)
    if not len(i):
        return []
    a, b = a.rows(i), b.rows(j)
    size = _core_radius(a) + _core_radius(b)
    distance, normal = _gjk(a, b, size, limit)
    distance = distance - a.radius - b.radius
    k = int(distance.argmin())
    if distance[k] <= 0:
        return [Separation(0.0, np.zeros(3))]
    return [Separation(float(distance[k]), normal[k])]


def _core_radius(x: SweptHulls) -> np.ndarray:
    """Radius of a ball about each origin that holds the core."""
    far = np.linalg.norm(x.vertices, axis=-1).max(-1)
    return far + np.linalg.norm(x.half, axis=-1) + x.radii.max(-1)


def _ball_bounds(a: SweptHulls, b: SweptHulls) -> tuple[np.ndarray, np.ndarray]:
    """Distances of all pairs are between these: of balls, and of some of their points.

    A ball holds each body; the mean of its vertices is in it.
    """
    outer = [_core_radius(x) + x.radius for x in (a, b)]
    apart = np.linalg.norm(a.p[:, None] - b.p, axis=-1)
    middle = lambda x: x.p + np.einsum("nij,nj->ni", x.R, x.vertices.mean(1))
    inner = [middle(x) for x in (a, b)]
    upper = np.linalg.norm(inner[0][:, None] - inner[1], axis=-1)
    return np.maximum(apart - outer[0][:, None] - outer[1], 0), upper


def _gjk(
    a: SweptHulls, b: SweptHulls, size: np.ndarray, limit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Distances of cores (n,), and directions from b to a (n, 3).

    Pairs that are surely farther than the limit keep what was found so far.
    """
    v = a.p - b.p
    v = np.where(v.any(-1, keepdims=True), v, [1.0, 0, 0])
    simplex = np.repeat((a.support(-v) - b.support(v))[:, None], 4, 1)
    v, weights = simplex[:, 0].copy(), np.tile([1.0, 0, 0, 0], (len(v), 1))
    distance = np.linalg.norm(v, axis=-1)
    todo = np.flatnonzero(distance > 0)
    enough = a.radius + b.radius + (limit if limit < np.inf else 0.0)
    for _ in range(MAX_ITERATIONS):
        here, far = v[todo], distance[todo]
        w = a.rows(todo).support(-here) - b.rows(todo).support(here)
        lower = (here * w).sum(-1) / far
        known = (far - lower <= RELATIVE_TOLERANCE * size[todo]) | (far <= enough[todo])
        on = ~known & ((lower <= enough[todo]) | (limit == np.inf))
        todo, w, far = todo[on], w[on], far[on]
        if not len(todo):
            break
        free = weights[todo].argmin(-1)
        simplex[todo, free] = w
        new, new_weights = _nearest_to_origin(simplex[todo])
        length = np.linalg.norm(new, axis=-1)
        nearer = length < far
        moved = todo[nearer]
        v[moved], weights[moved] = new[nearer], new_weights[nearer]
        distance[moved] = length[nearer]
        todo = moved[distance[moved] > RELATIVE_TOLERANCE * size[moved]]
    overlap = distance <= RELATIVE_TOLERANCE * size
    scale = np.where(overlap, 1.0, distance)
    return np.where(overlap, 0.0, distance), v / scale[:, None]


def _nearest_to_origin(
    simplex: Float[np.ndarray, "n 4 3"],
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 4"]]:
    """The point next to the origin in hulls of four points, and its weights.

    The best of six edges, four faces that the origin projects onto, and the inside.
    """
    n = len(simplex)
    weights = np.zeros((n, 11, 4))
    valid = np.ones((n, 11), bool)
    start, end = simplex[:, SIMPLEX_EDGES[:, 0]], simplex[:, SIMPLEX_EDGES[:, 1]]
    edge = end - start
    square = (edge**2).sum(-1)
    t = -(start * edge).sum(-1) / np.where(square > 0, square, 1.0)
    t = np.clip(t, 0, 1)
    edges = np.arange(6)
    weights[:, edges, SIMPLEX_EDGES[:, 0]], weights[:, edges, SIMPLEX_EDGES[:, 1]] = (
        1 - t,
        t,
    )

    corner, *others = (simplex[:, SIMPLEX_FACES[:, k]] for k in range(3))
    e, f = (x - corner for x in others)
    ee, ef, ff = ((x * y).sum(-1) for x, y in ((e, e), (e, f), (f, f)))
    ce, cf = -(corner * e).sum(-1), -(corner * f).sum(-1)
    area = ee * ff - ef**2
    thin = area <= 1e-14 * ee * ff
    area = np.where(thin, 1.0, area)
    u, s = (ce * ff - cf * ef) / area, (cf * ee - ce * ef) / area
    valid[:, 6:10] = ~thin & (u >= 0) & (s >= 0) & (u + s <= 1)
    faces = np.arange(6, 10)
    for column, amount in enumerate((1 - u - s, u, s)):
        weights[:, faces, SIMPLEX_FACES[:, column]] = amount

    sides = simplex[:, 1:] - simplex[:, :1]
    volume = np.linalg.det(sides)
    full = np.abs(volume) > 1e-14 * np.linalg.norm(sides, axis=-1).prod(-1)
    sides = np.where(full[:, None, None], sides, np.eye(3))
    inner = -np.linalg.solve(sides.swapaxes(1, 2), simplex[:, 0, :, None])[..., 0]
    weights[:, 10] = np.column_stack([1 - inner.sum(-1), inner])
    valid[:, 10] = full & (weights[:, 10] >= 0).all(-1)

    points = weights @ simplex
    length = np.where(valid, np.linalg.norm(points, axis=-1), np.inf)
    best = length.argmin(-1)
    rows = np.arange(n)
    return points[rows, best], weights[rows, best]

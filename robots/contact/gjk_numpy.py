"""Distances of convex bodies by GJK in NumPy, float64, without any compilation.

The simplex algorithm of Gilbert, Johnson and Keerthi ("A fast procedure for computing
the distance between complex objects in three-dimensional space", 1988) runs for many
pairs at once. Overlapping bodies have distance 0 here; `proximity` measures their
penetration depth.

`posewise.collision` has the same algorithm in JAX. This one exists because the exact
side of predicates may neither compile nor share code with what it checks.
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
"""Maximum number of support evaluations (count); polytopes need about 10, curved bodies
30. More make distances of curved bodies more accurate."""
RELATIVE_TOLERANCE = 1e-11
"""Largest uncertainty of a distance, as a fraction of the bodies' size; a larger one
ends the search earlier."""
MAX_PAIRS_PER_CHUNK = 1_000_000
"""Maximum number of body pairs in one batch (count); more need more memory."""
SIMPLEX_EDGES = np.array(list(combinations(range(4), 2)))
SIMPLEX_FACES = np.array(list(combinations(range(4), 3)))


@dataclass(frozen=True, eq=False)
class SweptHulls:
    """Bounded bodies: hulls of vertices, plus a box, an ellipsoid and a ball.

    The sum is Minkowski's; every shape but a half-space has this form.
    """

    vertices: Float[np.ndarray, "n V 3"]
    half: Float[np.ndarray, "n 3"]
    radii: Float[np.ndarray, "n 3"]
    radius: Float[np.ndarray, " n"]
    R: Float[np.ndarray, "n 3 3"]
    p: Float[np.ndarray, "n 3"]

    def rows(self, indices: Int[np.ndarray, " m"]) -> "SweptHulls":
        """Return the bodies of some indices."""
        return SweptHulls(*(getattr(self, f.name)[indices] for f in fields(self)))

    def support(self, d: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        """Return the point of each core that is farthest along d, in the world.

        The support point of a Minkowski sum is the sum of the support points.
        """
        local = np.einsum("nji,nj->ni", self.R, d)
        best = np.einsum("nvi,ni->nv", self.vertices, local).argmax(1)
        # Support point of an ellipsoid with radii r: r² d / |r d|.
        scaled = self.radii * local
        length = np.linalg.norm(scaled, axis=1, keepdims=True)
        ellipsoid = self.radii * scaled / np.where(length > 0, length, 1.0)
        point = self.vertices[np.arange(len(best)), best] + ellipsoid
        point += self.half * np.sign(local)
        return np.einsum("nij,nj->ni", self.R, point) + self.p


class Separation(NamedTuple):
    """Distance and direction between two sets of bodies."""

    distance: float
    """[m]; 0 where the bodies overlap."""
    normal: Float[np.ndarray, "3"]
    """Unit vector from the second to the first; zero where the bodies overlap."""


PosedFrame = tuple[Frame, Float[np.ndarray, "3 3"], Float[np.ndarray, "3"]]
"""A frame, its orientation and its origin in the world."""


def min_distance(
    a: Sequence[PosedFrame], b: Sequence[PosedFrame], limit: float = np.inf
) -> Separation | None:
    """Return the separation of the nearest two bodies of two sets of frames.

    Pairs of half-spaces are left out.

    Args:
        a: the first set.
        b: the second set.
        limit: [m]; a finite one ends the search as soon as the distance is known to be
            at most this, so that the result is then an upper bound.

    Returns:
        None when all bodies are farther apart than the limit.

    Raises:
        ConfigError: for a frame with shapes that cannot be used, see `frame_bodies`.
    """
    (hulls_a, planes_a), (hulls_b, planes_b) = bodies_in_frame(a), bodies_in_frame(b)
    separations = [
        *_plane_separations(hulls_a, planes_b, 1),
        *_plane_separations(hulls_b, planes_a, -1),
        *_hull_separations(hulls_a, hulls_b, limit),
    ]
    nearest = min(separations, key=lambda s: s.distance, default=None)
    return None if nearest is None or nearest.distance > limit else nearest


def bodies_in_frame(frames: Sequence[PosedFrame]) -> tuple[SweptHulls, np.ndarray]:
    """Return bounded bodies, and planes (normal, offset) of half-spaces.

    Both are in the frame in which the poses are given.
    """
    parts: list[list[np.ndarray]] = []
    planes: list[np.ndarray] = []
    for frame, R, p in frames:
        for group in frame_bodies(frame):
            body: Any = group.body
            zero = np.zeros((len(group), 3))
            R_body, p_body = R @ body.R, body.p @ R.T + p
            vertices: Any = zero[:, None]
            half, radii = zero, zero
            match body.core:
                case collision.HalfSpace():
                    normal = R_body[:, :, 2]
                    offset = (normal * p_body).sum(-1)
                    planes += [*np.column_stack([normal, offset])]
                    continue
                case collision.Hull():
                    vertices = body.core.vertices
                case core:
                    half, radii = core.half, getattr(core, "radii", zero)
            parts.append([vertices, half, radii, body.radius, R_body, p_body])
    if not parts:
        parts = [[np.zeros(shape) for shape in _EMPTY_SHAPES]]
    # Repeated vertices do not change a hull, so that all hulls get equally many.
    count = max(part[0].shape[1] for part in parts)
    for part in parts:
        part[0] = part[0][:, np.arange(count) % part[0].shape[1]]
    bodies = SweptHulls(*(np.concatenate(x) for x in zip(*parts, strict=True)))
    return bodies, np.array(planes).reshape(-1, 4)


_EMPTY_SHAPES = ((0, 1, 3), (0, 3), (0, 3), (0,), (0, 3, 3), (0, 3))


def _plane_separations(
    bodies: SweptHulls, planes: np.ndarray, sign: int
) -> list[Separation]:
    """Return the separations of bodies from half-spaces.

    Args:
        bodies: bounded bodies.
        planes: normals and offsets (n, 4) of the half-spaces.
        sign: 1 where the half-spaces are the second set, -1 where they are the first.
    """
    separations = []
    for plane in planes:
        for height in heights_above(bodies, plane):
            overlaps = height <= 0
            normal = np.zeros(3) if overlaps else sign * plane[:3]
            separations.append(Separation(max(float(height), 0.0), normal))
    return separations


def heights_above(
    bodies: SweptHulls, plane: Float[np.ndarray, "4"]
) -> Float[np.ndarray, " n"]:
    """Return how far bodies are outside of a half-space, from its normal and offset."""
    downwards = np.broadcast_to(-plane[:3], bodies.p.shape)
    return bodies.support(downwards) @ plane[:3] - plane[3] - bodies.radius


def _hull_separations(a: SweptHulls, b: SweptHulls, limit: float) -> list[Separation]:
    """Return the least separation of each chunk of pairs that may be in the limit."""
    separations: list[Separation] = []
    if len(b.p):
        step = max(MAX_PAIRS_PER_CHUNK // len(b.p), 1)
        for first in range(0, len(a.p), step):
            rows = np.arange(first, min(first + step, len(a.p)))
            separations += _min_separation(a.rows(rows), b, limit)
    return separations


def _min_separation(a: SweptHulls, b: SweptHulls, limit: float) -> list[Separation]:
    lower, upper = ball_bounds(a, b)
    # No pair whose lower bound exceeds another pair's upper bound can be the nearest.
    i, j = np.nonzero(lower <= min(limit, upper.min()) * (1 + 1e-9) + 1e-12)
    if not len(i):
        return []
    distance, normal = hull_distances(a.rows(i), b.rows(j), limit)
    k = int(distance.argmin())
    if distance[k] <= 0:
        return [Separation(0.0, np.zeros(3))]
    return [Separation(float(distance[k]), normal[k])]


def hull_distances(
    a: SweptHulls, b: SweptHulls, limit: float = np.inf
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 3"]]:
    """Return distances of bounded bodies, row by row, and directions from b to a.

    Distances are 0 or less where bodies overlap, of no meaning otherwise; with a finite
    limit, those of pairs that are surely nearer or farther are upper bounds.
    """
    size = _core_radius(a) + _core_radius(b)
    distance, normal = _gjk(a, b, size, limit)
    return distance - a.radius - b.radius, normal


def _core_radius(bodies: SweptHulls) -> np.ndarray:
    """Return the radius of a ball about each origin that contains the core."""
    farthest = np.linalg.norm(bodies.vertices, axis=-1).max(-1)
    return farthest + np.linalg.norm(bodies.half, axis=-1) + bodies.radii.max(-1)


def ball_bounds(
    a: SweptHulls, b: SweptHulls
) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, "n m"]]:
    """Return lower and upper bounds of the distances of all pairs.

    Each body lies in a ball about its origin, and contains the mean of its vertices.
    """
    outer = [_core_radius(bodies) + bodies.radius for bodies in (a, b)]
    centers = np.linalg.norm(a.p[:, None] - b.p, axis=-1)
    inner = [
        bodies.p + np.einsum("nij,nj->ni", bodies.R, bodies.vertices.mean(1))
        for bodies in (a, b)
    ]
    upper = np.linalg.norm(inner[0][:, None] - inner[1], axis=-1)
    return np.maximum(centers - outer[0][:, None] - outer[1], 0), upper


def _gjk(
    a: SweptHulls, b: SweptHulls, size: np.ndarray, limit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances of cores (n,), and directions from b to a (n, 3).

    The search ends early for pairs that are surely nearer or farther than the limit;
    their distances are then upper bounds.
    """
    v = a.p - b.p
    v = np.where(v.any(-1, keepdims=True), v, [1.0, 0, 0])
    simplex = np.repeat((a.support(-v) - b.support(v))[:, None], 4, 1)
    v, weights = simplex[:, 0].copy(), np.tile([1.0, 0, 0, 0], (len(v), 1))
    distance = np.linalg.norm(v, axis=-1)
    active = np.flatnonzero(distance > 0)
    core_limit = a.radius + b.radius + (limit if limit < np.inf else 0.0)
    for _ in range(MAX_ITERATIONS):
        direction, length = v[active], distance[active]
        w = a.rows(active).support(-direction) - b.rows(active).support(direction)
        # The plane through w, normal to v, separates A - B from the origin, so that
        # v·w / |v| bounds the distance from below.
        lower = (direction * w).sum(-1) / length
        converged = length - lower <= RELATIVE_TOLERANCE * size[active]
        converged |= length <= core_limit[active]
        beyond = (lower > core_limit[active]) & (limit < np.inf)
        running = ~converged & ~beyond
        active, w, length = active[running], w[running], length[running]
        if not len(active):
            break
        # A vertex of weight 0 is not needed for the nearest point.
        unused = weights[active].argmin(-1)
        simplex[active, unused] = w
        new_v, new_weights = _nearest_to_origin(simplex[active])
        new_length = np.linalg.norm(new_v, axis=-1)
        # In exact arithmetic the distance always falls; where rounding prevents that,
        # the last one is final.
        nearer = new_length < length
        moved = active[nearer]
        v[moved], weights[moved] = new_v[nearer], new_weights[nearer]
        distance[moved] = new_length[nearer]
        active = moved[distance[moved] > RELATIVE_TOLERANCE * size[moved]]
    overlaps = distance <= RELATIVE_TOLERANCE * size
    scale = np.where(overlaps, 1.0, distance)
    return np.where(overlaps, 0.0, distance), v / scale[:, None]


def _nearest_to_origin(
    simplex: Float[np.ndarray, "n 4 3"],
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 4"]]:
    """Return the point of hulls of four points next to the origin, and its weights.

    It is the best of the nearest points of six edges, of four faces (where the origin
    projects onto them), and the origin itself where it is inside.
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
    weights[:, edges, SIMPLEX_EDGES[:, 0]] = 1 - t
    weights[:, edges, SIMPLEX_EDGES[:, 1]] = t

    # The nearest point corner + u e + s f of a face's plane solves the normal equations
    # of a 2 × 2 least-squares problem.
    corner, *others = (simplex[:, SIMPLEX_FACES[:, k]] for k in range(3))
    e, f = (x - corner for x in others)
    ee, ef, ff = ((x * y).sum(-1) for x, y in ((e, e), (e, f), (f, f)))
    ce, cf = -(corner * e).sum(-1), -(corner * f).sum(-1)
    determinant = ee * ff - ef**2
    degenerate = determinant <= 1e-14 * ee * ff
    determinant = np.where(degenerate, 1.0, determinant)
    u, s = (ce * ff - cf * ef) / determinant, (cf * ee - ce * ef) / determinant
    valid[:, 6:10] = ~degenerate & (u >= 0) & (s >= 0) & (u + s <= 1)
    faces = np.arange(6, 10)
    for column, weight in enumerate((1 - u - s, u, s)):
        weights[:, faces, SIMPLEX_FACES[:, column]] = weight

    # Barycentric coordinates of the origin in the tetrahedron.
    sides = simplex[:, 1:] - simplex[:, :1]
    volume = np.linalg.det(sides)
    is_solid = np.abs(volume) > 1e-14 * np.linalg.norm(sides, axis=-1).prod(-1)
    sides = np.where(is_solid[:, None, None], sides, np.eye(3))
    inner = -np.linalg.solve(sides.swapaxes(1, 2), simplex[:, 0, :, None])[..., 0]
    weights[:, 10] = np.column_stack([1 - inner.sum(-1), inner])
    valid[:, 10] = is_solid & (weights[:, 10] >= 0).all(-1)

    points = weights @ simplex
    length = np.where(valid, np.linalg.norm(points, axis=-1), np.inf)
    best = length.argmin(-1)
    rows = np.arange(n)
    return points[rows, best], weights[rows, best]

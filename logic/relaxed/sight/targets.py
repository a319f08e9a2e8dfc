"""Points in the convex parts of frames at which rays aim, and the parts as they see.

Rays are tested against an ellipsoid and a polyhedron inside of each part: the ellipsoid
is exact for round parts, the polyhedron for boxes and hulls of few vertices.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from posewise import collision
from posewise.compilation.capacity import Capacity, capacity_at_hand, capacity_class
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.geometry.hulls import hull_planes, volume_and_centroid
from posewise.robots.world.frame import Frame

MAX_TARGETS = 16
"""Maximum number of targets of an object (count).

Centres of the largest parts come first, then points towards their vertices. More make
the row less conservative and slower.
"""
TARGETS_PER_PART = 9
"""Number of targets in a part at most; with more of them parts that are nearly hidden
are seen more often, and rows take longer."""
VERTEX_FRACTION = 0.8
"""Distance of the other targets from the centre, as a fraction of that of a vertex;
with a larger one they are nearer to the outline."""
MIN_SEMI_AXIS = 1e-4
"""Parts whose ellipsoid has a shorter semi-axis are left out [m]."""
MAX_VERTICES = 32
"""Number of vertices of a polyhedron in a hull at most; with more of them the
polyhedron fills the hull more, and rays are tested longer."""
RIM_VERTICES = 16
"""Number of vertices on a circular rim; with more of them the polyhedron fills a round
body more, and rays are tested longer."""
MIN_FACES = 128
"""Least number of faces that programs are compiled for (count). Larger values compile
fewer programs and compute more unused faces."""
DIRECTIONS = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
"""The 26 directions to the faces, edges and corners of a cube."""


class SightTarget(NamedTuple):
    """A point in a convex part, in the part's frame; or several of them, as arrays."""

    point: np.ndarray
    """The point at which rays aim (3,)."""
    axes: np.ndarray
    """Axes of an ellipsoid inside of the part as rows (3, 3)."""
    centre: np.ndarray
    """Its centre (3,)."""
    semi_axes: np.ndarray
    """Half of its size along the axes (3,)."""
    box_centre: np.ndarray
    """Centre of a box along the axes that contains the part (3,)."""
    box_half: np.ndarray
    """Half of the size of that box (3,)."""
    planes: np.ndarray
    """Planes n·x <= d of a polyhedron inside of the part (faces, 4)."""


def sight_targets(
    frames: Sequence[Frame],
) -> tuple[Int[np.ndarray, " n"], SightTarget] | None:
    """Return targets in the parts of frames.

    Copies of the first target follow them, and of the first face of each polyhedron,
    up to classes of capacity.

    Returns:
        Positions of their frames, and the targets; None when all parts are planes or
        too thin.
    """
    parts = [
        (i, targets)
        for i, frame in enumerate(frames)
        for group in frame_bodies(frame)
        if group.kind[0] is not collision.HalfSpace
        for targets in _in_bodies(group.body)
        if targets[0].semi_axes.min() >= MIN_SEMI_AXIS
    ]
    if not parts:
        return None
    parts.sort(key=lambda entry: -float(entry[1][0].semi_axes.prod()))
    # The centres of all parts, then the next point of each of them, and so on.
    rounds = [
        (i, targets[k])
        for k in range(TARGETS_PER_PART)
        for i, targets in parts
        if k < len(targets)
    ][:MAX_TARGETS]
    faces = max(len(target.planes) for _, target in rounds)
    classes = capacity_class(len(rounds), 1), capacity_class(faces, MIN_FACES)
    need = Capacity(frozenset(), classes)
    count, faces = capacity_at_hand("sight targets", need).counts
    rounds += rounds[:1] * (count - len(rounds))
    padded = [t._replace(planes=_padded(t.planes, faces)) for _, t in rounds]
    columns = zip(*padded, strict=True)
    return np.array([i for i, _ in rounds]), SightTarget(*map(np.array, columns))


def _padded(planes: np.ndarray, count: int) -> np.ndarray:
    """Return planes, of which the first is repeated."""
    return np.concatenate([planes, np.repeat(planes[:1], count - len(planes), 0)])


def _in_bodies(body: Any) -> list[list[SightTarget]]:
    """Return the targets in each body of a batch, its centre first."""
    return [
        _in_body(type(body.core)(*(np.asarray(x[k]) for x in body.core)), *pose)
        for k, pose in enumerate(zip(body.radius, body.R, body.p, strict=True))
    ]


def _in_body(
    core: Any, radius: float, R: np.ndarray, p: np.ndarray
) -> list[SightTarget]:
    """Return the targets in a body."""
    vertices = _inner_vertices(core, radius)
    if isinstance(core, collision.Hull):
        centre, axes, semi_axes, box_centre, box_half = _in_hull(
            np.asarray(core.vertices), radius
        )
    else:
        half = np.asarray(core.half)
        radii = np.asarray(getattr(core, "radii", np.zeros_like(half)))
        # The body is the Minkowski sum of a box, an ellipsoid and a ball. The sum of
        # ellipsoids along the same axes contains the ellipsoid of the summed semi-axes,
        # since |diag(a) d| + |diag(b) d| >= |diag(a + b) d| for support functions.
        semi_axes, axes = half + radii + radius, np.eye(3)
        centre, box_centre, box_half = np.zeros(3), np.zeros(3), semi_axes
    planes = hull_planes(vertices)
    if semi_axes.min() < MIN_SEMI_AXIS or not len(planes):
        vertices, planes = centre[None], np.array([[0.0, 0, 0, -1]])
    normals = planes[:, :3] @ R.T
    planes = np.column_stack([normals, planes[:, 3] + normals @ p])
    towards = centre + VERTEX_FRACTION * (_spread(vertices) - centre)
    central = SightTarget(
        p + R @ centre,
        axes @ R.T,
        p + R @ centre,
        semi_axes,
        p + R @ box_centre,
        box_half,
        planes,
    )
    return [central, *(central._replace(point=p + R @ x) for x in towards)]


def _inner_vertices(core: Any, radius: float) -> Float[np.ndarray, "n 3"]:
    """Return points of a body, in its own frame, that span most of it."""
    ball = radius * DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
    match core:
        case collision.Hull(vertices):
            corners = np.asarray(vertices)
            if len(corners) > MAX_VERTICES:
                middle = corners.mean(0)
                far = np.argmax((corners - middle) @ _sphere_points(MAX_VERTICES).T, 0)
                corners = corners[np.unique(far)]
        case collision.BoxPlusEllipsoid(half, radii):
            angle = 2 * np.pi * np.arange(RIM_VERTICES) / RIM_VERTICES
            rim = np.stack([np.cos(angle), np.sin(angle), 0 * angle], -1)
            round_ = rim if radii[2] == 0 else _sphere_points(MAX_VERTICES)
            corners = _sums(
                np.array([*product((-1.0, 1.0), repeat=3)]) * half, round_ * radii
            )
        case _:
            corners = np.array([*product((-1.0, 1.0), repeat=3)]) * core.half
    corners = np.unique(corners, axis=0)
    return _sums(corners, ball) if radius > 0 else corners


def _sums(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a[:, None] + b).reshape(-1, 3)


def _sphere_points(count: int) -> Float[np.ndarray, "n 3"]:
    """Return points spread evenly over the unit sphere (a Fibonacci lattice)."""
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    wide = np.sqrt(1 - z * z)
    return np.stack([wide * np.cos(turn), wide * np.sin(turn), z], -1)


def _spread(points: np.ndarray) -> np.ndarray:
    """Return up to eight points that are far from each other."""
    chosen = [int(np.argmax(np.linalg.norm(points - points.mean(0), axis=1)))]
    while len(chosen) < min(len(points), TARGETS_PER_PART - 1):
        gaps = np.linalg.norm(points[:, None] - points[chosen], axis=-1).min(1)
        chosen.append(int(gaps.argmax()))
    return points[chosen]


def _in_hull(vertices: np.ndarray, radius: float) -> tuple[np.ndarray, ...]:
    """Return an ellipsoid with the proportions of the hull along its principal axes.

    Returns:
        Its centre, axes and semi-axes, and centre and half size of the hull's box.
    """
    _, centre = volume_and_centroid(vertices)
    # Right singular vectors are the principal axes of the vertices, as rows.
    _, _, axes = np.linalg.svd(vertices - centre)
    along = (vertices - centre) @ axes.T
    low, high = along.min(0), along.max(0)
    half = (high - low) / 2
    # The ellipsoid s·half stays inside of the plane n·x <= d if
    # s |diag(half) axes n| <= d - n·centre.
    planes = hull_planes(vertices)
    slack = planes[:, 3] - planes[:, :3] @ centre
    reach = np.linalg.norm(planes[:, :3] @ axes.T * half, axis=-1)
    share = np.min(slack / np.maximum(reach, 1e-300), initial=1.0) if len(planes) else 0
    semi_axes = max(share, 0.0) * half + radius
    box_centre = centre + axes.T @ ((low + high) / 2)
    return centre, axes, semi_axes, box_centre, half + radius

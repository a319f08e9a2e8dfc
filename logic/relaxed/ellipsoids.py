"""Ellipsoids inside the convex parts of frames, which are visible where parts are."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from posewise import collision
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.geometry.hulls import hull_planes, volume_and_centroid
from posewise.robots.world.frame import Frame

MAX_ELLIPSOIDS = 12
"""Maximum number of ellipsoids of an object (count).

Those of the largest parts come first, then their halves. More make the row less
conservative and slower.
"""
MIN_SEMI_AXIS = 1e-4
"""Ellipsoids with a shorter semi-axis are left out [m]."""


class Ellipsoid(NamedTuple):
    """An ellipsoid inside of a convex part; or several of them, as arrays."""

    axes: np.ndarray
    """Its axes as rows, in the frame (3, 3)."""
    centre: np.ndarray
    """Its centre in the frame (3,)."""
    semi_axes: np.ndarray
    """Half of its size along the axes (3,)."""
    box_centre: np.ndarray
    """Centre of a box along the axes that contains the part, in the frame (3,)."""
    box_half: np.ndarray
    """Half of the size of that box (3,)."""


NO_ELLIPSOIDS = Ellipsoid(np.zeros((0, 3, 3)), *np.zeros((4, 0, 3)))


def inner_ellipsoids(
    frames: Sequence[Frame],
) -> tuple[Int[np.ndarray, " n"], Ellipsoid]:
    """Return ellipsoids inside parts: one per part, and four of half its size in it.

    Returns:
        Positions of their frames, and the ellipsoids; none when all parts are planes or
        too thin.
    """
    whole = [
        (i, ellipsoid)
        for i, frame in enumerate(frames)
        for group in frame_bodies(frame)
        if group.kind[0] is not collision.HalfSpace
        for ellipsoid in _in_bodies(group.body)
        if ellipsoid.semi_axes.min() >= MIN_SEMI_AXIS
    ]
    whole.sort(key=lambda entry: -float(entry[1].semi_axes.prod()))
    halves = [(i, half) for i, ellipsoid in whole for half in _halves(ellipsoid)]
    entries = (whole + halves)[:MAX_ELLIPSOIDS]
    columns = zip(*(ellipsoid for _, ellipsoid in entries), strict=True)
    stacked = Ellipsoid(*map(np.array, columns)) if entries else NO_ELLIPSOIDS
    return np.array([i for i, _ in entries], int), stacked


def _in_bodies(body: Any) -> list[Ellipsoid]:
    """Return an ellipsoid inside of each body of a batch."""
    if isinstance(body.core, collision.Hull):
        hulls = zip(body.core.vertices, body.radius, body.R, body.p, strict=True)
        return [_in_hull(*hull) for hull in hulls]
    half = np.asarray(body.core.half)
    radii = np.asarray(getattr(body.core, "radii", np.zeros_like(half)))
    # The body is the Minkowski sum of a box, an ellipsoid and a ball. The sum of
    # ellipsoids along the same axes contains the ellipsoid of the summed semi-axes,
    # since |diag(a) d| + |diag(b) d| >= |diag(a + b) d| for support functions.
    semi_axes = half + radii + np.asarray(body.radius)[:, None]
    axes, centre = np.swapaxes(np.asarray(body.R), -1, -2), np.asarray(body.p)
    columns = zip(axes, centre, semi_axes, centre, semi_axes, strict=True)
    return [Ellipsoid(*column) for column in columns]


def _in_hull(
    vertices: np.ndarray, radius: float, R: np.ndarray, p: np.ndarray
) -> Ellipsoid:
    """Return an ellipsoid with the proportions of the hull along its principal axes."""
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
    box_centre = R @ (centre + axes.T @ ((low + high) / 2)) + p
    return Ellipsoid(axes @ R.T, R @ centre + p, semi_axes, box_centre, half + radius)


def _halves(ellipsoid: Ellipsoid) -> Iterator[Ellipsoid]:
    """Yield ellipsoids of half the size, on both sides along the two longer axes."""
    semi_axes = ellipsoid.semi_axes
    # The half ellipsoid, moved by half a semi-axis, stays inside by convexity: it is
    # midway between the ellipsoid and a point on its surface.
    for k in np.argsort(semi_axes)[:0:-1]:
        for sign in (-0.5, 0.5):
            centre = ellipsoid.centre + sign * semi_axes[k] * ellipsoid.axes[k]
            yield ellipsoid._replace(centre=centre, semi_axes=0.5 * semi_axes)

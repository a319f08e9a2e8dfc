"""Ellipsoids within the convex parts of frames: what shows where a part is met."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from posewise import collision
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.geometry.hulls import hull_planes, volume_and_centroid
from posewise.robots.world.frame import Frame

MAX_ELLIPSOIDS = 12
"""So many are looked at: of the largest parts the whole ones, then the halves."""
MIN_SEMI_AXIS = 1e-4
"""Parts with an ellipsoid thinner than this are left out [m]."""


class Ellipsoid(NamedTuple):
    """In a part; or many of them, as arrays."""

    axes: np.ndarray
    """Rows are its axes, in the frame (3, 3)."""
    centre: np.ndarray
    """In the frame (3,)."""
    semi: np.ndarray
    """Half its size along the axes (3,)."""
    middle: np.ndarray
    """Of a box along the axes that holds the part, in the frame (3,)."""
    half: np.ndarray
    """Half the size of that box (3,)."""


def inner_ellipsoids(
    frames: Sequence[Frame],
) -> tuple[Int[np.ndarray, " n"], Ellipsoid]:
    """Ellipsoids in the parts of frames: each part's, and four of half its size in it.

    Returns:
        Places of their frames, and the ellipsoids; none where all parts are too thin,
        or planes.
    """
    found = [
        (i, one)
        for i, frame in enumerate(frames)
        for group in frame_bodies(frame)
        if group.kind[0] is not collision.HalfSpace
        for one in _of_group(group.body)
        if one.semi.min() >= MIN_SEMI_AXIS
    ]
    found.sort(key=lambda each: -float(each[1].semi.prod()))
    halves = [(i, half) for i, one in found for half in _halves(one)]
    every = (found + halves)[:MAX_ELLIPSOIDS]
    columns = zip(*(one for _, one in every), strict=True)
    many = Ellipsoid(*map(np.array, columns)) if every else NO_ELLIPSOIDS
    return np.array([i for i, _ in every], int), many


NO_ELLIPSOIDS = Ellipsoid(np.zeros((0, 3, 3)), *np.zeros((4, 0, 3)))


def _of_group(body: Any) -> list[Ellipsoid]:
    if isinstance(body.core, collision.Hull):
        each = zip(body.core.vertices, body.radius, body.R, body.p, strict=True)
        return [_in_hull(*one) for one in each]
    half = np.asarray(body.core.half)
    radii = np.asarray(getattr(body.core, "radii", np.zeros_like(half)))
    # sums of ellipsoids along the same axes hold that of the summed half axes
    semi = half + radii + np.asarray(body.radius)[:, None]
    axes, place = np.swapaxes(np.asarray(body.R), -1, -2), np.asarray(body.p)
    return [Ellipsoid(*x) for x in zip(axes, place, semi, place, semi, strict=True)]


def _in_hull(
    vertices: np.ndarray, radius: float, R: np.ndarray, p: np.ndarray
) -> Ellipsoid:
    """As high, wide and deep, in proportion, as the hull along its principal axes."""
    _, centre = volume_and_centroid(vertices)
    _, _, axes = np.linalg.svd(vertices - centre)
    along = (vertices - centre) @ axes.T
    low, high = along.min(0), along.max(0)
    half = (high - low) / 2
    planes = hull_planes(vertices)
    room = planes[:, 3] - planes[:, :3] @ centre
    reach = np.linalg.norm(planes[:, :3] @ axes.T * half, axis=-1)
    share = np.min(room / np.maximum(reach, 1e-300), initial=1.0) if len(planes) else 0
    semi = max(share, 0.0) * half + radius
    middle = R @ (centre + axes.T @ ((low + high) / 2)) + p
    return Ellipsoid(axes @ R.T, R @ centre + p, semi, middle, half + radius)


def _halves(one: Ellipsoid) -> Iterator[Ellipsoid]:
    """Of half the size, on both sides of the centre along the two longer axes."""
    for k in np.argsort(one.semi)[:0:-1]:
        for sign in (-0.5, 0.5):
            moved = one.centre + sign * one.semi[k] * one.axes[k]
            yield one._replace(centre=moved, semi=0.5 * one.semi)

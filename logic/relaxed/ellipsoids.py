"""Ellipsoids within the convex parts of frames: what shows where a part is met."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from posewise import collision

from ...robots.bodies import frame_bodies
from ...robots.frame import Frame
from ...robots.hulls import hull_planes, volume_and_centre

MOST = 12
"""So many are looked at: of the largest parts the whole ones, then the halves."""
THIN = 1e-4
"""Parts with an ellipsoid thinner than this are left out [m]."""


def within_parts(frames: Sequence[Frame]) -> dict[str, np.ndarray]:
    """Ellipsoids in the parts of frames: each part's, and four of half its size in it.

    Returns:
        at (n,): places of their frames; axes (n, 3, 3): rows are theirs in the frames;
        centre and semi (n, 3): in the frames, and along the axes; middle and half
        (n, 3): of a box along the axes that holds the part. No entry where all parts
        are too thin, or planes.
    """
    found = [
        (i, *one)
        for i, frame in enumerate(frames)
        for group in frame_bodies(frame)
        if group.kind[0] is not collision.HalfSpace
        for one in _of_group(group.body)
    ]
    whole = [one for one in found if one[3].min() >= THIN]
    whole.sort(key=lambda one: -one[3].prod())
    every = (whole + [half for one in whole for half in _halves(*one)])[:MOST]
    names = ("at", "axes", "centre", "semi", "middle", "half")
    columns = zip(*every, strict=True) if every else [()] * len(names)
    return {k: np.array(x) for k, x in zip(names, columns, strict=True)}


def _of_group(body: Any) -> list[tuple[np.ndarray, ...]]:
    """Axes, centre and half axes of the ellipsoid in each body, and its box."""
    if isinstance(body.core, collision.Hull):
        each = zip(body.core.vertices, body.radius, body.R, body.p, strict=True)
        return [_in_hull(*one) for one in each]
    half = np.asarray(body.core.half)
    radii = np.asarray(getattr(body.core, "radii", np.zeros_like(half)))
    # sums of ellipsoids along the same axes hold that of the summed half axes
    semi = half + radii + np.asarray(body.radius)[:, None]
    axes = np.swapaxes(np.asarray(body.R), -1, -2)
    place = np.asarray(body.p)
    return list(zip(axes, place, semi, place, semi, strict=True))


def _in_hull(
    vertices: np.ndarray, radius: float, R: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, ...]:
    """As high, wide and deep, in proportion, as the hull along its principal axes."""
    _, centre = volume_and_centre(vertices)
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
    return axes @ R.T, R @ centre + p, semi, middle, half + radius


def _halves(i: int, axes: Any, centre: Any, semi: Any, middle: Any, half: Any) -> Any:
    """Of half the size, on both sides of the centre along the two longer axes."""
    for k in np.argsort(semi)[:0:-1]:
        for sign in (-0.5, 0.5):
            moved = centre + sign * semi[k] * axes[k]
            yield i, axes, moved, 0.5 * semi, middle, half

"""Exact bounding boxes and volumes of the convex bodies of a frame."""

from functools import cache, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise import collision

from ..geometry.hulls import cube_directions, volume_and_centroid
from ..world.frame import Frame
from .bodies import Bodies, frame_bodies

LEVEL_TOLERANCE = 1e-9
"""Inclination up to which a half-space counts as axis-aligned [rad]; beyond it, its box
is the whole space."""


def body_boxes(
    frame: Frame, R: Float[np.ndarray, "3 3"], p: Float[np.ndarray, "3"]
) -> tuple[Float[np.ndarray, "bodies 3"], Float[np.ndarray, "bodies 3"]]:
    """Return the corners of the tight axis-aligned boxes about a frame's bodies.

    Bodies are in the order of `frame_bodies`; half-spaces reach to infinity.

    Args:
        frame: The frame; only collision shapes count.
        R: Orientation of the frame in the axes of the boxes.
        p: Origin of the frame in these axes [m].

    Returns:
        Lower and upper corners [m].
    """
    boxes = [_group_boxes(group, R, p) for group in frame_bodies(frame)]
    low, high = (np.concatenate(ends) for ends in zip(*boxes, strict=True))
    return low, high


def _group_boxes(
    group: Bodies, R: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    body: Any = group.body
    axes, centre = R @ body.R, body.p @ R.T + p
    radius = body.radius[:, None]
    match body.core:
        case collision.HalfSpace():
            # A half-space is bounded along an axis only if its normal is that axis.
            up = axes[:, :, 2]
            aside = np.stack(
                [np.hypot(up[:, i - 2], up[:, i - 1]) for i in range(3)], -1
            )
            low = np.where((aside < LEVEL_TOLERANCE) & (up < 0), centre, -np.inf)
            high = np.where((aside < LEVEL_TOLERANCE) & (up > 0), centre, np.inf)
            return low, high
        case collision.Hull(vertices):
            corners = vertices @ axes.swapaxes(-1, -2) + centre[:, None]
            return corners.min(1) - radius, corners.max(1) + radius
        case collision.BoxPlusEllipsoid(half, radii):
            # support function of an ellipsoid: h(d) = |diag(radii) Rᵀ d|
            swept = np.sqrt((axes**2 @ radii[..., None] ** 2)[..., 0])
            reach = (np.abs(axes) @ half[..., None])[..., 0] + swept + radius
        case core:
            reach = (np.abs(axes) @ core.half[..., None])[..., 0] + radius
    return centre - reach, centre + reach


@lru_cache(maxsize=8192)
def body_volumes(
    frame: Frame,
) -> tuple[Float[np.ndarray, " bodies"], Float[np.ndarray, "bodies 3"]]:
    """Return volumes [m³] and centroids (in the frame) of a frame's bodies.

    Half-spaces have volume 0. Volumes of rounded boxes and cylinders are those of
    Steiner's formula; rounded hulls are approximated by points about each vertex, to
    1 % (measured on three).
    """
    groups = [_group_volumes(group) for group in frame_bodies(frame)]
    volume, centre = (np.concatenate(x) for x in zip(*groups, strict=True))
    return volume, centre


def _group_volumes(group: Bodies) -> tuple[np.ndarray, np.ndarray]:
    body: Any = group.body
    match body.core:
        case collision.HalfSpace():
            return np.zeros(len(group)), body.p
        case collision.Hull(vertices):
            solids = [
                volume_and_centroid(_rounded_hull_points(v, r))
                for v, r in zip(vertices, body.radius, strict=True)
            ]
            centres = np.array([c for _, c in solids])
            centroids = (body.R @ centres[..., None])[..., 0] + body.p
            return np.array([v for v, _ in solids]), centroids
    half = np.asarray(body.core.half)
    radii = getattr(body.core, "radii", np.zeros_like(half))
    return _steiner_volumes(half, radii, body.radius), body.p


def _steiner_volumes(half: np.ndarray, radii: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return V + S r + M r² + 4/3 π r³ of boxes, cylinders, and ellipsoids (r = 0).

    V is the volume of the core, S its surface, M its integral of mean curvature.
    """
    a, b, c = (2 * half).T
    disc, length = radii[:, 0], 2 * half[:, 2]
    box = (a * b * c, 2 * (a * b + b * c + c * a), np.pi * (a + b + c))
    cylinder = (
        np.pi * disc**2 * length,
        2 * np.pi * disc * (disc + length),
        np.pi * (length + np.pi * disc),
    )
    V, S, M = (np.where(disc > 0, d, x) for d, x in zip(cylinder, box, strict=True))
    ball = 4 / 3 * np.pi
    V = np.where(radii[:, 2] > 0, ball * radii.prod(-1), V)
    return V + S * r + M * r**2 + ball * r**3


def _rounded_hull_points(points: np.ndarray, radius: float) -> np.ndarray:
    """Return points whose hull has about the volume of the rounded hull of points."""
    if radius == 0:
        return points
    around = (radius * _ball_points())[:, None] + np.unique(points, axis=0)
    return around.reshape(-1, 3)


@cache
def _ball_points() -> np.ndarray:
    """Return 98 points about the unit sphere whose hull has the volume of its ball."""
    points = cube_directions()
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    volume, _ = volume_and_centroid(points)
    return points * (4 / 3 * np.pi / volume) ** (1 / 3)

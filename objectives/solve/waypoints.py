"""Paths through waypoints."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


def waypoint_path(
    start: Float[np.ndarray, " nq"],
    waypoints: Float[np.ndarray, "phases nq"],
    slices_per_phase: int,
    slices: int,
    quaternions: Sequence[int] = (),
    linear: bool = False,
) -> Float[np.ndarray, "slices nq"]:
    """From `start` straight to each waypoint, reached at the end of its phase.

    Args:
        start: coordinates before the first slice.
        waypoints: one for each phase; the last phase may be cut short.
        slices_per_phase: slices in each phase.
        slices: in all.
        quaternions: first coordinate of each quaternion; these turn at constant axis,
            the shorter way.
        linear: at constant speed; otherwise half a cosine wave, at rest at waypoints.
    """
    t = np.arange(1, slices + 1)
    phase = (t - 1) // slices_per_phase
    begin = phase * slices_per_phase
    share = (t - begin) / (np.minimum(begin + slices_per_phase, slices) - begin)
    if not linear:
        share = (1 - np.cos(np.pi * share)) / 2
    corners = np.concatenate([start[None], waypoints])
    a, b = corners[phase], corners[phase + 1]
    path = a + share[:, None] * (b - a)
    for first in quaternions:
        part = slice(first, first + 4)
        path[:, part] = slerp(a[:, part], b[:, part], share)
    return path


def slerp(
    a: Float[np.ndarray, "n 4"], b: Float[np.ndarray, "n 4"], share: np.ndarray
) -> Float[np.ndarray, "n 4"]:
    """Rotations between `a` and `b` the shorter way; unit quaternions."""
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    cosine = np.sum(a * b, 1)
    b = np.where(cosine[:, None] < 0, -b, b)
    angle = np.arccos(np.minimum(np.abs(cosine), 1.0))
    near = np.maximum(angle, 1e-9)
    weights = np.sin((1 - share) * near), np.sin(share * near)
    out = weights[0][:, None] * a + weights[1][:, None] * b
    return out / np.linalg.norm(out, axis=1, keepdims=True)

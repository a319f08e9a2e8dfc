"""Initial paths through waypoints, and paths of another number of slices."""

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
    """Return a path straight from `start` to each waypoint, reached at a phase's end.

    Args:
        start: coordinates before the first slice.
        waypoints: one for each phase; the last phase may be cut short.
        slices_per_phase: slices in each phase.
        slices: number of slices.
        quaternions: first coordinate of each quaternion, which rotates about a constant
            axis, by the smaller angle.
        linear: whether speed is constant; otherwise positions follow half a cosine wave
            in each phase, so that the path is at rest at waypoints.
    """
    t = np.arange(1, slices + 1)
    phase = (t - 1) // slices_per_phase
    begin = phase * slices_per_phase
    fraction = (t - begin) / (np.minimum(begin + slices_per_phase, slices) - begin)
    if not linear:
        fraction = (1 - np.cos(np.pi * fraction)) / 2
    corners = np.concatenate([start[None], waypoints])
    return _between(corners[phase], corners[phase + 1], fraction, quaternions)


def resample_path(
    start: Float[np.ndarray, " nq"],
    path: Float[np.ndarray, "S nq"],
    slices: int,
    quaternions: Sequence[int] = (),
) -> Float[np.ndarray, "slices nq"]:
    """Return a path with another number of slices, spread evenly over the same course.

    The course is straight from `start` to the first slice and between slices, all of
    which take the same time.

    Args:
        start: coordinates before the first slice.
        path: the path.
        slices: number of slices.
        quaternions: see `waypoint_path`.
    """
    corners = np.concatenate([start[None], path, path[-1:]])
    # In integers, so that slices at the same time stay the same exactly.
    segment, remainder = np.divmod(np.arange(1, slices + 1) * len(path), slices)
    return _between(
        corners[segment], corners[segment + 1], remainder / slices, quaternions
    )


def _between(
    a: Float[np.ndarray, "n nq"],
    b: Float[np.ndarray, "n nq"],
    fraction: Float[np.ndarray, " n"],
    quaternions: Sequence[int],
) -> Float[np.ndarray, "n nq"]:
    """Return the configurations at fractions of the straight way from `a` to `b`."""
    path = a + fraction[:, None] * (b - a)
    for first in quaternions:
        part = slice(first, first + 4)
        path[:, part] = slerp(a[:, part], b[:, part], fraction)
    return path


def slerp(
    a: Float[np.ndarray, "n 4"], b: Float[np.ndarray, "n 4"], fraction: np.ndarray
) -> Float[np.ndarray, "n 4"]:
    """Return unit quaternions between `a` and `b`, on the shorter arc (Shoemake 1985).

    Args:
        a: quaternions at fraction 0.
        b: quaternions at fraction 1.
        fraction: of each pair, from 0 to 1.
    """
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    cosine = np.sum(a * b, 1)
    b = np.where(cosine[:, None] < 0, -b, b)
    angle = np.arccos(np.minimum(np.abs(cosine), 1.0))
    # Not zero, so that the weights of equal quaternions do not both vanish.
    angle = np.maximum(angle, 1e-9)
    weight_a, weight_b = np.sin((1 - fraction) * angle), np.sin(fraction * angle)
    mixed = weight_a[:, None] * a + weight_b[:, None] * b
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)

"""Triangles to pixels: which triangle is nearest in each, by a depth buffer."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

CHUNK_SIZE = 1 << 20
"""Number of rows or pixels that are filled at once; more need more memory."""


class Buffer(NamedTuple):
    """The nearest triangle in each pixel."""

    triangle: Int[np.ndarray, "height width"]
    """Index of the nearest triangle; -1: none."""
    depth: Float[np.ndarray, "height width"]
    """Coordinate towards the eye [m]; -inf: none."""


def rasterize(
    corners: Float[np.ndarray, "n 3 2"],
    depth: Float[np.ndarray, "n 3"],
    shape: tuple[int, int],
) -> Buffer:
    """Return the nearest triangle in each pixel.

    Args:
        corners: Corners of the triangles in the picture, x to the right, y down
            [pixels].
        depth: Coordinate of the corners towards the eye [m].
        shape: Height and width of the picture [pixels].
    """
    triangles = np.full(shape[0] * shape[1], -1)
    depths = np.full(shape[0] * shape[1], -np.inf)
    plane = _depth_planes(corners, depth)
    for owner, x, y in _covered_pixels(corners, shape):
        z = (plane[owner] * np.stack([x + 0.5, y + 0.5, np.ones(len(x))], -1)).sum(-1)
        place = y * shape[1] + x
        near = np.flatnonzero(z > depths[place])
        # Of several values that are assigned to one place, the last one stays.
        near = near[np.argsort(z[near], kind="stable")]
        depths[place[near]] = z[near]
        triangles[place[near]] = owner[near]
    return Buffer(triangles.reshape(shape), depths.reshape(shape))


def corner_weights(
    corners: Float[np.ndarray, "n 3 2"], points: Float[np.ndarray, "n 2"]
) -> Float[np.ndarray, "n 3"]:
    """Return the weights of a triangle's corners whose mean is a point."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    area = _cross(b - a, c - a)
    second = _cross(points - a, c - a) / area
    third = _cross(b - a, points - a) / area
    return np.stack([1 - second - third, second, third], -1)


def _depth_planes(corners: np.ndarray, depth: np.ndarray) -> Float[np.ndarray, "n 3"]:
    """Return (A, B, C) of each triangle, whose depth is A x + B y + C."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    area = _cross(b - a, c - a)
    area = np.where(area == 0, np.inf, area)
    rise_b, rise_c = depth[:, 1] - depth[:, 0], depth[:, 2] - depth[:, 0]
    A = (rise_b * (c - a)[:, 1] - rise_c * (b - a)[:, 1]) / area
    B = (rise_c * (b - a)[:, 0] - rise_b * (c - a)[:, 0]) / area
    return np.stack([A, B, depth[:, 0] - A * a[:, 0] - B * a[:, 1]], -1)


def _covered_pixels(
    corners: Float[np.ndarray, "n 3 2"], shape: tuple[int, int]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the triangle, column and row of pixels whose middles triangles cover."""
    height, width = shape
    begin = np.clip(np.ceil(corners[..., 1].min(1) - 0.5), 0, height).astype(int)
    end = np.clip(np.ceil(corners[..., 1].max(1) - 0.5), 0, height).astype(int)
    owner, row = _enumerate(begin, end - begin)
    for first in range(0, len(owner), CHUNK_SIZE):
        part, y = owner[first : first + CHUNK_SIZE], row[first : first + CHUNK_SIZE]
        low, high = _spans(corners[part], y + 0.5)
        left = np.clip(np.ceil(low - 0.5), 0, width).astype(int)
        right = np.clip(np.ceil(high - 0.5), 0, width).astype(int)
        total = np.cumsum(np.maximum(right - left, 0))
        cuts = np.searchsorted(total, np.arange(CHUNK_SIZE, total[-1], CHUNK_SIZE))
        for rows in np.split(np.arange(len(part)), cuts):
            span, x = _enumerate(left[rows], right[rows] - left[rows])
            yield part[rows][span], x, y[rows][span]


def _spans(
    corners: Float[np.ndarray, "n 3 2"], y: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return where triangles begin and end on lines of constant y."""
    crossings = []
    for k in range(3):
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        rise = b[:, 1] - a[:, 1]
        share = (y - a[:, 1]) / np.where(rise == 0, 1, rise)
        crosses = (rise != 0) & (share >= 0) & (share <= 1)
        x = a[:, 0] + share * (b[:, 0] - a[:, 0])
        crossings.append(np.where(crosses, x, np.nan))
    return np.fmin.reduce(crossings), np.fmax.reduce(crossings)


def _enumerate(
    first: Int[np.ndarray, " n"], count: Int[np.ndarray, " n"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return k and first[k], first[k] + 1, …, count[k] numbers for each k."""
    count = np.maximum(count, 0)
    owner = np.repeat(np.arange(len(first)), count)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return owner, first[owner] + offset


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

"""Exact distances of the nodes of a grid to triangles, on the host."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

MAX_PAIRS_PER_BATCH = 8_000
"""Pairs of a cube and a triangle that are looked at together (fits caches)."""
MIN_RELATIVE_HEIGHT = 1e-13
"""A triangle of less height, as a fraction of its length, has no plane of its own."""
OCTANTS = np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), -1).reshape(8, 1, 3)


def grid_distances(
    origin: Float[np.ndarray, "3"],
    spacing: float,
    shape: tuple[int, int, int],
    triangles: Float[np.ndarray, "m 3 3"],
) -> Float[np.ndarray, "nx ny nz"]:
    """The unsigned distance of each node of a grid to the nearest triangle, exactly.

    Cubes of nodes are halved again and again, each with the triangles that may be
    nearest to one of its nodes.
    """
    table = _triangle_frames(triangles)
    field = np.empty(shape)
    side = 2 ** int(np.ceil(np.log2(max(shape))))
    every = np.arange(len(triangles))
    stack = [(side, np.zeros((1, 3), int), every, np.zeros_like(every))]
    while stack:
        side, corners, triangle, cube = stack.pop()
        half, count = side // 2, len(corners)
        small = half * OCTANTS + corners
        used = (small < shape).all(-1)
        centres = np.moveaxis(origin + spacing * (small + (half - 1) / 2), -1, 0)
        offset = _closest_offsets(centres[:, :, cube], table[:, triangle])
        distance = np.sqrt(np.einsum("ijk,ijk->jk", offset, offset))
        starts = np.flatnonzero(np.diff(cube, prepend=-1))
        nearest = np.minimum.reduceat(distance, starts, axis=1)
        if half == 1:
            field[tuple(small[used].T)] = nearest[used]
            continue
        near = _may_be_nearest(
            offset, distance, nearest, cube, spacing * np.sqrt(0.75) * (half - 1)
        )
        child, pair = np.nonzero(near & used[:, cube])
        owner = child * count + cube[pair]
        for part in _batches(small.reshape(-1, 3), triangle[pair], owner):
            stack.append((half, *part))
    return field


def _may_be_nearest(
    offset: np.ndarray,
    distance: np.ndarray,
    nearest: np.ndarray,
    cube: np.ndarray,
    radius: float,
) -> np.ndarray:
    """Which triangles may be nearest to some point of a ball about the centre.

    With u the direction from a triangle to the centre and s a step from there: its
    distance is convex, so at least d + u·s; that of the nearest one, d0, at most
    |d0 u0 + s| <= d0 + u0·s + |s|²/(2 d0); and neither changes by more than |s|.
    """
    best = np.empty(nearest.shape, int)
    child, pair = np.nonzero(distance == nearest[:, cube])
    best[child, cube[pair]] = pair
    direction = offset / np.maximum(distance, 1e-300)
    reference = direction[:, np.arange(8)[:, None], best]
    turn = direction - reference[:, :, cube]
    turn = np.sqrt(np.einsum("ijk,ijk->jk", turn, turn))
    bend = radius / np.maximum(2 * nearest, 1e-300)
    slack = radius * np.minimum(2, turn + bend[:, cube])
    return distance <= nearest[:, cube] + slack * (1 + 1e-9) + 1e-12 * radius


def _batches(
    corners: np.ndarray, triangle: np.ndarray, cube: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the cubes with triangles, in batches of about `MAX_PAIRS_PER_BATCH`."""
    starts = np.flatnonzero(np.diff(cube, prepend=-1))
    cuts = starts[np.flatnonzero(np.diff(starts // MAX_PAIRS_PER_BATCH)) + 1]
    for own, tri in zip(np.split(cube, cuts), np.split(triangle, cuts), strict=True):
        present, number = np.unique(own, return_inverse=True)
        yield corners[present], tri, number


def _triangle_frames(triangles: np.ndarray) -> np.ndarray:
    """For each triangle (columns): corner a, axes x (along its longest edge a b), y, z,
    then b = (l, 0) and c = (u, v) in them."""
    sides = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2)
    turn = (sides.argmax(1)[:, None] + np.arange(3)) % 3
    a, b, c = np.moveaxis(np.take_along_axis(triangles, turn[..., None], 1), 1, 0)
    length = np.linalg.norm(b - a, axis=1, keepdims=True)
    x = np.where(length > 0, b - a, [1.0, 0, 0]) / np.where(length > 0, length, 1)
    y = _reject(c - a, x)
    thin = np.linalg.norm(y, axis=1, keepdims=True) <= MIN_RELATIVE_HEIGHT * length
    y = np.where(thin, np.eye(3)[np.abs(x).argmin(1)], y)
    for _ in range(2):  # the second time takes away what rounding left
        y = _reject(y, x)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
    z = np.cross(x, y)
    u = np.einsum("ij,ij->i", c - a, x)
    v = np.einsum("ij,ij->i", c - a, y)
    return np.ascontiguousarray(
        np.concatenate([a, x, y, z, length, u[:, None], v[:, None]], axis=1).T
    )


def _reject(vectors: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return vectors - np.einsum("ij,ij->i", vectors, axes)[:, None] * axes


def _closest_offsets(points: np.ndarray, table: np.ndarray) -> np.ndarray:
    """From the nearest point of the triangle to the point: (3, ..., pairs).

    In the triangle's plane the nearest of three edges decides, unless the point lies
    over the triangle.
    """
    a, X, Y, Z, (l, u, v) = np.split(table, [3, 6, 9, 12])
    p = points - a[:, None]
    x, y, z = (np.einsum("ijk,ik->jk", p, axis) for axis in (X, Y, Z))
    over = (
        (v > MIN_RELATIVE_HEIGHT * l)
        & (y >= 0)
        & (u * y <= v * x)
        & ((l - u) * y <= v * (l - x))
    )
    ex, ey = x - np.clip(x, 0, l), y
    for du, x0 in ((u, 0.0), (u - l, l)):
        t = ((x - x0) * du + y * v) / np.maximum(du * du + v * v, 1e-300)
        t = np.clip(t, 0, 1)
        fx, fy = x - x0 - t * du, y - t * v
        nearer = fx * fx + fy * fy < ex * ex + ey * ey
        ex, ey = np.where(nearer, fx, ex), np.where(nearer, fy, ey)
    ex, ey = np.where(over, 0.0, ex), np.where(over, 0.0, ey)
    return X[:, None] * ex + Y[:, None] * ey + Z[:, None] * z

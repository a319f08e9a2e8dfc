"""Voxels: the cells of a regular grid that bodies occupy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.config import Config
from posewise.robots.contact.gjk_numpy import SweptHulls, bodies_in_frame
from posewise.robots.geometry.hulls import cube_directions, hull_planes
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)

CORNERS = np.stack(np.meshgrid(*[[-1.0, 1.0]] * 3), -1).reshape(-1, 3)
"""Signs of the corners of a box."""
TIE_SHIFT = 1e-9 * np.array([1.0, 1.3, 1.7])
"""Shift of bodies [m], so that of two opposite faces through centres of cells just one
counts: a body of the length of n cells occupies n of them."""


@dataclass(frozen=True, eq=False)
class ConvexPart:
    """A convex polytope, or an inscribed one of a round body."""

    points: Float[np.ndarray, "n 3"]
    """Points whose hull it is [m]."""

    @cached_property
    def normals(self) -> Float[np.ndarray, "m 3"]:
        """Outward normals of its faces."""
        return hull_planes(self.points)[:, :3]


class Solid(NamedTuple):
    """The bodies of frames, in the frame of one of them or in the world."""

    parts: list[ConvexPart]
    """Bodies that are no balls."""
    balls: Float[np.ndarray, "k 4"]
    """Centres and radii [m]."""
    half_spaces: Float[np.ndarray, "m 4"]
    """Outward normals and offsets [m]."""

    @property
    def points(self) -> Float[np.ndarray, "n 3"]:
        """Points, in whose box all bounded bodies are [m]."""
        centers, radii = self.balls[:, :3], self.balls[:, 3:]
        ends = [centers + sign * radii for sign in (-1, 1)]
        return np.concatenate([*ends, *(part.points for part in self.parts)])


def solid_of(C: Config, frames: Iterable[int], origin: Float[np.ndarray, "7"]) -> Solid:
    """Return the bodies of frames relative to a pose.

    Args:
        C: the world in its present state.
        frames: indices of frames with collision shapes.
        origin: world pose to which points and planes are relative.
    """
    poses, inverse = C.poses(), pose_inverse(origin)
    posed = []
    for i in frames:
        pose = pose_multiply(inverse, poses[i])
        posed.append((C.frames[i], quat_to_matrix(pose[3:]), pose[:3]))
    hulls, half_spaces = bodies_in_frame(posed)
    is_ball = ~hulls.vertices.any((1, 2)) & ~hulls.half.any(1) & ~hulls.radii.any(1)
    others = [
        ConvexPart(_surface_points(hulls, k)) for k in np.flatnonzero(~is_ball).tolist()
    ]
    balls = np.column_stack([hulls.p, hulls.radius])[is_ball]
    return Solid(others, balls, half_spaces)


def _surface_points(hulls: SweptHulls, k: int) -> Float[np.ndarray, "n 3"]:
    """Return points of the surface of a body: all corners, or some of a round body."""
    if hulls.radii[k].any() or hulls.radius[k]:
        directions = cube_directions()
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        one = hulls.rows(np.full(len(directions), k))
        return one.support(directions) + hulls.radius[k] * directions
    corners = hulls.vertices[k][:, None] + hulls.half[k] * CORNERS
    return corners.reshape(-1, 3) @ hulls.R[k].T + hulls.p[k]


@dataclass(frozen=True, eq=False)
class VoxelGrid:
    """Cubic cells along the world's axes."""

    lower: Float[np.ndarray, "3"]
    """Centre of the first cell [m]."""
    spacing: float
    """Length of the edges of a cell [m]."""
    shape: tuple[int, int, int]
    """Number of cells along each axis."""

    def axis(self, k: int) -> Float[np.ndarray, " n"]:
        """Return the coordinates of centres along an axis [m]."""
        return self.lower[k] + self.spacing * np.arange(self.shape[k])

    def center(self, cell: Int[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
        """Return the centre of a cell, by its indices along the axes [m]."""
        return self.lower + self.spacing * cell

    def wrapped(
        self, cells: Int[np.ndarray, "n 3"]
    ) -> tuple[Int[np.ndarray, " n"], ...]:
        """Return indices into arrays of the grid; beyond its end it begins again."""
        return tuple((cells % self.shape).T)

    def inside_box(self, box: Float[np.ndarray, "2 3"]) -> Bool[np.ndarray, "x y z"]:
        """Return which cells have their centre in a box, or the nearest ones to it."""
        masks = []
        for k in range(3):
            x, (low, high) = self.axis(k), box[:, k]
            distance = np.maximum(np.maximum(low - x, x - high), 0.0)
            masks.append(distance <= distance.min())
        return masks[0][:, None, None] & masks[1][:, None] & masks[2]

    def occupied(
        self,
        solid: Solid,
        R: Float[np.ndarray, "3 3"] | None = None,
        p: Float[np.ndarray, "3"] | None = None,
    ) -> Bool[np.ndarray, "x y z"]:
        """Return the cells whose centres are in a solid; default: in the world.

        Parts thinner than a cell are made as thick, so that none falls between centres.
        """
        R, p = np.eye(3) if R is None else R, np.zeros(3) if p is None else p
        cells = np.zeros(self.shape, bool)
        for part in solid.parts:
            self._add_part(cells, part, R, p)
        self._add_balls(cells, solid.balls[:, :3] @ R.T + p, solid.balls[:, 3])
        for *normal, offset in solid.half_spaces:
            n = R @ normal
            cells |= self._heights(n, [slice(None)] * 3) <= offset + n @ p
        return cells

    def _add_part(
        self,
        cells: Bool[np.ndarray, "x y z"],
        part: ConvexPart,
        R: Float[np.ndarray, "3 3"],
        p: Float[np.ndarray, "3"],
    ) -> None:
        """Mark the cells of a convex part."""
        points = part.points @ R.T + p
        low = np.floor((points.min(0) - self.lower) / self.spacing) - 1
        high = np.ceil((points.max(0) - self.lower) / self.spacing) + 2
        low = np.clip(low, 0, self.shape).astype(int)
        high = np.clip(high, 0, self.shape).astype(int)
        if (low >= high).any():
            return
        normals = part.normals @ R.T
        along = points @ normals.T
        thinnest = np.ptp(along, axis=0).min(initial=np.inf)
        margin = max(0.0, (self.spacing - thinnest) / 2)
        offsets = along.max(0) + normals @ TIE_SHIFT + margin
        window = [slice(a, b) for a, b in zip(low, high, strict=True)]
        inside = np.ones(high - low, bool)
        for normal, offset in zip(normals, offsets, strict=True):
            inside &= self._heights(normal, window) <= offset
        cells[tuple(window)] |= inside

    def _add_balls(
        self,
        cells: Bool[np.ndarray, "x y z"],
        centers: Float[np.ndarray, "n 3"],
        radii: Float[np.ndarray, " n"],
    ) -> None:
        """Mark the cells of balls, those of about the same radius at once."""
        radii = np.maximum(radii, self.spacing / 2)
        reach = np.ceil(radii / self.spacing).astype(int)
        nearest = np.round((centers - self.lower) / self.spacing).astype(int)
        for steps in np.unique(reach):
            side = np.arange(-steps, steps + 1)
            around = np.stack(np.meshgrid(side, side, side), -1).reshape(-1, 3)
            for k in np.flatnonzero(reach == steps):
                near = nearest[k] + around
                cell_centers = self.lower + self.spacing * near
                inside = np.linalg.norm(cell_centers - centers[k], axis=1) <= radii[k]
                inside &= ((near >= 0) & (near < self.shape)).all(1)
                cells[tuple(near[inside].T)] = True

    def _heights(
        self, normal: Float[np.ndarray, "3"], window: Sequence[slice]
    ) -> Float[np.ndarray, "x y z"]:
        """Return how far the centres in a window are along a direction [m]."""
        x, y, z = (normal[k] * self.axis(k)[window[k]] for k in range(3))
        return x[:, None, None] + y[:, None] + z

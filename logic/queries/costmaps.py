"""Costmaps after PyCRAM: free of obstacles, in sight or reach of a target, near it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.kinematics.transforms import (
    axis_angle_to_quat,
    pose_inverse,
    pose_multiply,
    quat_multiply,
    quat_to_matrix,
)
from posewise.robots.typing import FrameName
from posewise.robots.validation import float_array, integer, number

from ..errors import PredicateError
from ..geometry.agents import find_agent
from ..geometry.frame_groups import FrameGroup, find_object, first_hits, subtree
from .costmap import Costmap, cell_middles
from .frame_owners import frames_by_owner, is_floor
from .query_arguments import Target
from .reachable import REACH_TOLERANCE, target_poses
from .serial_chain import SerialChain

DEFAULT_CELLS = 200
"""Number of cells along each side; more cover a larger floor, and take longer."""
DEFAULT_RESOLUTION = 0.02
"""Edge of a cell [m]; larger cells cover a larger floor, more coarsely."""
DEFAULT_CAMERA_HEIGHTS = (1.27, 1.6)
"""Lowest and highest position of the camera of PyCRAM's robot [m]."""
INNER_FRACTION = 0.15
"""Ratio of the half width of the excluded middle of a Gaussian costmap to a side of the
grid; a larger one keeps robots farther away."""
RAYS_PER_CHUNK = 50_000
"""Number of rays cast together (count); more need more memory."""
UP = np.array([0.0, 0, 1])


class _FloorGrid(NamedTuple):
    """A grid of cells on the floor, around a point."""

    pose: Float[np.ndarray, "7"]
    """Pose of the middle of the grid, at z = 0."""
    centre: Float[np.ndarray, "3"]
    """The point in the world [m]."""
    cells: int
    """Number of cells along each side."""
    resolution: float
    """Edge of a cell [m]."""

    def positions(self) -> Float[np.ndarray, "cells 3"]:
        """Return the middles of all cells in the world [m]."""
        middles = cell_middles(self.cells, self.resolution)
        middles = np.pad(middles, ((0, 0), (0, 1)))
        return middles @ quat_to_matrix(self.pose[3:]).T + self.pose[:3]

    def costmap(self, values: np.ndarray) -> Costmap:
        """Return the costmap of a value for each cell."""
        square = values.reshape(self.cells, self.cells).astype(float)
        return Costmap(square, self.resolution, self.pose)


def occupancy_costmap(
    C: Config,
    centre: Target,
    distance: float = 0.32,
    *,
    robot: str | None = None,
    height: float = 5.0,
    size: int = DEFAULT_CELLS,
    resolution: float = DEFAULT_RESOLUTION,
) -> Costmap:
    """Return 1 for cells above which, and around which, there is nothing but floor.

    A vertical line through the middle of each cell must hit nothing. A cell is free
    when all cells are in the window of 2 · distance / resolution cells (2 or more)
    around it; those at the border, whose window is cut off, are not (PyCRAM's
    inflation).

    Args:
        C: the world.
        centre: of the grid: a position (3,), a pose (7,), or an object.
        distance: least distance of obstacles along both axes [m].
        robot: an agent or frame that is no obstacle, with everything attached to it.
        height: start of the lines above z = 0 of the world, where they end [m].
        size: number of cells along each side.
        resolution: edge of a cell [m].

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: for unknown names, or when the centre is not a point.
    """
    grid = _make_grid(C, centre, size, resolution)
    n = grid.cells
    distance, height = _length("distance", distance), _length("height", height)
    positions = grid.positions()
    starts = positions + height * UP
    down = np.tile(-height * UP, (len(positions), 1))
    blocked = _are_blocked(C, starts, down, _carried_frames(C, robot))
    free = ~blocked.reshape(n, n)
    reach = max(int(distance / grid.resolution), 1)
    padded = np.pad(free, reach)
    # Sums of all windows from the integral image (summed-area table).
    counts = np.pad(padded.astype(int).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    w = 2 * reach
    window = counts[w:, w:] - counts[:-w, w:] - counts[w:, :-w] + counts[:-w, :-w]
    return grid.costmap((window == w * w)[:n, :n])


def visibility_costmap(
    C: Config,
    target: Target,
    heights: Sequence[float] = DEFAULT_CAMERA_HEIGHTS,
    *,
    robot: str | None = None,
    count: int = 4,
    size: int = DEFAULT_CELLS,
    resolution: float = DEFAULT_RESOLUTION,
) -> Costmap:
    """Return the fraction of camera heights from which the target's origin is visible.

    Args:
        C: the world.
        target: an object, a position (3,) or a pose (7,); also the centre of the grid.
        heights: lowest and highest of the camera above z = 0 of the world [m].
        robot: an agent or frame that hides nothing, with everything attached to it.
        count: number of heights.
        size: see `occupancy_costmap`.
        resolution: see `occupancy_costmap`.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: for unknown names, or when the target is not a point.
    """
    grid = _make_grid(C, target, size, resolution)
    low, high = _length_pair("heights", heights)
    count = _positive_integer("count", count)
    excluded = _carried_frames(C, robot)
    if isinstance(target, str):
        excluded |= set(find_object(C, target).frames)
    positions = grid.positions()
    visible = np.zeros(len(positions))
    for z in np.linspace(low, high, count):
        eyes = np.column_stack([positions[:, :2], np.full(len(positions), z)])
        starts = np.tile(grid.centre, (len(eyes), 1))
        visible += ~_are_blocked(C, starts, eyes - starts, excluded)
    return grid.costmap(visible / count)


def reachability_costmap(
    C: Config,
    target: Target,
    robot: str,
    tip: FrameName | None = None,
    *,
    tolerance: float = REACH_TOLERANCE,
    starts: int = 4,
    size: int = 40,
    resolution: float = 0.1,
) -> Costmap:
    """Return 1 for cells from which the tip reaches the target.

    The robot's base faces the target; its height and inclination stay. The inverse
    kinematics of all cells are one batch; collisions do not count.

    Args:
        C: the world.
        target: an object, a position (3,) or a pose (7,), whose position counts; also
            the centre of the grid.
        robot: see `Reachable`; not "world".
        tip: see `Reachable`.
        tolerance: see `Reachable`.
        starts: number of starts of the inverse kinematics in each cell.
        size: see `occupancy_costmap`.
        resolution: see `occupancy_costmap`.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: see `Reachable`.
    """
    grid = _make_grid(C, target, size, resolution)
    tolerance = _length("tolerance", tolerance)
    starts = _positive_integer("starts", starts)
    arm = SerialChain.of(C, robot, tip)
    base = np.array(arm.base_pose)
    ahead = quat_to_matrix(base[3:])[:, 0]
    positions = grid.positions()
    count = len(positions)
    offset = grid.centre[:2] - positions[:, :2]
    yaw = np.arctan2(offset[:, 1], offset[:, 0]) - np.arctan2(ahead[1], ahead[0])
    rotation = axis_angle_to_quat(UP, yaw)
    rotation = quat_multiply(rotation, np.tile(base[3:], (count, 1)))
    positions[:, 2] = base[2]
    bases = pose_inverse(np.concatenate([positions, rotation], -1))
    pose = np.tile([*grid.centre, 1.0, 0, 0, 0], (count, 1))
    goals = np.asarray(pose_multiply(bases, pose))
    q = np.concatenate(arm.solve(goals, False, starts, 0))
    error = np.linalg.norm(arm.tips(q)[:, :3] - goals[:, :3], axis=-1)
    return grid.costmap(error < tolerance)


def ring_costmap(
    C: Config,
    centre: Target,
    inner: float,
    outer: float,
    *,
    size: int = DEFAULT_CELLS,
    resolution: float = DEFAULT_RESOLUTION,
) -> Costmap:
    """Return 1 for cells whose horizontal distance is between two radii.

    Args:
        C: the world.
        centre: see `occupancy_costmap`.
        inner: radius [m].
        outer: radius [m].
        size: see `occupancy_costmap`.
        resolution: see `occupancy_costmap`.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: when the centre is not a point.
    """
    grid = _make_grid(C, centre, size, resolution)
    inner, outer = _length_pair("inner and outer radius", (inner, outer))
    distance = np.linalg.norm(cell_middles(grid.cells, grid.resolution), axis=-1)
    return grid.costmap((inner <= distance) & (distance <= outer))


def gaussian_costmap(
    C: Config,
    centre: Target,
    sigma: float = 0.3,
    *,
    size: int = DEFAULT_CELLS,
    resolution: float = DEFAULT_RESOLUTION,
) -> Costmap:
    """Return exp(-d² / 2 sigma²) of the distance d from the centre; 0 in the middle.

    The middle is a square of 30 % of the sides (PyCRAM), where a robot would be too
    near.

    Args:
        C: the world.
        centre: see `occupancy_costmap`.
        sigma: standard deviation [m].
        size: see `occupancy_costmap`.
        resolution: see `occupancy_costmap`.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: when the centre is not a point.
    """
    grid = _make_grid(C, centre, size, resolution)
    sigma = _length("sigma", sigma)
    middles = cell_middles(grid.cells, grid.resolution)
    values = np.exp(-(middles**2).sum(-1) / (2 * sigma**2))
    inner = INNER_FRACTION * grid.cells * grid.resolution
    values[(np.abs(middles) <= inner).all(-1)] = 0.0
    return grid.costmap(values)


def _make_grid(C: Config, centre: Target, size: int, resolution: float) -> _FloorGrid:
    """Return a grid on the floor around a point.

    Its axes are those of a pose, rotated about z only, otherwise those of the world.
    """
    goal = target_poses(C, [centre])[0]
    pose = np.array([*goal[:2], 0.0, 1.0, 0, 0, 0])
    if not isinstance(centre, str):
        x = quat_to_matrix(goal[3:])[:, 0]
        pose[3:] = axis_angle_to_quat(UP, np.arctan2(x[1], x[0]))
    cells = _positive_integer("size", size)
    return _FloorGrid(pose, goal[:3], cells, _length("resolution", resolution))


def _carried_frames(C: Config, robot: str | None) -> set[int]:
    """Return a robot's frames, with everything attached to them."""
    if robot is None:
        return set()
    return set(subtree(C, C.index(find_agent(C, robot).base)))


def _are_blocked(
    C: Config,
    starts: Float[np.ndarray, "n 3"],
    directions: Float[np.ndarray, "n 3"],
    excluded: set[int],
) -> Bool[np.ndarray, " n"]:
    """Return whether segments enter anything except floors and excluded frames."""
    owners = [x for x in frames_by_owner(C).values() if not is_floor(C, x)]
    frames = tuple(i for x in owners for i in x.frames if i not in excluded)
    group = FrameGroup(C, "all", frames)
    hit = np.zeros(len(starts), bool)
    for first in range(0, len(starts), RAYS_PER_CHUNK):
        chunk = slice(first, first + RAYS_PER_CHUNK)
        hit[chunk] = first_hits(group, starts[chunk], directions[chunk]) <= 1
    return hit


def _positive_integer(label: str, value: Any) -> int:
    return integer(label, value, "an integer >= 1", lambda n: n >= 1, PredicateError)


def _length(label: str, value: Any) -> float:
    return number(label, value, "> 0 (metres)", lambda x: x > 0, PredicateError)


def _length_pair(label: str, value: Any) -> tuple[float, float]:
    """Return a lower and an upper length."""
    expected = "two numbers >= 0 (metres), the first not above the second"
    pair = float_array(label, value, expected, PredicateError)
    good = pair.shape == (2,) and np.isfinite(pair).all()
    if not good or not 0 <= pair[0] <= pair[1]:
        raise PredicateError(f"{label}: got {pair.tolist()}, expected {expected}.")
    return float(pair[0]), float(pair[1])

"""Where to stand: free of obstacles, in sight of a target, in reach of it, near it."""

from typing import Any

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
from posewise.robots.validation import float_array, integer, number

from ..errors import PredicateError
from ..geometry.agents import find_agent
from ..geometry.frame_groups import FrameGroup, find_object, first_hits, subtree
from .costmap import Costmap, cell_middles
from .frame_owners import frames_by_owner, is_floor
from .reachable import REACH_TOLERANCE, target_poses
from .serial_chain import SerialChain

DEFAULT_CELLS = 200
DEFAULT_RESOLUTION = 0.02
"""[m]"""
DEFAULT_CAMERA_HEIGHTS = (1.27, 1.6)
"""Of PyCRAM's robot's camera, lowest and highest [m]."""
INNER_FRACTION = 0.15
"""Of the sides, on either side of the middle."""
RAYS_PER_CHUNK = 50_000
"""Rays that are looked at together."""
UP = np.array([0.0, 0, 1])


def occupancy_costmap(
    C: Config,
    centre: Any,
    distance: Any = 0.32,
    *,
    robot: Any = None,
    height: Any = 5.0,
    size: Any = DEFAULT_CELLS,
    resolution: Any = DEFAULT_RESOLUTION,
) -> Costmap:
    """1 where nothing but floor is on a vertical line, nor near; else 0.

    Lines end in the middles of cells. A cell is free when all cells are in the window
    of 2 · distance / resolution cells (2 or more) about it; those at the border, whose
    window is cut, are not (PyCRAM's inflation).

    Args:
        C: the world.
        centre: of the grid: a position (3,), a pose (7,), or a thing.
        distance: how far obstacles are to be off, along both axes [m].
        robot: an agent or frame that is no obstacle, with all that hangs on it.
        height: where lines begin, above z = 0 of the world, where they end [m].
        size: cells along each side.
        resolution: edge of a cell [m].

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: for unknown names, or a centre that is none.
    """
    (middle, _), n, edge = _grid(C, centre, size, resolution)
    distance, height = _length("distance", distance), _length("height", height)
    places = _cell_positions(middle, n, edge)
    starts = places + height * UP
    down = np.tile(-height * UP, (len(places), 1))
    blocked = _are_blocked(C, starts, down, _carried_frames(C, robot))
    free = ~blocked.reshape(n, n)
    reach = max(int(distance / edge), 1)
    padded = np.pad(free, reach)
    counts = np.pad(padded.astype(int).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    w = 2 * reach
    window = counts[w:, w:] - counts[:-w, w:] - counts[w:, :-w] + counts[:-w, :-w]
    return Costmap((window == w * w)[:n, :n].astype(float), edge, middle)


def visibility_costmap(
    C: Config,
    target: Any,
    heights: Any = DEFAULT_CAMERA_HEIGHTS,
    *,
    robot: Any = None,
    count: Any = 4,
    size: Any = DEFAULT_CELLS,
    resolution: Any = DEFAULT_RESOLUTION,
) -> Costmap:
    """The share of camera heights from which nothing hides the target's origin.

    Args:
        C: the world.
        target: a thing, a position (3,) or a pose (7,); also the centre of the grid.
        heights: lowest and highest of the camera above z = 0 of the world [m].
        robot: an agent or frame that hides nothing, with all that hangs on it.
        count: of the heights that are tried.
        size: see `occupancy_costmap`.
        resolution: see there.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: for unknown names, or a target that is none.
    """
    (middle, goal), n, edge = _grid(C, target, size, resolution)
    low, high = _pair("heights", heights)
    several = lambda k: k >= 1
    count = integer("count", count, "an integer >= 1", several, PredicateError)
    out = _carried_frames(C, robot)
    if isinstance(target, str):
        out |= set(find_object(C, target).frames)
    places = _cell_positions(middle, n, edge)
    seen = np.zeros(len(places))
    for z in np.linspace(low, high, count):
        eyes = np.column_stack([places[:, :2], np.full(len(places), z)])
        starts = np.tile(goal, (len(eyes), 1))
        seen += ~_are_blocked(C, starts, eyes - starts, out)
    return Costmap(seen.reshape(n, n) / count, edge, middle)


def reachability_costmap(
    C: Config,
    target: Any,
    robot: Any,
    tip: Any = None,
    *,
    tolerance: Any = REACH_TOLERANCE,
    starts: Any = 4,
    size: Any = 40,
    resolution: Any = 0.1,
) -> Costmap:
    """1 where the tip could be brought to the target were the robot's base there.

    The base faces the target, else it is as high and as inclined as it is. Inverse
    kinematics in each cell, all in one batch; collisions do not count.

    Args:
        C: the world.
        target: a thing, a position (3,) or a pose (7,), of which the position counts;
            also the centre of the grid.
        robot: see `Reachable`; not "world".
        tip: see there.
        tolerance: see there.
        starts: of the inverse kinematics of each cell.
        size: see `occupancy_costmap`.
        resolution: see there.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: see `Reachable`.
    """
    (middle, goal), n, edge = _grid(C, target, size, resolution)
    tolerance = _length("tolerance", tolerance)
    several = lambda k: k >= 1
    starts = integer("starts", starts, "an integer >= 1", several, PredicateError)
    arm = SerialChain.of(C, robot, tip)
    base = np.array(arm.base_pose)
    ahead = quat_to_matrix(base[3:])[:, 0]
    places = _cell_positions(middle, n, edge)
    off = goal[:2] - places[:, :2]
    yaw = np.arctan2(off[:, 1], off[:, 0]) - np.arctan2(ahead[1], ahead[0])
    turn = quat_multiply(axis_angle_to_quat(UP, yaw), np.tile(base[3:], (n * n, 1)))
    places[:, 2] = base[2]
    bases = pose_inverse(np.concatenate([places, turn], -1))
    target = np.tile([*goal, 1.0, 0, 0, 0], (n * n, 1))
    goals = np.asarray(pose_multiply(bases, target))
    q = np.concatenate(arm.solve(goals, False, starts, 0))
    error = np.linalg.norm(arm.tips(q)[:, :3] - goals[:, :3], axis=-1)
    return Costmap((error < tolerance).reshape(n, n).astype(float), edge, middle)


def ring_costmap(
    C: Config,
    centre: Any,
    inner: Any,
    outer: Any,
    *,
    size: Any = DEFAULT_CELLS,
    resolution: Any = DEFAULT_RESOLUTION,
) -> Costmap:
    """1 where the horizontal distance from the centre is between two radii; else 0.

    Args:
        C: the world.
        centre: see `occupancy_costmap`.
        inner: radius [m].
        outer: radius [m].
        size: see `occupancy_costmap`.
        resolution: see there.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: for a centre that is none.
    """
    (middle, _), n, edge = _grid(C, centre, size, resolution)
    inner, outer = _pair("inner and outer radius", (inner, outer))
    off = np.linalg.norm(cell_middles(n, edge), axis=-1).reshape(n, n)
    return Costmap(((inner <= off) & (off <= outer)).astype(float), edge, middle)


def gaussian_costmap(
    C: Config,
    centre: Any,
    sigma: Any = 0.3,
    *,
    size: Any = DEFAULT_CELLS,
    resolution: Any = DEFAULT_RESOLUTION,
) -> Costmap:
    """exp(-d² / 2 sigma²) of the distance d from the centre; 0 where it is too near.

    Too near: in the middle square of 30 % of the sides (PyCRAM).

    Args:
        C: the world.
        centre: see `occupancy_costmap`.
        sigma: [m].
        size: see `occupancy_costmap`.
        resolution: see there.

    Raises:
        PredicateError: for numbers out of range.
        ConfigError: for a centre that is none.
    """
    (middle, _), n, edge = _grid(C, centre, size, resolution)
    sigma = _length("sigma", sigma)
    cells = cell_middles(n, edge)
    values = np.exp(-(cells**2).sum(-1) / (2 * sigma**2))
    values[(np.abs(cells) <= INNER_FRACTION * n * edge).all(-1)] = 0.0
    return Costmap(values.reshape(n, n), edge, middle)


def _grid(
    C: Config, centre: Any, size: Any, resolution: Any
) -> tuple[tuple[Float[np.ndarray, "7"], Float[np.ndarray, "3"]], int, float]:
    """The grid's pose on the floor and the centre itself; cells, and their edge [m].

    Of a pose its turn about z is that of the grid; else its axes are the world's.
    """
    goal = target_poses(C, [centre])[0]
    middle = np.array([*goal[:2], 0.0, 1.0, 0, 0, 0])
    if not isinstance(centre, str):
        x = quat_to_matrix(goal[3:])[:, 0]
        middle[3:] = axis_angle_to_quat(UP, np.arctan2(x[1], x[0]))
    some = lambda k: k >= 1
    n = integer("size", size, "an integer >= 1", some, PredicateError)
    return (middle, goal[:3]), n, _length("resolution", resolution)


def _cell_positions(
    middle: Float[np.ndarray, "7"], n: int, edge: float
) -> Float[np.ndarray, "cells 3"]:
    """Middles of all cells in the world [m]."""
    cells = np.pad(cell_middles(n, edge), ((0, 0), (0, 1)))
    return cells @ quat_to_matrix(middle[3:]).T + middle[:3]


def _carried_frames(C: Config, robot: Any) -> set[int]:
    """A robot's frames, with all that it holds."""
    if robot is None:
        return set()
    return set(subtree(C, C.index(find_agent(C, robot).base)))


def _are_blocked(
    C: Config,
    starts: Float[np.ndarray, "n 3"],
    ways: Float[np.ndarray, "n 3"],
    out: set[int],
) -> Bool[np.ndarray, " n"]:
    """Whether segments enter anything but floors and those frames."""
    things = [x for x in frames_by_owner(C).values() if not is_floor(C, x)]
    frames = tuple(i for x in things for i in x.frames if i not in out)
    hit = np.zeros(len(starts), bool)
    for first in range(0, len(starts), RAYS_PER_CHUNK):
        part = slice(first, first + RAYS_PER_CHUNK)
        hit[part] = (
            first_hits(FrameGroup(C, "all", frames), starts[part], ways[part]) <= 1
        )
    return hit


def _length(what: str, value: Any) -> float:
    return number(what, value, "> 0 (metres)", lambda x: x > 0, PredicateError)


def _pair(what: str, value: Any) -> tuple[float, float]:
    """A lower and an upper length."""
    expected = "two numbers >= 0 (metres), the first not above the second"
    given = float_array(what, value, expected, PredicateError)
    good = given.shape == (2,) and np.isfinite(given).all()
    if not good or not 0 <= given[0] <= given[1]:
        raise PredicateError(f"{what}: got {given.tolist()}, expected {expected}.")
    return float(given[0]), float(given[1])

"""Animations that a view plays: the poses of all frames over time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import ConfigError
from ...typing import MatrixLike, VectorLike
from ...validation import float_array, number
from ..viewable_world import ViewableWorld


@dataclass(frozen=True, eq=False)
class Animation:
    """A world in T slices."""

    world: Callable[[int], ViewableWorld]
    """A function from the slice to the world in it."""
    poses: Float[np.ndarray, "T frames 7"]
    """World poses of its frames."""
    pauses: Float[np.ndarray, " T"]
    """Time for which each slice is shown [s]."""


def path_animation(
    C: ViewableWorld, path: MatrixLike, dt: float | VectorLike = 0.1
) -> Animation:
    """Return the animation of a path (T, nq) of a world, slices `dt` [s] apart.

    Raises:
        ConfigError: For a path of another shape or with NaN, or a `dt` not above 0.
    """
    world, expected = C.copy(), f"(T, {C.nq}) finite numbers with T >= 1"
    states = float_array("path", path, expected)
    fits = states.ndim == 2 and states.shape[1] == C.nq and len(states) > 0
    if not fits or not np.isfinite(states).all():
        raise ConfigError(f"path has shape {states.shape}, expected {expected}.")
    pause = number("dt", dt, "a time > 0 (seconds)", lambda x: x > 0)

    def world_at(t: int) -> ViewableWorld:
        copy = world.copy()
        copy.q = states[t]
        return copy

    positions = world.forward_pass(states).frames.p
    poses = np.concatenate([positions, world.joints.quaternions_at(states)], -1)[:, :-1]
    return Animation(world_at, poses, np.full(len(states), pause))

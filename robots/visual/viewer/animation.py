"""What a view plays: the poses of all frames over time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ...errors import ConfigError
from ...validation import float_array, number

if TYPE_CHECKING:
    from ...config import Config


@dataclass(frozen=True, eq=False)
class Animation:
    """A world in T slices."""

    world: "Callable[[int], Config]"
    """The world in a slice."""
    poses: Float[np.ndarray, "T frames 7"]
    """World poses of its frames."""
    pauses: Float[np.ndarray, " T"]
    """How long each slice is shown [s]."""


def path_animation(C: "Config", path: Any, dt: Any) -> Animation:
    """A path (T, nq) of a world, slices `dt` [s] apart.

    Raises:
        ConfigError: for a path of another shape or with NaN, or no `dt` above 0.
    """
    world, expected = C.copy(), f"(T, {C.nq}) finite numbers with T >= 1"
    path = float_array("path", path, expected)
    fits = path.ndim == 2 and path.shape[1] == C.nq and len(path) > 0
    if not fits or not np.isfinite(path).all():
        raise ConfigError(f"path has shape {path.shape}, expected {expected}.")
    dt = number("dt", dt, "a time > 0 (seconds)", lambda x: x > 0)

    def at(t: int) -> "Config":
        found = world.copy()
        found.q = path[t]
        return found

    positions, turns = world.forward_pass(path).frames.p, world.quaternions_at(path)
    poses = np.concatenate([positions, turns], -1)[:, :-1]
    return Animation(at, poses, np.full(len(path), dt))

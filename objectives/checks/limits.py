"""Coordinates outside of their limits, and whether they look like degrees."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.errors import first_few

LIMIT_TOLERANCE = 1e-4
"""Excess over a limit that is no finding [rad, m]; more ignores larger mistakes."""


def start_outside_of_limits(C: Config) -> Iterator[str]:
    """Yield a sentence if the state of a world is outside of its limits."""
    if description := outside_of_limits(C, C.q):
        yield (
            f"The start is outside of its limits: {description} The path begins there;"
            " its slices are within. Set C.q within C.limits."
        )


def outside_of_limits(
    C: Config, q: Float[np.ndarray, " nq"], among: Bool[np.ndarray, " nq"] | None = None
) -> str:
    """Return the coordinates outside of their limits, in words; empty: there are none.

    Args:
        C: the world.
        q: its coordinates.
        among: which of them count; None: all.
    """
    low, high = C.limits
    is_outside = (q < low - LIMIT_TOLERANCE) | (q > high + LIMIT_TOLERANCE)
    if among is not None:
        is_outside &= among
    if not is_outside.any():
        return ""
    names, turns = C.joints.coordinate_names, C.kinematics().tree.is_angle
    parts = [
        f"{names[i]} is {q[i]:.4g} {'rad' if turns[i] else 'm'}"
        f" ({low[i]:.4g} to {high[i]:.4g})"
        for i in np.flatnonzero(is_outside)
    ]
    text = first_few(parts) + "."
    if looks_like_degrees(C, q, is_outside & turns):
        text += " The angles look like degrees: np.deg2rad of them is within."
    return text


def looks_like_degrees(
    C: Config,
    q: Float[np.ndarray, " nq"],
    outside: Bool[np.ndarray, " nq"],
) -> bool:
    """Return whether angles outside of the limits are within as degrees.

    One of them must be more than a full turn.
    """
    if np.abs(q[outside]).max(initial=0.0) <= 2 * np.pi:
        return False
    low, high = C.limits[:, outside]
    angles = np.deg2rad(q[outside])
    return bool(((low - 1e-3 <= angles) & (angles <= high + 1e-3)).all())

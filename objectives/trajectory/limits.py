"""Limits of velocity, acceleration and jerk that users give."""

import numpy as np
from jaxtyping import Float

from posewise.robots.typing import VectorLike
from posewise.robots.validation import float_array

from ..terms.objective import ObjectiveError
from .straight_path import StraightPath

ACCELERATION_PER_VELOCITY = 2.0
"""Default limit of acceleration over that of velocity [1/s]: full speed in 0.5 s. A
lower one gives slower trajectories."""


def parse_limits(
    label: str, limits: float | VectorLike, names: tuple[str, ...]
) -> Float[np.ndarray, " n"]:
    """Return a limit for each coordinate; inf where there is none.

    Args:
        label: name of the argument, for messages.
        limits: one number > 0, or one for each coordinate.
        names: of the coordinates.

    Raises:
        ObjectiveError: for other numbers.
    """
    expected = f"one number > 0, or {len(names)}: {', '.join(names[:4])}"
    expected += ", …" * (len(names) > 4)
    values = float_array(label, limits, expected, ObjectiveError)
    if values.shape not in ((), (len(names),)) or not (values > 0).all():
        raise ObjectiveError(f"{label} is {limits!r}, expected {expected}.")
    return np.array(np.broadcast_to(values, len(names)))


def require_limits(
    path: StraightPath, names: tuple[str, ...], limits: Float[np.ndarray, "2 n"]
) -> None:
    """Raise an ObjectiveError if no coordinate that moves has a limit."""
    moves = np.ptp(path.points, axis=0) > 0
    if moves.any() and not np.isfinite(limits[:, moves]).any():
        first = names[int(np.argmax(moves))]
        raise ObjectiveError(
            f"No coordinate that moves has a limit (such as {first!r}), so the path"
            " could be of any speed; give velocity= or acceleration=."
        )

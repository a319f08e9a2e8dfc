"""Periods of coordinates: full turns of joints that turn without end.

A coordinate has a period if all poses of a world repeat with it: it has no limits, and
moves only rotations about fixed axes, each by a whole number of turns in the period. An
unlimited screw, whose rotation a sliding joint follows, has none.
"""

import numpy as np
from jaxtyping import Float

from .tree import KinematicTree

WHOLE_TURNS_TOLERANCE = 1e-9
"""Largest deviation of a follower's turns from a whole number [turns]; a larger one
takes ratios of gears for whole numbers that are not."""


def coordinate_periods(
    tree: KinematicTree,
    dof_multiplier: Float[np.ndarray, " dofs"],
    limits: Float[np.ndarray, "2 nq"],
) -> Float[np.ndarray, " nq"]:
    """Return the period of each coordinate [rad], inf where it has none.

    Args:
        tree: the structure.
        dof_multiplier: motion of each elementary dof for a unit of its coordinate.
        limits: lower and upper, ±inf where none.
    """
    periods = np.full(tree.nq, np.inf)
    columns = np.array(tree.dof_columns, int)
    is_rotation = np.array(tree.dof_is_rotation, bool)
    for column, coordinate in enumerate(tree.column_coordinate):
        if coordinate < 0 or np.isfinite(limits[:, coordinate]).any():
            continue
        driven = (columns == column) & (dof_multiplier != 0)
        if not driven.any() or not is_rotation[driven].all():
            continue
        speeds = np.abs(dof_multiplier[driven])
        turns = speeds / speeds.min()
        if np.abs(turns - np.round(turns)).max() < WHOLE_TURNS_TOLERANCE:
            periods[coordinate] = 2 * np.pi / speeds.min()
    return periods


def nearest_turn(
    q: Float[np.ndarray, "*batch nq"],
    reference: Float[np.ndarray, "*#batch nq"],
    periods: Float[np.ndarray, " nq"],
) -> Float[np.ndarray, "*batch nq"]:
    """Return coordinates that are as far as possible within half a turn of others.

    Args:
        q: coordinates; they change by whole periods only.
        reference: the coordinates to be near to.
        periods: of the coordinates, inf where there is none.
    """
    repeats = np.isfinite(periods)
    period = np.where(repeats, periods, 1.0)
    return q + np.where(repeats, period * np.round((reference - q) / period), 0.0)

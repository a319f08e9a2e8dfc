"""Presets of how frames move on a path: lifts, dips, smooth motion, rest, dynamics.

They are for problems with several slices in each phase; those that measure velocities
need `k_order >= 1`, those that measure accelerations `k_order >= 2`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature, Pose
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..terms.interval import ObjectiveSpecs, SliceInterval
from ..terms.objective import OT
from .contact_constraints import force_unit
from .helpers import check_length
from .preset import Preset, make_preset


def lift(frame: FrameName, height: float = 0.4) -> Preset:
    """Lift a frame above a height, as a cost of what is missing (x10, m).

    It asks for nothing where a phase has one slice only.

    Args:
        frame: frame whose origin is lifted.
        height: in the world [m].

    Raises:
        ObjectiveError: for a height < 0.
    """
    check_length("lift: height", height)

    return make_preset("lift", _lift_rows, frame=frame, height=height)


def _lift_rows(
    C: Config, interval: SliceInterval, frame: FrameName, height: float
) -> ObjectiveSpecs:
    if interval.slices_per_phase == 1:
        return
    missing = Feature(missing_height, frame, scale=10.0, params=np.array(height))
    yield missing, OT.sos, interval.slices


def missing_height(lifted: Pose, height: Float[jax.Array, ""]) -> Float[jax.Array, "1"]:
    """Return what the origin of a frame lacks to a height in the world, >= 0 [m]."""
    return jnp.maximum(height - lifted.p[2], 0.0)[None]


def down_up(frame: FrameName, acceleration: float = 0.1) -> Preset:
    """Constrain a frame to go down and up again, straight, by a constant acceleration.

    The acceleration is upward in the world (equality, m/s²): the frame slows down on
    its way down, and leaves upward.

    Args:
        frame: frame whose origin moves.
        acceleration: upward [m/s²].

    Raises:
        ObjectiveError: for an acceleration < 0.
    """
    check_length("down_up: acceleration", acceleration)

    return make_preset("down_up", _down_up_rows, frame=frame, acceleration=acceleration)


def _down_up_rows(
    C: Config, interval: SliceInterval, frame: FrameName, acceleration: float
) -> ObjectiveSpecs:
    up = [0.0, 0.0, acceleration]
    yield Feature(FS.position, frame, order=2, target=up), OT.eq, interval.slices


def damp_motion(frame: FrameName, scale: float = 0.01) -> Preset:
    """Make the motion of a frame slow and smooth, as a cost.

    Costs are its velocity and angular velocity, and their changes over time.

    Args:
        frame: frame whose motion is damped.
        scale: of the rows [m/s, rad/s, m/s², rad/s²].

    Raises:
        ObjectiveError: for a scale < 0.
    """
    check_length("damp_motion: scale", scale)

    return make_preset("damp_motion", _damp_motion_rows, frame=frame, scale=scale)


def _damp_motion_rows(
    C: Config, interval: SliceInterval, frame: FrameName, scale: float
) -> ObjectiveSpecs:
    for order in (1, 2):
        slow = Feature(FS.linangVel, frame, order=order, scale=scale)
        yield slow, OT.sos, interval.slices


def at_rest(frame: FrameName) -> Preset:
    """Constrain a frame to be at rest in the world (equality, m/s and rad/s)."""
    return make_preset("at_rest", _at_rest_rows, frame=frame)


def _at_rest_rows(
    C: Config, interval: SliceInterval, frame: FrameName
) -> ObjectiveSpecs:
    yield Feature(FS.linangVel, frame), OT.eq, interval.slices


def move_in_plane(frame: FrameName) -> Preset:
    """Constrain a frame to keep its height and orientation (equality, m/s, rad/s)."""
    return make_preset("move_in_plane", _move_in_plane_rows, frame=frame)


def _move_in_plane_rows(
    C: Config, interval: SliceInterval, frame: FrameName
) -> ObjectiveSpecs:
    rows = 10 * np.eye(6)[2:]
    steps = interval.steps("move_in_plane")
    yield Feature(FS.linangVel, frame, scale=rows), OT.eq, steps


def dynamics(object: FrameName) -> Preset:
    """Constrain an object to move by Newton's and Euler's laws (equality).

    Forces are its weight and those of `KOMO.add_contact`; they count as parts of the
    weight. Give it a mode "free", so that it moves.

    Args:
        object: frame with a mass.
    """
    return make_preset("dynamics", _dynamics_rows, object=object)


def _dynamics_rows(
    C: Config, interval: SliceInterval, object: FrameName
) -> ObjectiveSpecs:
    weight = force_unit(C, (object, object))
    law = Feature(FS.physics, object, scale=1 / weight)
    yield law, OT.eq, interval.steps("dynamics")

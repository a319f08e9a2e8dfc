"""Presets of motion: straight approaches and pushes, rest, and simple targets.

A gripper frame has its x along the line on which the fingers close, and its z pointing
from the fingers back to the palm. What speaks of velocities needs k_order >= 1.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature, Pose
from posewise.robots.config import Config
from posewise.robots.validation import float_array

from ..interval import ObjectiveSpecs, SliceInterval
from ..objective import OT, ObjectiveError
from .helpers import check_length, min_clearance, projection


@dataclass(frozen=True)
class retract:
    """The gripper leaves: straight along its own z, without turning, by a distance.

    Between the slices of the interval the gripper does not turn (x10, rad/s), does not
    move along its x and y (x10, m/s), and never moves back along its z (x10, m/s). In
    the middle half of these steps it covers the distance (x10, m/s), each step as much
    as the others, so that it may begin and end at rest (with three steps or more).

    Args:
        gripper: its frame.
        distance: least travel [m].

    Raises:
        ObjectiveError: for a distance < 0; on adding, for times that are no interval.
    """

    gripper: Any
    distance: Any = 0.03

    def __post_init__(self) -> None:
        check_length("retract: distance", self.distance)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        return _straight("retract", self.gripper, self.distance, 1.0, interval)


@dataclass(frozen=True)
class approach:
    """The gripper arrives: straight along its own -z; see `retract`.

    Args:
        gripper: its frame.
        distance: least travel [m].

    Raises:
        ObjectiveError: for a distance < 0; on adding, for times that are no interval.
    """

    gripper: Any
    distance: Any = 0.03

    def __post_init__(self) -> None:
        check_length("approach: distance", self.distance)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        return _straight("approach", self.gripper, self.distance, -1.0, interval)


def _straight(
    what: str, gripper: Any, distance: float, sign: float, interval: SliceInterval
) -> ObjectiveSpecs:
    steps = interval.steps(what)
    yield Feature(FS.angularVel, gripper, scale=10.0), OT.eq, steps
    across = 10 * projection("xy")
    yield Feature(FS.bodyVel, gripper, scale=across), OT.eq, steps
    along = -10 * sign * projection("z")
    yield Feature(FS.bodyVel, gripper, scale=along), OT.ineq, steps
    rest = max(len(steps) // 4, 1) if len(steps) > 2 else 0
    middle = steps[rest : len(steps) - rest]
    speed = sign * distance / interval.duration(middle)
    fast = Feature(FS.bodyVel, gripper, scale=along, target=[0, 0, speed])
    yield fast, OT.ineq, middle


@dataclass(frozen=True)
class straight_push:
    """The gripper pushes an object straight ahead, in the plane orthogonal to its z.

    Ahead is `f = z_object × x_gripper`. At the first slice the gripper is `gap` from
    the object's surface (x10, m), behind its origin along f by 2 cm or more (x10, m),
    not beside or above it (x10, m), its x orthogonal to the object's z, and its y
    between ahead and up (products with both >= 0.2). On all steps of the interval it
    does not turn (x10, rad/s), the object keeps its pose in the gripper (x10, 1/s), and
    moves neither sideways nor along its z nor back (x10, m/s).

    Args:
        gripper: its frame, with a shape or a Marker.
        object: a frame with a shape, that can move.
        gap: distance of gripper and object while pushing [m].

    Raises:
        ObjectiveError: for a gap < 0; on adding, for times that are no interval.
        ConfigError: on adding, for frames without shapes.
    """

    gripper: Any
    object: Any
    gap: Any = 0.025

    def __post_init__(self) -> None:
        check_length("straight_push: gap", self.gap)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        steps, start = interval.steps("straight_push"), interval.first
        pair = (self.gripper, self.object)
        x, z = 10 * projection("x"), 10 * projection("z")
        rows = np.diag([10.0, 10, 10, 1, 1, 1])
        yield min_clearance(*pair, self.gap), OT.eq, start
        yield Feature(push_stance, pair, scale=rows[[0, 2, 3]]), OT.eq, start
        behind = Feature(
            push_stance,
            pair,
            scale=rows[[1, 4, 5]] * [1, 1, 1, 1, -1, -1],
            target=[0, -0.02, 0, 0, 0.2, 0.2],
        )
        yield behind, OT.ineq, start
        yield Feature(FS.angularVel, self.gripper, scale=10.0), OT.eq, steps
        yield Feature(FS.poseRel, pair, order=1, scale=10.0), OT.eq, steps
        yield Feature(FS.bodyVel, self.gripper, scale=x), OT.eq, steps
        yield Feature(FS.bodyVel, self.object, scale=z), OT.eq, steps
        yield Feature(push_progress, pair, order=1, scale=-10.0), OT.ineq, steps


def push_stance(gripper: Pose, pushed: Pose) -> Float[jax.Array, "6"]:
    """The gripper's place [m] and axes, seen along a push of an object.

    Rows: place from the object's origin along x_gripper, `f` and z_object, where the
    push is along `f = z_object × x_gripper`; x_gripper · z_object; y_gripper · f;
    y_gripper · z_object.
    """
    side, up = gripper.R[:, 0], pushed.R[:, 2]
    ahead = jnp.cross(up, side)
    offset, y = gripper.p - pushed.p, gripper.R[:, 1]
    pairs = [(offset, side), (offset, ahead), (offset, up)]
    pairs += [(side, up), (y, ahead), (y, up)]
    return jnp.stack([jnp.sum(a * b) for a, b in pairs])


def push_progress(gripper: Pose, pushed: Pose) -> Float[jax.Array, "1"]:
    """Place of the object along the push, in the world [m]; see `push_stance`."""
    return jnp.sum(pushed.p * jnp.cross(pushed.R[:, 2], gripper.R[:, 0]))[None]


@dataclass(frozen=True)
class freeze_joint:
    """Joints keep their coordinates throughout an interval.

    Velocities of the coordinates are zero on its steps (x10, rad/s or m/s). An interval
    from time 0 begins at the present state.

    Args:
        joints: names of joints; none: all.
    """

    joints: Any = ()

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        still = Feature(FS.qItself, self.joints, order=1, scale=10.0)
        yield still, OT.eq, interval.steps("freeze_joint")


@dataclass(frozen=True)
class freeze_relative_pose:
    """`frame` keeps its pose in `relative_to` throughout an interval.

    Velocities of the relative position and quaternion are zero on its steps (x10,
    m/s and 1/s).
    """

    frame: Any
    relative_to: Any

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        pair = (self.frame, self.relative_to)
        still = Feature(FS.poseRel, pair, order=1, scale=10.0)
        yield still, OT.eq, interval.steps("freeze_relative_pose")


@dataclass(frozen=True)
class stop:
    """Joints are at rest: velocities zero on the slices at the times (rad/s or m/s).

    Args:
        joints: names of joints; none: all.
    """

    joints: Any = ()

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        yield Feature(FS.qItself, self.joints, order=1), OT.eq, interval.slices


@dataclass(frozen=True)
class no_collisions:
    """Pairs of frames stay apart by a margin: an inequality for each pair (x10, m).

    Args:
        pairs: of names of frames with collision shapes, e.g. `[("palm", "box")]`.
        margin: least distance [m].

    Raises:
        ObjectiveError: for anything but pairs of names, or a margin < 0.
    """

    pairs: Any
    margin: Any = 0.001

    def __post_init__(self) -> None:
        check_length("no_collisions: margin", self.margin)
        try:
            good = len(self.pairs) and all(
                len(pair) == 2 and not isinstance(pair, str) for pair in self.pairs
            )
        except TypeError:
            good = False
        if not good:
            raise ObjectiveError(
                f"no_collisions: pairs is {self.pairs!r}, expected pairs of names, e.g."
                " [('palm', 'box')]."
            )

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        for a, b in self.pairs:
            yield min_clearance(a, b, self.margin), OT.ineq, interval.slices


@dataclass(frozen=True)
class target_relative_xy_position:
    """The origin of `frame` at given x and y [m] in `relative_to`; z is free (x10)."""

    frame: Any
    relative_to: Any
    position: Any

    def __post_init__(self) -> None:
        _vector("target_relative_xy_position: position", self.position, 2)

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        place = Feature(
            FS.positionRel,
            (self.frame, self.relative_to),
            scale=10 * projection("xy"),
            target=[*np.asarray(self.position, float), 0.0],
        )
        yield place, OT.eq, interval.slices


@dataclass(frozen=True)
class target_x_orientation:
    """The x axis of `frame` points along a world vector, of any length > 0 (x10)."""

    frame: Any
    vector: Any

    def __post_init__(self) -> None:
        vector = _vector("target_x_orientation: vector", self.vector, 3)
        if not vector.any():
            raise ObjectiveError(
                "target_x_orientation: vector is zero, expected a direction."
            )

    def objectives(self, C: Config, interval: SliceInterval) -> ObjectiveSpecs:
        """See `Statement`."""
        vector = np.asarray(self.vector, float)
        unit = vector / np.linalg.norm(vector)
        yield (
            Feature(FS.vectorX, self.frame, scale=10.0, target=unit),
            OT.eq,
            interval.slices,
        )


def _vector(what: str, given: Any, size: int) -> Float[np.ndarray, " n"]:
    vector = float_array(what, given, f"{size} numbers", ObjectiveError)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ObjectiveError(f"{what} is {given!r}, expected {size} finite numbers.")
    return vector

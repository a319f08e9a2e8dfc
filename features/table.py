"""Table of all feature symbols, `FS`."""

import copyreg
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import Any

import jax
import numpy as np

from posewise.robots.config import Config
from posewise.robots.named_members import NamedMembers
from posewise.robots.typing import Frames, VectorLike
from posewise.robots.world.friction import DEFAULT_FRICTION

from . import (
    balance,
    collisions,
    contacts,
    feet,
    forces,
    joints,
    motions,
    orientations,
    positions,
    regions,
    separations,
    support_polygon,
)
from .feature import Feature
from .pairs import collision_values
from .pairs.nearest import PairFunction
from .symbol import Symbol
from .symbol_kinds import JointSymbol, PoseSymbol, WorldSymbol
from .typing import Order, ScaleLike, TargetLike
from .vectors import VectorForm

# Params of these read no constant poses of frames, unless said otherwise.
_pose_symbol = partial(PoseSymbol, reads_origins=False)
_world_symbol = partial(WorldSymbol, reads_origins=False)
_frame_symbol = partial(_pose_symbol, frames=(1, 1))
_frame_pair_symbol = partial(_pose_symbol, frames=(2, 2))
_world_pair_symbol = partial(_world_symbol, frames=(2, 2))
_QUATERNION_ROWS = slice(0, 4)
_POSE_QUATERNION_ROWS = slice(3, 7)
_joint_symbol = partial(JointSymbol, frames=(0, None), reads_origins=False)
_region_symbol = partial(_frame_pair_symbol, unit="m", options={"margin": 0.0})
# Along paths, symbols with a `vector_form` are evaluated together as one symbol of
# three frames; their own functions serve `Feature.eval` and `Feature.function`.
_RELATIVE_POSITION = VectorForm(0, 1, observer=1)
_BOX_SIDES = np.concatenate([np.eye(3), -np.eye(3)]).tolist()
"""Directions of the rows of a box: x, y, z, -x, -y, -z."""
_POSITION_REL = _frame_pair_symbol(
    positions.position_rel, dim=3, unit="m", vector_form=_RELATIVE_POSITION
)


def _distance_symbol(
    fn: PairFunction,
    name: str,
    dim: int = 3,
    ends: Sequence[tuple[int, int]] = ((0, 1),),
) -> Symbol:
    count = 1 + max(map(max, ends))
    return _world_symbol(
        fn,
        name,
        frames=(count, count),
        dim=dim,
        unit="" if fn is separations.normal else "m",
        options={"smoothing": 0.0} if fn is separations.neg_distance else {},
        resolve=separations.distance_resolver(fn, name, dim, "m", ends),
    )


def _contact_law_symbol(
    fn: Callable[..., jax.Array],
    name: str,
    dim: int,
    unit: str,
    window: int = 0,
    **options: float,
) -> Symbol:
    return _world_pair_symbol(
        fn,
        dim=dim,
        unit=unit,
        window=window,
        options=options,
        resolve=contacts.contact_law_resolver(fn, name, dim, unit, window),
    )


_FINGERS = ((0, 2), (1, 2))
_collision_symbol = partial(
    _world_symbol,
    frames=(0, None),
    unit="m",
    options={"margin": 0.0, "self_margin": None, "smoothing": 0.0},
)


def _motion_bound_symbol(fn: Callable[..., jax.Array], window: int) -> Symbol:
    return _joint_symbol(
        fn,
        rows_per_coordinate=2,
        unit="rad, m",
        window=window,
        options={"limits": (0.0,)},
        params=joints.motion_bound_params,
    )


def _axis_symbol(i: int) -> Symbol:
    return _frame_symbol(
        positions.axis(i), dim=3, vector_form=VectorForm(0, axes=(i, i))
    )


def _axis_diff_symbol(i: int) -> Symbol:
    return _frame_pair_symbol(
        positions.axis_diff(i), dim=3, vector_form=VectorForm(0, 1, axes=(i, i))
    )


def _axis_rel_symbol(i: int) -> Symbol:
    form = VectorForm(0, observer=1, axes=(i, i))
    return _frame_pair_symbol(positions.axis_rel(i), dim=3, vector_form=form)


def _scalar_product_symbol(i: int, j: int) -> Symbol:
    # a_i · b_j is the j-th entry of a_i expressed in b: Rᵀ u with u = a_i.
    form = VectorForm(0, observer=1, axes=(i, i), projection=(_BOX_SIDES[j],))
    return _frame_pair_symbol(positions.scalar_product(i, j), dim=1, vector_form=form)


# Kinematics need all of q, also the joints that do not move the frame.
def _all_coordinates(C: Config, frames: Sequence[str]) -> np.ndarray:
    return np.arange(C.nq)


def _manipulability_symbol(linear: int) -> Symbol:
    return JointSymbol(
        balance.manipulability,
        dim=1,
        uses_kinematics=True,
        reads_origins=False,
        coordinates=_all_coordinates,
        params=lambda C, frames: {
            "frame": np.array(C.index(frames[0])),
            "linear": np.array(linear),
        },
    )


class FS(Enum, metaclass=NamedMembers):
    """Feature symbols; the reference lists frames, dimension and formula of each."""

    position = _frame_symbol(
        positions.position, dim=3, unit="m", vector_form=VectorForm(0)
    )
    positionDiff = _frame_pair_symbol(
        positions.position_diff, dim=3, unit="m", vector_form=VectorForm(0, 1)
    )
    positionRel = _POSITION_REL
    gazeAt = _frame_pair_symbol(
        positions.gaze_at,
        dim=2,
        unit="m",
        unprojected=_POSITION_REL,
        vector_form=_RELATIVE_POSITION._replace(projection=_BOX_SIDES[:2]),
    )

    vectorX = _axis_symbol(0)
    vectorY = _axis_symbol(1)
    vectorZ = _axis_symbol(2)
    vectorXDiff = _axis_diff_symbol(0)
    vectorYDiff = _axis_diff_symbol(1)
    vectorZDiff = _axis_diff_symbol(2)
    vectorXRel = _axis_rel_symbol(0)
    vectorYRel = _axis_rel_symbol(1)
    vectorZRel = _axis_rel_symbol(2)
    scalarProductXX = _scalar_product_symbol(0, 0)
    scalarProductXY = _scalar_product_symbol(0, 1)
    scalarProductXZ = _scalar_product_symbol(0, 2)
    scalarProductYX = _scalar_product_symbol(1, 0)
    scalarProductYY = _scalar_product_symbol(1, 1)
    scalarProductYZ = _scalar_product_symbol(1, 2)
    scalarProductZX = _scalar_product_symbol(2, 0)
    scalarProductZY = _scalar_product_symbol(2, 1)
    scalarProductZZ = _scalar_product_symbol(2, 2)

    quaternion = _frame_symbol(
        orientations.quaternion,
        dim=4,
        uses_quaternions=True,
        quaternion_rows=_QUATERNION_ROWS,
    )
    quaternionDiff = _frame_pair_symbol(
        orientations.quaternion_diff, dim=4, uses_quaternions=True
    )
    quaternionRel = _frame_pair_symbol(
        orientations.quaternion_rel,
        dim=4,
        uses_quaternions=True,
        quaternion_rows=_QUATERNION_ROWS,
    )
    eulerXYZ = _frame_pair_symbol(orientations.euler_xyz, dim=3, unit="rad")
    pose = _frame_symbol(
        orientations.pose,
        dim=7,
        unit="m, 1",
        uses_quaternions=True,
        quaternion_rows=_POSE_QUATERNION_ROWS,
    )
    poseDiff = _frame_pair_symbol(
        orientations.pose_diff, dim=7, unit="m, 1", uses_quaternions=True
    )
    poseRel = _frame_pair_symbol(
        orientations.pose_rel,
        dim=7,
        unit="m, 1",
        uses_quaternions=True,
        quaternion_rows=_POSE_QUATERNION_ROWS,
    )
    poseLog = _frame_pair_symbol(
        orientations.pose_log, dim=6, unit="m, rad", uses_quaternions=True
    )

    angularVel = _frame_symbol(
        motions.angular_velocity, dim=3, unit="rad/s", window=1, uses_quaternions=True
    )
    linangVel = _frame_symbol(
        motions.linear_angular_velocity,
        dim=6,
        unit="m/s, rad/s",
        window=1,
        uses_quaternions=True,
    )
    linearSpeed = _frame_symbol(
        motions.linear_speed, dim=1, unit="m/s", window=1, is_nonnegative=True
    )
    angularSpeed = _frame_symbol(
        motions.angular_speed,
        dim=1,
        unit="rad/s",
        window=1,
        is_nonnegative=True,
        uses_quaternions=True,
    )
    bodyVel = _frame_symbol(motions.body_velocity, dim=3, unit="m/s", window=1)
    AlignXWithDiff = _frame_pair_symbol(motions.align_with_motion(0), dim=3, window=1)
    AlignYWithDiff = _frame_pair_symbol(motions.align_with_motion(1), dim=3, window=1)
    energy = _pose_symbol(
        motions.energy,
        frames=(1, None),
        dim=1,
        unit="J",
        window=1,
        divides_by_tau=False,
        params=motions.mass_params,
    )
    EqCenterOfMass = _pose_symbol(
        balance.equal_center_of_mass,
        frames=(2, None),
        dim=3,
        unit="m",
        params=balance.body_mass_params,
    )
    supportPolygon = _world_symbol(
        support_polygon.balance_margin,
        frames=(1, None),
        dim=1,
        unit="m",
        options={"sole": 0.01},
        resolve=feet.resolve_balance,
    )
    manipulability = _manipulability_symbol(0)
    linearManipulability = _manipulability_symbol(1)

    qItself = _joint_symbol(
        joints.joint_values, rows_per_coordinate=1, unit="rad, m", is_periodic=True
    )
    jointState = qItself
    jointLimits = _joint_symbol(
        joints.joint_limits,
        rows_per_coordinate=2,
        unit="rad, m",
        params=joints.joint_limit_params,
        coordinates=joints.limited_coordinates,
    )
    velocityLimits = _joint_symbol(
        joints.velocity_limits,
        rows_per_coordinate=2,
        unit="rad/s, m/s",
        window=1,
        params=joints.velocity_limit_params,
        coordinates=joints.speed_limited_coordinates,
    )
    transVelocities = _joint_symbol(
        joints.transition_velocity, rows_per_coordinate=1, unit="rad/s, m/s", window=1
    )
    transAccelerations = _joint_symbol(
        joints.transition_acceleration,
        rows_per_coordinate=1,
        unit="rad/s², m/s²",
        window=2,
    )
    velocityBounds = _motion_bound_symbol(joints.velocity_bounds, 1)
    accelerationBounds = _motion_bound_symbol(joints.acceleration_bounds, 2)
    jerkBounds = _motion_bound_symbol(joints.jerk_bounds, 3)
    qHome = _joint_symbol(
        joints.home_difference,
        rows_per_coordinate=1,
        unit="rad, m",
        is_periodic=True,
        params=joints.home_params,
    )
    qQuaternionNorms = _joint_symbol(
        joints.quaternion_norms, coordinates=joints.quaternion_coordinates
    )

    aboveBox = _region_symbol(
        regions.above_box,
        dim=4,
        params=regions.footprint_params,
        vector_form=_RELATIVE_POSITION._replace(
            projection=[*_BOX_SIDES[:2], *_BOX_SIDES[3:5]],
            offset=regions.footprint_offset,
        ),
    )
    insideBox = _region_symbol(
        regions.inside_box,
        dim=6,
        params=regions.box_params,
        options={"margin": 0.01},
        vector_form=_RELATIVE_POSITION._replace(
            projection=_BOX_SIDES, offset=regions.box_offset
        ),
    )
    insideCylinder = _region_symbol(
        regions.inside_cylinder, dim=3, params=regions.cylinder_params
    )
    standingAbove = _region_symbol(
        regions.standing_above, dim=5, params=regions.standing_params
    )

    distance = _distance_symbol(separations.neg_distance, "distance", 1)
    negDistance = distance
    pairCollision_negScalar = distance
    pairCollision_vector = _distance_symbol(separations.vector, "pairCollision_vector")
    pairCollision_normal = _distance_symbol(separations.normal, "pairCollision_normal")
    pairCollision_p1 = _distance_symbol(separations.point_1, "pairCollision_p1")
    pairCollision_p2 = _distance_symbol(separations.point_2, "pairCollision_p2")
    oppose = _distance_symbol(separations.oppose, "oppose", ends=_FINGERS)
    opposeCentral = _distance_symbol(
        separations.oppose_central, "opposeCentral", 6, ends=_FINGERS
    )
    accumulatedCollisions = _collision_symbol(
        collision_values.accumulated_collisions, dim=1, resolve=collisions.resolve_sum
    )
    collisionRows = _collision_symbol(
        collision_values.collision_rows, resolve=collisions.resolve_rows
    )

    totalForce = WorldSymbol(
        forces.total_force,
        dim=6,
        unit="N, N m",
        resolve=forces.resolve_total,
        frames=(1, 1),
    )
    physics = WorldSymbol(
        forces.physics,
        dim=6,
        unit="N, N m",
        window=2,
        resolve=forces.resolve_physics,
        frames=(1, 1),
    )
    contactPOA = _world_pair_symbol(
        contacts.point_of_attack, dim=3, unit="m", resolve=contacts.resolve_point
    )
    contactForce = _world_pair_symbol(
        contacts.contact_force, dim=3, unit="N", resolve=contacts.resolve_force
    )
    contactConstraints = _contact_law_symbol(
        contacts.tangential_force, "contactConstraints", 3, "N"
    )
    frictionCone = _contact_law_symbol(
        contacts.friction_cone, "frictionCone", 2, "N", friction=DEFAULT_FRICTION
    )
    contactDistances = _contact_law_symbol(
        contacts.distances, "contactDistances", 2, "m"
    )
    complementarity = _contact_law_symbol(
        contacts.complementarity, "complementarity", 2, "N m"
    )
    slipVelocity = _contact_law_symbol(
        contacts.slip_velocity, "slipVelocity", 3, "m/s", 1
    )
    slidingFriction = _contact_law_symbol(
        contacts.sliding_friction,
        "slidingFriction",
        3,
        "N m/s",
        1,
        friction=DEFAULT_FRICTION,
    )

    @property
    def symbol(self) -> Symbol:
        """The symbol's function and calling convention."""
        symbol: Symbol = self.value
        return symbol

    def on(
        self,
        frames: Frames = (),
        *,
        order: Order | None = None,
        target: TargetLike | None = None,
        scale: ScaleLike | None = None,
        **options: float | VectorLike,
    ) -> Feature:
        """Return this symbol on frames as a `Feature`, which documents the arguments.

        >>> from posewise import FS
        >>> FS.position.on(["hand"], target=[0.3, 0, 0.5])
        Feature(position, ['hand'])
        """
        return Feature(self, frames, order=order, target=target, scale=scale, **options)

    def __repr__(self) -> str:
        return f"FS.{self.name}"

    def __reduce_ex__(self, protocol: object) -> Any:
        """Pickle an entry by its name."""
        return getattr, (FS, self.name)


def _reduced(symbol: Symbol) -> Any:
    """Return how a symbol is pickled: an entry by its name, to stay the same object."""
    entry = FS.__members__.get(symbol.name)
    if entry is None or entry.value is not symbol:
        return object.__reduce_ex__(symbol, 2)
    return attrgetter(f"{symbol.name}.value"), (FS,)


for _kind in {type(_entry.value) for _entry in FS}:
    copyreg.pickle(_kind, _reduced)

# A symbol learns its name from the table, unless it has one already (aliases share it).
for _name, _entry in FS.__members__.items():
    if not _entry.value.name:
        object.__setattr__(_entry.value, "name", _name)

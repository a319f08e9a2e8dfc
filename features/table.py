"""FS: every feature symbol, one line each."""

from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from posewise.robots.world.friction import DEFAULT_FRICTION

from . import (
    balance,
    collisions,
    contacts,
    distances,
    forces,
    joints,
    motions,
    orientations,
    positions,
    regions,
)
from .feature import Feature
from .symbol import Symbol
from .vectors import VectorRows

_one = partial(Symbol, frames=(1, 1))
_two = partial(Symbol, frames=(2, 2))
_quat = slice(0, 4)
_tail = slice(3, 7)
_joint = partial(Symbol, frames=(0, None), of="joints")
_region = partial(_two, unit="m", options={"margin": 0.0})
_REL = VectorRows(0, 1, seen=1)
_SIDES = np.concatenate([np.eye(3), -np.eye(3)]).tolist()
"""Of a box's inside: x, y, z, and their opposites."""
_POSITION_REL = _two(positions.position_rel, dim=3, unit="m", vector=_REL)


def _between(fn, name: str, dim: int = 3, ends=((0, 1),)) -> Symbol:
    count = 1 + max(map(max, ends))
    return Symbol(
        fn,
        name,
        frames=(count, count),
        dim=dim,
        unit="" if fn is distances.normal else "m",
        options={"smoothing": 0.0} if fn is distances.neg_distance else {},
        resolve=distances.on_pairs(fn, name, dim, "m", ends),
    )


def _law(fn, name: str, dim: int, unit: str, window: int = 0, **options) -> Symbol:
    return _two(
        fn,
        dim=dim,
        unit=unit,
        window=window,
        options=options,
        resolve=contacts.law(fn, name, dim, unit, window),
    )


_FINGERS = ((0, 2), (1, 2))
_collisions = partial(
    Symbol, frames=(0, None), unit="m", options={"margin": 0.0, "smoothing": 0.0}
)


def _axis(i: int) -> Symbol:
    return _one(positions.axis(i), dim=3, vector=VectorRows(0, axes=(i, i)))


def _axis_diff(i: int) -> Symbol:
    return _two(positions.axis_diff(i), dim=3, vector=VectorRows(0, 1, axes=(i, i)))


def _axis_rel(i: int) -> Symbol:
    form = VectorRows(0, seen=1, axes=(i, i))
    return _two(positions.axis_rel(i), dim=3, vector=form)


def _product(i: int, j: int) -> Symbol:
    form = VectorRows(0, seen=1, axes=(i, i), rows=(_SIDES[j],))
    return _two(positions.scalar_product(i, j), dim=1, vector=form)


def _all_coordinates(C, frames) -> np.ndarray:
    return np.arange(C.nq)


def _manipulability(linear: int) -> Symbol:
    return Symbol(
        balance.manipulability,
        of="joints",
        dim=1,
        kinematics=True,
        coordinates=_all_coordinates,
        params=lambda C, frames: {
            "frame": np.array(C.index(frames[0])),
            "linear": np.array(linear),
        },
    )


class FS(Enum):
    """Feature symbols; frames, dimension and formula are those of each function."""

    position = _one(positions.position, dim=3, unit="m", vector=VectorRows(0))
    positionDiff = _two(
        positions.position_diff, dim=3, unit="m", vector=VectorRows(0, 1)
    )
    positionRel = _POSITION_REL
    gazeAt = _two(
        positions.gaze_at,
        dim=2,
        unit="m",
        unprojected=_POSITION_REL,
        vector=_REL._replace(rows=_SIDES[:2]),
    )

    vectorX = _axis(0)
    vectorY = _axis(1)
    vectorZ = _axis(2)
    vectorXDiff = _axis_diff(0)
    vectorYDiff = _axis_diff(1)
    vectorZDiff = _axis_diff(2)
    vectorXRel = _axis_rel(0)
    vectorYRel = _axis_rel(1)
    vectorZRel = _axis_rel(2)
    scalarProductXX = _product(0, 0)
    scalarProductXY = _product(0, 1)
    scalarProductXZ = _product(0, 2)
    scalarProductYX = _product(1, 0)
    scalarProductYY = _product(1, 1)
    scalarProductYZ = _product(1, 2)
    scalarProductZX = _product(2, 0)
    scalarProductZY = _product(2, 1)
    scalarProductZZ = _product(2, 2)

    quaternion = _one(orientations.quaternion, dim=4, quaternions=True, signless=_quat)
    quaternionDiff = _two(orientations.quaternion_diff, dim=4, quaternions=True)
    quaternionRel = _two(
        orientations.quaternion_rel, dim=4, quaternions=True, signless=_quat
    )
    pose = _one(orientations.pose, dim=7, quaternions=True, signless=_tail)
    poseDiff = _two(orientations.pose_diff, dim=7, quaternions=True)
    poseRel = _two(orientations.pose_rel, dim=7, quaternions=True, signless=_tail)
    poseLog = _two(orientations.pose_log, dim=6, unit="m, rad", quaternions=True)

    angularVel = _one(
        motions.angular_velocity, dim=3, unit="rad/s", window=1, quaternions=True
    )
    linangVel = _one(
        motions.linear_angular_velocity,
        dim=6,
        unit="m/s, rad/s",
        window=1,
        quaternions=True,
    )
    bodyVel = _one(motions.body_velocity, dim=3, unit="m/s", window=1)
    AlignXWithDiff = _two(motions.align_with_motion(0), dim=3, window=1)
    AlignYWithDiff = _two(motions.align_with_motion(1), dim=3, window=1)
    energy = Symbol(
        motions.energy,
        frames=(1, None),
        dim=1,
        unit="J",
        window=1,
        rate=False,
        params=motions.masses,
    )
    EqCenterOfMass = Symbol(
        balance.equal_center_of_mass,
        frames=(2, None),
        dim=3,
        unit="m",
        params=balance.body_masses,
    )
    manipulability = _manipulability(0)
    linearManipulability = _manipulability(1)

    qItself = _joint(joints.joint_values, each=1, unit="rad, m")
    jointState = qItself
    jointLimits = _joint(
        joints.joint_limits,
        each=2,
        unit="rad, m",
        params=joints.limits_of,
        coordinates=joints.limited,
    )
    velocityLimits = _joint(
        joints.velocity_limits,
        each=2,
        unit="rad/s, m/s",
        window=1,
        params=joints.speeds_of,
        coordinates=joints.fast,
    )
    transVelocities = _joint(
        joints.transition_velocity, each=1, unit="rad/s, m/s", window=1
    )
    transAccelerations = _joint(
        joints.transition_acceleration, each=1, unit="rad/s², m/s²", window=2
    )
    qHome = _joint(joints.home_difference, each=1, unit="rad, m", params=joints.home_of)
    qQuaternionNorms = _joint(
        joints.quaternion_norms, coordinates=joints.unit_quaternions
    )

    aboveBox = _region(
        regions.above_box,
        dim=4,
        params=regions.footprint,
        vector=_REL._replace(
            rows=[*_SIDES[:2], *_SIDES[3:5]], offset=regions.footprint_excess
        ),
    )
    insideBox = _region(
        regions.inside_box,
        dim=6,
        params=regions.box_size,
        options={"margin": 0.01},
        vector=_REL._replace(rows=_SIDES, offset=regions.box_excess),
    )
    insideCylinder = _region(
        regions.inside_cylinder, dim=3, params=regions.cylinder_size
    )
    standingAbove = _region(regions.standing_above, dim=5, params=regions.standing)

    distance = _between(distances.neg_distance, "distance", 1)
    negDistance = distance
    pairCollision_negScalar = distance
    pairCollision_vector = _between(distances.vector, "pairCollision_vector")
    pairCollision_normal = _between(distances.normal, "pairCollision_normal")
    pairCollision_p1 = _between(distances.point_1, "pairCollision_p1")
    pairCollision_p2 = _between(distances.point_2, "pairCollision_p2")
    oppose = _between(distances.oppose, "oppose", ends=_FINGERS)
    opposeCentral = _between(
        distances.oppose_central, "opposeCentral", 6, ends=_FINGERS
    )
    accumulatedCollisions = _collisions(
        collisions.accumulated, dim=1, resolve=collisions.resolve_sum
    )
    collisionRows = _collisions(collisions.pair_rows, resolve=collisions.resolve_rows)

    totalForce = _one(
        forces.total_force, dim=6, unit="N, N m", resolve=forces.resolve_total
    )
    physics = _one(
        forces.physics,
        dim=6,
        unit="N, N m",
        window=2,
        resolve=forces.resolve_physics,
    )
    contactPOA = _two(
        contacts.point_of_attack, dim=3, unit="m", resolve=contacts.resolve_point
    )
    contactForce = _two(
        contacts.contact_force, dim=3, unit="N", resolve=contacts.resolve_force
    )
    contactConstraints = _law(contacts.tangential_force, "contactConstraints", 3, "N")
    frictionCone = _law(
        contacts.friction_cone, "frictionCone", 2, "N", friction=DEFAULT_FRICTION
    )
    contactDistances = _law(contacts.distances, "contactDistances", 2, "m")
    complementarity = _law(contacts.complementarity, "complementarity", 2, "N m")
    slipVelocity = _law(contacts.slip_velocity, "slipVelocity", 3, "m/s", 1)
    slidingFriction = _law(
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
        return self.value

    def on(self, frames: Any = (), **options: Any) -> Feature:
        """This symbol on frames: see `Feature`."""
        return Feature(self, frames, **options)

    def __repr__(self) -> str:
        return f"FS.{self.name}"


for _name, _entry in FS.__members__.items():
    if not _entry.value.name:
        object.__setattr__(_entry.value, "name", _name)

"""Joint types as chains of elementary motions.

A joint is a short chain of *nodes*; a node first translates along axes, then rotates
about one axis or by a quaternion. Kinematics, Jacobians and the fitting of joint values
to poses work on nodes and know no joint names.
"""

import math
import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..errors import ConfigError, unknown_name
from .transforms import (
    IDENTITY,
    axis_angle_to_quat,
    pose_inverse,
    pose_multiply,
    quat_log,
    quat_normalize,
    quat_to_matrix,
)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Axis = tuple[float, float, float] | str
"""A fixed axis, or the name of an axis of the joint: 'axis', 'normal1', 'normal2'."""


@dataclass(frozen=True)
class JointNode:
    """A translation along axes, then a rotation; entries are (coordinate, axis)."""

    translations: tuple[tuple[int, Axis], ...] = ()
    rotation: tuple[int, Axis] | None = None
    ball: int | None = None
    """First of the four quaternion coordinates."""


@dataclass(frozen=True)
class JointType:
    """A type of joints."""

    dim: int
    """Number of coordinates."""
    nodes: tuple[JointNode, ...]
    default_axis: tuple[float, float, float] | None = None
    """Axis of a joint that is given none; None: joints of the type have no axis."""

    @property
    def needs_axis(self) -> bool:
        """Whether joints of the type have an axis of their frame."""
        return self.default_axis is not None

    @property
    def balls(self) -> tuple[int, ...]:
        """First coordinate of each quaternion."""
        return tuple(n.ball for n in self.nodes if n.ball is not None)


def _hinge(axis: Axis) -> JointType:
    return JointType(1, (JointNode(rotation=(0, axis)),), _default_axis(axis))


def _slide(axis: Axis) -> JointType:
    return JointType(1, (JointNode(translations=((0, axis),)),), _default_axis(axis))


def _default_axis(axis: Axis) -> tuple[float, float, float] | None:
    """Return the default of URDF, x, for a joint that has an axis."""
    return X if axis == "axis" else None


_XYZ = ((0, X), (1, Y), (2, Z))
_FREE = JointType(7, (JointNode(translations=_XYZ, ball=3),))

JOINT_TYPES: dict[str, JointType] = {
    "hingeX": _hinge(X),
    "hingeY": _hinge(Y),
    "hingeZ": _hinge(Z),
    "hinge": _hinge("axis"),
    "transX": _slide(X),
    "transY": _slide(Y),
    "transZ": _slide(Z),
    "transXY": JointType(2, (JointNode(_XYZ[:2]),)),
    "trans3": JointType(3, (JointNode(_XYZ),)),
    "transXYPhi": JointType(3, (JointNode(_XYZ[:2], rotation=(2, Z)),)),
    "phiTransXY": JointType(
        3, (JointNode(rotation=(0, Z)), JointNode(((1, X), (2, Y))))
    ),
    "transYPhi": JointType(2, (JointNode(((0, Y),), rotation=(1, Z)),)),
    "universal": JointType(2, (JointNode(rotation=(0, X)), JointNode(rotation=(1, Y)))),
    "quatBall": JointType(4, (JointNode(ball=0),)),
    "free": _FREE,
    "XBall": JointType(5, (JointNode(((0, X),), ball=1),)),
    "rigid": JointType(0, ()),
    "revolute": _hinge("axis"),
    "continuous": _hinge("axis"),
    "prismatic": _slide("axis"),
    # Along x and y unless an axis is given: on the floor. URDF's default is x, which
    # the reader of URDF fills in.
    "planar": JointType(
        3, (JointNode(((0, "normal1"), (1, "normal2")), rotation=(2, "axis")),), Z
    ),
    "floating": _FREE,
    "fixed": JointType(0, ()),
}
"""The joint types of rai and URDF by name.

A name of `_` and letters of `xyzabcXYZABCw` is a generic joint of rai: translations
along x, y, z and rotations a, b, c about them in that order, capitals negated, w a
ball."""

FREE_JOINTS = "free", "floating"
"""Types of joints of what is loose: it can be anywhere."""
_LETTERS = {"x": X, "y": Y, "z": Z, "a": X, "b": Y, "c": Z}


@cache
def joint_type(name: object) -> JointType:
    """Return the joint type of a name.

    Raises:
        ConfigError: For an unknown name, with near matches.
    """
    if isinstance(name, str) and name in JOINT_TYPES:
        return JOINT_TYPES[name]
    if (
        isinstance(name, str)
        and re.fullmatch(r"_[xyzabcXYZABC]*w?", name)
        and len(name) > 1
    ):
        nodes = []
        for i, letter in enumerate(name[1:]):
            if letter == "w":
                nodes.append(JointNode(ball=i))
                continue
            axis = _LETTERS[letter.lower()]
            if letter.isupper():
                axis = (-axis[0], -axis[1], -axis[2])
            turn = letter.lower() in "abc"
            nodes.append(
                JointNode(rotation=(i, axis)) if turn else JointNode(((i, axis),))
            )
        return JointType(len(name) - 1 + 3 * name.endswith("w"), tuple(nodes))
    raise ConfigError(unknown_name("joint type", name, JOINT_TYPES))


def joint_dim(name: str) -> int:
    """Return the number of coordinates of a joint type."""
    return joint_type(name).dim


def resolve_axis(axis: Axis, joint_axis: np.ndarray | None) -> np.ndarray:
    """Return the vector of an axis, given the unit axis of the joint (default: x)."""
    if not isinstance(axis, str):
        return np.array(axis)
    a = np.array(X) if joint_axis is None else np.asarray(joint_axis, float)
    if axis == "axis":
        return a
    # Gram-Schmidt from an axis that is not nearly parallel to a.
    helper = np.array(X if abs(a[0]) < 0.9 else Y)
    first = helper - a * (helper @ a)
    first = first / np.linalg.norm(first)
    return first if axis == "normal1" else np.cross(a, first)


def neutral_value(name: str) -> np.ndarray:
    """Return the coordinates without motion: zeros, and identity quaternions."""
    type_ = joint_type(name)
    q = np.zeros(type_.dim)
    for b in type_.balls:
        q[b] = 1.0
    return q


def joint_transform(name: str, axis: np.ndarray | None, q: np.ndarray) -> np.ndarray:
    """Return the pose (7,) of a joint's motion at coordinates q."""
    total = IDENTITY.copy()
    for node in joint_type(name).nodes:
        step = IDENTITY.copy()
        for i, a in node.translations:
            step[:3] += resolve_axis(a, axis) * q[i]
        if node.rotation is not None:
            i, a = node.rotation
            step[3:] = axis_angle_to_quat(resolve_axis(a, axis), q[i])
        if node.ball is not None:
            step[3:] = quat_normalize(np.asarray(q[node.ball : node.ball + 4], float))
        total = pose_multiply(total, step)
    return total


def value_from_pose(
    name: str, axis: np.ndarray | None, pose: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return coordinates whose motion is nearest to a pose, and the error [m or rad].

    They are nearest for every joint of one node; for `universal`, `phiTransXY` and
    generic joints the nodes are solved one after the other.
    """
    q = neutral_value(name)
    remaining_pose = np.asarray(pose, float)
    nodes = joint_type(name).nodes
    if name == "phiTransXY":
        q[0] = _twist_angle(remaining_pose[3:], np.array(Z))
        remaining_pose = pose_multiply(
            joint_transform("hingeZ", None, -q[:1]), remaining_pose
        )
        q[1:] = remaining_pose[:2]
    elif name == "universal":
        R = quat_to_matrix(remaining_pose[3:])  # Rx(q0) Ry(q1)
        q[:] = np.arctan2(R[2, 1], R[1, 1]), np.arctan2(R[0, 2], R[0, 0])
    else:
        for node in nodes:
            step = IDENTITY.copy()
            for i, a in node.translations:
                along = resolve_axis(a, axis)
                q[i] = along @ remaining_pose[:3]
                step[:3] += along * q[i]
            if node.rotation is not None:
                i, a = node.rotation
                about = resolve_axis(a, axis)
                q[i] = _twist_angle(remaining_pose[3:], about)
                step[3:] = axis_angle_to_quat(about, q[i])
            if node.ball is not None:
                q[node.ball : node.ball + 4] = step[3:] = remaining_pose[3:]
            remaining_pose = pose_multiply(pose_inverse(step), remaining_pose)
    return q, pose_distance(joint_transform(name, axis, q), np.asarray(pose, float))


def pose_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the larger of the distance [m] and the angle [rad] between two poses."""
    d = pose_multiply(pose_inverse(a), b)
    angle = np.linalg.norm(quat_log(d[3:]))
    return max(math.hypot(*d[:3]), float(angle))


def _twist_angle(quat: np.ndarray, axis: np.ndarray) -> float:
    """Return the angle about `axis` nearest to a rotation, in (-π, π].

    It is the twist of the swing-twist decomposition: the quaternion is projected onto
    the axis.
    """
    angle = 2 * np.arctan2(quat[1:] @ axis, quat[0])
    return float(angle - 2 * np.pi * np.round(angle / (2 * np.pi)))

"""Joints of rai's graph files, and their mimics."""

from dataclasses import dataclass, replace

import numpy as np

from ...errors import ConfigError, unknown_name
from ...kinematics.joint_types import joint_transform, joint_type, value_from_pose
from ...kinematics.transforms import quat_normalize
from ...validation import MAX_NUMBER, is_bounded, leave_values
from ...world.frame import Joint
from .nodes import Attributes

RAI_JOINT_TYPES = (
    *("hingeX", "hingeY", "hingeZ", "hinge", "transX", "transY", "transZ", "transXY"),
    *("trans3", "transXYPhi", "phiTransXY", "transYPhi", "universal", "quatBall"),
    *("free", "XBall", "rigid"),
)
_UNSUPPORTED = {
    "circleZ": "use hingeZ",
    "tau": "time scaling belongs to the motion problem",
    "path": "paths belong to the motion problem",
    "direction": "directions belong to the motion problem",
}
_INVERTIBLE = {
    *("hingeX", "hingeY", "hingeZ", "hinge", "transX", "transY", "transZ", "transXY"),
    *("trans3", "transXYPhi", "transYPhi"),
}
"""Joints whose motion at -q is the motion at q with its position negated and its
rotation inverted."""


@dataclass(frozen=True, eq=False)
class JointDraft:
    """A joint before its mimic is resolved."""

    joint: Joint
    mimic: str | None = None
    unreachable: float = 0.0
    """Distance of the frame's pose from the poses that the joint reaches [m or rad]."""


def joint_type_name(attributes: Attributes) -> str | None:
    """Return the joint's type; None without a joint.

    Raises:
        LoadError: For a type that is unknown or not supported.
    """
    word = attributes.word("joint")
    if word is None or word == "none":
        return None
    if word in _UNSUPPORTED:
        attributes.fail(
            "joint",
            f"the joint type {word!r} is not supported ({_UNSUPPORTED[word]}).",
        )
    if word in RAI_JOINT_TYPES:
        return word
    try:
        if not word.startswith("_"):
            raise ConfigError(
                unknown_name("rai joint type", word, [*RAI_JOINT_TYPES, "none"])
            )
        joint_type(word)
    except ConfigError as error:
        attributes.fail("joint", str(error), error)
    return word


def read_joint(attributes: Attributes, type_name: str, Q: np.ndarray) -> JointDraft:
    """Return the joint of a frame.

    Args:
        attributes: Attributes of the frame.
        type_name: The joint type, from `joint_type_name`.
        Q: Pose of the frame in its parent (7,), which determines the joint's value if
            there is no attribute `q`.

    Raises:
        LoadError: For wrong axes, limits and values.
    """
    name = attributes.node.key
    type_ = joint_type(type_name)
    if type_.dim == 0:
        return JointDraft(Joint(type_name, name), _mimic_name(attributes))
    axis = _axis(attributes, type_name)
    scale = attributes.number("joint_scale", 1.0)
    if abs(scale) < 1 / MAX_NUMBER:
        attributes.fail("joint_scale", f"is {scale:g}; the joint would never move.")
    q = attributes.numbers("q", scalar=True)
    unreachable = 0.0
    if q is None:
        q, unreachable = value_from_pose(type_name, axis, Q)
        divisor = np.full(type_.dim, scale)
        for b in type_.balls:
            divisor[b : b + 4] = 1.0
        q = q / divisor
    if len(q) not in (1, type_.dim) or not is_bounded(scale * q):
        attributes.fail(
            "q",
            f"is {q.tolist()}, expected {type_.dim} finite numbers for a {type_name},"
            f" times joint_scale at most {MAX_NUMBER:g} in size.",
        )
    q = np.broadcast_to(q, type_.dim).astype(float)
    for b in type_.balls:
        if not q[b : b + 4].any():
            attributes.fail("q", "has the quaternion 0 0 0 0; identity is 1 0 0 0.")
        q[b : b + 4] = quat_normalize(q[b : b + 4] / np.abs(q[b : b + 4]).max())
    rates = attributes.numbers("ctrl_limits", bounds=True)
    if rates is not None and len(rates) != 3:
        attributes.fail(
            "ctrl_limits",
            f"has {len(rates)} numbers, expected 3: velocity, effort, acceleration.",
        )
    joint = Joint(
        type_name,
        name,
        axis=axis,
        limits=_limits(attributes, type_name, type_.dim),
        q=q,
        scale=scale,
        active=attributes.flag("joint_active", True),
        velocity=None if rates is None else np.full(type_.dim, rates[0]),
        effort=None if rates is None else np.full(type_.dim, rates[1]),
    )
    return JointDraft(joint, _mimic_name(attributes), unreachable)


def make_mimic(draft: JointDraft, target: Joint, attributes: Attributes) -> Joint:
    """Return a mimic joint, given the joint that it follows.

    rai copies the motion of that joint; a `joint_scale` of -1 inverts it, any other
    value has no effect.

    Raises:
        LoadError: When the types differ or the inverse is no motion of that type.
    """
    joint = draft.joint
    if joint.type != target.type or not _same_axis(joint.axis, target.axis):
        attributes.fail(
            "mimic",
            f"joint {joint.name!r} is a {joint.type}, {target.name!r} a {target.type};"
            " a joint can only mimic a joint of the same type and axis.",
        )
    sign = -1.0 if joint.scale == -1 else 1.0
    if sign < 0 and joint.type not in _INVERTIBLE:
        attributes.fail(
            "joint_scale", f"-1 cannot invert a mimicked {joint.type}; leave it out."
        )
    multiplier = sign * target.multiplier
    q = None if target.q is None else sign * target.q
    return replace(
        joint,
        q=q,
        mimic=target.mimic or target.name,
        multiplier=multiplier,
        scale=target.scale,
        active=target.active,
    )


def initial_transform(joint: Joint) -> np.ndarray:
    """Return the joint's motion (7,) at its initial value."""
    q = np.zeros(0) if joint.q is None else joint.q
    return joint_transform(joint.type, joint.axis, joint.scale * q)


def _axis(attributes: Attributes, type_name: str) -> np.ndarray | None:
    axis = attributes.numbers("axis")
    if type_name != "hinge":
        if axis is not None:
            attributes.fail(
                "axis",
                f"a {type_name} has its own axis; use `joint: hinge` or drop it.",
            )
        return None
    if axis is None:
        return np.array([1.0, 0.0, 0.0])
    norm = float(np.linalg.norm(axis))
    if len(axis) != 3 or norm == 0:
        attributes.fail(
            "axis", f"is {axis.tolist()}, expected 3 finite numbers, not all zero."
        )
    return axis / norm


def _limits(attributes: Attributes, type_name: str, dim: int) -> np.ndarray | None:
    numbers = attributes.numbers("limits", bounds=True)
    if numbers is None:
        return None
    if len(numbers) < 2 * dim:
        attributes.fail(
            "limits",
            f"has {len(numbers)} numbers, a {type_name} needs {2 * dim}: all lower"
            " bounds, then all upper bounds.",
        )
    limits = numbers[: 2 * dim].reshape(2, dim)
    if not leave_values(*limits):
        attributes.fail(
            "limits",
            f"lower bounds {limits[0].tolist()} exceed upper {limits[1].tolist()};"
            " give all lower bounds first, then all upper ones.",
        )
    return limits


def _mimic_name(attributes: Attributes) -> str | None:
    return attributes.word("mimic")


def _same_axis(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.allclose(a, b))

"""Joints as rai's graph files declare them, and who mimics whom."""

from dataclasses import dataclass, replace

import numpy as np

from ...errors import ConfigError, unknown_name
from ...kinematics.joint_types import joint_transform, joint_type, value_from_pose
from ...kinematics.transforms import quat_normalize
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
"""Joints whose motion, position negated and rotation inverted, is that of -q."""


@dataclass(frozen=True, eq=False)
class JointDraft:
    """A joint before mimicry is resolved."""

    joint: Joint
    mimic: str | None = None
    unreachable: float = 0.0
    """What of the frame's pose is outside the joint's range (m or rad)."""


def joint_type_name(attributes: Attributes) -> str | None:
    """The joint's type; None where there is no joint.

    Raises:
        LoadError: for a type that is unknown or not supported.
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


def read_joint(attributes: Attributes, word: str, Q: np.ndarray) -> JointDraft:
    """The joint of a frame.

    Args:
        attributes: the frame's.
        word: the type, from `joint_type_name`.
        Q: the frame's pose in its parent (7,); without an attribute `q` the joint's
            value is read off it.

    Raises:
        LoadError: for wrong axes, limits and values.
    """
    name = attributes.node.key
    kind = joint_type(word)
    if kind.dim == 0:
        return JointDraft(Joint(word, name), _mimic_name(attributes))
    axis = _axis(attributes, word)
    scale = attributes.number("joint_scale", 1.0)
    if scale == 0:
        attributes.fail("joint_scale", "is 0; the joint would never move.")
    q = attributes.numbers("q", scalar=True)
    left = 0.0
    if q is None:
        q, left = value_from_pose(word, axis, Q)
        divisor = np.full(kind.dim, scale)
        for b in kind.balls:
            divisor[b : b + 4] = 1.0
        q = q / divisor
    elif len(q) not in (1, kind.dim) or not np.isfinite(q).all():
        attributes.fail(
            "q", f"is {q.tolist()}, expected {kind.dim} finite numbers for a {word}."
        )
    q = np.broadcast_to(q, kind.dim).astype(float)
    for b in kind.balls:
        if not q[b : b + 4].any():
            attributes.fail("q", "has the quaternion 0 0 0 0; identity is 1 0 0 0.")
        q[b : b + 4] = quat_normalize(q[b : b + 4] / np.abs(q[b : b + 4]).max())
    rates = attributes.numbers("ctrl_limits")
    if rates is not None and len(rates) != 3:
        attributes.fail(
            "ctrl_limits",
            f"has {len(rates)} numbers, expected 3: velocity, effort, acceleration.",
        )
    joint = Joint(
        word,
        name,
        axis=axis,
        limits=_limits(attributes, word, kind.dim),
        q=q,
        scale=scale,
        active=attributes.flag("joint_active", True),
        velocity=None if rates is None else np.full(kind.dim, rates[0]),
        effort=None if rates is None else np.full(kind.dim, rates[1]),
    )
    return JointDraft(joint, _mimic_name(attributes), left)


def make_mimic(draft: JointDraft, target: Joint, attributes: Attributes) -> Joint:
    """A mimicking joint, given the joint it follows.

    rai copies the other joint's motion; a `joint_scale` of -1 inverts it, any other
    has no effect.

    Raises:
        LoadError: when the types differ or the inverse is no motion of that type.
    """
    joint = draft.joint
    if joint.type != target.type or not _same_axis(joint.axis, target.axis):
        attributes.fail(
            "mimic",
            f"joint {joint.name!r} is a {joint.type}, {target.name!r} a {target.type};"
            " a joint can only mimic one of its own type and axis.",
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
    """The motion (7,) at the joint's own value."""
    q = np.zeros(0) if joint.q is None else joint.q
    return joint_transform(joint.type, joint.axis, joint.scale * q)


def _axis(attributes: Attributes, word: str) -> np.ndarray | None:
    axis = attributes.numbers("axis")
    if word != "hinge":
        if axis is not None:
            attributes.fail(
                "axis", f"a {word} has its own axis; use `joint: hinge` or drop it."
            )
        return None
    if axis is None:
        return np.array([1.0, 0.0, 0.0])
    norm = float(np.linalg.norm(axis))
    if len(axis) != 3 or not np.isfinite(norm) or norm == 0:
        attributes.fail(
            "axis", f"is {axis.tolist()}, expected 3 finite numbers, not all zero."
        )
    return axis / norm


def _limits(attributes: Attributes, word: str, dim: int) -> np.ndarray | None:
    given = attributes.numbers("limits")
    if given is None:
        return None
    if len(given) < 2 * dim:
        attributes.fail(
            "limits",
            f"has {len(given)} numbers, a {word} needs {2 * dim}: all lower bounds,"
            " then all upper bounds.",
        )
    limits = given[: 2 * dim].reshape(2, dim)
    if np.any(limits[0] > limits[1]):
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

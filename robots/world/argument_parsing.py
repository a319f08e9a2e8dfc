"""What users give, checked: poses, joints, limits, shapes; errors say what to do."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..geometry.shapes import Marker, Shape
from ..kinematics.joint_types import joint_type
from ..kinematics.transforms import IDENTITY, quat_normalize
from ..validation import CONVERSION_ERRORS, float_array, integer, number
from .frame import Geometry, Joint


def parse_geometry(shape: Any, color: Any, collision: bool) -> Geometry:
    """A shape at its frame's origin."""
    if not isinstance(shape, Shape):
        raise ConfigError(
            f"shape is {type(shape).__name__}, expected one of posewise's shapes,"
            " e.g. Box([.1, .2, .3])."
        )
    return Geometry(shape, collision=collision, color=parse_color(color))


def parse_color(color: Any) -> tuple[float, ...] | None:
    """RGB or RGBA, 0 to 1."""
    if color is None:
        return None
    try:
        rgba = tuple(float(c) for c in color)
    except CONVERSION_ERRORS:
        rgba = ()
    if len(rgba) not in (3, 4) or not all(0 <= c <= 1 for c in rgba):
        raise ConfigError(
            f"color is {color!r}, expected 3 or 4 numbers (RGB or RGBA) from 0 to 1."
        )
    return rgba


def parse_mass(what: str, mass: Any) -> float:
    """A mass [kg]."""
    return number(what, mass, ">= 0 kg", lambda m: m >= 0)


def parse_contact(frame: Any, contact: Any) -> int:
    """rai's contact flag of a frame."""
    return integer(f"Frame {frame!r}: contact", contact)


def numbers_key(value: Any) -> bytes | None:
    """Numbers as a part of a dictionary key."""
    return None if value is None else np.asarray(value, float).tobytes()


def parse_part(name: str, k: int, part: Any) -> Geometry:
    """Part `k` of an object from (shape, pose or None)."""
    try:
        shape, pose = part
    except (TypeError, ValueError):
        raise ConfigError(
            f"Object {name!r}: part {k} is {part!r}, expected (shape, pose or None)."
        ) from None
    made = parse_geometry(shape, None, not isinstance(shape, Marker))
    where = f"pose of part {k} of {name!r}"
    return replace(made, pose=parse_pose(where, None, None, pose))


def finite_vector(what: str, value: Any, size: int) -> np.ndarray:
    """Exactly `size` finite numbers."""
    array = float_array(what, value, f"{size} numbers")
    if array.shape != (size,):
        raise ConfigError(f"{what} has shape {array.shape}, expected ({size},).")
    if not np.isfinite(array).all():
        raise ConfigError(f"{what} is {array.tolist()}: NaN or infinite.")
    return array


def parse_pose(what: str, position: Any, quaternion: Any, pose: Any) -> np.ndarray:
    """A pose (7,), its quaternion normalised, from either form."""
    if pose is not None:
        if position is not None or quaternion is not None:
            raise ConfigError(
                f"{what}: give pose or position and quaternion, not both."
            )
        full = finite_vector(f"pose of {what}", pose, 7)
        position, quaternion = full[:3], full[3:]
    p = (
        np.zeros(3)
        if position is None
        else finite_vector(f"position of {what}", position, 3)
    )
    q = IDENTITY[3:]
    if quaternion is not None:
        q = finite_vector(f"quaternion of {what}", quaternion, 4)
        if not _has_direction(q):
            raise ConfigError(
                f"{what}: the quaternion is {_magnitude_problem(q)}, expected"
                " (w, x, y, z) of length 1."
            )
    return np.concatenate([p, quat_normalize(q)])


def _has_direction(vector: np.ndarray) -> bool:
    """Whether it has a length that can be divided by."""
    return bool(1e-9 <= np.abs(vector).max() <= 1e100)


def _magnitude_problem(vector: np.ndarray) -> str:
    return "zero" if np.abs(vector).max() < 1 else "enormous"


def parse_joint(
    name: str,
    type_: Any,
    axis: Any,
    limits: Any,
    mimic: Any,
    multiplier: Any = 1.0,
    offset: Any = 0.0,
) -> Joint:
    """A joint of a known type with a unit axis."""
    kind = joint_type(type_)
    if kind.needs_axis:
        axis = finite_vector(
            f"axis of joint {name!r}", [1, 0, 0] if axis is None else axis, 3
        )
        if not _has_direction(axis):
            raise ConfigError(
                f"Joint {name!r}: the axis is {_magnitude_problem(axis)}, expected a"
                " direction."
            )
        axis = axis / np.linalg.norm(axis)
    elif axis is not None:
        raise ConfigError(
            f"Joint {name!r}: type {type_!r} has its own axis; drop axis."
        )
    if limits is not None:
        limits = parse_limits(name, kind.dim, limits)
    multiplier = number(f"multiplier of joint {name!r}", multiplier)
    offset = number(f"offset of joint {name!r}", offset)
    return Joint(type_, name, axis, limits, None, mimic, multiplier, offset)


def parse_limits(name: str, dim: int, limits: Any) -> np.ndarray:
    """Limits (2, dim), lower row first."""
    array = float_array(
        f"limits of joint {name!r}", limits, f"(2, {dim}) numbers, lower bounds first"
    )
    if array.shape == (2,) and dim == 1:
        array = array[:, None]
    if array.shape != (2, dim):
        raise ConfigError(
            f"Joint {name!r}: limits have shape {array.shape}, expected (2, {dim}):"
            " lower bounds, then upper ones."
        )
    if np.isnan(array).any() or (array[0] > array[1]).any():
        raise ConfigError(
            f"Joint {name!r}: limits {array.tolist()} have NaN or a lower bound above"
            " its upper one."
        )
    return array


def parse_joint_value(joint: Joint, value: Any) -> np.ndarray:
    """Coordinates (dim,) of a joint."""
    what = f"value of joint {joint.name!r}"
    array = np.atleast_1d(float_array(what, value, f"{joint.dim} numbers"))
    if array.shape == (1,) and joint.dim > 1 and not joint_type(joint.type).balls:
        array = np.full(joint.dim, array[0])
    value = finite_vector(what, array, joint.dim)
    for b in joint_type(joint.type).balls:
        if not _has_direction(quat := value[b : b + 4]):
            raise ConfigError(
                f"Joint {joint.name!r}: its quaternion is {_magnitude_problem(quat)}."
            )
    return value

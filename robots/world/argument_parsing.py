"""Parsing of what users give: poses, joints, limits, shapes.

All functions raise a `ConfigError` that says what to do instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TypedDict

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..geometry.shapes import Marker, Part, Shape
from ..kinematics.joint_types import joint_type
from ..kinematics.transforms import IDENTITY, quat_normalize
from ..typing import (
    RGBA,
    FeatureOption,
    FrameName,
    JointTypeName,
    MatrixLike,
    PoseLike,
    VectorLike,
)
from ..validation import (
    CONVERSION_ERRORS,
    MAX_NUMBER,
    float_array,
    integer,
    is_bounded,
    leave_values,
    number,
    open_bounds,
)
from .frame import Geometry, Joint

POSE_LAYOUT = "(px, py, pz, w, x, y, z)"
QUATERNION_LAYOUT = "(w, x, y, z)"
MAX_EXCESS = 1e-6
"""Largest excess of a value over a joint's limits that counts as none [m or rad]: files
round their numbers. A larger one is refused."""


OTHER_WORDS = {
    "pos": "position",
    "xyz": "position",
    "translation": "position",
    "quat": "quaternion",
    "orientation": "quaternion",
    "rotation": "quaternion",
    "rpy": "quaternion",
    "euler": "quaternion",
    "origin": "pose",
    "transform": "pose",
    "geometry": "shape",
    "geom": "shape",
    "mesh": "shape",
    "size": "shape",
    "colour": "color",
    "rgba": "color",
    "joint_type": "joint",
}
"""Arguments of a frame, by what other libraries call them."""
ARGUMENTS = tuple(
    "position quaternion pose joint axis limits mimic multiplier offset shape color"
    " contact mass parent".split()
)
MAX_QUATERNION = 10.0
"""Largest length of a quaternion that is made a unit one [1]; longer ones are taken for
angles, and refused."""


def parse_name(name: str) -> str:
    """Return the name of a new frame."""
    if not isinstance(name, str) or not name:
        raise ConfigError(f"name is {name!r}, expected a string, e.g. 'mug'.")
    return name


def check_attributes(frame: str, attributes: Iterable[str]) -> None:
    """Raise for metadata that is very likely an argument under another name."""
    for name in attributes:
        near = get_close_matches(name.lower(), ARGUMENTS, n=1, cutoff=0.8)
        meant = OTHER_WORDS.get(name.lower()) or next(iter(near), None)
        if meant is not None:
            raise ConfigError(
                f"Frame {frame!r}: there is no argument {name!r}; did you mean"
                f" {meant!r}? Give metadata another name."
            )


def parse_geometries(
    frame: str, shape: Shape | Sequence[Part] | None, color: RGBA | None
) -> tuple[Geometry, ...]:
    """Return the shapes of a frame: none, one at its origin, or several with poses."""
    if shape is None:
        return ()
    rgba = parse_color(color)
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        return (replace(parse_geometry(shape), color=rgba),)
    label = f"Frame {frame!r}: shape"
    parts = [parse_part(label, k, part) for k, part in enumerate(shape)]
    return tuple(replace(part, color=rgba) for part in parts)


def parse_geometry(shape: Shape) -> Geometry:
    """Return a shape at the origin of its frame."""
    if not isinstance(shape, Shape):
        raise ConfigError(
            f"shape is {type(shape).__name__}, expected one of posewise's shapes,"
            " e.g. Box([.1, .2, .3]), or a list of shapes or of (shape, pose)."
        )
    return Geometry(shape, collision=not isinstance(shape, Marker))


def parse_color(color: RGBA | None) -> tuple[float, ...] | None:
    """Return a colour, RGB or RGBA, each number from 0 to 1."""
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


def parse_mass(label: str, mass: float) -> float:
    """Return a mass [kg]."""
    return number(label, mass, ">= 0 kg", lambda m: 0 <= m <= MAX_NUMBER)


def parse_contact(frame: FrameName, contact: int) -> int:
    """Return rai's contact flag of a frame."""
    return integer(f"Frame {frame!r}: contact", contact)


def parse_body(
    frame: FrameName,
    shape: Shape | Sequence[Part] | None,
    color: RGBA | None,
    contact: int | None,
    mass: float | None,
) -> tuple[tuple[Geometry, ...], int, float | None]:
    """Return the shapes, the contact flag and the mass of a new frame."""
    if mass is not None:
        mass = parse_mass(f"Frame {frame!r}: mass", mass)
    geometries = parse_geometries(frame, shape, color)
    if contact is None:
        return geometries, int(any(g.collision for g in geometries)), mass
    return geometries, parse_contact(frame, contact), mass


def numbers_key(value: FeatureOption) -> bytes | None:
    """Return numbers as a part of a dictionary key."""
    return None if value is None else np.asarray(value, float).tobytes()


def parse_part(label: str, k: int, part: Part) -> Geometry:
    """Return part `k` of a list, given as a shape or as (shape, pose or None)."""
    if isinstance(part, Shape):
        return parse_geometry(part)
    try:
        shape, pose = part
    except (TypeError, ValueError):
        raise ConfigError(
            f"{label}: part {k} is {part!r}, expected a shape or (shape, pose or None)."
        ) from None
    pose_label = f"part {k} of {label}"
    return replace(parse_geometry(shape), pose=parse_pose(pose_label, None, None, pose))


def finite_vector(label: str, value: object, size: int, layout: str = "") -> np.ndarray:
    """Return exactly `size` numbers, each at most `MAX_NUMBER` in size.

    Args:
        label: of the value, the subject of messages.
        value: anything.
        size: number of entries.
        layout: what the entries are, for the message, such as "(w, x, y, z)".
    """
    array = float_array(label, value, f"{size} numbers")
    if array.shape != (size,):
        entries = f": {layout}" if layout else ""
        raise ConfigError(
            f"{label} has shape {array.shape}, expected ({size},){entries}."
        )
    if not is_bounded(array):
        raise ConfigError(
            f"{label} is {array.tolist()}: NaN, infinite, or larger than"
            f" {MAX_NUMBER:g}."
        )
    return array


def _finite_number(label: str, value: float) -> float:
    """Return a number of at most `MAX_NUMBER` in size."""
    expected = f"a finite number, at most {MAX_NUMBER:g} in size"
    return number(label, value, expected, is_bounded)


def parse_pose(
    label: str,
    position: VectorLike | None,
    quaternion: VectorLike | None,
    pose: PoseLike | None,
) -> Float[np.ndarray, "7"]:
    """Return a pose (7,), its quaternion normalised, from either form."""
    if pose is not None:
        if position is not None or quaternion is not None:
            raise ConfigError(
                f"{label}: give pose or position and quaternion, not both."
            )
        full = finite_vector(f"pose of {label}", pose, 7, POSE_LAYOUT)
        position, quaternion = full[:3], full[3:]
    p = (
        np.zeros(3)
        if position is None
        else finite_vector(f"position of {label}", position, 3)
    )
    q = IDENTITY[3:]
    if quaternion is not None:
        q = finite_vector(f"quaternion of {label}", quaternion, 4, QUATERNION_LAYOUT)
        if not _has_direction(q):
            raise ConfigError(
                f"{label}: the quaternion is zero, expected (w, x, y, z) of length 1."
            )
        if (length := np.linalg.norm(q)) > MAX_QUATERNION:
            raise ConfigError(
                f"{label}: the quaternion {q.tolist()} has length {length:.4g},"
                " expected (w, x, y, z) of length 1. It holds no angles: turn by an"
                " angle a about z is [cos(a/2), 0, 0, sin(a/2)], a in radians."
            )
    return np.concatenate([p, quat_normalize(q)])


def _has_direction(vector: np.ndarray) -> bool:
    """Whether a vector has a length that can be divided by."""
    return bool(np.abs(vector).max() >= 1e-9)


class JointOptions(TypedDict, total=False):
    """Options of a joint besides its type; see `Config.add_frame`."""

    axis: VectorLike | None
    limits: MatrixLike | VectorLike | None
    mimic: str | None
    multiplier: float
    offset: float


def parse_joint(
    name: str,
    type_: JointTypeName | None,
    q: float | VectorLike | None = None,
    *,
    axis: VectorLike | None = None,
    limits: MatrixLike | VectorLike | None = None,
    mimic: str | None = None,
    multiplier: float = 1.0,
    offset: float = 0.0,
) -> Joint | None:
    """Return a joint of a known type with a unit axis; None for type None."""
    if type_ is None:
        if any(option is not None for option in (axis, limits, q, mimic)):
            raise ConfigError(
                f"Frame {name!r}: axis, limits, q and mimic need a joint=... type."
            )
        return None
    kind = joint_type(type_)
    unit_axis, bounds = None, None
    if kind.default_axis is not None:
        direction = kind.default_axis if axis is None else axis
        unit_axis = finite_vector(f"axis of joint {name!r}", direction, 3)
        if not _has_direction(unit_axis):
            raise ConfigError(
                f"Joint {name!r}: the axis is zero, expected a direction."
            )
        unit_axis = unit_axis / np.linalg.norm(unit_axis)
    elif axis is not None:
        raise ConfigError(
            f"Joint {name!r}: type {type_!r} has a fixed axis; drop axis."
        )
    if limits is not None:
        bounds = parse_limits(name, kind.dim, limits)
    joint = Joint(
        type_,
        name,
        unit_axis,
        bounds,
        mimic=mimic,
        multiplier=_finite_number(f"multiplier of joint {name!r}", multiplier),
        offset=_finite_number(f"offset of joint {name!r}", offset),
    )
    return joint if q is None else replace(joint, q=parse_joint_value(joint, q))


def parse_limits(
    name: str, dim: int, limits: MatrixLike | VectorLike
) -> Float[np.ndarray, "2 dim"]:
    """Return limits (2, dim), lower row first."""
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
    bounds = open_bounds(array)
    if not leave_values(*bounds):
        raise ConfigError(
            f"Joint {name!r}: limits {array.tolist()} have NaN, a lower bound above its"
            " upper one, or both beyond all values."
        )
    return bounds


def parse_joint_value(
    joint: Joint, value: float | VectorLike
) -> Float[np.ndarray, " dim"]:
    """Return the coordinates (dim,) of a joint."""
    label = f"value of joint {joint.name!r}"
    array = np.atleast_1d(float_array(label, value, f"{joint.dim} numbers"))
    if array.shape == (1,) and joint.dim > 1 and not joint_type(joint.type).balls:
        array = np.full(joint.dim, array[0])
    coordinates = finite_vector(label, array, joint.dim)
    for b in joint_type(joint.type).balls:
        if not _has_direction(coordinates[b : b + 4]):
            raise ConfigError(f"Joint {joint.name!r}: its quaternion is zero.")
    return coordinates


def refuse_outside(
    label: str,
    names: Sequence[str],
    value: Float[np.ndarray, " n"],
    limits: Float[np.ndarray, "2 n"],
) -> None:
    """Raise an error for coordinates that are outside of their limits.

    Args:
        label: of the value, the subject of the message.
        names: of the coordinates.
        value: of each coordinate.
        limits: of each coordinate, the lower row first.
    """
    excess = np.maximum(limits[0] - value, value - limits[1])
    if excess.max(initial=0.0) > MAX_EXCESS:
        k = int(np.argmax(excess))
        raise ConfigError(
            f"{label} is {value[k]:g} at {names[k]!r}, outside of the limits"
            f" [{limits[0, k]:g}, {limits[1, k]:g}]; choose a value within them, or"
            " change them with joints.set_limits."
        )

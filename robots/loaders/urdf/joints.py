"""Reader of the joints of a URDF: type, axis, limits and mimics."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ...errors import LoadError, unknown_name
from ...kinematics.joint_types import joint_dim
from ...world.frame import Joint
from ..left_out import LeftOut
from ..xmltree import XmlElement

URDF_JOINT_TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
)
UNLIMITED_BOUND = 1e9
"""Size from which a limit counts as none [m, rad, N, …], because URDF requires limits
of revolute and prismatic joints."""


def read_joint(
    joint: XmlElement, standing: Collection[str], left_out: LeftOut
) -> Joint | None:
    """Return a joint; None for a fixed one.

    Args:
        joint: The element.
        standing: Names of `standing_followers`.
        left_out: Where unusable properties are recorded.
    """
    kind = _joint_type_name(joint)
    if kind == "fixed":
        return None
    dim = joint_dim(kind)
    limit, mimic, name = (
        joint.find("limit"),
        joint.find("mimic"),
        joint.required("name"),
    )
    offset = 0.0 if mimic is None else mimic.number("offset", 0.0)
    return Joint(
        type=kind,
        name=name,
        axis=None if kind == "floating" else _read_axis(joint),
        limits=(
            _read_limits(limit, left_out)
            if kind in ("revolute", "prismatic") and limit is not None
            else None
        ),
        velocity=_read_bound(limit, "velocity", dim, left_out),
        effort=_read_bound(limit, "effort", dim, left_out),
        acceleration=_read_acceleration(limit, dim, left_out),
        jerk=_read_bound(limit, "jerk", dim, left_out),
        **_relation(mimic, name in standing, offset, dim),
    )


def _relation(
    mimic: XmlElement | None, stands: bool, offset: float, dim: int
) -> dict[str, Any]:
    """Return the fields of a joint that say what it follows, or where it stands."""
    if mimic is None:
        return {}
    if stands:
        return {"active": False, "q": np.array([offset]) if dim == 1 else None}
    return {
        "mimic": mimic.required("joint"),
        "multiplier": mimic.number("multiplier", 1.0),
        "offset": offset,
    }


def standing_followers(
    joints: dict[str, XmlElement], left_out: LeftOut
) -> frozenset[str]:
    """Return the mimic joints that cannot follow; they stand at their offset.

    Their leader is fixed, unknown, or has another number of coordinates.

    Raises:
        LoadError: For a mimic that leads back to itself.
    """
    leaders: dict[str, str] = {}
    standing = set()
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None or _joint_type_name(joint) == "fixed":
            continue
        leader = mimic.get("joint", "").strip()
        if problem := _mimic_problem(joint, mimic, leader, joints):
            standing.add(name)
            place = mimic.number("offset", 0.0)
            left_out.add(
                mimic.error(f"joint {name!r} stands still at {place:g}: {problem}")
            )
        else:
            leaders[name] = leader
    _refuse_circles(leaders, joints)
    return frozenset(standing)


def _mimic_problem(
    joint: XmlElement, mimic: XmlElement, leader: str, joints: dict[str, XmlElement]
) -> str | None:
    """Return why a joint cannot follow its leader; None if it can."""
    if leader not in joints:
        return unknown_name("joint", leader, joints)
    kinds = [_joint_type_name(joint), _joint_type_name(joints[leader])]
    if kinds[1] == "fixed":
        return f"its leader {leader!r} is fixed."
    dims = [joint_dim(kind) for kind in kinds]
    if dims[0] != dims[1]:
        return (
            f"it has {dims[0]} coordinates, but its leader {leader!r} ({kinds[1]}) has"
            f" {dims[1]}."
        )
    relation = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if kinds[0] == "floating" and relation != (1.0, 0.0):
        return "a pose can only be followed with multiplier 1 and offset 0."
    return None


def _refuse_circles(leaders: dict[str, str], joints: dict[str, XmlElement]) -> None:
    checked: set[str] = set()
    for name in leaders:
        chain = {name: None}
        while name in leaders and name not in checked:
            name = leaders[name]
            if name in chain:
                circle = [*list(chain)[list(chain).index(name) :], name]
                raise joints[name].error(
                    f"its mimic leads back to itself ({' -> '.join(circle)}); one of"
                    " these joints must move freely."
                )
            chain[name] = None
        checked.update(chain)


def _joint_type_name(joint: XmlElement) -> str:
    kind = joint.required("type")
    if kind not in URDF_JOINT_TYPES:
        raise joint.error(
            f"type is {kind!r}, expected one of {', '.join(URDF_JOINT_TYPES)}."
        )
    return kind


def _read_axis(joint: XmlElement) -> np.ndarray:
    element = joint.find("axis")
    if element is None:
        return np.array([1.0, 0.0, 0.0])
    axis = element.numbers("xyz", 3, (1.0, 0.0, 0.0))
    length = np.linalg.norm(axis)
    if length < 1e-9:
        raise element.error(
            f"of joint {joint.required('name')!r}: the axis {axis.tolist()} has no"
            " direction; expected a vector other than zero."
        )
    return axis / length


def _read_limits(limit: XmlElement, left_out: LeftOut) -> np.ndarray | None:
    """Return the limits (2, 1); None without any, or if they leave nothing."""
    if not {"lower", "upper"} & limit.attrib.keys():
        return None
    limits = [
        limit.number(side, 0.0, allow_infinite=True) for side in ("lower", "upper")
    ]
    if limits[0] > limits[1] or limits[0] == np.inf or limits[1] == -np.inf:
        left_out.add(
            limit.error(
                f"the joint has no limits, since lower {limits[0]} is above upper"
                f" {limits[1]}."
            )
        )
        return None
    bounds = [np.sign(v) * np.inf if abs(v) >= UNLIMITED_BOUND else v for v in limits]
    return None if np.all(np.isinf(bounds)) else np.array(bounds)[:, None]


def _read_bound(
    limit: XmlElement | None, name: str, dim: int, left_out: LeftOut
) -> np.ndarray | None:
    """Return the largest speed, effort or the like (dim,); None without one.

    Exporters write 0 where they know no value.
    """
    if limit is None or name not in limit.attrib:
        return None
    try:
        value = limit.number(name, allow_infinite=True)
        if value < 0:
            raise limit.error(f"{name} is {value}, expected a number >= 0.")
    except LoadError as error:
        left_out.add(error)
        return None
    return None if value == 0 or value >= UNLIMITED_BOUND else np.full(dim, value)


def _read_acceleration(
    limit: XmlElement | None, dim: int, left_out: LeftOut
) -> np.ndarray | None:
    """Return the largest acceleration (dim,) in both directions; None without one.

    That is the smaller one of acceleration and deceleration.
    """
    names = ("acceleration", "deceleration")
    bounds = [_read_bound(limit, name, dim, left_out) for name in names]
    return min((b for b in bounds if b is not None), key=np.max, default=None)


def joint_attributes(joint: XmlElement, left_out: LeftOut) -> dict[str, Any]:
    """Return the metadata of the frame below a joint."""
    attributes: dict[str, Any] = {}
    if _joint_type_name(joint) == "fixed":
        attributes["joint_name"] = joint.required("name")
    dynamics = joint.find("dynamics")
    if dynamics is None:
        return attributes
    for name in sorted({"damping", "friction"} & dynamics.attrib.keys()):
        try:
            attributes[name] = dynamics.number(name)
        except LoadError as error:
            left_out.add(error)
    return attributes

"""Reader of the joints of SDF: type, axis, limits and mimics."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import LoadError
from ...kinematics.transforms import quat_to_matrix
from ...world.frame import Joint
from ..left_out import LeftOut
from ..xmltree import XmlElement
from .poses import PoseGraph, child_number, child_text, relative_pose, text_numbers

JOINT_TYPE_NAMES = {
    "revolute": "hinge",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "quatBall",
    "fixed": "fixed",
}
"""Types of joints by their names in SDF; all others stand still."""
UNLIMITED_BOUND = 1e9
"""Size from which a limit counts as none [m, rad, N, …]; SDF writes 1e16 for none."""
POSITION = "posewise:position"
"""Tag of the value of a joint in the pose of the file, where SDF itself has 0."""
NAME = "posewise:name"
"""Tag of the name of a joint, which in SDF is not that of a link."""


class StatedJoint(NamedTuple):
    """A joint as others refer to it."""

    name: str
    """Name of the joint in the world."""
    position: float
    """Value in the pose of the file [m or rad]."""


def stated_joint(element: XmlElement) -> StatedJoint:
    """Return the name and the value in the pose of the file."""
    name = child_text(element, NAME) or element.required("name")
    return StatedJoint(name, child_number(element, f"axis/{POSITION}", 0.0) or 0.0)


def read_joint(
    element: XmlElement,
    graph: PoseGraph,
    stated_joints: Mapping[str, StatedJoint],
    left_out: LeftOut,
) -> Joint | None:
    """Return a joint; None for a fixed one, and for a type that is not known.

    Args:
        element: The element `<joint>`.
        graph: Poses of its model.
        stated_joints: All joints of its model, by their names in the file.
        left_out: Where unusable properties are recorded.
    """
    name, position = stated_joints[element.required("name")]
    stated_type = element.required("type")
    kind = JOINT_TYPE_NAMES.get(stated_type)
    if kind is None:
        error = element.error(f"joints of type {stated_type!r} stand still.")
        left_out.add(error, f"joint {name!r}")
    if kind in (None, "fixed"):
        return None
    if kind == "quatBall":
        return Joint(kind, name)
    axis = element.find("axis")
    try:
        limits = _limits(axis, position)
        effort, velocity = (
            _bound(axis, f"limit/{key}") for key in ("effort", "velocity")
        )
    except LoadError as error:
        left_out.add(error, f"joint {name!r}")
        limits = effort = velocity = None
    return Joint(
        type=kind,
        name=name,
        axis=_axis(element, axis, graph),
        limits=None if kind == "continuous" else limits,
        q=np.array([position]) if position else None,
        effort=effort,
        velocity=velocity,
        **_mimic(axis, position, stated_joints, left_out),
    )


def joint_losses(element: XmlElement) -> dict[str, float]:
    """Return damping and friction of a joint as attributes of its frame."""
    losses = {
        key: child_number(element, f"axis/dynamics/{key}")
        for key in ("damping", "friction")
    }
    return {key: loss for key, loss in losses.items() if loss}


def _axis(joint: XmlElement, axis: XmlElement | None, graph: PoseGraph) -> np.ndarray:
    """Return the unit axis in the frame of the joint."""
    xyz = None if axis is None else axis.find("xyz")
    if xyz is None:
        return np.array([0.0, 0.0, 1.0])
    vector = text_numbers(xyz, 3)
    length = np.linalg.norm(vector)
    if not 1e-9 < length < np.inf:
        raise xyz.error(
            f"the axis {vector.tolist()} has no direction; expected a vector other"
            " than zero."
        )
    vector = vector / length
    if base := xyz.get("expressed_in", "").strip():
        at_joint = graph.pose(joint.required("name"), joint)
        X = relative_pose(at_joint, graph.pose(base, joint))
        vector = quat_to_matrix(X[3:]) @ vector
    return vector


def _limits(axis: XmlElement | None, position: float) -> np.ndarray | None:
    """Return the limits (2, 1); None without any."""
    sides = [
        child_number(axis, f"limit/{side}", allow_infinite=True)
        for side in ("lower", "upper")
    ]
    bounds = []
    for limit, infinite in zip(sides, (-np.inf, np.inf), strict=True):
        is_open = limit is None or abs(limit) >= UNLIMITED_BOUND
        bounds.append(infinite if is_open or limit is None else limit + position)
    if bounds[0] > bounds[1] and axis is not None:
        raise axis.error(
            f"the joint has no limits, since lower {bounds[0]} is above upper"
            f" {bounds[1]}."
        )
    return None if np.all(np.isinf(bounds)) else np.array(bounds)[:, None]


def _bound(axis: XmlElement | None, path: str) -> np.ndarray | None:
    """Return the largest speed or effort (1,); None without one."""
    bound = child_number(axis, path, allow_infinite=True)
    # SDF writes -1 for none.
    if bound is None or not 0 < bound < UNLIMITED_BOUND:
        return None
    return np.array([bound])


def _mimic(
    axis: XmlElement | None,
    position: float,
    stated_joints: Mapping[str, StatedJoint],
    left_out: LeftOut,
) -> dict[str, Any]:
    """Return the fields of a joint that say what it follows."""
    mimic = None if axis is None else axis.find("mimic")
    if mimic is None:
        return {}
    leader = stated_joints.get(mimic.required("joint"))
    if leader is None:
        left_out.add(mimic.error("its leader is no joint of the model."))
        return {}
    multiplier, offset, reference = (
        child_number(mimic, key, default) or 0.0
        for key, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    # In SDF both joints are at 0 in the pose of the file.
    shift = position - multiplier * (leader.position + reference) + offset
    return {"mimic": leader.name, "multiplier": multiplier, "offset": shift}

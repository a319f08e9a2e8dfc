"""Poses of SDF: numbers in the text of elements, and what they are relative to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from ...errors import unknown_name
from ...kinematics.transforms import (
    IDENTITY,
    make_pose,
    pose_inverse,
    pose_multiply,
    rpy_to_quat,
)
from ..xmltree import XmlElement

MODEL_FRAME = "__model__"
"""Name of the frame of a model within it."""


def text_numbers(
    element: XmlElement, count: int, allow_infinite: bool = False
) -> np.ndarray:
    """Return the numbers (count,) in the text of an element.

    Raises:
        LoadError: For another number of words, and words that are no numbers.
    """
    attributes = {"text": element.text or ""}
    copy = XmlElement(element.tag, attributes, element.file, element.line)
    return copy.numbers("text", count, allow_infinite=allow_infinite)


def descendant(element: XmlElement | None, path: str) -> XmlElement | None:
    """Return the first descendant on a path of tags, which may have a prefix."""
    for tag in path.split("/"):
        children = () if element is None else element
        element = next((child for child in children if child.tag == tag), None)
    return element


def child_number(
    element: XmlElement | None,
    path: str,
    default: float | None = None,
    allow_infinite: bool = False,
) -> float | None:
    """Return the number in the text of a descendant; the default without one."""
    child = descendant(element, path)
    if child is None:
        return default
    return float(text_numbers(child, 1, allow_infinite)[0])


def child_text(element: XmlElement, tag: str) -> str:
    """Return the text of a child, without surrounding blanks; "" without one."""
    child = descendant(element, tag)
    return "" if child is None else (child.text or "").strip()


def read_pose(element: XmlElement) -> Float[np.ndarray, "7"]:
    """Return the child `<pose>` (7,); identity without one.

    It has six numbers, x y z roll pitch yaw, or seven with a quaternion x y z w.
    """
    pose = element.find("pose")
    if pose is None or not (pose.text or "").strip():
        return IDENTITY.copy()
    if pose.get("rotation_format", "euler_rpy") == "quat_xyzw":
        *position, x, y, z, w = text_numbers(pose, 7)
        if not any((x, y, z, w)):
            raise pose.error("the quaternion is zero; expected one of length 1.")
        return make_pose(np.array(position), np.array([w, x, y, z]))
    numbers = text_numbers(pose, 6)
    angles = numbers[3:]
    if pose.get("degrees", "false").strip() in ("true", "1"):
        angles = np.deg2rad(angles)
    return make_pose(numbers[:3], rpy_to_quat(*angles.tolist()))


@dataclass(frozen=True, eq=False)
class PoseGraph:
    """Poses of the links, joints and frames of a model, in the frame of the model."""

    elements: Mapping[str, XmlElement]
    """Elements with a `<pose>`, by name."""
    _resolved: dict[str, np.ndarray] = field(default_factory=dict)

    def pose(self, name: str, asker: XmlElement) -> Float[np.ndarray, "7"]:
        """Return the pose of what has a name.

        Raises:
            LoadError: For an unknown name, or poses that are relative to each other.
        """
        return self._pose(name, asker, ())

    def _pose(
        self, name: str, asker: XmlElement, chain: tuple[str, ...]
    ) -> Float[np.ndarray, "7"]:
        if name in (MODEL_FRAME, ""):
            return IDENTITY
        if name in self._resolved:
            return self._resolved[name]
        if name not in self.elements:
            raise asker.error(unknown_name("link, joint or frame", name, self.elements))
        if name in chain:
            circle = " -> ".join([*chain[chain.index(name) :], name])
            raise asker.error(
                f"poses are relative to each other: {circle}; one of them must be"
                " relative to the model."
            )
        element = self.elements[name]
        base = self._pose(_base_name(element), element, (*chain, name))
        self._resolved[name] = np.asarray(pose_multiply(base, read_pose(element)))
        return self._resolved[name]


def _base_name(element: XmlElement) -> str:
    """Return what the pose of an element is relative to."""
    pose = element.find("pose")
    stated = "" if pose is None else pose.get("relative_to", "").strip()
    if stated:
        return stated
    if element.tag == "joint":
        return child_text(element, "child")
    return element.get("attached_to", "").strip() if element.tag == "frame" else ""


def relative_pose(
    base: Float[np.ndarray, "7"], pose: Float[np.ndarray, "7"]
) -> Float[np.ndarray, "7"]:
    """Return a pose in a base that is in the same frame."""
    return np.asarray(pose_multiply(pose_inverse(base), pose))

"""Writer of URDF joints; joints of several coordinates become chains."""

import warnings
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ConfigError, first_few
from ...kinematics.joint_types import (
    joint_transform,
    joint_type,
    neutral_value,
    resolve_axis,
)
from ...kinematics.transforms import IDENTITY, pose_multiply
from ...world.frame import Frame, Joint, Model
from ..number_text import format_numbers
from .joints import UNLIMITED_BOUND
from .link_writer import add_origin


@dataclass(frozen=True, eq=False)
class JointWriter:
    """Adds joints, and the links between joints of a chain, to a `<robot>`."""

    model: Model
    robot: ET.Element
    links: set[str]
    """Names of links that are used already."""
    joints: set[str] = field(default_factory=set)
    """Names of joints that are used already."""
    moving: dict[int, str] = field(default_factory=dict)
    """Joint names of the moving frames, by frame index."""

    def write(self, i: int, frame: Frame, parent: str) -> None:
        """Add the joint, or joints, between frame i and the link `parent`."""
        joint, origin = frame.joint, frame.origin
        if joint is not None and i not in self.moving:
            q = self._locked_value(i, joint)
            locked = joint_transform(joint.type, joint.axis, q)
            origin = np.asarray(pose_multiply(origin, locked))
        if joint is None or i not in self.moving:
            name = frame.attributes.get("joint_name", f"{frame.name}_fixed")
            self._add_joint(
                self._new(name, self.joints), "fixed", parent, frame, origin
            )
            return
        if joint.type == "planar" and joint.limits is None and _is_plain(joint):
            element = self._add_joint(joint.name, "planar", parent, frame, origin)
            _add_axis(element, joint.axis)
            return
        if _is_floating(joint):
            self._add_joint(joint.name, "floating", parent, frame, origin)
            return
        if not _has_counterpart(joint):
            raise ConfigError(
                f"write_urdf: joint {joint.name!r} is of type {joint.type!r}, but URDF"
                " has no ball joint, and no free joint that mimics or is scaled; use"
                " three hinges, or a plain 'free'."
            )
        self._chain(joint, frame, parent, origin)

    def _chain(
        self, joint: Joint, frame: Frame, parent: str, origin: np.ndarray
    ) -> None:
        """Add one URDF joint per coordinate, with massless links between them."""
        steps = []
        for node in joint_type(joint.type).nodes:
            steps += [(k, a, True) for k, a in node.translations]
            steps += [] if node.rotation is None else [(*node.rotation, False)]
        for n, (k, axis, slides) in enumerate(steps):
            last = n == len(steps) - 1
            child = frame
            if not last:
                child = Frame(self._new(f"{frame.name}_{n}", self.links))
                ET.SubElement(self.robot, "link", name=child.name)
            self._single(
                joint, k, slides, parent, child, origin if n == 0 else IDENTITY
            )
            _add_axis(self.robot[-1], resolve_axis(axis, joint.axis))
            parent = child.name

    def _single(
        self,
        joint: Joint,
        k: int,
        slides: bool,
        parent: str,
        child: Frame,
        origin: np.ndarray,
    ) -> None:
        """Add a joint for coordinate k, in the unit of motion (scale · q)."""
        limits = np.array([-np.inf, np.inf])
        if joint.limits is not None:
            limits = np.sort(joint.scale * joint.limits[:, k])
        unlimited = bool(np.all(np.isinf(limits)))
        kind = "prismatic" if slides else "continuous" if unlimited else "revolute"
        element = self._add_joint(
            _coordinate_name(joint, k), kind, parent, child, origin
        )
        bounds = {
            key: UNLIMITED_BOUND if values is None else abs(factor) * float(values[k])
            for key, values, factor in (
                ("effort", joint.effort, 1.0),
                ("velocity", joint.velocity, joint.scale),
            )
        }
        if kind != "continuous":
            lower, upper = np.clip(limits, -UNLIMITED_BOUND, UNLIMITED_BOUND)
            bounds = {"lower": float(lower), "upper": float(upper)} | bounds
        for key, values in (("acceleration", joint.acceleration), ("jerk", joint.jerk)):
            if values is not None:
                bounds[key] = abs(joint.scale) * float(values[k])
        text = {key: format_numbers([value]) for key, value in bounds.items()}
        rates = (joint.effort, joint.velocity, joint.acceleration, joint.jerk)
        known = any(r is not None for r in rates)
        if known or kind != "continuous":
            ET.SubElement(element, "limit", text)
        if joint.mimic is not None:
            _, leader, _, _ = self._leader(-1, joint)
            followed = joint.mimic if joint.dim == 1 else f"{joint.mimic}_{k}"
            mimic = {
                "joint": followed,
                "multiplier": format_numbers([joint.multiplier]),
                "offset": format_numbers([leader.scale * joint.offset]),
            }
            ET.SubElement(element, "mimic", mimic)

    def find_moving(self) -> None:
        """Fill `moving`, and warn once of locked joints, which URDF does not have.

        A locked joint is written as one that moves; where URDF has no counterpart, it
        and its followers become fixed.
        """
        loosened: list[str] = []
        fixed: list[str] = []
        for i, frame in enumerate(self.model.frames):
            if frame.joint is None or frame.joint.dim == 0:
                continue
            _, leader, _, _ = self._leader(i, frame.joint)
            writable = all(map(_has_counterpart, (frame.joint, leader)))
            if leader.active or writable:
                self.moving[i] = frame.joint.name
            if not leader.active and frame.joint.mimic is None:
                (loosened if writable else fixed).append(repr(frame.joint.name))
        if loosened or fixed:
            _warn_of_locked(loosened, fixed)

    def _leader(self, i: int, joint: Joint) -> tuple[int, Joint, float, float]:
        """Return the final leader of a joint: its index, itself, multiplier, offset."""
        multiplier, offset, visited = 1.0, 0.0, {i}
        while joint.mimic is not None:
            offset += multiplier * joint.offset
            multiplier *= joint.multiplier
            candidates = [
                (k, f.joint)
                for k, f in enumerate(self.model.frames)
                if f.joint is not None and f.joint.name == joint.mimic
            ]
            if not candidates or candidates[-1][0] in visited:
                raise ConfigError(
                    f"write_urdf: joint {joint.name!r} follows {joint.mimic!r}, which"
                    " is not in the model or follows it in turn."
                )
            i, joint = candidates[-1]
            visited.add(i)
        return i, joint, multiplier, offset

    def _locked_value(self, i: int, joint: Joint) -> np.ndarray:
        """Return the value of a joint that does not move, in the unit of motion."""
        k, leader, multiplier, offset = self._leader(i, joint)
        q = self.model.q.get(k, leader.q)
        q = neutral_value(leader.type) if q is None else q
        return leader.scale * (multiplier * q + offset)

    def _add_joint(
        self, name: str, kind: str, parent: str, frame: Frame, origin: np.ndarray
    ) -> ET.Element:
        element = ET.SubElement(self.robot, "joint", name=name, type=kind)
        add_origin(element, origin)
        ET.SubElement(element, "parent", link=parent)
        ET.SubElement(element, "child", link=frame.name)
        dynamics = {
            key: format_numbers([frame.attributes[key]])
            for key in ("damping", "friction")
            if isinstance(frame.attributes.get(key), int | float)
        }
        if dynamics:
            ET.SubElement(element, "dynamics", dynamics)
        return element

    def _new(self, name: str, used: set[str]) -> str:
        """Return a name that is not used yet, and mark it as used."""
        while name in used:
            name += "_"
        used.add(name)
        return name


def _is_plain(joint: Joint) -> bool:
    return joint.mimic is None and joint.scale == 1


def _is_floating(joint: Joint) -> bool:
    type_ = joint_type(joint.type)
    return len(type_.nodes) == 1 and type_.dim == 7 and _is_plain(joint)


def _has_counterpart(joint: Joint) -> bool:
    """Whether URDF joints can move as a joint does."""
    return _is_floating(joint) or not joint_type(joint.type).balls


def _warn_of_locked(loosened: list[str], fixed: list[str]) -> None:
    sentences = []
    if loosened:
        sentences.append(
            f"Written as joints that move: {first_few(loosened)}; set and lock them"
            " again after reading."
        )
    if fixed:
        sentences.append(f"Written as fixed where they are: {first_few(fixed)}.")
    warnings.warn(
        f"write_urdf: URDF has no locked joints. {' '.join(sentences)}",
        UserWarning,
        stacklevel=4,
    )


def _coordinate_name(joint: Joint, k: int) -> str:
    return joint.name if joint.dim == 1 else f"{joint.name}_{k}"


def _add_axis(element: ET.Element, axis: np.ndarray | None) -> None:
    """Add `<axis>`; None is URDF's default, x."""
    ET.SubElement(
        element, "axis", xyz=format_numbers([1, 0, 0] if axis is None else axis)
    )

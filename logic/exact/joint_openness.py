"""Open joints: a door or a drawer that has left its closed end."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import FrameGroup, find_object, subtree_group
from .verdict import Semantics, Verdict

CLOSED_FRACTION = 0.05
"""Fraction of a joint's range, from its closed end, that counts as closed [1]; beyond
it the joint is open."""
ZERO_LIMIT_TOLERANCE = 1e-3
"""Distance from 0 up to which a limit is 0, as a fraction of the joint's range [1];
where both limits are beyond it, the closed one is a guess."""
DEFAULT_ANNOTATION = {"joints": None, "both_sides": False}
"""Annotation of objects without the ability `openable`."""


class OpeningJoint(NamedTuple):
    """A joint that opens an object, from its closed end to its open end."""

    name: str
    closed: float
    """Joint value at the closed end."""
    open: float
    """Joint value at the open end."""
    both_sides: bool
    """Whether both ends are closed, and the joint is open between them."""
    is_guess: bool = False
    """Whether nothing tells which end is closed."""

    def margin(self, q: float) -> float:
        """Return by how much it is open beyond the threshold, in ranges."""
        opened = (q - self.closed) / (self.open - self.closed)
        margin = opened - CLOSED_FRACTION
        if self.both_sides:
            return min(margin, 1 - CLOSED_FRACTION - opened)
        return margin


def openness_verdict(C: Config, a: FrameName, semantics: Semantics) -> Verdict:
    """Return whether one of the joints that open an object is open; see `Open`."""
    joints = opening_joints(C, a, semantics)
    if not joints:
        return Verdict(False, lambda: f"{a} has no joint that opens it.")
    values = [float(C.joints.value(joint.name)[0]) for joint in joints]
    margins = [j.margin(q) for j, q in zip(joints, values, strict=True)]
    best = int(np.argmax(margins))
    joint, q = joints[best], values[best]

    def reason() -> str:
        opened = (q - joint.closed) / (joint.open - joint.closed)
        if joint.both_sides:
            opened = min(opened, 1 - opened)
        limit = "" if margins[best] > 0 else ", not more than 5 %"
        percent = round(100 * opened, 1) + 0.0  # adding 0 turns -0 into 0
        opening = f"{a}'s {joint.name!r} is {percent:.1f} % open{limit}"
        if not joint.is_guess:
            return f"{opening}."
        return (
            f"{opening}, if it is closed at its lower limit, {joint.closed:g}: a"
            f" guess, because none of its limits is 0; C.add_object({a!r},"
            f' abilities={{"openable": {{"joints": {{{joint.name!r}: 1}}}}}}) says'
            " it (-1: closed at its upper limit)."
        )

    return Verdict(margins[best] > 0, reason)


def opening_joints(C: Config, a: FrameName, semantics: Semantics) -> list[OpeningJoint]:
    """Return the joints that open an object in a world; see `Open`."""
    limits = _joint_limits(find_object(C, a))
    if a not in C.objects and not limits:
        # A frame stands for the model that hangs on it, e.g. the root of a file.
        limits = _joint_limits(subtree_group(C, a))
    abilities = C.objects[a].abilities if a in C.objects else {}
    annotation = abilities.get("openable", DEFAULT_ANNOTATION)
    directions, both_sides = annotation["joints"], annotation["both_sides"]
    if directions is None:
        if semantics == "igibson":
            return []
        limited = [n for n, limit in limits.items() if limit is not None]
        directions = dict.fromkeys(limited)
    if semantics == "document":
        directions, both_sides = dict.fromkeys(directions, 1), False
    if semantics == "igibson":
        directions = {name: d or 1 for name, d in directions.items()}
    return [
        _opening_joint(a, name, direction, both_sides, limits)
        for name, direction in directions.items()
    ]


def _joint_limits(group: FrameGroup) -> dict[str, np.ndarray | None]:
    """Return limits (2,) of joints of one coordinate; None without finite limits."""
    limits: dict[str, np.ndarray | None] = {}
    for i in group.frames:
        joint = group.C.frames[i].joint
        if joint is not None and joint.dim == 1:
            unlimited = np.full((2, 1), np.inf)
            ends = (unlimited if joint.limits is None else joint.limits)[:, 0]
            low, high = ends
            usable = np.isfinite([low, high]).all() and low < high
            limits[joint.name] = ends if usable else None
    return limits


def _opening_joint(
    a: FrameName,
    name: str,
    direction: int | None,
    both_sides: bool,
    limits: Mapping[str, np.ndarray | None],
) -> OpeningJoint:
    if name not in limits:
        text = unknown_name("joint", name, limits)
        raise ConfigError(f"Object {a!r}, openable: {text}")
    ends = limits[name]
    if ends is None:
        raise ConfigError(
            f"Joint {name!r} opens {a!r} and has no two different limits; give them by"
            f" C.joints.set_limits({name!r}, [lower, upper])."
        )
    is_zero = np.abs(ends) <= ZERO_LIMIT_TOLERANCE * (ends[1] - ends[0])
    is_guess = direction is None and not both_sides and not is_zero.any()
    if direction is None:
        direction = -1 if is_zero[1] else 1
    closed, open_ = ends[::direction].tolist()
    return OpeningJoint(name, closed, open_, both_sides, is_guess)

"""Open: a door or a drawer that has left its closed end."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from posewise.features import Feature
from posewise.features.symbol import Symbol
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, unknown_name

from ..geometry.frame_groups import FrameGroup, find_object
from ..relaxed import joint_openness
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.object_features import constant_row, feature_on_frames
from .verdict import SemanticPredicate, Verdict

CLOSED_FRACTION = 0.05
"""Of a joint's range that counts as closed."""
DEFAULT_ANNOTATION = {"joints": None, "both_sides": False}
"""What is taken for objects that are not `openable`."""


class OpeningJoint(NamedTuple):
    """A joint that opens an object, from its closed end to its open one."""

    name: str
    closed: float
    open: float
    both_sides: bool
    """Both ends are closed, and what is between is open."""

    def margin(self, q: float) -> float:
        """How far it is open beyond the threshold, as a fraction of its range."""
        done = (q - self.closed) / (self.open - self.closed)
        beyond = done - CLOSED_FRACTION
        return min(beyond, 1 - CLOSED_FRACTION - done) if self.both_sides else beyond


@dataclass(frozen=True)
class Open(SemanticPredicate):
    """One of a's relevant joints is more than 5 % of its range away from closed.

    Relevant joints are named in the object's abilities: {"openable": {"joints":
    ["door_joint"]}}, or {"joints": {"door_joint": -1}} where a joint opens towards its
    lower limit (1: towards the upper one, the default); with "both_sides": True both
    limits are closed, and the joint is open in between. Joints are hinges or slides
    with limits; beyond the open one is open too.

    "posewise": without annotation all joints of the object that have limits are
    relevant. "igibson": without annotation it is not open. "document": as "posewise",
    but all joints open towards their upper limit and have one closed end.

    The default is "posewise": the code's rule, and an answer for models without
    annotations.

    Args:
        a: an object or frame.

    Raises:
        ConfigError: on asking, for unknown names, and annotations that do not fit.
    """

    a: Any

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        joints = self.joints(C)
        if not joints:
            return Verdict(False, lambda: f"{self.a} has no joint that opens it.")
        values = [float(C.joint_value(joint.name)[0]) for joint in joints]
        margins = [j.margin(q) for j, q in zip(joints, values, strict=True)]
        best = int(np.argmax(margins))
        joint, q = joints[best], values[best]

        def reason() -> str:
            done = (q - joint.closed) / (joint.open - joint.closed)
            if joint.both_sides:
                done = min(done, 1 - done)
            few = "" if margins[best] > 0 else ", not more than 5 %"
            percent = round(100 * done, 1) + 0.0  # never -0
            return f"{self.a}'s {joint.name!r} is {percent:.1f} % open{few}."

        return Verdict(margins[best] > 0, reason)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Shares of the joints' ranges; 1 or -1 where no joint opens it."""
        joints = self.joints(C)
        if not joints:
            return Inequality(
                feature_on_frames([find_object(C, self.a)], constant_row(not truth))
            )
        names = tuple(joint.name for joint in joints)
        error = 0.5 * self.bound
        return Inequality(Feature(_symbol(self, truth), names), error=truth * error)

    def numbers(self, C: Config) -> dict[str, Any]:
        """What its rows need of a world's joints; see `relaxed.openings`."""
        joints = self.joints(C)
        return {
            "ends": [[joint.closed, joint.open] for joint in joints],
            "both": [float(joint.both_sides) for joint in joints],
            "least": CLOSED_FRACTION,
            "error": 0.5 * self.bound,
        }

    def joints(self, C: Config) -> list[OpeningJoint]:
        """The relevant joints of a world's object; see the class."""
        slides = _joints(find_object(C, self.a))
        known = C.objects[self.a].abilities if self.a in C.objects else {}
        annotation = known.get("openable", DEFAULT_ANNOTATION)
        named, both = annotation["joints"], annotation["both_sides"]
        if named is None:
            if self.semantics == "igibson":
                return []
            limited = [n for n, limits in slides.items() if limits is not None]
            named = dict.fromkeys(limited, 1)
        if self.semantics == "document":
            named, both = dict.fromkeys(named, 1), False
        return [_opening(self.a, n, d, both, slides) for n, d in named.items()]


def _joints(owner: FrameGroup) -> dict[str, np.ndarray | None]:
    """Finite limits (2,) of a thing's joints of one coordinate; None: it has none."""
    found: dict[str, np.ndarray | None] = {}
    for i in owner.frames:
        joint = owner.C.frames[i].joint
        if joint is not None and joint.dim == 1:
            given = np.full((2, 1), np.inf) if joint.limits is None else joint.limits
            low, high = given[:, 0]
            usable = np.isfinite([low, high]).all() and low < high
            found[joint.name] = given[:, 0] if usable else None
    return found


def _opening(
    a: str, name: str, direction: int, both: bool, slides: Mapping[str, Any]
) -> OpeningJoint:
    if name not in slides:
        raise ConfigError(
            f"Object {a!r}, openable: {unknown_name('joint', name, slides)}"
        )
    if slides[name] is None:
        raise ConfigError(
            f"Joint {name!r} opens {a!r} and has no two different limits; give them by"
            f" C.set_limits({name!r}, [lower, upper])."
        )
    closed, open_ = slides[name][::direction].tolist()
    return OpeningJoint(name, closed, open_, both)


@lru_cache(maxsize=256)
def _symbol(statement: Open, truth: bool) -> Symbol:
    """One for each statement, so that it is compiled once."""
    return joint_openness.openness_symbol(truth, statement.numbers)

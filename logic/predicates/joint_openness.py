"""Open joints: a door or a drawer that has left its closed end."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from posewise.features import Feature
from posewise.features.symbol import Symbol
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.joint_openness import (
    CLOSED_FRACTION,
    OpeningJoint,
    opening_joints,
    openness_verdict,
)
from ..exact.verdict import Verdict
from ..geometry.frame_groups import find_object
from ..relaxed.constraint_terms import ConstraintTerm, Inequality
from ..relaxed.joint_openness import openness_symbol
from ..relaxed.object_features import constant_row, feature_on_frames
from .verdict_predicate import SemanticPredicate


@dataclass(frozen=True)
class Open(SemanticPredicate):
    """One of a's relevant joints is more than 5 % of its range away from closed.

    Relevant joints are named in the object's abilities: {"openable": {"joints":
    {"door_joint": -1}}} where a joint opens towards its lower limit, 1 where towards
    its upper one; with "both_sides": True both limits are closed, and the joint is open
    in between. Joints are hinges or slides with limits; beyond the open limit is open
    too.

    "posewise": without annotation all joints of the object that have limits are
    relevant. Without a direction ({"joints": ["door_joint"]}, or no annotation) a joint
    is closed at its limit 0; if no limit is 0, at its lower limit, and `explain` says
    that this is a guess. "igibson": without annotation it is not open, and without a
    direction a joint opens towards its upper limit. "document": as "posewise", but all
    joints open towards their upper limit and have one closed end.

    The default is "posewise", because models rarely have annotations, and doors that
    open towards -90° are as common as others.

    Args:
        a: an object or frame; for a frame without a joint all joints below count.

    Raises:
        ConfigError: when evaluated, for unknown names, and annotations that do not fit.
    """

    a: FrameName

    def verdict(self, C: Config) -> Verdict:
        return openness_verdict(C, self.a, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the joints' openings as fractions of their ranges."""
        joints = self.joints(C)
        if not joints:
            group = find_object(C, self.a)
            return Inequality(feature_on_frames([group], constant_row(not truth)))
        names = tuple(joint.name for joint in joints)
        error = 0.5 * self.bound
        return Inequality(Feature(_symbol(self, truth), names), error=truth * error)

    def joint_data(self, C: Config) -> dict[str, Any]:
        """Return the arguments of `relaxed.joint_openness.any_open` in a world."""
        joints = self.joints(C)
        return {
            "ends": [[joint.closed, joint.open] for joint in joints],
            "both_ends": [float(joint.both_sides) for joint in joints],
            "closed_fraction": CLOSED_FRACTION,
            "error": 0.5 * self.bound,
        }

    def joints(self, C: Config) -> list[OpeningJoint]:
        """Return the relevant joints of the object in a world."""
        return opening_joints(C, self.a, self.semantics)


@lru_cache(maxsize=256)
def _symbol(predicate: Open, truth: bool) -> Symbol:
    """Return one symbol for each predicate, so that it is compiled once."""
    return openness_symbol(truth, predicate.joint_data)

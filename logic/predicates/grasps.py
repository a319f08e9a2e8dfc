"""Grasps: an object attached to a hand, or held between its fingers."""

from dataclasses import dataclass
from itertools import combinations

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..errors import PredicateError
from ..exact.grasps import MAX_OPPOSED_COSINE, agent_with_hands, grasp_verdict
from ..exact.verdict import Verdict
from ..geometry.frame_groups import (
    FrameGroup,
    find_object,
    require_shapes,
)
from ..geometry.hands import fingers, is_attached
from ..margins import STRICT_MARGIN
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.contact import (
    beyond_distance_rows,
    contact_smoothing_error,
    within_distance_rows,
)
from ..relaxed.grasps import attachment_rows, opposed_contact_rows
from ..relaxed.object_features import ObjectPair, feature_on_frames
from .contact import ContactPredicate


@dataclass(frozen=True)
class InHandOfAgent(ContactPredicate):
    """a is rigidly attached to a hand of the agent, or held between two fingers.

    Attached: a's root frame has no moving joint, and is attached below the frame of a
    hand, but not to another object there (an assisted grasp). Held: two fingers of one
    hand touch a, and the normals of their closest contacts are 120 degrees or more
    apart. The fingers are those of `C.annotations.add_agent`, or all that joints
    connect to the hand.

    "posewise": attached or held. "igibson", "document": attached (the physical grasping
    of the code, where closed fingers count for every object, is not modelled).

    The default is "posewise": a grasp is recognised before anything is attached.

    Args:
        a: an object or frame with a shape.
        agent: an agent of `C.annotations.add_agent`, with hands.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: when evaluated, for unknown names, and an agent without hands.
    """

    a: FrameName
    agent: str

    def verdict(self, C: Config) -> Verdict:
        return grasp_verdict(C, self.a, self.agent, self.tolerance, self.semantics)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the contacts of two fingers of one hand, and of their normals.

        Whether a is attached does not depend on poses: where it is, a row is constant.
        The relaxed negation demands that of each two fingers, one does not touch, or
        both touch from sides that are not opposed.

        Raises:
            PredicateError: for other semantics than "posewise", and for hands without
                two fingers.
        """
        if self.semantics != "posewise":
            raise PredicateError(
                f"{self!r} is about attachment, which no pose changes: attach"
                " it (C.attach, or a mode switch), or use semantics='posewise', which"
                " also accepts fingers that hold it."
            )
        agent, a = agent_with_hands(C, self.agent), find_object(C, self.a)
        hands = [FrameGroup(C, hand, (C.index(hand),)) for hand in agent.hands]
        attached = [hand for hand in hands if is_attached(a, hand.frames[0])]
        if truth and attached:
            rows = attachment_rows(truth)
            return Inequality(feature_on_frames([a, attached[0]], rows))
        require_shapes(a)
        pairs = [
            pair
            for hand, named in agent.hands.items()
            for pair in combinations(fingers(C, hand, named), 2)
        ]
        if not truth:
            detached = [
                Inequality(feature_on_frames([a, hand], attachment_rows(truth)))
                for hand in hands
            ]
            free = [self._free_term(a, *pair) for pair in pairs]
            return Conjunction((*detached, *free))
        if not pairs:
            raise PredicateError(
                f"{self!r}: no hand of {self.agent!r} has two fingers with shapes to"
                " hold an object; name them: C.annotations.add_agent(...,"
                " hands={'hand': ['left', 'right']})."
            )
        error = contact_smoothing_error(0.5 * self.tolerance, 0.5 * self.bound)
        grips = [self._grip_term(a, *pair, error=error) for pair in pairs]
        return Disjunction(tuple(grips), error)

    def _grip_term(
        self, a: FrameGroup, f: FrameGroup, g: FrameGroup, *, error: float
    ) -> ConstraintTerm:
        """Return the term that fingers f and g touch a from opposite sides."""
        rows = within_distance_rows(self.tolerance, error)
        contacts = [
            Inequality(
                ObjectPair(a.C, finger, a, False).feature(rows),
                scale=100.0,
                error=error,
            )
            for finger in (f, g)
        ]
        opposed = feature_on_frames([f, g, a], opposed_contact_rows(MAX_OPPOSED_COSINE))
        return Conjunction((*contacts, Inequality(opposed, scale=100.0)))

    def _free_term(self, a: FrameGroup, f: FrameGroup, g: FrameGroup) -> ConstraintTerm:
        """Return the term that finger f or g does not touch a, or both on one side."""
        clear = beyond_distance_rows(self.tolerance + STRICT_MARGIN)
        free = [
            Inequality(ObjectPair(a.C, finger, a, False).feature(clear))
            for finger in (f, g)
        ]
        rows = opposed_contact_rows(MAX_OPPOSED_COSINE, False)
        beside = Inequality(feature_on_frames([f, g, a], rows))
        # Fingers that almost touch are told apart from those that do by this error.
        error = contact_smoothing_error(0.1 * self.tolerance, 0.5 * self.bound)
        return Disjunction((*free, beside), error)

"""In hand: attached to a hand, or held between its fingers."""

from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.agents import Agent

from ..errors import PredicateError
from ..geometry.frame_groups import (
    FrameGroup,
    are_within,
    bounding_box,
    closest_separation,
    contact_normal,
    find_object,
    require_shapes,
    subtree,
)
from ..relaxed.constraint_terms import (
    Conjunction,
    ConstraintTerm,
    Disjunction,
    Inequality,
)
from ..relaxed.contact import STRICT_MARGIN, beyond_distance_rows
from ..relaxed.contact import within_distance_rows as near
from ..relaxed.grasps import attachment_rows, is_attached, opposed_contact_rows
from ..relaxed.object_features import ObjectPair, feature_on_frames
from .agents import find_agent
from .contact import CONTACT_TOLERANCE, check_tolerance, contact_smoothing_error
from .messages import length
from .verdict import SemanticPredicate, Verdict

MAX_OPPOSED_COSINE = -0.5
"""Cosine of the angle of two contact normals, at most: 120 degrees or more."""


@dataclass(frozen=True)
class InHandOfAgent(SemanticPredicate):
    """a hangs rigidly on a hand of the agent, or two fingers hold it from two sides.

    Attached: a's root frame has no joint, and hangs on a hand's frame or one below it
    that belongs to no other object (an assisted grasp). Held: two fingers of one hand
    touch a, and the normals of their nearest contacts are 120 degrees or more apart;
    the fingers are those of `C.add_agent`, or all that joints hold on the hand.

    "posewise": either of them. "igibson", "document": attached (the code's physical
    grasping, where closed fingers count for every object, is left out).

    The default is "posewise": a grasp is seen before anything is attached.

    Args:
        a: an object or frame with a shape.
        agent: of `C.add_agent`, with hands.
        tolerance: see `InContactWith`.

    Raises:
        ConfigError: on asking, for unknown names, and an agent without hands.
    """

    a: Any
    agent: Any
    tolerance: Any = field(default=CONTACT_TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self, self.tolerance)

    def verdict(self, C: Config) -> Verdict:
        """See `SemanticPredicate`."""
        agent, a = self._agent(C), find_object(C, self.a)
        for hand in agent.hands:
            if is_attached(a, C.index(hand)):
                text = f"{self.a} is attached to {hand} of {self.agent}."
                return Verdict(True, partial(str, text))
        if self.semantics != "posewise":
            hands = " and ".join(agent.hands)
            text = f"{self.a} is attached to 0 hands of {self.agent} ({hands})."
            return Verdict(False, lambda: text)
        verdicts = [self._held(a, h, fingers(C, h, f)) for h, f in agent.hands.items()]
        return max(verdicts, key=lambda v: v.truth)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Contacts of two fingers of one hand, and their normals.

        Being attached is no matter of poses: where a is attached, a row is -1, or 1.
        That it is false: of each two fingers, one does not touch, which says less.

        Raises:
            PredicateError: for other semantics than "posewise", and a hand without two
                fingers.
        """
        if self.semantics != "posewise":
            raise PredicateError(
                f"{self!r} is about what hangs on what, which no pose changes: attach"
                " it (C.attach, or a mode switch), or ask semantics='posewise', which"
                " sees fingers that hold it."
            )
        agent, a = self._agent(C), find_object(C, self.a)
        hands = [FrameGroup(C, hand, (C.index(hand),)) for hand in agent.hands]
        on = [hand for hand in hands if is_attached(a, hand.frames[0])]
        if truth and on:
            return Inequality(feature_on_frames([a, on[0]], attachment_rows(truth)))
        require_shapes(a)
        pairs = [
            pair
            for hand, named in agent.hands.items()
            for pair in combinations(fingers(C, hand, named), 2)
        ]
        if not truth:
            free = [self._free(C, a, *pair) for pair in pairs]
            off = [
                Inequality(feature_on_frames([a, hand], attachment_rows(truth)))
                for hand in hands
            ]
            return Conjunction((*off, *free))
        if not pairs:
            raise PredicateError(
                f"{self!r}: no hand of {self.agent!r} has two fingers with shapes to"
                " hold a thing; name them: C.add_agent(..., hands={'hand': ['left',"
                " 'right']})."
            )
        error = contact_smoothing_error(0.5 * self.tolerance, 0.5 * self.bound)
        return Disjunction(
            tuple(self._grip(C, a, *pair, error) for pair in pairs), error
        )

    def _grip(
        self, C: Config, a: FrameGroup, f: FrameGroup, g: FrameGroup, error: float
    ) -> ConstraintTerm:
        touch = near(self.tolerance, error)
        touching = [ObjectPair(C, x, a, False).feature(touch) for x in (f, g)]
        rows = tuple(Inequality(x, scale=100.0, error=error) for x in touching)
        facing = feature_on_frames([f, g, a], opposed_contact_rows(MAX_OPPOSED_COSINE))
        return Conjunction((*rows, Inequality(facing, scale=100.0)))

    def _free(
        self, C: Config, a: FrameGroup, f: FrameGroup, g: FrameGroup
    ) -> ConstraintTerm:
        gap = beyond_distance_rows(self.tolerance + STRICT_MARGIN)
        free = tuple(
            Inequality(ObjectPair(C, x, a, False).feature(gap)) for x in (f, g)
        )
        return Disjunction(
            free, contact_smoothing_error(0.5 * self.tolerance, 0.5 * self.bound)
        )

    def start_region(self, C: Config, name: str) -> np.ndarray | None:
        """See `Predicate`: about a hand's fingers."""
        if name != self.a:
            return None
        found = [
            f for hand, n in self._agent(C).hands.items() for f in fingers(C, hand, n)
        ]
        boxes = np.array([bounding_box(f) for f in found]).reshape(-1, 2, 3)
        if not len(boxes) or not np.isfinite(boxes).all():
            return None
        return np.array([boxes[:, 0].min(0), boxes[:, 1].max(0)])

    def _agent(self, C: Config) -> Agent:
        agent = find_agent(C, self.agent)
        if not agent.hands:
            raise ConfigError(
                f"Agent {self.agent!r} has no hands; name them: C.add_agent("
                f"{self.agent!r}, base=..., hands=['hand'])."
            )
        return agent

    def _held(self, a: FrameGroup, hand: str, held_by: list[FrameGroup]) -> Verdict:
        require_shapes(a)
        touching = [f for f in held_by if are_within(f, a, self.tolerance)]
        normals = [contact_normal(f, a) for f in touching]
        for (f, x), (g, y) in combinations(zip(touching, normals, strict=True), 2):
            cosine = float(np.dot(x, y))
            if cosine <= MAX_OPPOSED_COSINE:
                angle = np.degrees(np.arccos(max(cosine, -1.0)))
                both = f"{self.a} is between {f.name} and {g.name}"
                text = f"{both}, which touch it from sides {angle:.0f} degrees apart."
                return Verdict(True, partial(str, text))
        return Verdict(False, lambda: self._loose(a, hand, held_by, touching))

    def _loose(
        self,
        a: FrameGroup,
        hand: str,
        held_by: list[FrameGroup],
        touching: list[FrameGroup],
    ) -> str:
        count = f"{len(touching)} of {len(held_by)} fingers of {hand} touch {self.a}"
        if len(touching) > 1:
            return f"{count}, no two of them from opposite sides."
        free = [f for f in held_by if f not in touching]
        if not free:
            return f"{count}, and it takes two."
        gaps = [closest_separation(f, a).distance for f in free]
        near = int(np.argmin(gaps))
        return f"{count}; {free[near].name} is {length(gaps[near])} from it."


def fingers(C: Config, hand: str, named: tuple[str, ...] = ()) -> list[FrameGroup]:
    """The fingers of a hand, each with all that hangs on it but objects.

    Args:
        C: the world.
        hand: its frame.
        named: frames of fingers; none: the first frames with joints below the hand.
    """
    objects = {C.index(name) for name in C.objects}
    roots = [C.index(name) for name in named]
    if not roots:
        below = subtree(C, C.index(hand), objects)[1:]
        jointed = {i for i in below if _moves(C, i)}
        nested = {j for i in jointed for j in subtree(C, i)[1:]}
        roots = [i for i in below if i in jointed - nested]
    found = [FrameGroup(C, C.frames[i].name, subtree(C, i, objects)) for i in roots]
    return [finger for finger in found if finger.collision_frames]


def _moves(C: Config, i: int) -> bool:
    """Whether a joint is between a frame and its parent."""
    joint = C.frames[i].joint
    return joint is not None and joint.dim > 0

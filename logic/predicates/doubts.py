"""Doubts of predicates, such as of swapped objects, and what hardly lets them hold."""

from collections.abc import Iterator

import numpy as np

from posewise.objectives.checks.doubts import (
    containers_of,
    doubts_of,
    held_by,
    impediments_of,
    solution_doubts_of,
    supports_of,
)
from posewise.objectives.placement.symmetry import is_ball
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.containment import containment_impediments
from ..geometry.frame_groups import bounding_box, find_object
from .attachment import Attached
from .containment import InsideOf
from .footing import rests_on_little
from .grasps import InHandOfAgent
from .intrusion import overlaps_unseen, sticks_out
from .rest import does_not_stay
from .stable import Stable
from .support import OnTopOf

MIN_STACK_HEIGHT = 1.5
"""Ratio of the least height of a container in which objects are stacked to the smallest
edge of one; in lower ones the centre of the upper object is outside."""


@doubts_of.register(InsideOf)
def size_doubts(predicate: InsideOf, C: Config) -> Iterator[str]:
    """Yield a sentence if a is larger than b, in which it is to be."""
    a, b = predicate.a, predicate.b
    objects = find_object(C, a, b), find_object(C, b, a)
    # along their own axes: one that lies about askew is no larger
    boxes = (bounding_box(o, o.pose(o.frames[0])[0]) for o in objects)
    size_a, size_b = (np.sort(np.ptp(box, axis=0)) for box in boxes)
    if np.isfinite([size_a, size_b]).all() and (size_a > size_b).all():
        yield (
            f"InsideOf({a}, {b}): {a!r} is larger than {b!r},"
            " in which it is to be. The first object is the content: swap them."
        )


@impediments_of.register(InsideOf)
def filled_hollow_impediments(predicate: InsideOf, C: Config) -> Iterator[str]:
    """Yield a sentence if the hollow of b is filled by the hull of its mesh."""
    yield from containment_impediments(C, predicate.a, predicate.b, predicate.semantics)


@solution_doubts_of.register(InsideOf)
def content_doubts(predicate: InsideOf, C: Config) -> Iterator[str]:
    """Yield a sentence if a is not all in the hollow of b, or does not stay there."""
    yield from sticks_out(predicate, C, predicate.a, predicate.b)
    yield from overlaps_unseen(predicate, C, predicate.a, predicate.b)
    yield from does_not_stay(predicate, C, predicate.a)


@held_by.register(Attached)
@held_by.register(InHandOfAgent)
@held_by.register(InsideOf)
@held_by.register(OnTopOf)
@held_by.register(Stable)
def first_is_held(
    predicate: Attached | InHandOfAgent | InsideOf | OnTopOf | Stable, C: Config
) -> Iterator[FrameName]:
    """Yield a, which the other object, or an equilibrium, carries or holds."""
    yield predicate.a


@supports_of.register(InsideOf)
def supports_inside(
    predicate: InsideOf, C: Config
) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield a, if b is too flat for the centres of two that are on each other."""
    low, high = bounding_box(find_object(C, predicate.b, predicate.a))
    a, b = bounding_box(find_object(C, predicate.a, predicate.b))
    if high[2] - low[2] < MIN_STACK_HEIGHT * (b - a).min():
        yield predicate.a, predicate.b


@containers_of.register(InsideOf)
def containers_around(
    predicate: InsideOf, C: Config
) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield a, which something in b carries."""
    yield predicate.a, predicate.b


@doubts_of.register(OnTopOf)
def order_doubts(predicate: OnTopOf, C: Config) -> Iterator[str]:
    """Yield a sentence if b moves, but a, which stands on it, does not."""
    mask = C.tree.model.kinematics.dof_mask
    names = predicate.a, predicate.b
    a, b = (mask[C.pairs.solid_parts(name)].any() for name in names)
    if b and not a:
        yield (
            f"OnTopOf({predicate.a}, {predicate.b}): {predicate.b!r} moves, but"
            f" {predicate.a!r}, which stands on it, does not. The first object is the"
            f" upper one: swap them, or let {predicate.a!r} move, too."
        )


@solution_doubts_of.register(OnTopOf)
def footing_doubts(predicate: OnTopOf, C: Config) -> Iterator[str]:
    """Yield a sentence if a rests on little, is in b, or does not stay where it is."""
    yield from rests_on_little(predicate, C, predicate.a, predicate.b)
    yield from overlaps_unseen(predicate, C, predicate.a, predicate.b)
    yield from does_not_stay(predicate, C, predicate.a)


@supports_of.register(OnTopOf)
def supports_below(
    predicate: OnTopOf, C: Config
) -> Iterator[tuple[FrameName, FrameName]]:
    """Yield a, which touches b."""
    yield predicate.a, predicate.b


@doubts_of.register(Stable)
def ball_doubts(predicate: Stable, C: Config) -> Iterator[str]:
    """Yield a sentence if a is a ball, of which the rows never hold."""
    a = predicate.a
    if is_ball(C, C.frames[find_object(C, a).frames[0]].name):
        yield (
            f"Stable({a}): {a!r} is a ball, which could roll, so that its"
            " rows never hold. Leave it out, and check Stable afterwards."
        )

"""Objects of which not all is in their container, or that are in its walls."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from posewise.objectives.checks.path_doubts import MAX_TOUCH_DEPTH
from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..exact.protrusion import MAX_PROTRUSION, protrusions_at
from ..formulas.messages import format_predicate
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import find_object
from ..geometry.messages import length


def sticks_out(
    predicate: Predicate, C: Config, a: FrameName, b: FrameName
) -> Iterator[str]:
    """Yield a sentence if an object sticks out of its container at a side or below.

    Args:
        predicate: it holds of both.
        C: the world.
        a: the object.
        b: the container.
    """
    root = C.frames[find_object(C, a, b).frames[0]].name
    (protrusion,) = protrusions_at(C, a, b, C.pose(root)[None])
    if protrusion > MAX_PROTRUSION:
        yield (
            f"{format_predicate(predicate)} holds, which is about the centre of mass,"
            f" but {a!r} sticks out of {b!r} by {length(protrusion)}. To have all of it"
            f" inside, annotate a cavity of {b!r} for its centre that ends farther from"
            " the opening (C.annotations.add_region)."
        )


def overlaps_unseen(
    predicate: Predicate, C: Config, a: FrameName, b: FrameName
) -> Iterator[str]:
    """Yield a sentence if objects overlap where contact flags hide it from solvers.

    Other overlaps are those of the solution; `C.ignore_collisions` says that a pair may
    overlap, while a flag 0 may be that of a file.

    Args:
        predicate: it holds of both.
        C: the world.
        a: the object.
        b: what it is on or in.
    """
    upper, lower = (find_object(C, *names) for names in ((a, b), (b, a)))
    names, ignored = C.frame_names, C.pairs.ignored()
    allowed = {frozenset((pair.a, pair.b)) for pair in ignored}
    hidden = [
        (i, j)
        for i, j in product(upper.collision_frames, lower.collision_frames)
        if not (C.frames[i].contact and C.frames[j].contact)
        and frozenset((names[i], names[j])) not in allowed
    ]
    if not hidden:
        return
    contacts = C.contacts(np.array(hidden), 0.0)
    if not contacts:
        return
    k = min(contacts, key=lambda k: float(contacts[k].distance))
    depth = -float(contacts[k].distance)
    if depth > MAX_TOUCH_DEPTH:
        first, second = (names[i] for i in hidden[k])
        yield (
            f"{format_predicate(predicate)} holds, but {first!r} and {second!r} overlap"
            f" by {1e3 * depth:.1f} mm, which their contact flags allow. If both are"
            " solid, call C.set_contact with 1 for each."
        )

"""Objects that touch nothing, and so cannot stay where they are."""

import numpy as np

from posewise.robots.config import Config
from posewise.robots.typing import FrameName

from ..geometry.messages import length

MAX_GAP = 5e-3
"""Distance up to which something may be what an object stands on [m]; with less,
objects that were put down a little too high float."""


def stands_on_nothing(C: Config, obj: FrameName, when: str) -> str:
    """Return a sentence if an object is nearer than 5 mm to nothing; else "".

    That it touches something does not prove that it stays: `logic.Stable` does.

    Args:
        C: the world.
        obj: the object, with all that is attached to it.
        when: beginning of the sentence, such as "At first".
    """
    members = {C.index(name) for name in C.subtree(obj)}
    frames = enumerate(C.frames)
    solid = {i for i, f in frames if any(g.collision for g in f.geometries)}
    pairs = [sorted((a, b)) for a in solid & members for b in solid - members]
    if not solid & members or C.contacts(np.array(pairs, int).reshape(-1, 2), MAX_GAP):
        return ""
    return (
        f"{when}, {obj!r} stands on nothing: its origin is at z ="
        f" {C.pose(obj)[2]:.3f} m, and no shape is within {length(MAX_GAP)} of it, so"
        " that it would fall. Put it on something, or add what it stands on."
    )

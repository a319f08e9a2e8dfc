"""Between fingers: normals of contacts that point against each other."""

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..geometry.solids import Solid, subtree
from .parts import Distances, contacts, distances_of
from .smooth import largest, smallest
from .things import BuildOf, settled, solid_places

TIED = 1e-6
"""Parts no farther away than the nearest ones and this may be the nearest [m]."""
LEVER = 0.05
"""What cosines are multiplied by, to be compared with distances [m]."""
SURE = 1e-4
"""By how much cosines are below what is asked for."""


def opposed(cosine: float) -> BuildOf:
    """At most 0 only where the contacts of two fingers with a thing are opposed.

    Of three things: two fingers, and the one. For each two pairs of parts that may be
    the nearest ones, the cosine of the angle between their normals counts.

    Args:
        cosine: what that of the nearest ones is to be less than.
    """

    def build(things: tuple[Solid, ...]) -> Any:
        C, first = things[0].C, np.cumsum([0] + [len(x.frames) for x in things])
        frames = [C.frames[i] for x in things for i in x.frames]
        solid = [solid_places(x, int(k)) for x, k in zip(things, first, strict=False)]
        arrays: dict[str, np.ndarray] = {"cosine": np.array(cosine - SURE)}
        which = []
        for k in range(2):
            pairs = [(i, j) for i in solid[k] for j in solid[2]]
            met, numbers = distances_of(frames, pairs)
            which.append(met)
            arrays |= {f"finger_{k}_{name}": x for name, x in numbers.items()}
        return _opposed(which[0], which[1]), arrays, 1

    return build


def attached(truth: bool) -> BuildOf:
    """-1 where a thing's root hangs on a hand and on no other object there, else 1.

    Of two things: the one, and the hand. By what hangs on what, not by poses; a thing
    that a joint holds on the hand counts as attached only to say that it is.

    Args:
        truth: or only where it is not, or 1.
    """

    def build(things: tuple[Solid, ...]) -> Any:
        a, hand = things
        return settled(hangs(a, hand.frames[0], rigidly=truth) is truth)(things)

    return build


def hangs(a: Solid, hand: int, rigidly: bool = True) -> bool:
    """Whether a thing's root hangs on a hand, and not on another object there.

    Args:
        a: the thing.
        hand: index of a frame.
        rigidly: no joint is between its root and the frame that it hangs on.
    """
    C, frame = a.C, a.C.frames[a.frames[0]]
    if frame.parent is None:
        return False
    if rigidly and frame.joint is not None and frame.joint.dim > 0:
        return False
    objects = {C.index(name) for name in C.objects}
    return frame.parent in subtree(C, hand, objects)


@lru_cache(maxsize=256)
def _opposed(first: Distances, second: Distances) -> Any:
    def opposed(R: Any, p: Any, **arrays: Any) -> Any:
        met = []
        for k, which in enumerate((first, second)):
            mark = f"finger_{k}_"
            own = {n.removeprefix(mark): x for n, x in arrays.items() if mark in n}
            met.append(contacts(which, R, p, own))
        cosine = LEVER * (met[0].normal @ met[1].normal.T - arrays["cosine"])
        behind = [smallest(m.distance) + TIED - m.distance for m in met]
        rest = jnp.minimum(behind[0][:, None], behind[1][None])
        return largest(jnp.minimum(cosine, rest).reshape(-1))[None]

    return opposed

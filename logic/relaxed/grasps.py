"""Between fingers: normals of contacts that point against each other."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..geometry.frame_groups import FrameGroup, subtree
from ..smooth_extrema import largest, smallest
from .object_features import GroupRows, constant_row, shape_positions
from .parts import PartPairKinds, part_contacts, part_pairs

TIE_TOLERANCE = 1e-6
"""Parts no farther away than the nearest ones and this may be the nearest [m]."""
ANGLE_LEVER = 0.1
"""What angles are multiplied by, to be compared with distances [m]."""
ANGLE_MARGIN = 1e-4
"""By how much angles are above what is asked for."""


def opposed_contact_rows(cosine: float) -> GroupRows:
    """At most 0 only where the contacts of two fingers with a thing are opposed.

    Of three things: two fingers, and the one. For each two pairs of parts that may be
    the nearest ones, the angle between their normals counts.

    Args:
        cosine: what that of the nearest ones is to be less than.
    """

    def build(things: tuple[FrameGroup, ...]) -> Any:
        C, first = things[0].C, np.cumsum([0] + [len(x.frames) for x in things])
        frames = [C.frames[i] for x in things for i in x.frames]
        solid = [
            shape_positions(x, int(k)) for x, k in zip(things, first, strict=False)
        ]
        least = np.arccos(np.clip(cosine, -1.0, 1.0)) + ANGLE_MARGIN
        arrays: dict[str, np.ndarray] = {"least": np.array(least)}
        which = []
        for k in range(2):
            pairs = [(i, j) for i in solid[k] for j in solid[2]]
            met, numbers = part_pairs(frames, pairs)
            which.append(met)
            arrays |= {f"finger_{k}_{name}": x for name, x in numbers.items()}
        return _opposed(which[0], which[1]), arrays, 1

    return build


def attachment_rows(truth: bool) -> GroupRows:
    """-1 where a thing's root hangs on a hand and on no other object there, else 1.

    Of two things: the one, and the hand. By what hangs on what, not by poses; a thing
    that a joint holds on the hand counts as attached only to say that it is.

    Args:
        truth: or only where it is not, or 1.
    """

    def build(things: tuple[FrameGroup, ...]) -> Any:
        a, hand = things
        return constant_row(is_attached(a, hand.frames[0], rigidly=truth) is truth)(
            things
        )

    return build


def is_attached(a: FrameGroup, hand: int, rigidly: bool = True) -> bool:
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
def _opposed(first: PartPairKinds, second: PartPairKinds) -> Any:
    def opposed(R: Any, p: Any, **arrays: Any) -> Any:
        met = []
        for k, which in enumerate((first, second)):
            mark = f"finger_{k}_"
            own = {n.removeprefix(mark): x for n, x in arrays.items() if mark in n}
            met.append(part_contacts(which, R, p, own))
        normals = met[0].normal[:, None], met[1].normal[None]
        short = ANGLE_LEVER * (arrays["least"] - _angle(*normals))
        behind = [smallest(m.distance) + TIE_TOLERANCE - m.distance for m in met]
        rest = jnp.minimum(behind[0][:, None], behind[1][None])
        told = jnp.where(rest >= 0, short, jnp.minimum(short, rest))
        return largest(told.reshape(-1))[None]

    return opposed


def _angle(a: Float[jax.Array, "*#n 3"], b: Float[jax.Array, "*#n 3"]) -> jax.Array:
    """Between unit vectors; its derivative does not vanish as that of the cosine."""
    across = jnp.cross(a, b)
    square = jnp.sum(across * across, -1)
    sine = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    return jnp.arctan2(sine, jnp.sum(a * b, -1))

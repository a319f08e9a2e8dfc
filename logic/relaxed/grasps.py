"""Relaxation of grasps: opposing contact normals of two fingers, and attachment."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.parts import with_prefix
from posewise.features.safe_math import norm
from posewise.features.symbol import Arrays

from ..geometry.frame_groups import FrameGroup
from ..geometry.hands import is_attached
from ..smooth_extrema import largest, smallest
from .object_features import GroupRows, RowFunction, constant_row, shape_positions
from .part_pairs import PartPairKinds, part_contacts, part_pairs

TIE_TOLERANCE = 1e-6
"""Distance beyond that of the closest parts up to which parts may be the closest [m].

The exact check may choose any of them, so the normals of all must be opposed.
"""
ANGLE_LEVER = 0.1
"""Factor of angles in rows that they share with distances [m/rad]; with a larger one
angles count more."""
ANGLE_MARGIN = 1e-4
"""Margin of the angle beyond the one that is required [rad]."""


def opposed_contact_rows(cosine: float, truth: bool = True) -> GroupRows:
    """Return a row at most 0 only where two fingers touch an object from two sides.

    The groups are two fingers and the object. For each two pairs of parts that may be
    the closest ones, the angle between their normals counts.

    Args:
        cosine: upper limit of the cosine of the angle.
        truth: False for a row at most 0 only where the sides are not opposed.
    """

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        C, first = groups[0].C, np.cumsum([0] + [len(x.frames) for x in groups])
        frames = [C.frames[i] for x in groups for i in x.frames]
        starts = first[: len(groups)]
        positions = [
            shape_positions(x, int(k)) for x, k in zip(groups, starts, strict=True)
        ]
        sign = 1.0 if truth else -1.0
        limit = np.arccos(np.clip(cosine, -1.0, 1.0)) + sign * ANGLE_MARGIN
        arrays: Arrays = {"limit": np.array(limit), "sign": np.array(sign)}
        kinds = []
        for k in range(2):
            pairs = [(i, j) for i in positions[k] for j in positions[2]]
            finger_kinds, data = part_pairs(frames, pairs, "opposed contacts")
            kinds.append(finger_kinds)
            arrays |= {f"finger_{k}_{name}": x for name, x in data.items()}
        return RowFunction(_opposed(kinds[0], kinds[1]), arrays, 1)

    return build


def attachment_rows(truth: bool) -> GroupRows:
    """Return a row that is -1 where an object is attached to a hand, else 1.

    The groups are the object and the hand. Poses do not matter. An object that hangs on
    the hand by a moving joint is neither attached nor, for the negation, free.

    Args:
        truth: False for a row that is -1 where the object is not attached, else 1.
    """

    def build(groups: tuple[FrameGroup, ...]) -> RowFunction:
        a, hand = groups
        attached = is_attached(a, hand.frames[0], rigidly=truth)
        return constant_row(attached is truth)(groups)

    return build


@lru_cache(maxsize=256)
def _opposed(first: PartPairKinds, second: PartPairKinds) -> Callable[..., Any]:
    def opposed_contacts(R: Any, p: Any, **arrays: Any) -> Any:
        contacts = []
        for k, kinds in enumerate((first, second)):
            # Both fingers' arrays are in one dictionary, distinguished by a prefix.
            finger_arrays = with_prefix(arrays, f"finger_{k}_")
            contacts.append(part_contacts(kinds, R, p, finger_arrays))
        normals = contacts[0].normal[:, None], contacts[1].normal[None]
        missing_angle = arrays["limit"] - _angle(*normals)
        missing_angle = ANGLE_LEVER * arrays["sign"] * missing_angle
        # `slack` is negative for parts that are certainly not the closest. A pair of
        # contacts is satisfied if its angle is large enough or if it does not count.
        # Sound: the pair that the exact check uses always counts.
        slacks = [smallest(c.distance) + TIE_TOLERANCE - c.distance for c in contacts]
        slack = jnp.minimum(slacks[0][:, None], slacks[1][None])
        value = jnp.where(slack >= 0, missing_angle, jnp.minimum(missing_angle, slack))
        return largest(value.reshape(-1))[None]

    return opposed_contacts


def _angle(a: Float[jax.Array, "*#n 3"], b: Float[jax.Array, "*#n 3"]) -> jax.Array:
    """Return the angle between unit vectors [rad]."""
    # atan2(|a × b|, a·b) keeps its slope near 0 and π, where that of the cosine is 0.
    return jnp.arctan2(norm(jnp.cross(a, b)), jnp.sum(a * b, -1))

"""The bodies of an MJCF model that never collide.

The rules are MuJoCo's ("Collision detection: selection" in its documentation), with one
more: MuJoCo lets a body collide with a parent that is welded to the world, e.g. the
first link of an arm with its base; here only the world body itself is no parent.
`<contact><pair>` is not read.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contact.collision_pairs import FramePair, adjacent_bodies, ordered_pairs

if TYPE_CHECKING:
    from mujoco import MjModel


def ignored_bodies(mujoco: ModuleType, model: "MjModel") -> dict[FramePair, str]:
    """Return the pairs of bodies that never collide, lower index first, with reasons.

    They are the two sides of each joint, the pairs in `<contact><exclude>`, and the
    pairs of which no two geoms match by `contype` and `conaffinity`.
    """
    matching, solid = _matching_bodies(model)
    unmatched = np.argwhere(np.triu(~matching, 1)).tolist()
    ignored: dict[FramePair, str] = {(a, b): "User" for a, b in unmatched}
    # MuJoCo packs the two bodies of an exclusion into one integer.
    signatures = np.asarray(model.exclude_signature, int)
    excluded = ordered_pairs(
        zip((signatures >> 16).tolist(), (signatures & 0xFFFF).tolist(), strict=True)
    )
    ignored |= dict.fromkeys(excluded, "User")
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        parents = [int(b) or None for b in model.body_parentid]
        neighbours = adjacent_bodies(parents, (model.body_jntnum > 0).tolist())
        ignored |= dict.fromkeys(neighbours, "Adjacent")
    return {(a, b): why for (a, b), why in ignored.items() if solid[a] and solid[b]}


def _matching_bodies(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which bodies' geoms match (bodies, bodies), and which have any (bodies,).

    Two geoms match when the contype of one and the conaffinity of the other share a
    bit.
    """
    contype, conaffinity = np.zeros((2, model.nbody), int)
    np.bitwise_or.at(contype, model.geom_bodyid, model.geom_contype)
    np.bitwise_or.at(conaffinity, model.geom_bodyid, model.geom_conaffinity)
    match = (contype[:, None] & conaffinity) != 0
    return match | match.T, (contype | conaffinity) != 0

"""The bodies and geoms of an MJCF model that never collide.

The rules are MuJoCo's ("Collision detection: selection" in its documentation), with one
more: MuJoCo lets a body collide with a parent that is welded to the world, e.g. the
first link of an arm with its base; here only the world body itself is no parent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from ...contact.collision_pairs import FramePair, adjacent_bodies, ordered_pairs
from ...world.frame import ContactMask

if TYPE_CHECKING:
    from mujoco import MjModel

_MODEL_NUMBERS = count()


@dataclass(frozen=True, eq=False)
class ContactRules:
    """Bodies and geoms of a model that may collide."""

    solid: Bool[np.ndarray, " geoms"]
    """Whether a geom may collide with any other one."""
    ignored: Mapping[FramePair, str]
    """Pairs of bodies that never collide, lower index first, with reasons."""
    masks: Mapping[int, ContactMask]
    """By geom what it may touch; none where the pairs of bodies say all."""


def contact_rules(mujoco: ModuleType, model: "MjModel") -> ContactRules:
    """Return what of a compiled model may collide.

    Bodies ignore each other if a joint connects them, by `<contact><exclude>`, and if
    no two of their geoms match by `contype` and `conaffinity`. Geoms in
    `<contact><pair>` collide in any case.
    """
    bits = np.asarray(model.geom_contype)[:, None] & np.asarray(model.geom_conaffinity)
    match = (bits | bits.T) != 0
    solid = (np.asarray(model.geom_contype) | np.asarray(model.geom_conaffinity)) != 0
    first, second = np.array([model.pair_geom1, model.pair_geom2], int)
    solid[[*first, *second]] = True
    explicit = np.zeros_like(match)
    explicit[first, second] = explicit[second, first] = True
    paired = set(map(tuple, np.argwhere(_by_body(model, explicit)).tolist()))
    by_bodies = _ignored_bodies(mujoco, model)
    ignored = {pair: why for pair, why in by_bodies.items() if pair not in paired}
    for a, b in by_bodies.keys() & paired:
        of_a, of_b = (np.asarray(model.geom_bodyid) == body for body in (a, b))
        match[np.ix_(of_a, of_b)] = match[np.ix_(of_b, of_a)] = False
    match |= explicit
    unmatched = np.argwhere(np.triu(~_by_body(model, match), 1)).tolist()
    ignored |= {(a, b): "User" for a, b in unmatched if (a, b) not in ignored}
    has_solid = np.zeros(model.nbody, bool)
    has_solid[model.geom_bodyid[solid]] = True
    ignored = {p: why for p, why in ignored.items() if has_solid[list(p)].all()}
    return ContactRules(solid, ignored, _masks(model, match, solid, ignored))


def _ignored_bodies(mujoco: ModuleType, model: "MjModel") -> dict[FramePair, str]:
    """Return the two sides of each joint, and the pairs of `<contact><exclude>`."""
    # MuJoCo packs the two bodies of an exclusion into one integer.
    signatures = np.asarray(model.exclude_signature, int)
    excluded = ordered_pairs(
        zip((signatures >> 16).tolist(), (signatures & 0xFFFF).tolist(), strict=True)
    )
    ignored = dict.fromkeys(excluded, "User")
    if not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        parents = [int(b) or None for b in model.body_parentid]
        neighbours = adjacent_bodies(parents, (model.body_jntnum > 0).tolist())
        ignored |= dict.fromkeys(neighbours, "Adjacent")
    return ignored


def _by_body(
    model: "MjModel", match: Bool[np.ndarray, "geoms geoms"]
) -> Bool[np.ndarray, "bodies bodies"]:
    """Return of which bodies any two geoms match."""
    bodies = np.zeros((model.nbody, model.nbody), bool)
    a, b = np.nonzero(match)
    bodies[model.geom_bodyid[a], model.geom_bodyid[b]] = True
    return bodies


def _masks(
    model: "MjModel",
    match: Bool[np.ndarray, "geoms geoms"],
    solid: Bool[np.ndarray, " geoms"],
    ignored: Mapping[FramePair, str],
) -> dict[int, ContactMask]:
    """Return a mask for each solid geom; none if all or no geoms of bodies match."""
    geoms = np.flatnonzero(solid)
    bodies = np.asarray(model.geom_bodyid)[geoms]
    table = match[np.ix_(geoms, geoms)]
    matters = bodies[:, None] != bodies
    for a, b in ignored:
        matters[np.ix_(bodies == a, bodies == b)] = False
        matters[np.ix_(bodies == b, bodies == a)] = False
    if (table | ~matters).all():
        return {}
    # Geoms with equal rows have equal columns, too, since matching is mutual.
    rows, place, classes = np.unique(
        table, axis=0, return_index=True, return_inverse=True
    )
    number = next(_MODEL_NUMBERS)
    met = [sum(1 << int(c) for c in np.flatnonzero(row[place])) for row in rows]
    return {
        int(geom): ContactMask(number, int(c), met[int(c)])
        for geom, c in zip(geoms, classes.ravel(), strict=True)
    }

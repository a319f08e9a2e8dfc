"""Relaxation of stability: objects in static equilibrium on each other and the world.

All objects on free joints must be in equilibrium at once, with forces between objects
acting both ways, also for each centre of mass shifted to four sides. Before, objects
settle: each comes down and tips onto its points of contact, or is pushed out of what it
overlaps; points touch that are as near to its support as the nearest one. With all
objects that it touches, each object must settle by less than the displacement that
counts as stable.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.features import Feature
from posewise.features.collisions import PADDED_COLLISION_ROWS
from posewise.features.symbol import Arrays, Resolved, Symbol, TracedArrays
from posewise.features.symbol_kinds import StackSymbol
from posewise.robots.config import Config
from posewise.robots.masses.frame_masses import frame_masses

from ..smooth_extrema import largest, smoothstep
from .constraint_terms import Conjunction, ConstraintTerm, Inequality
from .equilibrium import FrictionContacts, force_imbalance
from .nearest_contacts import nearest_contacts
from .object_features import with_copies
from .stack_contacts import (
    ContactPoints,
    PartPairs,
    StackKinds,
    stack_contacts,
    stack_tables,
)
from .support_graph import Stack
from .tilt import fit_tilt, norms
from .world_feature import world_feature


@dataclass(frozen=True, slots=True)
class StandingTolerances:
    """Choices of the rows of objects that stand, varied in docs/evidence.md."""

    centre_shift: Any = 4e-3
    """Shift of centres of mass to each of four sides [m]; larger is more
    conservative."""
    max_imbalance: Any = 0.02
    """Largest imbalance of two objects that counts as equilibrium, in weights [1]; a
    larger one accepts stacks that do not stand."""
    torque_lever: Any = 0.1
    """Lever at which a torque counts like a force [m]; with a larger one torques count
    less."""
    touching_gap: Any = 2e-4
    """Gap beyond that of the nearest point up to which points touch fully [m]."""
    separated_gap: Any = 6e-4
    """Gap beyond that of the nearest point from which on points do not touch [m]."""
    remote_weight: Any = 0.02
    """Weight of points that do not touch [1]: more than 0, which gives the solver a
    direction to a contact, but too small to hold an object."""
    remote_decay_length: Any = 0.01
    """Distance over which that weight decays by the factor e [m]; with a larger one
    contacts attract from farther away."""
    settling_share: Any = 0.85
    """Share of the allowed displacement by which objects may settle [1]; a larger one
    leaves less to what the rows do not know."""
    linked_distance: Any = 2e-3
    """Distance up to which one object settles with another one [m]; with those that are
    farther away it does so less and less."""
    unlinked_distance: Any = 4e-3
    """Distance beyond which it does not [m]."""
    settling_friction: Any = 0.5
    """Share of friction that objects lose that settle by as much as they may [1]: what
    lands or is pushed out on a slope slides before friction holds it. A larger one is
    more conservative."""
    max_penetration: Any = 2e-4
    """Largest penetration depth of an object and what supports nothing [m]; a
    simulation pushes objects apart that are deeper, which a larger one would let
    pass."""
    row_scale: Any = 100.0
    """Factor of the rows in a solver, whose values are tenths of millimetres; with a
    larger one they are met more exactly."""

    @classmethod
    def of(cls, values: Any) -> "StandingTolerances":
        """Return tolerances that are data of a program, in the order of the fields."""
        return cls(*values)


STANDING_TOLERANCES = StandingTolerances()
LANDING_SLIDE_SHARE = 0.6
"""Share of the motion of an object by which those on it may slide [1]; a smaller one
tells towers that slide while they settle."""
MAX_FEW_OBJECTS = 4
"""Number of objects up to which centres of mass are shifted by `centre_shift` (count);
those of more are shifted farther. A larger one tells towers of many blocks that sink by
more than they may."""


def standing_term(stack: Stack, shift: float) -> ConstraintTerm:
    """Return the term that the stack stands and is clear of everything else.

    Args:
        stack: the objects.
        shift: largest displacement of an object while everything settles [m].
    """
    scale = STANDING_TOLERANCES.row_scale
    standing = Inequality(standing_feature(stack, shift), scale=scale)
    if not stack.clear_frames:
        return standing
    depth = STANDING_TOLERANCES.max_penetration
    clear = Feature(PADDED_COLLISION_ROWS, stack.clear_frames, target=depth)
    return Conjunction((standing, Inequality(clear, scale=scale)))


# Whichever object is asked for, the rows are the same: a problem states them once.
@lru_cache(maxsize=64)
def standing_feature(stack: Stack, shift: float) -> Feature:
    """Return how far each object settles [m], and four imbalances.

    Imbalances are in weights, for centres of mass shifted to four sides.

    Args:
        stack: the objects.
        shift: largest displacement of an object [m].
    """

    def resolve(C: Config, names: Sequence[str]) -> Resolved:
        indices = np.array([C.index(name) for name in names])
        kinds, arrays = stack_tables([C.frames[i] for i in indices], stack)
        # copies have no mass
        frames = with_copies(indices, "resting")
        arrays |= _mass_data(C, frames, stack)
        arrays["origins"] = np.eye(len(frames))[[x[0] for x in stack.objects]]
        tolerances = STANDING_TOLERANCES
        arrays["limit"] = np.array(tolerances.settling_share * shift)
        # as data, so that one program serves whatever they are
        arrays["tolerances"] = np.array(astuple(tolerances))
        return Resolved(_symbol(kinds, len(stack.objects)), frames, arrays)

    return world_feature(stack.frame_names, resolve)


def _mass_data(C: Config, indices: Int[np.ndarray, " m"], stack: Stack) -> Arrays:
    """Return the distribution of mass over frames, and the ratio of weights."""
    masses = frame_masses(C.frames)
    share = np.zeros((len(stack.objects), len(indices)))
    for k, positions in enumerate(stack.objects):
        for i in positions:
            share[k, i] = masses[indices[i]].mass
    weight = share.sum(1)
    return {
        "share": share / weight[:, None],
        "points": np.array([masses[i].com for i in indices]),
        "ratio": weight.max() / weight,
    }


@lru_cache(maxsize=256)
def _symbol(kinds: StackKinds, objects: int) -> Symbol:
    # The number of objects is part of the key, since arrays of one symbol must have
    # equal shapes.
    def run(R: Any, p: Any, **arrays: Any) -> Any:
        everything, pairs = stack_contacts(kinds, R, p, arrays)
        limit = arrays["limit"]
        tolerances = StandingTolerances.of(arrays["tolerances"])
        points, holds, beyond, others = nearest_contacts(everything, kinds.num_touching)
        in_use = points.weight * smoothstep(2 - beyond / tolerances.separated_gap)
        depth = _unseen_depths(points, in_use, pairs)
        # Objects may settle on points that are left out, if these are in use as well.
        depth = depth + jnp.maximum(2 * tolerances.separated_gap - others, 0.0)
        # towards the objects that are held
        up = points.normal * jnp.sign(points.normal[:, 2:])
        tilt = fit_tilt(points.p, up, points.fall, holds * in_use[:, None])
        origins = arrays["origins"] @ p
        alone = tilt.displacement(origins) + depth
        # Sound for rigid bodies with Coulomb friction: the imbalance is an upper bound
        # of the least one, and weights of at most 1 only weaken the contacts.
        slide = jnp.minimum(holds @ alone / limit, 1.0) * tolerances.settling_friction
        settled = points._replace(
            weight=points.weight * _touch_weight(beyond, tolerances),
            friction=points.friction * (1 - slide),
        )
        imbalance = force_imbalance(
            *_balance_equations(settled, R, p, arrays, tolerances)
        )
        settling = alone
        if objects > 1:
            below, beside = _links(pairs, tolerances)
            motion = jax.vmap(tilt.motion)(origins[:, None])
            residual = tilt.residual + depth
            # Motions of all that is below an object add up in their directions, but
            # what lands on a moving object slides; what touches it otherwise may push
            # it whichever way it goes.
            slide = LANDING_SLIDE_SHARE * below * (1 - np.eye(objects)) * norms(motion)
            carried = norms(jnp.sum(below[:, :, None] * motion, 1))
            carried = carried + below @ residual + jnp.sum(slide, -1)
            pushed = jnp.sum(beside * (norms(motion) + residual), -1)
            settling = jnp.maximum(alone, carried + pushed)
        # In a tower of many objects small motions add up, and it falls earlier.
        balanced = tolerances.max_imbalance * min(1.0, np.sqrt(2 / objects))
        return jnp.concatenate([settling - limit, imbalance - balanced])

    dim = objects + 4
    return StackSymbol(run, "resting", frames=(0, None), dim=dim)


def _unseen_depths(
    points: ContactPoints, in_use: Float[jax.Array, " n"], pairs: PartPairs
) -> Float[jax.Array, " objects"]:
    """Return how far objects are pushed out of what points in use do not tell [m]."""
    of_pair = points.pair[:, None] == np.arange(len(pairs.distance))
    depth = (in_use * jnp.maximum(-points.fall, 0.0))[:, None]
    depth_at_points = largest(jnp.where(of_pair, depth, 0.0))
    unseen = jnp.maximum(jnp.maximum(-pairs.distance, 0.0) - depth_at_points, 0.0)
    # No weight brakes what is pushed aside: it moves by up to twice as much.
    moved = unseen * (2 - jnp.abs(pairs.normal[:, 2]))
    return largest(jnp.maximum(pairs.upper, pairs.lower) * moved[:, None])


def _links(
    pairs: PartPairs, tolerances: StandingTolerances
) -> tuple[jax.Array, jax.Array]:
    """Return which objects carry which, and which push each other otherwise.

    Entries (i, j) are from 0 to 1, 1 if j carries or pushes i. Objects carry
    themselves.
    """
    farthest = tolerances.unlinked_distance
    span = farthest - tolerances.linked_distance
    near = smoothstep((farthest - pairs.distance) / span)
    # Of two objects that both move, either may be the upper one; each may push the
    # other one where their contact is steep.
    rise = pairs.normal[:, 2]
    first, second = pairs.upper[:, :, None], pairs.lower[:, None]
    touching = near[:, None, None] * first * second
    up, down = (smoothstep(0.5 + sign * rise)[:, None, None] for sign in (1, -1))
    carries = largest(jnp.maximum(up * touching, down * touching.mT))
    below, linked = (
        _transitive_closure(x)
        for x in (carries, largest(jnp.maximum(touching, touching.mT)))
    )
    # What is above an object does not move it down.
    beside = jnp.maximum(linked - jnp.maximum(below, below.T), 0.0)
    return below, beside


def _transitive_closure(
    one_way: Float[jax.Array, "objects objects"],
) -> Float[jax.Array, "objects objects"]:
    """Return what is reached by any number of steps, found by repeated squaring."""
    count = len(one_way)
    reach = jnp.maximum(one_way, np.eye(count))
    for _ in range(int(np.ceil(np.log2(count)))):
        reach = largest(jnp.swapaxes(reach[:, :, None] * reach, 0, 1))
    return reach


def _touch_weight(gap: Any, tolerances: StandingTolerances) -> Any:
    """Return 1 where a point touches, and almost 0 where it does not."""
    near, far = tolerances.touching_gap, tolerances.separated_gap
    touching = smoothstep((far - gap) / (far - near))
    beyond = jnp.maximum(gap - near, 0.0)
    weight = tolerances.remote_weight
    remote = weight * jnp.exp(-beyond / tolerances.remote_decay_length)
    return (1 - weight) * touching + remote


def _balance_equations(
    points: ContactPoints,
    R: Any,
    p: Any,
    arrays: TracedArrays,
    tolerances: StandingTolerances,
) -> tuple[FrictionContacts, Any]:
    """Return the contacts, and the wrenches that their forces must add up to."""
    share, ratio = arrays["share"], arrays["ratio"]
    centre = share @ (jnp.einsum("mij,mj->mi", R, arrays["points"]) + p)
    origin = jnp.mean(centre, 0)
    # Forces are in units of the heaviest weight, loads in those of their objects.
    contacts = FrictionContacts(
        point=(points.p - origin) / tolerances.torque_lever,
        normal=points.normal,
        friction=points.friction,
        sign=(points.upper - points.lower) * points.weight[:, None],
        centre=(centre - origin) / tolerances.torque_lever,
        ratio=ratio,
    )
    # Soft contacts of many objects give way together, most at the edges of supports.
    spread = max(1.0, np.sqrt(len(ratio) / MAX_FEW_OBJECTS))
    shift = spread * tolerances.centre_shift / tolerances.torque_lever
    # A weight at (x, y) is balanced by the torque (y, -x, 0).
    up, side = np.eye(6)[2], np.eye(6)[3:5]
    load = up + shift * np.concatenate([-side[1:], side[1:], side[:1], -side[:1]])
    b = jnp.tile(jnp.asarray(load, p.dtype)[:, None], (1, len(ratio), 1))
    return contacts, b

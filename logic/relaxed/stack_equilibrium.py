"""Relaxation of stability: objects in static equilibrium on each other and the world.

All objects on free joints must be in equilibrium at once, with forces between objects
acting both ways, also for each centre of mass shifted to four sides. Before, objects
settle: each comes down and tips onto its points of contact, or is pushed out of what it
overlaps; points touch that are as near to its support as the nearest one. With all
objects that it touches, each object must settle by less than the displacement that
counts as stable.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise import collision
from posewise.features import Feature
from posewise.features.collisions import PADDED_COLLISION_ROWS
from posewise.features.symbol import Symbol
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.simulation.masses import frame_masses
from posewise.robots.world.frame import Frame
from posewise.robots.world.friction import contact_friction

from ..smooth_extrema import largest, smallest, smoothstep
from .constraint_terms import Conjunction, ConstraintTerm, Inequality
from .contact_points import closest_surface_points, contact_samples, is_cylinder
from .equilibrium import FrictionContacts, force_imbalance
from .parts import gather_rows
from .support_graph import Stack
from .tilt import fit_tilt
from .world_feature import Arrays, Resolved, TracedArrays, world_feature

CENTRE_SHIFT = 4e-3
"""Shift of centres of mass to each of four sides [m]; larger is more conservative."""
MAX_IMBALANCE = 0.02
"""Largest imbalance that counts as equilibrium, in weights [1]."""
TORQUE_LEVER = 0.1
"""Lever at which a torque counts like a force [m]."""
FRICTION_MARGIN = 0.07
"""Margin by which coefficients of friction are reduced [1]."""
TOUCHING_GAP = 2e-4
"""Gap beyond that of the nearest point up to which points touch fully [m]."""
SEPARATED_GAP = 6e-4
"""Gap beyond that of the nearest point from which on points do not touch [m]."""
REMOTE_WEIGHT = 0.02
"""Weight of points that do not touch [1].

It is too small to hold an object, but gives the solver a direction to a contact.
"""
REMOTE_DECAY = 0.01
"""Distance over which that weight decays by the factor e [m]."""
SETTLING_SHARE = 0.85
"""Share of the allowed displacement by which objects may settle [1]."""
LINKED_DISTANCE = 2e-3
"""Distance up to which one object settles with another one [m]."""
UNLINKED_DISTANCE = 4e-3
"""Distance beyond which it does not [m]."""
SETTLING_FRICTION = 0.5
"""Share of friction that objects lose that settle by as much as they may [1].

What lands or is pushed out on a slope slides before friction holds it.
"""
UNSUPPORTED = 10.0
"""Gap of points that cannot hold an object [m]."""
MAX_PENETRATION = 2e-4
"""Largest penetration depth of an object and what supports nothing [m]."""
ROW_SCALE = 100.0
"""Factor of the rows in a solver, whose values are tenths of millimetres."""
JAMMING_BLEND = 0.1
"""Range of the normal's z component over which contacts begin to count [1]."""


def standing_term(stack: Stack, shift: float) -> ConstraintTerm:
    """Return the term that the stack stands and is clear of everything else.

    Args:
        stack: the objects.
        shift: largest displacement of an object while everything settles [m].
    """
    standing = Inequality(standing_feature(stack, shift), scale=ROW_SCALE)
    if not stack.clear_frames:
        return standing
    clear = Feature(PADDED_COLLISION_ROWS, stack.clear_frames, target=MAX_PENETRATION)
    return Conjunction((standing, Inequality(clear, scale=ROW_SCALE)))


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
        kinds, arrays = _body_pair_data(C, indices, stack)
        symbol = _symbol(kinds, len(stack.objects))
        arrays |= _mass_data(C, indices, stack)
        arrays["origins"] = np.eye(len(indices))[[x[0] for x in stack.objects]]
        arrays["limit"] = np.array(SETTLING_SHARE * shift)
        return symbol, indices, arrays

    return world_feature(stack.frame_names, resolve)


class _BodyPairKind(NamedTuple):
    """Kind of a pair of bodies."""

    cores: tuple[Any, ...]
    """Types of both cores."""
    are_cylinders: tuple[bool, ...]


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


class _FrameBody(NamedTuple):
    """A convex body in its frame, without a batch axis."""

    core: Any
    radius: Any
    R: Any
    p: Any


class _BodyPair(NamedTuple):
    """Two bodies that may touch."""

    bodies: tuple[_FrameBody, _FrameBody]
    samples: Float[np.ndarray, "n 3"]
    """Points of the first body."""
    frames: tuple[int, int]
    objects: tuple[int, int]
    """Indices of the objects that they belong to; -1: the world."""
    friction: float

    @property
    def key(self) -> Any:
        """The kind, and the shapes of vertex arrays, which a group has in common."""
        cores = [x.core for x in self.bodies]
        kind = _BodyPairKind(tuple(map(type, cores)), tuple(map(is_cylinder, cores)))
        return kind, *(np.shape(getattr(core, "vertices", ())) for core in cores)


def _body_pair_data(
    C: Config, indices: Int[np.ndarray, " m"], stack: Stack
) -> tuple[tuple[_BodyPairKind, ...], Arrays]:
    """Return the kinds of all pairs of bodies, and their arrays."""
    bodies = {i: _bodies_of(C.frames[indices[i]]) for pair in stack.pairs for i in pair}
    owner = {i: k for k, positions in enumerate(stack.objects) for i in positions}
    parts = [
        sum(len(bodies.get(i, ())) for i in positions) for positions in stack.objects
    ]
    groups: dict[Any, list[_BodyPair]] = {}
    for i, j in stack.pairs:
        friction = max(contact_friction(C.frames[indices[k]]) for k in (i, j))
        for a in bodies[i]:
            samples = contact_samples(a.core, parts[owner[i]])
            for b in bodies[j]:
                objects = owner[i], owner.get(j, -1)
                pair = _BodyPair((a, b), samples, (i, j), objects, friction)
                groups.setdefault(pair.key, []).append(pair)
    arrays: Arrays = {}
    for g, pairs in enumerate(groups.values()):
        for s, side in enumerate("ab"):
            rows = [(*x.core, *x[1:]) for x in (pair.bodies[s] for pair in pairs)]
            leaves = [np.stack(column) for column in zip(*rows, strict=True)]
            arrays |= {f"{side}{g}_{n}": x for n, x in enumerate(leaves)}
        counts = [len(pair.samples) for pair in pairs]
        # One-hot rows; the world (-1) selects the last row, which is zero.
        one_hot = np.eye(len(stack.objects) + 1)[:, :-1]
        objects_of = np.array([pair.objects for pair in pairs])
        friction_of = np.array([pair.friction for pair in pairs])
        arrays |= {
            f"cloud{g}": np.concatenate([pair.samples for pair in pairs]),
            f"of{g}": np.repeat(np.arange(len(pairs)), counts),
            f"frames{g}": np.array([pair.frames for pair in pairs]),
            f"upper{g}": one_hot[objects_of[:, 0]],
            f"lower{g}": one_hot[objects_of[:, 1]],
            f"friction{g}": np.maximum(friction_of - FRICTION_MARGIN, 0.0),
        }
    return tuple(key[0] for key in groups), arrays


def _bodies_of(frame: Frame) -> list[_FrameBody]:
    """Return the bodies of a frame one by one."""
    bodies = []
    for group in frame_bodies(frame):
        body: Any = group.body
        for k in range(len(group)):
            core = type(body.core)(*(np.asarray(x[k]) for x in body.core))
            bodies.append(_FrameBody(core, body.radius[k], body.R[k], body.p[k]))
    return bodies


class _ContactPoints(NamedTuple):
    """Points at which objects may touch."""

    p: Any
    """Positions in the world (n, 3) [m]."""
    normal: Any
    """Unit normals towards the upper object (n, 3)."""
    gap: Any
    """Signed distances (n,) [m]."""
    fall: Any
    """Their components along the normal, at least 0 (n,) [m]."""
    weight: Any
    """1 for points that can hold, 0 for others (n,)."""
    friction: Any
    """Coefficients of friction (n,)."""
    upper: Any
    """One-hot index of the object on which the force acts (n, objects)."""
    lower: Any
    """One-hot index of the object on which its reaction acts; 0: the world."""


@lru_cache(maxsize=256)
def _symbol(kinds: tuple[_BodyPairKind, ...], objects: int) -> Symbol:
    # The number of objects is part of the key, since arrays of one symbol must have
    # equal shapes.
    def run(R: Any, p: Any, **arrays: Any) -> Any:
        groups, distances = [], []
        for g, kind in enumerate(kinds):
            points, d = _contact_points(g, kind, R, p, arrays)
            groups.append(points)
            distances.append(d)
        columns = zip(*groups, strict=True)
        points = _ContactPoints(*(jnp.concatenate(x) for x in columns))
        pairs = range(len(kinds))
        sides = [
            jnp.concatenate([arrays[f"{side}{g}"] for g in pairs])
            for side in ("upper", "lower")
        ]
        distance, limit = jnp.concatenate(distances), arrays["limit"]
        held, gap = _gaps_below(points)
        depth = largest(jnp.maximum(*sides) * jnp.maximum(-distance, 0.0)[:, None])
        beyond = points.gap - held @ gap
        in_use = points.weight * smoothstep(2 - beyond / SEPARATED_GAP)
        tilt = fit_tilt(points.p, points.normal, points.fall, held * in_use[:, None])
        origins = arrays["origins"] @ p
        own = tilt.displacement(origins) + depth
        # Sound for rigid bodies with Coulomb friction: the imbalance is an upper bound
        # of the least one, and weights of at most 1 only weaken the contacts.
        slide = SETTLING_FRICTION * jnp.minimum(held @ own / limit, 1.0)
        settled = points._replace(
            weight=points.weight * _touch_weight(beyond),
            friction=points.friction * (1 - slide),
        )
        imbalance = force_imbalance(*_balance_equations(settled, R, p, arrays))
        settling = own
        if objects > 1:
            carried = jax.vmap(tilt.displacement)(origins[:, None]) + depth
            settling = jnp.sum(_links(distance, *sides) * carried, -1)
        return jnp.concatenate([settling - limit, imbalance - MAX_IMBALANCE])

    dim = objects + 4
    return Symbol(run, "resting", frames=(0, None), dim=dim, takes_frame_stack=True)


def _gaps_below(points: _ContactPoints) -> tuple[jax.Array, jax.Array]:
    """Return which object each point can hold (n, objects), and the gaps below them.

    After an object has settled by its gap, points touch that are as near as the nearest
    one.
    """
    # Of two objects that both move, either may be the upper one.
    is_upright = points.normal[:, 2:] > 0
    held = jnp.where(is_upright, points.upper, points.lower)
    near = (points.gap + UNSUPPORTED * (1 - points.weight))[:, None]
    return held, smallest(jnp.where(held > 0, near, UNSUPPORTED))


def _links(distance: Any, upper: Any, lower: Any) -> Any:
    """Return which objects may move which (objects, objects): from 0 to 1.

    Args:
        distance: signed distances of pairs of bodies.
        upper: one-hot indices of their objects (pairs, objects).
        lower: of the others; 0: the world.
    """
    # An object settles with those that it touches, and with those that they touch: the
    # reach is the transitive closure of that relation, found by repeated squaring.
    count = upper.shape[1]
    span = UNLINKED_DISTANCE - LINKED_DISTANCE
    near = smoothstep((UNLINKED_DISTANCE - distance) / span)[:, None, None]
    one_way = largest(near * upper[:, :, None] * lower[:, None])
    reach = jnp.maximum(one_way, one_way.T)
    reach = jnp.maximum(reach, np.eye(count))
    for _ in range(int(np.ceil(np.log2(count)))):
        reach = largest(jnp.swapaxes(reach[:, :, None] * reach, 0, 1))
    return reach


def _contact_points(
    g: int, kind: _BodyPairKind, R: Any, p: Any, arrays: TracedArrays
) -> tuple[_ContactPoints, Any]:
    """Return the points of a group, and the signed distances of its pairs."""
    of, at = arrays[f"of{g}"], arrays[f"frames{g}"]
    sides = []
    for s, (side, core) in enumerate(zip("ab", kind.cores, strict=True)):
        n = len(core._fields)
        leaves = [arrays[f"{side}{g}_{k}"] for k in range(n + 3)]
        R_frame = gather_rows(R, at[:, s])
        origin = gather_rows(p, at[:, s])
        origin = origin + jnp.einsum("nij,nj->ni", R_frame, leaves[n + 2])
        sides.append(
            collision.Body(
                core(*leaves[:n]), leaves[n], R_frame @ leaves[n + 1], origin
            )
        )

    def pick(name: str) -> Any:
        return gather_rows(arrays[f"{name}{g}"], of)

    pair = collision.contact(*sides)
    a, b = (jax.tree.map(lambda x: gather_rows(x, of), body) for body in sides)
    x = jnp.einsum("nij,nj->ni", a.R, arrays[f"cloud{g}"]) + a.p
    # Samples of a are projected to b; those that are then on a's surface touch.
    _, q = closest_surface_points(b, x, kind.are_cylinders[1])
    gap, y = closest_surface_points(a, q, kind.are_cylinders[0])
    normal, friction = gather_rows(pair.normal, of), pick("friction")
    weight = _no_jamming_weight(normal, friction, pick("lower"))
    sides_of = pick("upper"), pick("lower")
    fall = jnp.maximum(jnp.sum((y - q) * normal, -1), 0.0)
    points = _ContactPoints(q, normal, gap, fall, weight, friction, *sides_of)
    return points, pair.distance


def _touch_weight(gap: Any) -> Any:
    """Return 1 where a point touches, and almost 0 where it does not."""
    touching = smoothstep((SEPARATED_GAP - gap) / (SEPARATED_GAP - TOUCHING_GAP))
    beyond = jnp.maximum(gap - TOUCHING_GAP, 0.0)
    remote = REMOTE_WEIGHT * jnp.exp(-beyond / REMOTE_DECAY)
    return (1 - REMOTE_WEIGHT) * touching + remote


def _no_jamming_weight(normal: Any, friction: Any, lower: Any) -> Any:
    """Return 0 for contacts so steep that friction could jam an object between them.

    Opposing forces within friction cones that contain each other's direction need no
    load (force closure), so that equilibrium alone would let an object be wedged in.
    """
    # Of two objects that both move, either may be the upper one.
    rise = normal[:, 2]
    rise = jnp.where(jnp.sum(lower, 1) > 0, jnp.abs(rise), rise)
    # sin(atan μ): the cones of two contacts whose normals rise more cannot contain the
    # line between them.
    steepest = friction / jnp.sqrt(1 + friction * friction)
    return smoothstep((rise - steepest) / JAMMING_BLEND)


def _balance_equations(
    points: _ContactPoints, R: Any, p: Any, arrays: TracedArrays
) -> tuple[FrictionContacts, Any]:
    """Return the contacts, and the wrenches that their forces must add up to."""
    share, ratio = arrays["share"], arrays["ratio"]
    count = len(ratio)
    centre = share @ (jnp.einsum("mij,mj->mi", R, arrays["points"]) + p)
    eye = jnp.eye(3, dtype=p.dtype)
    blocks = []
    for k in range(count):
        arm = (points.p - centre[k]) / TORQUE_LEVER
        # f · (y × arm), written as fᵀ T y with the matrix T of the cross product.
        x, y, z = arm.T
        o = jnp.zeros_like(x)
        torque = jnp.stack([o, z, -y, -z, o, x, y, -x, o], -1).reshape(-1, 3, 3)
        wrench = jnp.concatenate([jnp.broadcast_to(eye, torque.shape), torque], -1)
        # Forces are in units of the heaviest weight, loads in those of their objects.
        sign = (points.upper[:, k] - points.lower[:, k]) * points.weight * ratio[k]
        blocks.append(sign[:, None, None] * wrench)
    G = jnp.concatenate(blocks, -1)
    shift = CENTRE_SHIFT / TORQUE_LEVER
    side = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * shift
    # A weight at (x, y) is balanced by the torque (y, -x, 0).
    up = np.tile([0.0, 0, 1], (4, 1))
    load = np.concatenate([up, side[:, 1:], -side[:, :1], np.zeros((4, 1))], 1)
    b = jnp.asarray(np.tile(load, (1, count)), p.dtype)
    return FrictionContacts(G, points.normal, points.friction), b

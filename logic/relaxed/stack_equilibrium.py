"""Things that rest on each other and on the world: held up, touching, not overlapping.

All that hangs on free joints is in equilibrium at once, with the forces between things
acting both ways, also with each centre of mass moved a little to four sides.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posewise import collision
from posewise.features import FS, Feature
from posewise.features.safe_math import amin
from posewise.features.symbol import Symbol, unresolved
from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.simulation.masses import frame_masses
from posewise.robots.world.frame import Frame
from posewise.robots.world.friction import contact_friction

from ..errors import PredicateError
from ..smooth_extrema import mellowmin_within
from .constraint_terms import Conjunction, ConstraintTerm, Inequality
from .contact_points import closest_surface_points, contact_samples, is_cylinder
from .equilibrium import FrictionContacts, force_imbalance
from .parts import gather_rows
from .support_graph import Stack

CENTRE_SHIFT = 4e-3
"""How far centres of mass are moved to each of four sides [m]."""
MAX_IMBALANCE = 0.02
"""What may be missing to equilibrium, in weights."""
TORQUE_LEVER = 0.1
"""A torque of a weight at this lever counts like a force of that weight [m]."""
FRICTION_MARGIN = 0.03
"""By this much less friction is counted on."""
TOUCHING_GAP, SEPARATED_GAP = 2e-4, 6e-4
"""Gaps up to which points count as touching, and beyond which they do not [m]."""
REMOTE_WEIGHT, REMOTE_DECAY = 0.02, 0.01
"""What points beyond count for, and how far: too little to hold, enough to tell the
way there."""
MAX_PENETRATION = 2e-4
"""Depth that is allowed [m]: things that overlap are pushed apart."""
MAX_SUPPORT_GAP = 2e-4
"""Gap at which something touches [m]."""
ROW_SCALE = 100.0
"""Of the rows, for a solver: they tell tenths of millimetres."""
JAMMING_BLEND = 0.1
"""Contacts count from the slope on at which friction cannot jam, to this much less."""


def standing_term(stack: Stack) -> ConstraintTerm:
    """The stack stands, and overlaps with nothing else.

    Raises:
        PredicateError: see `standing_feature`.
    """
    standing = Inequality(standing_feature(stack), scale=ROW_SCALE)
    if not stack.clear_frames:
        return standing
    clear = Feature(FS.collisionRows, stack.clear_frames, target=MAX_PENETRATION)
    return Conjunction((standing, Inequality(clear, scale=ROW_SCALE)))


def standing_feature(stack: Stack) -> Feature:
    """Six rows: overlap [m], a gap below the first thing [m], and four imbalances.

    Imbalances are in weights, for centres of mass moved to four sides.

    Raises:
        PredicateError: when nothing can be touched.
    """
    if not stack.pairs:
        raise PredicateError(
            f"{stack.root!r} has nothing to rest on: no pair of"
            " frames with it can collide; see C.collision_pairs()."
        )

    def resolve(C: Config, names: Sequence[str]) -> Any:
        at = np.array([C.index(name) for name in names])
        kinds, arrays = _body_pair_data(C, at, stack)
        symbol = _symbol(kinds, len(stack.objects))
        return symbol, at, arrays | _mass_data(C, at, stack)

    symbol = Symbol(
        unresolved, frames=(0, None), takes_frame_stack=True, resolve=resolve
    )
    return Feature(symbol, stack.names)


class _BodyPairKind(NamedTuple):
    """Of pairs of bodies: types of cores, and whether they are cylinders."""

    cores: tuple[Any, ...]
    drums: tuple[bool, ...]


def _mass_data(C: Config, at: np.ndarray, stack: Stack) -> dict[str, np.ndarray]:
    """Each thing's share of the weight, and where its mass is."""
    every = frame_masses(C.frames)
    share = np.zeros((len(stack.objects), len(at)))
    for k, places in enumerate(stack.objects):
        for i in places:
            share[k, i] = every[at[i]].mass
    weight = share.sum(1)
    points = np.array([every[i].com for i in at])
    return {
        "share": share / weight[:, None],
        "points": points,
        "ratio": weight.max() / weight,
    }


def _body_pair_data(
    C: Config, at: np.ndarray, stack: Stack
) -> tuple[tuple[_BodyPairKind, ...], dict[str, np.ndarray]]:
    """Pairs of bodies by kind, and points of the first ones."""
    bodies = {i: _frame_bodies(C.frames[at[i]]) for pair in stack.pairs for i in pair}
    owner = {i: k for k, places in enumerate(stack.objects) for i in places}
    parts = [sum(len(bodies.get(i, ())) for i in places) for places in stack.objects]
    groups: dict[Any, list[_BodyPair]] = {}
    for i, j in stack.pairs:
        friction = max(contact_friction(C.frames[at[k]]) for k in (i, j))
        for a in bodies[i]:
            cloud = contact_samples(a.core, parts[owner[i]])
            for b in bodies[j]:
                things = owner[i], owner.get(j, -1)
                made = _BodyPair((a, b), cloud, (i, j), things, friction)
                groups.setdefault(made.key, []).append(made)
    arrays: dict[str, np.ndarray] = {}
    for g, pairs in enumerate(groups.values()):
        for s, side in enumerate("ab"):
            rows = [(*x.core, *x[1:]) for x in (pair.bodies[s] for pair in pairs)]
            leaves = [np.stack(column) for column in zip(*rows, strict=True)]
            arrays |= {f"{side}{g}_{n}": x for n, x in enumerate(leaves)}
        counts = [len(pair.cloud) for pair in pairs]
        which = np.eye(len(stack.objects) + 1)[:, :-1]  # the world is no thing
        whose = np.array([pair.objects for pair in pairs])
        rough = np.array([pair.friction for pair in pairs])
        arrays |= {
            f"cloud{g}": np.concatenate([pair.cloud for pair in pairs]),
            f"of{g}": np.repeat(np.arange(len(pairs)), counts),
            f"frames{g}": np.array([pair.frames for pair in pairs]),
            f"upper{g}": which[whose[:, 0]],
            f"lower{g}": which[whose[:, 1]],
            f"friction{g}": np.maximum(rough - FRICTION_MARGIN, 0.0),
        }
    return tuple(key[0] for key in groups), arrays


class _FrameBody(NamedTuple):
    """A convex body in its frame."""

    core: Any
    radius: Any
    R: Any
    p: Any


class _BodyPair(NamedTuple):
    """Two bodies that may touch."""

    bodies: tuple[_FrameBody, _FrameBody]
    cloud: np.ndarray
    """Points of the first."""
    frames: tuple[int, int]
    objects: tuple[int, int]
    """Those they belong to; -1: the world."""
    friction: float

    @property
    def key(self) -> Any:
        """What pairs of one group have in common."""
        cores = [x.core for x in self.bodies]
        kind = _BodyPairKind(tuple(map(type, cores)), tuple(map(is_cylinder, cores)))
        return kind, *(np.shape(getattr(core, "vertices", ())) for core in cores)


def _frame_bodies(frame: Frame) -> list[_FrameBody]:
    found = []
    for group in frame_bodies(frame):
        body: Any = group.body
        for k in range(len(group)):
            core = type(body.core)(*(np.asarray(x[k]) for x in body.core))
            found.append(_FrameBody(core, body.radius[k], body.R[k], body.p[k]))
    return found


class _ContactPoints(NamedTuple):
    """Points where things may touch."""

    p: Any
    normal: Any
    weight: Any
    friction: Any
    upper: Any
    lower: Any


@lru_cache(maxsize=256)
def _symbol(kinds: tuple[_BodyPairKind, ...], things: int) -> Symbol:
    def run(R: Any, p: Any, **arrays: Any) -> Any:
        found, gaps, mine = [], [], []
        for g, kind in enumerate(kinds):
            points, gap = _contact_points(g, kind, R, p, arrays)
            found.append(points)
            gaps.append(gap)
            first = arrays[f"upper{g}"][:, 0] + arrays[f"lower{g}"][:, 0]
            mine.append(jnp.where(first > 0, gap, 1e3))
        points = _ContactPoints(*(jnp.concatenate(x) for x in zip(*found, strict=True)))
        overlap = -amin(jnp.concatenate(gaps)) - MAX_PENETRATION
        apart = (
            mellowmin_within(jnp.concatenate(mine), MAX_SUPPORT_GAP / 8)
            - MAX_SUPPORT_GAP
        )
        missing = (
            force_imbalance(*_balance_equations(points, R, p, arrays)) - MAX_IMBALANCE
        )
        return jnp.concatenate([jnp.stack([overlap, apart]), missing])

    return Symbol(run, "resting", frames=(0, None), dim=6, takes_frame_stack=True)


def _contact_points(
    g: int, kind: _BodyPairKind, R: Any, p: Any, arrays: dict
) -> tuple[_ContactPoints, Any]:
    """Points of one group, and the signed distances of its pairs."""
    of, at = arrays[f"of{g}"], arrays[f"frames{g}"]
    sides = []
    for s, (side, core) in enumerate(zip("ab", kind.cores, strict=True)):
        n = len(core._fields)
        leaves = [arrays[f"{side}{g}_{k}"] for k in range(n + 3)]
        turn = gather_rows(R, at[:, s])
        place = gather_rows(p, at[:, s]) + jnp.einsum("nij,nj->ni", turn, leaves[n + 2])
        sides.append(
            collision.Body(core(*leaves[:n]), leaves[n], turn @ leaves[n + 1], place)
        )
    pair = collision.contact(*sides)
    a, b = (jax.tree.map(lambda x: gather_rows(x, of), body) for body in sides)
    x = jnp.einsum("nij,nj->ni", a.R, arrays[f"cloud{g}"]) + a.p
    _, q = closest_surface_points(b, x, kind.drums[1])
    gap, _ = closest_surface_points(a, q, kind.drums[0])
    pick = lambda name: gather_rows(arrays[f"{name}{g}"], of)
    normal, friction = gather_rows(pair.normal, of), pick("friction")
    points = _ContactPoints(
        q,
        normal,
        _touch_weight(gap) * _no_jamming_weight(normal, friction, pick("lower")),
        friction,
        pick("upper"),
        pick("lower"),
    )
    return points, pair.distance


def _touch_weight(gap: Any) -> Any:
    """1 where a point touches, and next to nothing where it does not."""
    t = jnp.clip((SEPARATED_GAP - gap) / (SEPARATED_GAP - TOUCHING_GAP), 0.0, 1.0)
    beyond = jnp.maximum(gap - TOUCHING_GAP, 0.0)
    return (1 - REMOTE_WEIGHT) * t * t * (3 - 2 * t) + REMOTE_WEIGHT * jnp.exp(
        -beyond / REMOTE_DECAY
    )


def _no_jamming_weight(normal: Any, friction: Any, lower: Any) -> Any:
    """0 for contacts so steep that friction could jam things between them."""
    # of two things that both move, either may be the upper one
    rise = normal[:, 2]
    rise = jnp.where(jnp.sum(lower, 1) > 0, jnp.abs(rise), rise)
    steepest = friction / jnp.sqrt(1 + friction * friction)
    t = jnp.clip((rise - steepest) / JAMMING_BLEND, 0.0, 1.0)
    return t * t * (3 - 2 * t)


def _balance_equations(
    points: _ContactPoints, R: Any, p: Any, arrays: dict
) -> tuple[FrictionContacts, Any]:
    """Forces at points on all things, and what they have to add up to."""
    share, ratio = arrays["share"], arrays["ratio"]
    things = len(ratio)
    centre = share @ (jnp.einsum("mij,mj->mi", R, arrays["points"]) + p)
    eye = jnp.eye(3, dtype=p.dtype)
    blocks = []
    for k in range(things):
        arm = (points.p - centre[k]) / TORQUE_LEVER
        # f · (y × arm): a matrix that takes y
        x, y, z = arm.T
        o = jnp.zeros_like(x)
        turn = jnp.stack([o, z, -y, -z, o, x, y, -x, o], -1).reshape(-1, 3, 3)
        both = jnp.concatenate([jnp.broadcast_to(eye, turn.shape), turn], -1)
        sign = (points.upper[:, k] - points.lower[:, k]) * points.weight * ratio[k]
        blocks.append(sign[:, None, None] * both)
    G = jnp.concatenate(blocks, -1)
    tip = CENTRE_SHIFT / TORQUE_LEVER
    side = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]) * tip
    # a weight at (x, y) is balanced by a torque (y, -x)
    one = np.concatenate(
        [np.tile([0.0, 0, 1], (4, 1)), side[:, 1:], -side[:, :1], np.zeros((4, 1))], 1
    )
    b = jnp.asarray(np.tile(one, (1, things)), p.dtype)
    return FrictionContacts(G, points.normal, points.friction), b

"""Distances, witness points and collisions of frames, by their collision shapes.

A frame with several shapes counts as their union: its distance is that of the nearest
two. Which kinds of shapes meet is static; sizes, poses and margins are data.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .. import collision
from ..collision import Body, Contact
from ..robots.bodies import Bodies, concatenate, frame_bodies
from ..robots.errors import ConfigError
from .symbol import Symbol

if TYPE_CHECKING:
    from ..robots.config import Config

Kinds = tuple[tuple[type, type], ...]
"""Types of the cores that meet, one entry for each group of body pairs."""

_bodies = lru_cache(maxsize=8192)(frame_bodies)


class Meeting(NamedTuple):
    """Pairs of bodies of one kind each, and the pair of frames each belongs to."""

    a: Bodies
    b: Bodies
    pair: np.ndarray
    flipped: np.ndarray
    """The first frame's body is b."""


def meetings(C: "Config", pairs: Iterable[tuple[int, int]]) -> list[Meeting]:
    """All pairs of bodies of pairs of frames (indices), grouped by kind.

    Raises:
        ConfigError: for a frame without collision shapes, or the world.
    """
    found: dict[tuple, list[Meeting]] = {}
    for k, pair in enumerate(pairs):
        for i in pair:
            if i == len(C.frames):
                raise ConfigError(
                    "The world has no collision shape; add a frame with a Plane."
                )
        ours, theirs = (_bodies(C.frames[i]) for i in pair)
        for x in ours:
            for y in theirs:
                flipped = _rank(x) > _rank(y)
                a, b = (y, x) if flipped else (x, y)
                if a.kind[0] is collision.HalfSpace:
                    continue
                i, j = np.indices((len(a), len(b))).reshape(2, -1)
                made = Meeting(
                    a.rows(i), b.rows(j), np.full(len(i), k), np.full(len(i), flipped)
                )
                found.setdefault((a.kind, b.kind), []).append(made)
    return [_joined(parts) for parts in found.values()]


def _rank(x: Bodies) -> int:
    order = (
        collision.Segment,
        collision.Box,
        collision.Curved,
        collision.Hull,
        collision.HalfSpace,
    )
    return order.index(x.kind[0])


def _joined(parts: list[Meeting]) -> Meeting:
    side = lambda k: Bodies(parts[0][k].kind, concatenate([p[k].body for p in parts]))
    rest = (np.concatenate([p[k] for p in parts]) for k in (2, 3))
    return Meeting(side(0), side(1), *rest)


def packed(meets: list[Meeting]) -> tuple[Kinds, dict[str, np.ndarray]]:
    """Static kinds and named arrays."""
    arrays: dict[str, np.ndarray] = {}
    for g, meet in enumerate(meets):
        for side in ("a", "b"):
            body = getattr(meet, side).body
            leaves = (*body.core, *body[1:])
            arrays |= {f"{side}{g}_{n}": np.asarray(x) for n, x in enumerate(leaves)}
        arrays[f"pair{g}"], arrays[f"flipped{g}"] = meet.pair, meet.flipped
    return tuple((m.a.kind[0], m.b.kind[0]) for m in meets), arrays


def evaluate_groups(
    kinds: Kinds,
    R: Float[jax.Array, "pairs 2 3 3"],
    p: Float[jax.Array, "pairs 2 3"],
    arrays: dict[str, jax.Array],
    cutoff: jax.Array | None = None,
) -> tuple[Contact, jax.Array]:
    """Contacts of all pairs of bodies, and the pair of frames each belongs to.

    Args:
        kinds: see `packed`.
        R: orientations of each pair of frames.
        p: positions of each pair of frames.
        arrays: see `packed`.
        cutoff: beyond it bounds will do; None: exact everywhere.
    """
    parts: list[Contact] = []
    for g, types in enumerate(kinds):
        pair, flipped = arrays[f"pair{g}"], arrays[f"flipped{g}"]
        sides = []
        for side, core, other in zip("ab", types, (0, 1), strict=True):
            own = jnp.where(flipped, 1 - other, other)
            n = len(core._fields)
            leaves = [arrays[f"{side}{g}_{k}"] for k in range(n + 3)]
            R_f, p_f = R[pair, own], p[pair, own]
            p_b = p_f + jnp.einsum("nij,nj->ni", R_f, leaves[n + 2])
            sides.append(Body(core(*leaves[:n]), leaves[n], R_f @ leaves[n + 1], p_b))
        if cutoff is None:
            out = collision.contact(*sides)
        else:
            limit = jnp.broadcast_to(cutoff, pair.shape)
            out = collision.contact_within(*sides, limit)
        turned = Contact(out.distance, out.point_b, out.point_a, -out.normal)
        swap = lambda x, y, f=flipped: jnp.where(
            f.reshape((-1,) + (1,) * (x.ndim - 1)), y, x
        )
        parts.append(jax.tree.map(swap, out, turned))
    joined = jax.tree.map(lambda *x: jnp.concatenate(x), *parts)
    return joined, jnp.concatenate([arrays[f"pair{g}"] for g in range(len(kinds))])


def nearest(distance: jax.Array, pair: jax.Array, count: int) -> jax.Array:
    """Weights (n,) that pick the nearest body pair of each pair of frames.

    Of several equally near ones, each has its share.
    """
    still = jax.lax.stop_gradient(distance)
    least = jnp.full(count, jnp.inf, still.dtype).at[pair].min(still)
    mine = still <= least[pair]
    ties = jnp.zeros(count, still.dtype).at[pair].add(mine)
    return jnp.where(mine, 1 / ties[pair], 0.0)


# -- symbols -------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _resolved(
    fn: Callable[..., Any], name: str, kinds: Kinds, dim: int, unit: str
) -> Symbol:
    run = lambda R, p, **params: fn(kinds, R, p, params)
    return Symbol(run, name, frames=(0, None), dim=dim, unit=unit, stacked=True)


def on_pairs(
    fn: Callable[..., Any], name: str, dim: int, unit: str, ends: tuple
) -> Callable[..., Any]:
    """Resolves a symbol of named frames; `ends`: the pairs of them that meet."""

    def resolve(C: "Config", frames: Any, **options: Any):
        at = [C.index(f) for f in frames]
        meets = meetings(C, [(at[i], at[j]) for i, j in ends])
        if len({k for m in meets for k in m.pair}) < len(ends):
            raise ConfigError(
                f"{name} on {list(frames)}: two half-spaces have no distance."
            )
        kinds, arrays = packed(meets)
        arrays["at"] = np.array(ends)
        return _resolved(fn, name, kinds, dim, unit), np.array(at), arrays

    return resolve


def _one(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> Contact:
    """The nearest contact of each pair."""
    at = params["at"]
    out, pair = evaluate_groups(kinds, R[at], p[at], params)
    share = nearest(out.distance, pair, len(at))
    total = lambda x: jnp.zeros((len(at), *x.shape[1:]), x.dtype).at[pair].add(
        share.reshape((-1,) + (1,) * (x.ndim - 1)) * x
    )
    return jax.tree.map(total, out)


def neg_distance(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Minus the signed distance of two frames [m]; positive in penetration."""
    return -_one(kinds, R, p, params).distance


def vector(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """From the second frame's witness point to the first's, in the world [m]."""
    out = _one(kinds, R, p, params)
    return (out.distance[:, None] * out.normal)[0]


def normal(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Unit normal from the second frame to the first, in the world."""
    return _one(kinds, R, p, params).normal[0]


def point_1(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Witness point on the first frame's surface, in the world [m]."""
    return _one(kinds, R, p, params).point_a[0]


def point_2(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Witness point on the second frame's surface, in the world [m]."""
    return _one(kinds, R, p, params).point_b[0]


def _core_vectors(kinds, R, p, params) -> jax.Array:
    """Between the cores' witness points, radii left out, for each pair."""
    at = params["at"]
    out, pair = evaluate_groups(kinds, R[at], p[at], params)
    radii = jnp.concatenate(
        [
            params[f"a{g}_{len(t[0]._fields)}"] + params[f"b{g}_{len(t[1]._fields)}"]
            for g, t in enumerate(kinds)
        ]
    )
    share = nearest(out.distance, pair, len(at))
    each = ((out.distance + radii) * share)[:, None] * out.normal
    return jnp.zeros((len(at), 3), each.dtype).at[pair].add(each)


def oppose(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Sum of the vectors from an object's core to those of two fingers [m].

    Frames: finger, finger, object. Zero where the fingers stand opposite each other.
    """
    first, second = _core_vectors(kinds, R, p, params)
    return first + second


def oppose_central(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """`oppose`, and 1/100 of how far the vectors are from the line of the fingers."""
    first, second = _core_vectors(kinds, R, p, params)

    def direction(v):
        square = jnp.sum(v * v)
        length = jnp.sqrt(jnp.where(square > 0, square, 1.0))
        return v / (jnp.where(square > 0, length, 0.0) + 1e-3)

    line = direction(p[1] - p[0])
    lean = 2 * line + direction(first) - direction(second)
    return jnp.concatenate([first + second, 0.01 * lean])


def _colliding(C: "Config", frames: Any) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the frames that take part, and the pairs as places among them."""
    pairs = C._collision_pairs()
    if frames:
        chosen = [C.index(f) for f in frames]
        pairs = pairs[np.isin(pairs, chosen).any(1)]
    involved, at = np.unique(pairs, return_inverse=True)
    return involved, at.reshape(-1, 2)


def resolve_sum(C: "Config", frames: Any, margin: float):
    """The symbol of `accumulated` for the pairs of a world."""
    return _all_pairs(accumulated, "accumulatedCollisions", 1, C, frames, margin)


def resolve_rows(C: "Config", frames: Any, margin: float):
    """The symbol of `pair_rows` for the pairs of a world.

    Raises:
        ConfigError: when no pair can collide.
    """
    count = len(_colliding(C, frames)[1])
    if count == 0:
        raise ConfigError(
            "FS.collisionRows: no pair of frames can collide; see C.collision_pairs()."
        )
    return _all_pairs(pair_rows, "collisionRows", count, C, frames, margin)


def _all_pairs(fn, name: str, dim: int, C: "Config", frames: Any, margin: float):
    involved, at = _colliding(C, frames)
    kinds, arrays = packed(meetings(C, involved[at]))
    arrays |= {"at": at, "margin": np.array(float(margin))}
    return _resolved(fn, name, kinds, dim, "m"), involved, arrays


def accumulated(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m]."""
    at, margin = params["at"], params["margin"]
    if not kinds:
        return jnp.zeros(1, p.dtype)
    out, pair = evaluate_groups(kinds, R[at], p[at], params, margin)
    share = nearest(out.distance, pair, len(at))
    short = margin - out.distance
    return jnp.sum(share * jnp.where(short > 0, short, 0.0))[None]


ROW_CUTOFF = 0.1
"""How far beyond the margin rows are exact [m]."""


def pair_rows(kinds: Kinds, R: jax.Array, p: jax.Array, params: dict) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Exact for bodies whose bounding balls are within 0.1 m of the margin; beyond, with
    the balls' distance, a lower bound.
    """
    at, margin = params["at"], params["margin"]
    out, pair = evaluate_groups(kinds, R[at], p[at], params, margin + ROW_CUTOFF)
    share = nearest(out.distance, pair, len(at))
    rows = jnp.zeros(len(at), p.dtype).at[pair].add(share * out.distance)
    return margin - rows

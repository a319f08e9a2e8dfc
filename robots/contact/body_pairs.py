"""Pairs of frames as pairs of convex bodies, in groups of one kind each.

A frame with several shapes counts as their union: its distance is that of the nearest
two bodies.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise import collision
from posewise.collision import Body, Contact
from posewise.compilation.precision import full_matmul_precision

from ..errors import ConfigError
from ..world.frame import Frame
from .bodies import Bodies, concatenate_bodies, frame_bodies

CoreTypes = tuple[tuple[Any, Any], ...]
"""Types of the cores that meet, one entry for each group of body pairs."""


class BodyPairs(NamedTuple):
    """Pairs of bodies of one kind each, and the pair of frames each belongs to."""

    a: Bodies
    b: Bodies
    pair: np.ndarray
    is_flipped: np.ndarray
    """The first frame's body is b."""


def group_body_pairs(frames: Sequence[Frame], pairs: Iterable) -> list[BodyPairs]:
    """All pairs of bodies of pairs of frames (indices), grouped by kind.

    Raises:
        ConfigError: for a frame without collision shapes, or the world.
    """
    found: dict[tuple, list[BodyPairs]] = {}
    for k, pair in enumerate(pairs):
        for i in pair:
            if i == len(frames):
                raise ConfigError(
                    "The world has no collision shape; add a frame with a Plane."
                )
        ours, theirs = (frame_bodies(frames[i]) for i in pair)
        for x in ours:
            for y in theirs:
                flipped = _core_rank(x) > _core_rank(y)
                a, b = _with_common_core(y, x) if flipped else _with_common_core(x, y)
                if a.kind[0] is collision.HalfSpace:
                    continue
                i, j = np.indices((len(a), len(b))).reshape(2, -1)
                made = BodyPairs(
                    a.rows(i), b.rows(j), np.full(len(i), k), np.full(len(i), flipped)
                )
                found.setdefault((a.kind, b.kind), []).append(made)
    return [_merge(parts) for parts in found.values()]


def _with_common_core(a: Bodies, b: Bodies) -> tuple[Bodies, Bodies]:
    """Both curved, where one is and the other may be: fewer kinds to compile."""
    if b.kind[0] is collision.BoxPlusEllipsoid and a.kind[0] is collision.Box:
        core = collision.as_box_plus_ellipsoid(a.body.core)
        a = Bodies(
            (collision.BoxPlusEllipsoid, *a.kind[1:]), a.body._replace(core=core)
        )
    return a, b


def _core_rank(x: Bodies) -> int:
    order = (
        collision.Box,
        collision.BoxPlusEllipsoid,
        collision.Hull,
        collision.HalfSpace,
    )
    return order.index(x.kind[0])


def _merge(parts: list[BodyPairs]) -> BodyPairs:
    one = lambda many: Bodies(many[0].kind, concatenate_bodies([x.body for x in many]))
    return BodyPairs(
        one([m.a for m in parts]),
        one([m.b for m in parts]),
        np.concatenate([m.pair for m in parts]),
        np.concatenate([m.is_flipped for m in parts]),
    )


def pack(meets: list[BodyPairs]) -> tuple[CoreTypes, dict[str, np.ndarray]]:
    """Static kinds and named arrays."""
    arrays: dict[str, np.ndarray] = {}
    for g, meet in enumerate(meets):
        for side in ("a", "b"):
            body = getattr(meet, side).body
            leaves = (*body.core, *body[1:])
            arrays |= {f"{side}{g}_{n}": np.asarray(x) for n, x in enumerate(leaves)}
        arrays[f"pair{g}"], arrays[f"flipped{g}"] = meet.pair, meet.is_flipped
    return tuple((m.a.kind[0], m.b.kind[0]) for m in meets), arrays


@full_matmul_precision
def evaluate_contacts(
    kinds: CoreTypes,
    R: Float[jax.Array, "pairs 2 3 3"],
    p: Float[jax.Array, "pairs 2 3"],
    arrays: dict[str, jax.Array],
    cutoff: jax.Array | None = None,
    smoothing: jax.Array | None = None,
) -> Contact:
    """Contacts of all pairs of bodies, group after group.

    Args:
        kinds: see `pack`.
        R: orientations of each pair of frames.
        p: positions of each pair of frames.
        arrays: see `pack`.
        cutoff: beyond it bounds will do; None: exact everywhere.
        smoothing: [m], of the distances; see `collision.smooth_contact`.
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
        if smoothing is not None:
            out = collision.smooth_contact(sides[0], sides[1], smoothing)
        elif cutoff is None:
            out = collision.contact(sides[0], sides[1])
        else:
            limit = jnp.broadcast_to(cutoff, pair.shape)
            out = collision.contact_within(sides[0], sides[1], limit)
        turned = Contact(out.distance, out.point_b, out.point_a, -out.normal)
        swap = lambda x, y, f=flipped: jnp.where(
            f.reshape((-1,) + (1,) * (x.ndim - 1)), y, x
        )
        parts.append(jax.tree.map(swap, out, turned))
    return jax.tree.map(lambda *x: jnp.concatenate(x), *parts)

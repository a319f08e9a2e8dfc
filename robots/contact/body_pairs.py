"""Pairs of frames as pairs of convex bodies, in groups of one kind each.

A frame with several shapes counts as their union: its distance is that of the nearest
two bodies.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise import collision
from posewise.collision import Body, Contact
from posewise.compilation.precision import full_matmul_precision

from ..errors import ConfigError
from ..typing import Array
from ..world.frame import Frame
from .bodies import Bodies, concatenate_bodies, frame_bodies
from .collision_pairs import FramePair

CoreTypes = tuple[tuple[Any, Any], ...]
"""Types of the two cores, one entry for each group of body pairs."""


class BodyPairs(NamedTuple):
    """Pairs of bodies of one kind each, and the pair of frames each belongs to."""

    a: Bodies
    b: Bodies
    pair: Int[np.ndarray, " n"]
    """Place of the pair of frames."""
    is_flipped: Bool[np.ndarray, " n"]
    """Whether body b belongs to the first frame."""


def group_body_pairs(
    frames: Sequence[Frame], pairs: Iterable[FramePair] | Int[np.ndarray, "n 2"]
) -> list[BodyPairs]:
    """Return all pairs of bodies of pairs of frames (indices), grouped by kind.

    Raises:
        ConfigError: for a frame without collision shapes, or the world.
    """
    groups: dict[tuple[Any, Any], list[BodyPairs]] = {}
    for k, pair in enumerate(pairs):
        for i in pair:
            if i == len(frames):
                raise ConfigError(
                    "The world has no collision shape; add a frame with a Plane."
                )
        first, second = (frame_bodies(frames[i]) for i in pair)
        for x in first:
            for y in second:
                flip = _core_rank(x) > _core_rank(y)
                a, b = _with_common_core(y, x) if flip else _with_common_core(x, y)
                if a.kind[0] is collision.HalfSpace:
                    # Two half-spaces have no finite distance.
                    continue
                rows_a, rows_b = np.indices((len(a), len(b))).reshape(2, -1)
                count = len(rows_a)
                group = BodyPairs(
                    a.rows(rows_a),
                    b.rows(rows_b),
                    np.full(count, k),
                    np.full(count, flip),
                )
                groups.setdefault((a.kind, b.kind), []).append(group)
    return [_merge(parts) for parts in groups.values()]


def _with_common_core(a: Bodies, b: Bodies) -> tuple[Bodies, Bodies]:
    """Express a box beside a `BoxPlusEllipsoid` as one too.

    Fewer combinations of cores mean fewer programs to compile.
    """
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
    def merge_bodies(sides: list[Bodies]) -> Bodies:
        return Bodies(sides[0].kind, concatenate_bodies([side.body for side in sides]))

    return BodyPairs(
        merge_bodies([part.a for part in parts]),
        merge_bodies([part.b for part in parts]),
        np.concatenate([part.pair for part in parts]),
        np.concatenate([part.is_flipped for part in parts]),
    )


def pack(groups: list[BodyPairs]) -> tuple[CoreTypes, dict[str, np.ndarray]]:
    """Return the static types of the cores, and all arrays by name."""
    arrays: dict[str, np.ndarray] = {}
    for g, group in enumerate(groups):
        for side in ("a", "b"):
            body = getattr(group, side).body
            leaves = (*body.core, *body[1:])
            arrays |= {f"{side}{g}_{n}": np.asarray(x) for n, x in enumerate(leaves)}
        arrays[f"pair{g}"], arrays[f"flipped{g}"] = group.pair, group.is_flipped
    return tuple((group.a.kind[0], group.b.kind[0]) for group in groups), arrays


@full_matmul_precision
def evaluate_contacts(
    core_types: CoreTypes,
    R: Float[jax.Array, "pairs 2 3 3"],
    p: Float[jax.Array, "pairs 2 3"],
    arrays: dict[str, jax.Array],
    cutoff: jax.Array | None = None,
    smoothing: jax.Array | None = None,
) -> Contact:
    """Return the contacts of all pairs of bodies, group after group.

    Args:
        core_types: types of the cores, see `pack`.
        R: orientations of each pair of frames.
        p: positions of each pair of frames.
        arrays: bodies of all groups, see `pack`.
        cutoff: distance beyond which lower bounds are enough [m]; None: exact
            everywhere.
        smoothing: smoothing length of distances [m], see `collision.smooth_contact`.
    """
    parts: list[Contact] = []
    for g, types in enumerate(core_types):
        pair, flipped = arrays[f"pair{g}"], arrays[f"flipped{g}"]
        sides = []
        for side, core, k in zip("ab", types, (0, 1), strict=True):
            frame = jnp.where(flipped, 1 - k, k)
            n = len(core._fields)
            leaves = [arrays[f"{side}{g}_{i}"] for i in range(n + 3)]
            R_frame, p_frame = R[pair, frame], p[pair, frame]
            p_body = p_frame + jnp.einsum("nij,nj->ni", R_frame, leaves[n + 2])
            R_body = R_frame @ leaves[n + 1]
            sides.append(Body(core(*leaves[:n]), leaves[n], R_body, p_body))
        if smoothing is not None:
            contact = collision.smooth_contact(sides[0], sides[1], smoothing)
        elif cutoff is None:
            contact = collision.contact(sides[0], sides[1])
        else:
            limit = jnp.broadcast_to(cutoff, pair.shape)
            contact = collision.contact_within(sides[0], sides[1], limit)
        parts.append(_select_order(flipped, contact))
    return jax.tree.map(lambda *x: jnp.concatenate(x), *parts)


def _select_order(flipped: Array, contact: Contact) -> Contact:
    """Exchange a and b in the contacts of flipped pairs."""
    swapped = Contact(
        contact.distance, contact.point_b, contact.point_a, -contact.normal
    )

    def select(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(flipped.reshape((-1,) + (1,) * (x.ndim - 1)), y, x)

    return jax.tree.map(select, contact, swapped)

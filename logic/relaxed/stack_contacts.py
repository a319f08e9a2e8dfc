"""Points at which objects of a stack may touch, on each other and on the world.

Which parts the objects have, of which shapes, and which of them may touch is data, in
tables of pairs of parts and of points; programs depend on kinds of pairs and surfaces,
and on classes of their numbers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise import collision
from posewise.compilation.arrays import Array
from posewise.compilation.capacity import (
    Capacity,
    capacity_at_hand,
    capacity_class,
    pad_rows,
)
from posewise.features.pairs.nearest import select_rows
from posewise.features.parts import part_core, part_poses, with_prefix
from posewise.features.symbol import Arrays, TracedArrays
from posewise.robots.contact.body_table import (
    CORES_BY_RANK,
    BodyPairTable,
    body_pairs,
    make_core,
)
from posewise.robots.world.frame import Frame
from posewise.robots.world.friction import contact_friction

from ..smooth_extrema import smoothstep
from .contact_points import (
    CORE_OF_SURFACE,
    SurfaceKind,
    closest_surface_points,
    contact_samples,
    surface_kind,
)
from .part_pairs import PartPairKinds, pairs_of_table, part_contacts
from .support_graph import Stack

FRICTION_MARGIN = 0.04
"""Margin by which coefficients of friction are reduced [1]; larger is more
conservative."""
JAMMING_BLEND_HEIGHT = 0.1
"""Range of the normal's z component over which contacts begin to count [1]. Larger ones
leave out more steep contacts, smaller ones change faster."""
MIN_POINTS = 16
"""Least number of points that programs are compiled for (count). Larger values compile
fewer programs and compute more unused points."""
MIN_KEPT = 32
"""Least number of points for each object that enter the equilibrium (count). Larger
values compile fewer programs and take longer."""
MIN_KEPT_OF_ALL = 64
"""Least number of points of all objects that do so (count); with fewer of them an
object on many parts of another one is refused."""
ABSENT_DISTANCE = 1.0
"""Height above a part of points that stand for none [m], where it is seen from
outside."""


class StackKinds(NamedTuple):
    """Static properties of the pairs of parts of a stack."""

    pairs: PartPairKinds
    upper: tuple[SurfaceKind, ...]
    """Kinds of the surfaces of objects that may rest on something."""
    lower: tuple[SurfaceKind, ...]
    """Kinds of the surfaces that they may rest on."""
    num_touching: int
    """Number of the nearest points of contact that count."""


class ContactPoints(NamedTuple):
    """Points at which objects may touch."""

    p: Float[jax.Array, "n 3"]
    """Positions in the world [m]."""
    normal: Float[jax.Array, "n 3"]
    """Unit normals towards the upper object."""
    gap: Float[jax.Array, " n"]
    """Signed distances [m]."""
    fall: Float[jax.Array, " n"]
    """Their components along the normal [m]."""
    weight: Float[Array, " n"]
    """1 for points that can hold, 0 for others."""
    friction: Float[Array, " n"]
    """Coefficients of friction."""
    upper: Float[Array, "n objects"]
    """One-hot index of the object on which the force acts."""
    lower: Float[Array, "n objects"]
    """One-hot index of the object on which its reaction acts; 0: the world."""
    pair: Int[Array, " n"]
    """Index of the pair of parts."""


class PartPairs(NamedTuple):
    """Pairs of parts that may touch."""

    distance: Float[jax.Array, " pairs"]
    """Signed distances [m]."""
    normal: Float[jax.Array, "pairs 3"]
    """Unit normals towards the first parts."""
    upper: Float[Array, "pairs objects"]
    """One-hot indices of the objects of the first parts."""
    lower: Float[Array, "pairs objects"]
    """One-hot indices of the objects of the second parts; 0: the world."""


class _Sample(NamedTuple):
    """A point of the upper part of a pair of parts."""

    pair: int
    x: Float[np.ndarray, "3"]
    """Position in the part [m]."""
    upper: SurfaceKind
    lower: SurfaceKind


def stack_tables(frames: Sequence[Frame], stack: Stack) -> tuple[StackKinds, Arrays]:
    """Return the kinds of pairs of parts of a stack, and its tables.

    Args:
        frames: those of the stack.
        stack: the objects; it has a pair of frames at least.
    """
    table = body_pairs(frames, np.array(stack.pairs, int))
    pair_kinds, arrays = pairs_of_table(table, "resting")
    arrays |= _pair_tables(frames, stack, table.pair, len(arrays["kind"]))
    samples = _samples(table, stack)
    upper, lower, points = _point_tables(samples)
    num_touching = _count_touching(table, samples, len(stack.objects))
    return StackKinds(pair_kinds, upper, lower, num_touching), arrays | points


def _pair_tables(
    frames: Sequence[Frame], stack: Stack, pair: Int[np.ndarray, " n"], count: int
) -> Arrays:
    """Return objects and friction of pairs of parts; those of absent pairs are zero."""
    owner = {i: k for k, positions in enumerate(stack.objects) for i in positions}
    # One-hot rows; the world (-1) selects the last row, which is zero.
    one_hot = np.eye(len(stack.objects) + 1)[:, :-1]
    objects = np.array([(owner[i], owner.get(j, -1)) for i, j in stack.pairs])
    friction = [max(contact_friction(frames[i]) for i in ij) for ij in stack.pairs]
    rows = {
        "upper": one_hot[objects[pair, 0]],
        "lower": one_hot[objects[pair, 1]],
        "friction": np.maximum(np.array(friction)[pair] - FRICTION_MARGIN, 0.0),
    }
    return {name: pad_rows(x, count) for name, x in rows.items()}


def _samples(table: BodyPairTable, stack: Stack) -> list[_Sample]:
    """Return the samples of all upper parts of pairs."""
    bodies = table.bodies
    owner = {i: k for k, positions in enumerate(stack.objects) for i in positions}
    num_parts = Counter(owner.get(frame) for frame in bodies.frame.tolist())

    @cache
    def core(i: int) -> collision.Core:
        kind = CORES_BY_RANK[bodies.rank[i]]
        one = make_core(
            kind,
            bodies.half[i : i + 1],
            bodies.radii[i : i + 1],
            bodies.hull[i : i + 1],
            bodies.vertices,
        )
        return kind(*(np.asarray(x)[0] for x in one))

    @cache
    def points(i: int) -> Float[np.ndarray, "n 3"]:
        return contact_samples(core(i), num_parts[owner[int(bodies.frame[i])]])

    first = np.where(table.is_flipped, table.b, table.a).tolist()
    second = np.where(table.is_flipped, table.a, table.b).tolist()
    return [
        _Sample(k, x, surface_kind(core(i)), surface_kind(core(j)))
        for k, (i, j) in enumerate(zip(first, second, strict=True))
        for x in points(i)
    ]


def _count_touching(
    table: BodyPairTable, samples: Sequence[_Sample], objects: int
) -> int:
    """Return a number of points to which those that touch come at most, or its class.

    Each sample of an object seldom touches more than one part of another one.
    """
    upper = np.where(table.is_flipped, table.b, table.a)
    sizes = np.bincount([s.pair for s in samples], minlength=len(upper))
    first = np.unique(upper, return_index=True)[1]
    mean = -(-int(sizes[first].sum()) // objects)
    need = Capacity(frozenset(), (capacity_class(mean, MIN_KEPT),))
    of_each = capacity_at_hand("resting points that touch", need).counts[0]
    return max(objects * of_each, MIN_KEPT_OF_ALL)


def _point_tables(
    samples: Sequence[_Sample],
) -> tuple[tuple[SurfaceKind, ...], tuple[SurfaceKind, ...], Arrays]:
    """Return kinds of upper and of lower surfaces, and the tables of samples."""
    kinds = np.array([(s.upper, s.lower) for s in samples])
    numbers = [len(samples)]
    for side in range(2):
        numbers += [int((kinds[:, side] == kind).sum()) for kind in SurfaceKind]
    classes = tuple(capacity_class(n, MIN_POINTS) if n else 0 for n in numbers)
    count, *sizes = capacity_at_hand(
        "resting points", Capacity(frozenset(), classes)
    ).counts
    pair = np.array([s.pair for s in samples])
    arrays: Arrays = {
        "sample": pad_rows(np.array([s.x for s in samples]), count),
        "pair": pad_rows(pair, count),
        "is_point": pad_rows(np.ones(len(samples)), count),
    }
    present: list[tuple[SurfaceKind, ...]] = []
    both_sides = zip(
        ("upper", "lower"), np.reshape(sizes, (2, -1)).tolist(), strict=True
    )
    for side, (name, side_sizes) in enumerate(both_sides):
        row, first = np.zeros(len(samples), int), 0
        for kind, size in zip(SurfaceKind, side_sizes, strict=True):
            points = np.flatnonzero(kinds[:, side] == kind)
            row[points] = first + np.arange(len(points))
            first += size
            columns = {
                "point": points,
                "pair": pair[points],
                "is_row": np.ones(len(points)),
            }
            if size:
                arrays |= {
                    f"{name}_{int(kind)}_{column}": pad_rows(x, size)
                    for column, x in columns.items()
                }
        arrays[f"{name}_row"] = pad_rows(row, count)
        side_kinds = zip(SurfaceKind, side_sizes, strict=True)
        present.append(tuple(kind for kind, size in side_kinds if size))
    return present[0], present[1], arrays


def stack_contacts(
    kinds: StackKinds,
    R: Float[jax.Array, "m 3 3"],
    p: Float[jax.Array, "m 3"],
    arrays: TracedArrays,
) -> tuple[ContactPoints, PartPairs]:
    """Return the points at which objects may touch, and the pairs of their parts."""
    pairs = part_contacts(kinds.pairs, R, p, arrays)
    sides = [with_prefix(arrays, prefix) for prefix in ("a_", "b_")]
    a, b = (
        side | dict(zip(("R", "p"), part_poses(R, p, side), strict=True))
        for side in sides
    )
    is_flipped = arrays["is_flipped"]
    upper, lower = select_rows(is_flipped, b, a), select_rows(is_flipped, a, b)
    of = arrays["pair"]
    x = jnp.einsum("nij,nj->ni", upper["R"][of], arrays["sample"])
    x = x + upper["p"][of]
    # Samples of upper parts are projected to lower ones; those that are then on the
    # surface of the upper part touch.
    _, q = _on_surfaces("lower", kinds.lower, lower, x, arrays)
    gap, y = _on_surfaces("upper", kinds.upper, upper, q, arrays)
    normal = pairs.normal[of]
    friction, above, below = (
        arrays[name][of] for name in ("friction", "upper", "lower")
    )
    weight = arrays["is_point"] * _no_jamming_weight(normal, friction, below)
    fall = jnp.sum((y - q) * normal, -1)
    points = ContactPoints(q, normal, gap, fall, weight, friction, above, below, of)
    return points, PartPairs(
        pairs.distance, pairs.normal, arrays["upper"], arrays["lower"]
    )


def _on_surfaces(
    side: str,
    kinds: Sequence[SurfaceKind],
    parts: Mapping[str, Array],
    x: Float[jax.Array, "n 3"],
    arrays: TracedArrays,
) -> tuple[Float[jax.Array, " n"], Float[jax.Array, "n 3"]]:
    """Return signed distances of points to parts [m], and the parts' closest points.

    Args:
        side: of pairs, "upper" or "lower".
        kinds: of the surfaces of these parts.
        parts: arrays of these parts, pair by pair.
        x: the points; of each it is known which kind of surface it belongs to, so that
            only that one is computed.
        arrays: with the rows of each kind.
    """
    distances, points = [], []
    for kind in kinds:
        rows = with_prefix(arrays, f"{side}_{int(kind)}_")
        pair = rows["pair"]
        sizes = {name: value[pair] for name, value in parts.items() if name not in "Rp"}
        center = parts["p"][pair]
        core = part_core(CORE_OF_SURFACE[kind], sizes)
        body = collision.Body(core, sizes["radius"], parts["R"][pair], center)
        outside = center + jnp.array([0.0, 0.0, ABSENT_DISTANCE], center.dtype)
        is_row = rows["is_row"] > 0
        x_rows = jnp.where(is_row[:, None], x[rows["point"]], outside)
        d, on = closest_surface_points(kind, body, x_rows, is_row)
        distances.append(d)
        points.append(on)
    row = arrays[f"{side}_row"]
    return (
        jnp.concatenate(distances)[row],
        jnp.concatenate(points)[row],
    )


def _no_jamming_weight(
    normal: Float[jax.Array, "n 3"],
    friction: Float[Array, " n"],
    lower: Float[Array, "n objects"],
) -> Float[jax.Array, " n"]:
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
    return smoothstep((rise - steepest) / JAMMING_BLEND_HEIGHT)

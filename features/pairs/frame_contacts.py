"""Contacts of all pairs of frames in many rows.

The loop over pairs is that of sums over near pairs, see `near_pairs`, so that the size
of the program does not grow with the number of pairs.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Float, Int

from posewise.collision import Body, Box, box_as_hull, contact
from posewise.compilation.arrays import Array
from posewise.compilation.compaction import gather, scatter_min
from posewise.compilation.private_jax import outside_of_traces
from posewise.compilation.program import compile_program
from posewise.compilation.threads import map_rows
from posewise.compilation.traced import is_traced
from posewise.robots.contact.body_table import (
    HULL_RANK,
)

from ..pair_types import PairTypes
from .near_pairs import PairBatch, PairLocation
from .sources import PairSource, flatten_axes

_CORNER_SIGNS = np.asarray(box_as_hull(Box(np.ones(3)), 8).vertices)
"""Signs of the coordinates of the corners of boxes (8, 3)."""
Indices = dict[str, Int[Array, "..."]]
"""The arrays of a `FramePairTable` that no derivative is taken by, of whose radii of
cores only the infinite ones count. `complete_shapes` reads the "rank" of each body, the
"body_of_hull", and "is_copy" of each vertex besides."""


CHUNK_SIZE = 32
"""Number of pairs that are measured at a time on CPUs where all of them are (count).
More vectorise better, but all wait for the one that takes the most steps."""
_COLUMNS = (0, slice(1, 4), slice(4, 7), slice(7, 10), 10)
"""Columns of distance, points, normal, and index of the nearest pair of bodies."""
NUM_COLUMNS = _COLUMNS[-1] + 1
"""Number of columns of an entry of a pair of frames."""


class Shapes(NamedTuple):
    """Sizes of bodies, and their poses on what carries them."""

    pose: Float[Array, "bodies 3 4"]
    """Orientation and position."""
    half: Float[Array, "bodies 3"]
    """Half sizes of boxes; of hulls those of the box around them [m]."""
    radii: Float[Array, "bodies 3"]
    """Radii of ellipsoids, zero for others [m]."""
    radius: Float[Array, " bodies"]
    """Radius by which each core is inflated [m]."""
    vertices: Float[Array, "hulls vertices 3"]


def shapes_and_table(params: Mapping[str, Any]) -> tuple[Shapes, Indices]:
    """Return the shapes, and all else that is about pairs, of a `FramePairTable`."""
    of_shapes = ("body_pose", "half", "radii", "radius", "vertices")
    table = {
        name: x
        for name, x in params.items()
        if name not in (*of_shapes, "slack", "smoothing")
    }
    return Shapes(*(params[name] for name in of_shapes)), table


def complete_shapes(shapes: Shapes, table: Indices) -> Shapes:
    """Return shapes with what follows from others: corners of boxes, boxes of hulls.

    A box beside a hull is measured as the hull of its corners.
    """
    corners = _CORNER_SIGNS[np.minimum(np.arange(shapes.vertices.shape[1]), 7)]
    body = table["body_of_hull"]
    of_boxes = corners.astype(shapes.half.dtype) * shapes.half[body][:, None]
    is_box = table["rank"][body] == 0
    xp = shapes.half.__array_namespace__()
    vertices = xp.where(is_box[:, None, None], of_boxes, shapes.vertices)
    # Copies of the first vertex, which fill up hulls, move along with it.
    vertices = xp.where(table["is_copy"][..., None], vertices[:, :1], vertices)
    half = shapes.half
    if len(vertices):
        around = xp.max(xp.abs(vertices), axis=1)[table["hull"]]
        half = xp.where((table["rank"] == HULL_RANK)[:, None], around, half)
    return shapes._replace(vertices=vertices, half=half)


def core_radii(shapes: Shapes, table: Indices) -> jax.Array:
    """Return radii of the balls about the origin that enclose cores [m]."""
    radius = jnp.sqrt(jnp.sum(shapes.half**2, -1)) + shapes.radii.max(-1)
    return jnp.where(jnp.isinf(table["core_radius"]), jnp.inf, radius)


class FrameContacts(NamedTuple):
    """Contacts of the nearest bodies of pairs of frames."""

    distance: Float[jax.Array, "rows ends"]
    """Signed distance [m], at most the cutoff."""
    point_a: Float[jax.Array, "rows ends 3"]
    """Witness point on the first frame's body, in the world [m]."""
    point_b: Float[jax.Array, "rows ends 3"]
    normal: Float[jax.Array, "rows ends 3"]
    """Unit vector from the second body to the first; zero beyond the cutoff."""
    pair: Int[jax.Array, "rows ends"]
    """Index of the nearest pair of bodies."""


def measure_contacts(
    types: PairTypes,
    R: Array,
    p: Array,
    shapes: Shapes,
    table: Indices,
    cutoff: Array | None,
) -> FrameContacts:
    """Return contacts without derivatives; see `contact_tangents.frame_contacts`."""
    arrays = R, p, shapes, table, cutoff
    if is_traced(arrays):
        entries = _measure(types, *arrays)
    else:
        # The primal values of `jax.jacrev` outside of `jit` are at hand, too.
        with outside_of_traces():
            entries = _measure(types, *arrays)
    d, a, b, n, pair = (jnp.asarray(entries[..., k]) for k in _COLUMNS)
    return FrameContacts(d, a, b, n, pair.astype(np.int32))


def _measure(
    types: PairTypes, R: Any, p: Any, shapes: Shapes, table: Any, cutoff: Any
) -> Any:
    """Return entries (*batch, rows, ends, 11): distance, points, normal, pair.

    Shapes and tables have all axes of the batch, or none of them; so has the cutoff.
    """
    arrays = R, p, shapes, table, cutoff
    if is_traced(arrays):
        return _batched_measure(types)(*arrays)
    if np.ndim(shapes.radius) > 1 or (cutoff is not None and np.ndim(cutoff)):
        return _PROGRAM(types, *arrays)
    batch = p.shape[:-2]
    R, p = (np.asarray(x).reshape(-1, *x.shape[len(batch) :]) for x in (R, p))

    def of_rows(R: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.asarray(_PROGRAM(types, R, p, shapes, table, cutoff))

    entries = map_rows(of_rows, R, p)
    return entries.reshape(*batch, *entries.shape[1:])


@lru_cache(maxsize=256)
def _batched_measure(types: PairTypes) -> Any:
    """Return `_measure` for traced arrays."""

    # By default, vmap would run the loops for as long as any instance needs, with all
    # instances in each pass.
    @custom_vmap
    def measure(*arrays: Any) -> jax.Array:
        return _measure_rows(types, *arrays)

    @measure.def_vmap
    def add_batch_axis(size: int, is_batched: Any, *args: Any) -> Any:
        def broadcast(x: Any, has_axis: bool) -> Any:
            return x if has_axis else jnp.broadcast_to(x, (size, *jnp.shape(x)))

        R, p, shapes, table, cutoff = args
        R_has, p_has, shapes_have, table_has, cutoff_has = is_batched
        R, p = broadcast(R, R_has), broadcast(p, p_has)
        have = any(jax.tree.leaves((shapes_have, table_has)))
        if have or shapes.radius.ndim > 1:
            shapes = jax.tree.map(broadcast, shapes, shapes_have)
            table = jax.tree.map(broadcast, table, table_has)
        if cutoff is not None and (cutoff_has or jnp.ndim(cutoff)):
            cutoff = broadcast(cutoff, cutoff_has)
        return _measure(types, R, p, shapes, table, cutoff), True

    return measure


def _measure_rows(
    types: PairTypes, R: Any, p: Any, shapes: Shapes, table: Any, cutoff: Any
) -> jax.Array:
    """Return the entries of all rows of a batch."""
    batch, set_axes = p.shape[:-2], shapes.radius.ndim - 1
    if not math.prod(batch):
        return jnp.zeros((*batch, table["ends"].shape[-2], NUM_COLUMNS), p.dtype)
    of_shapes = shapes._asdict() | {"core_radius": core_radii(shapes, table)}
    of_shapes["body_pose"] = of_shapes.pop("pose")
    every = (table | of_shapes).items()
    params = {k: flatten_axes(jnp.asarray(v), set_axes) for k, v in every}
    R, p = flatten_axes(R, len(batch)), flatten_axes(p, len(batch))
    source = PairSource(types, R, p, params)
    entries = _measure_source(source, cutoff).reshape(*batch, -1, NUM_COLUMNS)
    # No comparison is true of NaN: such a pair would be beyond the cutoff.
    ends = jnp.repeat(params["ends"], source.shared, 0)
    are_finite = jnp.take_along_axis(_are_finite(source)[:, None], ends, 2)
    is_known = are_finite.all(-1).reshape(*batch, -1, 1)
    is_pair = np.arange(NUM_COLUMNS) == NUM_COLUMNS - 1
    return jnp.where(is_known | is_pair, entries, np.nan)


def _are_finite(source: PairSource) -> jax.Array:
    """Return which poses have numbers only (rows, nodes), none if shapes have not."""
    shapes = ("body_pose", "half", "radii", "radius", "vertices")
    arrays = (source.params[name] for name in shapes)
    sums: Any = sum(x.reshape(source.sets, -1).sum(1) for x in arrays)
    of_poses = source.R.sum((-2, -1)) + source.p.sum(-1)
    of_shapes = jnp.repeat(sums, source.shared)[:, None]
    return jnp.isfinite(of_poses + of_shapes)


_PROGRAM = compile_program(_measure_rows, fetches=True)


def _measure_source(source: PairSource, cutoff: jax.Array | None) -> jax.Array:
    """Return entries (rows * ends, NUM_COLUMNS) of all rows.

    Args:
        source: rows of pairs.
        cutoff: of all rows, or of each of a number of equal parts of them [m].
    """
    pairs = PairBatch([source])
    n, ends, dtype = source.n, source.ends, pairs.p.dtype
    farthest = jnp.full(n, jnp.inf, dtype)
    if cutoff is not None:
        farthest = jnp.repeat(cutoff.reshape(-1), n // cutoff.size)

    def may_count(place: PairLocation, bound: Array) -> Array:
        counts: Array = bound < gather(farthest, place.row)
        return counts

    def add(place: PairLocation, a: Body, b: Body, is_valid: Array, state: Any) -> Any:
        out = contact(a, b)
        d = jnp.where(is_valid, out.distance, jnp.inf)[:, None]
        pair = (place.pair % source.pairs).astype(d.dtype)[:, None]
        entry = jnp.concatenate([d, out.point_a, out.point_b, out.normal, pair], -1)
        return scatter_min(state, place.end, entry)

    nothing = jnp.zeros((n * ends, NUM_COLUMNS - 1), dtype)
    begin = jnp.concatenate([jnp.repeat(farthest, ends)[:, None], nothing], 1)
    if cutoff is None:
        entries = pairs.fold_kinds(pairs.places_of_kinds(), add, begin, CHUNK_SIZE)
    else:
        is_pair = source.params["margin"] > -jnp.inf
        reach = jnp.where(is_pair, cutoff.max(), -jnp.inf)
        near = pairs.near([source.of_pairs(reach)])
        entries = pairs.fold_near(near, may_count, add, begin)
    # A pair is flipped if the body that comes first in it is on the second frame.
    sets = np.arange(n)[:, None] // source.shared
    pair = entries[:, 10].astype(np.int32).reshape(n, ends)
    is_flipped = source.params["is_flipped"][sets, pair].reshape(-1, 1)
    d, a, b, normal, index = jnp.split(entries, (1, 4, 7, 10), 1)
    a, b = jnp.where(is_flipped, b, a), jnp.where(is_flipped, a, b)
    normal = jnp.where(is_flipped, -normal, normal)
    return jnp.concatenate([d, a, b, normal, index], 1)

"""Collisions of all pairs of frames that can collide: their sum, or a row for each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.precision import full_matmul_precision
from posewise.compilation.zero_tangents import jvp_of_changes
from posewise.robots.config import Config
from posewise.robots.contact.huge_shapes import warn_of_huge_shapes
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import FrameName
from posewise.robots.world.frame import Frame

from .pair_types import PairTypes
from .pairs.contact_tangents import frame_contacts
from .pairs.frame_contacts import shapes_and_table
from .pairs.nearest import (
    PairFunction,
    nearest_bodies,
    pair_symbol,
    signs_of_ends,
    smoothing_params,
    vmap_instances,
    wrench_of_distance,
)
from .pairs.sums import PairSumBatch, sum_near_pairs
from .pairs.tables import (
    FAR_DISTANCE,
    MIN_NAMED_SIZE,
    MIN_WORLD_SIZE,
    FramePairTable,
    table_of_frames,
)
from .safe_math import subgradient_weights
from .symbol import Resolved, Symbol, TracedArrays, ValueAndWrenches
from .symbol_kinds import WorldSymbol

MAX_COLLISION_SLACK = 0.03
"""Largest gap up to which a collision sum that is an inequality returns minus the gap
[m]. Larger values show more of what is near, but measure more pairs."""
EXACT_ROW_RANGE = 0.1
"""Distance beyond the margin up to which collision rows are exact [m]. Larger values
measure more pairs exactly."""


class _SelectedPairs(NamedTuple):
    """Pairs of frames in a world."""

    pairs: Int[np.ndarray, "n 2"]
    """Pairs of frame indices."""
    can_collide: Bool[np.ndarray, " n"]
    """Whether a pair counts; see `Config.pairs.reserve`."""


def _select_pairs(C: Config, frames: Sequence[FrameName]) -> _SelectedPairs:
    """Return the pairs of a world, or those in which any of some frames is."""
    pairs, can_collide = C.pairs.places()
    if frames:
        chosen = [C.index(f) for f in frames]
        # One named frame of a pair suffices: the collisions of a robot's hand are those
        # with everything.
        is_chosen = np.isin(pairs, chosen).any(1)
        pairs, can_collide = pairs[is_chosen], can_collide[is_chosen]
    return _SelectedPairs(pairs, can_collide)


def resolve_sum(
    C: Config,
    frames: Sequence[FrameName],
    margin: float,
    self_margin: float | None,
    smoothing: float,
) -> Resolved:
    """Return the symbol of `accumulated_collisions` for the pairs of a world."""
    margins = partial(_pair_margins, C, margin, self_margin)
    return _resolve_pairs(
        accumulated_collisions,
        "accumulatedCollisions",
        1,
        C,
        frames,
        margins,
        smoothing,
    )


def collision_sum(
    margins: Callable[[Config, np.ndarray], np.ndarray],
) -> Symbol:
    """Return `FS.accumulatedCollisions` with a margin of each pair [m].

    Args:
        margins: from a world, and frame indices (n, 2), to margins (n,).
    """

    def resolve(C: Config, frames: Sequence[FrameName]) -> Resolved:
        return _resolve_pairs(
            accumulated_collisions,
            "accumulatedCollisions",
            1,
            C,
            frames,
            partial(margins, C),
            0.0,
        )

    return WorldSymbol(
        accumulated_collisions,
        "accumulatedCollisions",
        frames=(0, None),
        dim=1,
        unit="m",
        resolve=resolve,
        is_nonnegative=True,
        pair_margins=margins,
    )


def required_distances(
    C: Config,
    symbol: Symbol,
    frames: Sequence[FrameName],
    options: Mapping[str, Any],
) -> tuple[Int[np.ndarray, "n 2"], Float[np.ndarray, " n"]]:
    """Return the pairs of a collision feature, and the distances that it demands [m].

    Args:
        C: the world.
        symbol: a sum or rows over pairs.
        frames: of the feature.
        options: of the feature.

    Returns:
        Pairs of frame indices; their distances.
    """
    pairs, can_collide = _select_pairs(C, frames)
    pairs = pairs[can_collide]
    if symbol.pair_margins is not None:
        return pairs, symbol.pair_margins(C, pairs)
    values: dict[str, Any] = {**symbol.options, **options}
    return pairs, _pair_margins(C, values["margin"], values["self_margin"], pairs)


def resolve_rows(
    C: Config,
    frames: Sequence[FrameName],
    margin: float,
    self_margin: float | None,
    smoothing: float,
) -> Resolved:
    """Return the symbol of `collision_rows` for the pairs of a world.

    Raises:
        ConfigError: if no pair can collide.
    """
    count = len(_select_pairs(C, frames).pairs)
    if count == 0:
        raise ConfigError(
            "FS.collisionRows: no pair of frames can collide; see C.pairs.names()."
        )
    return _resolve_rows(count, C, frames, margin, self_margin, smoothing)


def _resolve_rows(
    count: int | None,
    C: Config,
    frames: Sequence[FrameName],
    margin: float,
    self_margin: float | None,
    smoothing: float,
) -> Resolved:
    """Return the symbol of `collision_rows`; without a count, rows for more pairs."""
    margins = partial(_pair_margins, C, margin, self_margin)
    return _resolve_pairs(
        collision_rows, "collisionRows", count, C, frames, margins, smoothing
    )


def _pair_margins(
    C: Config,
    margin: float,
    self_margin: float | None,
    pairs: Int[np.ndarray, "n 2"],
) -> Float[np.ndarray, " n"]:
    """Return the margin of each pair of frame indices."""
    margins = np.full(len(pairs), float(margin))
    if self_margin is not None:
        margins[C.pairs.own_links(pairs)] = self_margin
    return margins


def _resolve_pairs(
    fn: PairFunction,
    name: str,
    dim: int | None,
    C: Config,
    frames: Sequence[FrameName],
    margins: Callable[[np.ndarray], np.ndarray],
    smoothing: float,
) -> Resolved:
    pairs, can_collide = _select_pairs(C, frames)
    margin = np.where(can_collide, margins(pairs), -np.inf)
    warn_of_huge_shapes(C.frames, np.unique(pairs))
    # The frames are those of moving bodies, whatever stands around them.
    table, tree = table_of_frames(C.frames, pairs, margin), C.tree.model.layout.tree
    symbol, params = _pairs_symbol(fn, name, dim, table, tree)
    nodes = np.arange(len(tree.parents) + 1)
    return Resolved(symbol, nodes, params | smoothing_params(name, smoothing))


def pair_rows_symbol(
    shapes: Sequence[Frame], pairs: Int[np.ndarray, "n 2"], margin: float
) -> tuple[Symbol, dict[str, np.ndarray]]:
    """Return the symbol of `collision_rows` of given pairs of frames, and its params.

    Args:
        shapes: for each frame of the feature the frame whose shapes count.
        pairs: pairs, as indices among the frames.
        margin: required distance [m].
    """
    table = table_of_frames(shapes, pairs, np.full(len(pairs), float(margin)))
    return _pairs_symbol(collision_rows, "rowsBetween", len(pairs), table, None)


def _pairs_symbol(
    fn: PairFunction,
    name: str,
    dim: int | None,
    table: FramePairTable,
    tree: KinematicTree | None,
) -> tuple[Symbol, dict[str, np.ndarray]]:
    """Return the symbol of a table of pairs, and its arrays.

    Args:
        fn: `accumulated_collisions` or `collision_rows`.
        name: of the symbol.
        dim: number of rows; None: one for each place of a pair of frames.
        table: the pairs, of all frames of a world or of those that a feature names.
        tree: of the world; None: a feature that names its frames.
    """
    is_sum = fn is accumulated_collisions
    is_padded = dim is None
    least = MIN_WORLD_SIZE if tree or is_padded else MIN_NAMED_SIZE
    has_exact_rows = not is_sum and not is_padded
    types, params = table.arrays(
        (name, tree),
        least,
        has_exact_rows=has_exact_rows,
        # A robot's paths and their goals are in the same worlds.
        is_shared=tree is not None,
    )
    derived: tuple[Any, ...] = (_LINEARIZE_ROWS,)
    if is_sum:
        params["slack"] = np.array(0.0)
        derived = _linearize_sum, _identity
    symbol = pair_symbol(
        fn,
        name,
        types,
        len(params["margin"]) if is_padded else dim,
        "m",
        *derived,
        is_nonnegative=is_sum,
        reads_nodes=tree is not None,
    )
    return symbol, params


# A named function, because each new lambda would be a new key of `pair_symbol`.
def _identity(params: TracedArrays) -> TracedArrays:
    return params


def _linearize_sum(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    if "smoothing" in params:
        return vmap_instances(_sum_of_smooth_overlaps, types, R, p, params)
    linearized: ValueAndWrenches = _sum_of_near_pairs(types, R, p, params)
    return linearized


_PairInputs = tuple[jax.Array, jax.Array, TracedArrays]
"""R, p and params."""


# The loop over near pairs has a length that depends on data, so that JAX cannot
# differentiate it in reverse. Derivatives go through the contacts of all pairs of
# frames, whose rule is made of arrays.
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _sum_of_near_pairs(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    ((y, wrench),) = sum_near_pairs((types,), [PairSumBatch(R, p, params)])
    return y[..., None], wrench[..., None, :, :3], wrench[..., None, :, 3:]


def _sum_of_near_pairs_jvp(
    types: PairTypes, primals: _PairInputs, tangents: Any
) -> tuple[ValueAndWrenches, ValueAndWrenches]:
    sum_all = partial(vmap_instances, _sum_of_contacts, types)
    return jvp_of_changes(sum_all, primals, tangents)


_sum_of_near_pairs.defjvp(_sum_of_near_pairs_jvp, symbolic_zeros=True)


def _sum_of_contacts(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    margin = params["margin"]
    reach = jnp.where(margin > -jnp.inf, margin, 0.0) + params["slack"]
    shapes, table = shapes_and_table(params)
    row = frame_contacts(types, R[None], p[None], shapes, table, jnp.max(reach))
    near = jax.tree.map(lambda x: x[0], row)
    moment = jnp.cross(near.point_a, near.normal)
    wrench = jnp.concatenate([near.normal, moment], -1)
    return _sum_of_overlaps(near.distance, wrench, params, len(p))


def _sum_of_smooth_overlaps(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    near = nearest_bodies(types, R, p, params)
    return _sum_of_overlaps(near.distance, near.wrench, params, len(p))


@full_matmul_precision
def _sum_of_overlaps(
    distance: jax.Array, wrench: jax.Array, params: TracedArrays, m: int
) -> ValueAndWrenches:
    """Return the sum over pairs of frames, with its wrenches on m frames.

    Args:
        distance: of each pair of frames.
        wrench: derivatives of these by twists of the first frames.
        params: arrays of the symbol.
        m: number of frames.
    """
    margin, slack = params["margin"], params["slack"]
    counts = margin > -jnp.inf
    overlap = jnp.where(counts, margin, 0.0) - distance
    overlap = jnp.where(counts, overlap, -FAR_DISTANCE)
    y = jnp.sum(jnp.where(overlap > 0, overlap, 0.0))
    # Where nothing overlaps, the least gap takes the sum's place, so that the row has a
    # slope before anything collides.
    is_positive, largest = y > 0, jnp.max(overlap)
    nearest = jnp.where(largest > -slack, subgradient_weights(-overlap), 0.0)
    slope = jnp.where(is_positive, jnp.where(overlap > 0, -1.0, 0.0), -nearest)
    y = jnp.where(is_positive, y, jnp.maximum(largest, -slack))
    return y[None], *wrench_of_distance(wrench, slope, params, m)


def accumulated_collisions(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """Sum over all pairs that can collide of max(0, margin - distance) [m].

    Pairs of one robot, see `Config.pairs.own_links`, have `self_margin` if that is
    given. With `smoothing`, distances are smoothed as in `neg_distance`. With `slack`,
    the value is minus the least gap where nothing overlaps, down to minus the slack.
    """
    return _linearize_sum(types, R, p, params)[0]


def _linearize_rows(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> ValueAndWrenches:
    margin = params["margin"]
    counts = margin > -jnp.inf
    near = nearest_bodies(types, R, p, params, margin + EXACT_ROW_RANGE)
    # What does not count is far apart.
    y = jnp.where(counts, jnp.where(counts, margin, 0.0) - near.distance, -FAR_DISTANCE)
    # Each row has wrenches on two frames only. They are spread over all frames by a
    # product with 0, 1 or -1, because XLA runs scatters in sequence on CPUs.
    sign = jnp.where(counts[:, None], signs_of_ends(params, len(p)), 0.0)
    wrench = -sign[..., None] * near.wrench[:, None]
    return y, wrench[..., :3], wrench[..., 3:]


_LINEARIZE_ROWS = partial(vmap_instances, _linearize_rows)


def collision_rows(
    types: PairTypes, R: jax.Array, p: jax.Array, params: TracedArrays
) -> jax.Array:
    """For each pair that can collide, margin - distance [m]: an inequality.

    Pairs of one robot, see `Config.pairs.own_links`, have `self_margin` if that is
    given. It is exact for bodies whose bounding balls are within 0.1 m of the margin;
    beyond, the balls' distance is used, which is a lower bound. With `smoothing`,
    distances of all pairs are smoothed as in `neg_distance`.
    """
    return _linearize_rows(types, R, p, params)[0]


PADDED_COLLISION_ROWS = WorldSymbol(
    collision_rows,
    "collisionRows",
    frames=(0, None),
    unit="m",
    options={"margin": 0.0, "self_margin": None, "smoothing": 0.0},
    resolve=partial(_resolve_rows, None),
)
"""`FS.collisionRows` with rows of `-FAR_DISTANCE` for pairs that a world may still get,
so that a solver's program serves these, too."""

"""Symbols of collisions: which pairs of a world count, and by which margins."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.robots.config import Config
from posewise.robots.contact.huge_shapes import warn_of_huge_shapes
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.tree import KinematicTree
from posewise.robots.typing import FrameName
from posewise.robots.world.frame import Frame

from .pairs.collision_values import (
    LINEARIZE_ROWS,
    accumulated_collisions,
    collision_rows,
    kept_params,
    linearize_sum,
)
from .pairs.nearest import (
    PairFunction,
    pair_symbol,
    smoothing_params,
)
from .pairs.tables import (
    MIN_NAMED_SIZE,
    MIN_WORLD_SIZE,
    FramePairTable,
    table_of_frames,
)
from .symbol import Resolved, Symbol
from .symbol_kinds import WorldSymbol

MAX_COLLISION_SLACK = 0.03
"""Largest gap up to which a collision sum that is an inequality returns minus the gap
[m]. Larger values show more of what is near, but measure more pairs."""


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
    return WorldSymbol(
        accumulated_collisions,
        "accumulatedCollisions",
        frames=(0, None),
        dim=1,
        unit="m",
        resolve=partial(_resolve_sum, margins),
        is_nonnegative=True,
        pair_margins=margins,
    )


def _resolve_sum(
    margins: Callable[[Config, np.ndarray], np.ndarray],
    C: Config,
    frames: Sequence[FrameName],
) -> Resolved:
    """Return the symbol of `collision_sum` for the pairs of some frames."""
    return _resolve_pairs(
        accumulated_collisions,
        "accumulatedCollisions",
        1,
        C,
        frames,
        partial(margins, C),
        0.0,
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
    derived: tuple[Any, ...] = (LINEARIZE_ROWS,)
    if is_sum:
        params["slack"] = np.array(0.0)
        derived = linearize_sum, kept_params
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

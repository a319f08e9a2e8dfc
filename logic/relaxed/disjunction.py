"""Disjunctions of features: the smooth minimum of several features, as a feature."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np

from posewise.features import Feature
from posewise.features.parts import gather_rows
from posewise.features.symbol import Arrays, Pose, Resolved, Symbol, TracedArrays
from posewise.features.symbol_kinds import StackSymbol
from posewise.robots.config import Config

from ..errors import PredicateError
from ..smooth_extrema import largest, mellowmin_within
from .world_feature import world_feature

FeatureChoices: TypeAlias = tuple[tuple[Feature, ...], ...]
"""Alternatives, each a conjunction of features."""


class _Operand(NamedTuple):
    """One feature of an alternative: the static part of its computation."""

    symbol: Symbol
    positions: tuple[int, ...]
    """Positions of its frames among those of the disjunction."""
    keys: tuple[str, ...]
    """Names of its arrays."""


def disjunction_feature(choices: FeatureChoices, error: float) -> Feature:
    """Return a row at most 0 only where all rows of one alternative are.

    Args:
        choices: alternatives, each some features, all rows of which count.
        error: bound on how far the row may be above the least of the alternatives'
            largest rows.
    """
    frames: dict[str, None] = {}
    for choice in choices:
        for feature in choice:
            frames |= dict.fromkeys(feature.frames)
    names = tuple(frames)

    def resolve(C: Config, given_names: Sequence[str]) -> Resolved:
        renamed = dict(zip(names, given_names, strict=True))

        def rename(feature: Feature) -> Feature:
            return feature.with_frames(tuple(renamed[name] for name in feature.frames))

        return _resolve(C, tuple(tuple(map(rename, c)) for c in choices), error)

    return world_feature(names, resolve, "alternatives", dim=1)


def _resolve(C: Config, choices: FeatureChoices, error: float) -> Resolved:
    structure: list[tuple[_Operand, ...]] = []
    arrays: Arrays = {}
    frames: list[int] = []
    for i, choice in enumerate(choices):
        operands = []
        for j, feature in enumerate(choice):
            bound = feature.bind(C)
            symbol = bound.symbol
            if symbol.takes_joints or symbol.window or feature.order:
                raise PredicateError(
                    f"{symbol.name} cannot be one of several alternatives: only"
                    " features of poses in one slice can."
                )
            prefix = f"{i}_{j}_"
            positions = tuple(_position(frames, int(k)) for k in bound.frames)
            arrays |= {prefix + k: np.asarray(v) for k, v in bound.params.items()}
            arrays |= {prefix + "scale": bound.scale, prefix + "target": bound.target}
            keys = tuple(sorted(bound.params))
            operands.append(_Operand(symbol, positions, keys))
        structure.append(tuple(operands))
    arrays["error"] = np.array(float(error))
    return Resolved(_symbol(tuple(structure)), np.array(frames), arrays)


def _position(frames: list[int], frame: int) -> int:
    """Return the position of a frame in a list, to which it is added if missing."""
    if frame not in frames:
        frames.append(frame)
    return frames.index(frame)


@lru_cache(maxsize=512)
def _symbol(structure: tuple[tuple[_Operand, ...], ...]) -> Symbol:
    def largest_row(
        i: int, choice: tuple[_Operand, ...], R: Any, p: Any, arrays: TracedArrays
    ) -> Any:
        maxima = []
        for j, operand in enumerate(choice):
            symbol, positions = operand.symbol, np.array(operand.positions)
            prefix = f"{i}_{j}_"
            params = {k: arrays[prefix + k] for k in operand.keys}
            R_at, p_at = gather_rows(R, positions), gather_rows(p, positions)
            if isinstance(symbol, StackSymbol):
                y = symbol.fn(R_at, p_at, **params)
            else:
                # Rows of predicates do not read quaternions, so none are computed.
                quaternion = jnp.zeros(4, p.dtype)
                pairs = zip(R_at, p_at, strict=True)
                poses = [Pose(*pair, quaternion) for pair in pairs]
                y = jnp.atleast_1d(symbol.fn(*poses, **params))
            y = arrays[prefix + "scale"] * (y - arrays[prefix + "target"])
            maxima.append(largest(y))
        return largest(jnp.stack(maxima))

    def run(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: mellowmin is at least the minimum over alternatives of their largest
        # row, so that a value of at most 0 means that one alternative holds.
        rows = [
            largest_row(i, choice, R, p, arrays) for i, choice in enumerate(structure)
        ]
        return mellowmin_within(jnp.stack(rows), arrays["error"])[None]

    return StackSymbol(run, "alternatives", frames=(0, None), dim=1)

"""At least one of several: the smooth minimum of features, as a feature."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from posewise.features import Feature
from posewise.features.symbol import Pose, Symbol, unresolved
from posewise.robots.config import Config

from ..errors import PredicateError
from ..smooth_extrema import largest, mellowmin_within
from .parts import gather_rows

FeatureChoices = tuple[tuple[Feature, ...], ...]


def disjunction_feature(choices: FeatureChoices, error: float) -> Feature:
    """At most 0 only where all features of one of the choices are.

    Args:
        choices: each some features, all entries of which count.
        error: how far the row may lie above the least of the choices' worst entries.
    """
    frames: dict[str, None] = {}
    for choice in choices:
        for feature in choice:
            frames |= dict.fromkeys(feature.frames)
    names = tuple(frames)

    def resolve(C: Config, renamed: Sequence[str]) -> Any:
        now = dict(zip(names, renamed, strict=True))
        move = lambda f: f.renamed(tuple(now[name] for name in f.frames))
        return _resolved(C, tuple(tuple(map(move, c)) for c in choices), error)

    symbol = Symbol(
        unresolved, "alternatives", frames=(0, None), dim=1, takes_frame_stack=True,
        resolve=resolve,
    )  # fmt: skip
    return Feature(symbol, names)


def _resolved(
    C: Config, choices: FeatureChoices, error: float
) -> tuple[Symbol, np.ndarray, dict[str, np.ndarray]]:
    structure: list[Any] = []
    arrays: dict[str, np.ndarray] = {}
    frames: list[int] = []
    for i, choice in enumerate(choices):
        made = []
        for j, feature in enumerate(choice):
            g = feature.bind(C)
            if g.symbol.input_kind == "joints" or g.symbol.window or feature.order:
                raise PredicateError(
                    f"{g.symbol.name} cannot be one of several alternatives: only"
                    " features of poses in one slice can."
                )
            name = f"{i}_{j}_"
            at = [_place(frames, int(k)) for k in g.frames]
            arrays |= {name + k: np.asarray(v) for k, v in g.params.items()}
            arrays |= {name + "scale": g.scale, name + "target": g.target}
            keys = tuple(sorted(g.params))
            made.append((g.symbol, tuple(at), keys))
        structure.append(tuple(made))
    arrays["error"] = np.array(float(error))
    return _symbol(tuple(structure)), np.array(frames), arrays


def _place(frames: list[int], frame: int) -> int:
    if frame not in frames:
        frames.append(frame)
    return frames.index(frame)


@lru_cache(maxsize=512)
def _symbol(structure: tuple[Any, ...]) -> Symbol:
    def worst(i: int, choice: Sequence[Any], R: Any, p: Any, arrays: dict) -> Any:
        found = []
        for j, (symbol, at, keys) in enumerate(choice):
            name = f"{i}_{j}_"
            params = {k: arrays[name + k] for k in keys}
            here, there = gather_rows(R, np.array(at)), gather_rows(p, np.array(at))
            if symbol.takes_frame_stack:
                y = symbol.fn(here, there, **params)
            else:
                none = jnp.zeros(4, p.dtype)
                poses = [Pose(a, b, none) for a, b in zip(here, there, strict=True)]
                y = jnp.atleast_1d(symbol.fn(*poses, **params))
            y = arrays[name + "scale"] * (y - arrays[name + "target"])
            found.append(largest(y))
        return largest(jnp.stack(found))

    def run(R: Any, p: Any, **arrays: Any) -> Any:
        rows = [worst(i, choice, R, p, arrays) for i, choice in enumerate(structure)]
        return mellowmin_within(jnp.stack(rows), arrays["error"])[None]

    return Symbol(run, "alternatives", frames=(0, None), dim=1, takes_frame_stack=True)

"""That two groups of frames are apart: a row for each pair, of their nearest parts."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from posewise.features import Feature
from posewise.features.collisions import pair_rows_symbol
from posewise.features.symbol import Symbol, unresolved
from posewise.robots.config import Config


def clearance_feature(
    a: Sequence[str], b: Sequence[str], margin: float, shapes: Sequence[str]
) -> Feature:
    """At most 0 only where all of a are at least a margin away from all of b [m].

    Args:
        a: frames.
        b: others.
        margin: [m].
        shapes: frames of which those of a have the shapes.
    """
    pairs = list(product(range(len(a)), range(len(a), len(a) + len(b))))

    def resolve(C: Config, names: Sequence[str]) -> Any:
        frames = [C.frame(name) for name in (*shapes, *b)]
        symbol, arrays = pair_rows_symbol(frames, np.array(pairs), margin)
        return symbol, np.array([C.index(name) for name in names]), arrays

    symbol = Symbol(
        unresolved, frames=(0, None), takes_frame_stack=True, resolve=resolve
    )
    return Feature(symbol, (*a, *b))

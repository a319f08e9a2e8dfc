"""Clearance of two sets of frames: one row for each pair, of their closest parts."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from posewise.features import Feature
from posewise.features.collisions import pair_rows_symbol
from posewise.features.symbol import Resolved
from posewise.robots.config import Config

from .world_feature import world_feature


def clearance_feature(
    a: Sequence[str], b: Sequence[str], margin: float, shapes: Sequence[str]
) -> Feature:
    """Return rows at most 0 only where all frames of a are clear of all of b.

    Args:
        a: frames.
        b: other frames.
        margin: least distance [m].
        shapes: frames whose shapes those of a have, e.g. the arm of a ghost arm.
    """
    # Each row is margin - d for the signed distance d of the closest parts of a pair,
    # without smoothing, so that it is exact.
    pairs = list(product(range(len(a)), range(len(a), len(a) + len(b))))

    def resolve(C: Config, names: Sequence[str]) -> Resolved:
        frames = [C.frame(name) for name in (*shapes, *b)]
        symbol, arrays = pair_rows_symbol(frames, np.array(pairs), margin)
        return Resolved(symbol, np.array([C.index(name) for name in names]), arrays)

    return world_feature((*a, *b), resolve)

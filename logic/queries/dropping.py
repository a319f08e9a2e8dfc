"""Lowering things onto what is below them: starts from which they may come to rest."""

import numpy as np
from jaxtyping import Float

from ...robots.config import Config
from ...robots.extents import body_boxes
from ..geometry.solids import is_solid
from ..relaxed.stacks import Stack


def lowered(
    C: Config, stack: Stack, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Coordinates at which the first thing of a stack stands on what is below it.

    By upright boxes about parts: on the highest that is below its middle. Where it is
    as in the world, or above nothing, it stays.
    """
    own = [C.index(stack.names[i]) for i in stack.things[0]]
    at = C.coordinates([stack.root])
    parts = [i for i in own if is_solid(C, i)]
    below = {j for i, j in stack.pairs if i in stack.things[0]}
    walk, q = C.walk(q).frames, q.copy()
    for k in np.flatnonzero((q[:, at] != C.q[at]).any(1)):
        box = lambda i, k=k: body_boxes(C.frames[i], walk.R[k, i], walk.p[k, i])
        low, high = _joined([box(i) for i in parts])
        low, high = low.min(0), high.max(0)
        lows, tops = _joined([box(C.index(stack.names[j])) for j in below])
        over = ((lows < high) & (tops > low))[:, :2].all(1)
        over &= tops[:, 2] < (low + high)[2] / 2
        if over.any():
            q[k, at[2]] += tops[over, 2].max() - low[2]
    return q


def _joined(boxes: list) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.concatenate(x) for x in zip(*boxes, strict=True))
    return low, high

"""Where things may stand: starts from which they may come to rest, by boxes."""

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.geometry.bounding_boxes import body_boxes
from posewise.robots.kinematics.transforms import quat_to_matrix

from ..geometry.frame_groups import has_collision_shape
from ..relaxed.support_graph import Stack

CONTACT_OVERLAP = 1e-3
"""Boxes that overlap by less may touch [m]."""


def lower_onto_support(
    C: Config, stack: Stack, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Coordinates at which the first thing of a stack stands on what is below it.

    By upright boxes about parts: on the highest that is below its middle. Where it is
    as in the world, or above nothing, it stays.
    """
    own = [C.index(stack.frame_names[i]) for i in stack.objects[0]]
    at = C.coordinates([stack.root])
    parts = [i for i in own if has_collision_shape(C, i)]
    below = {j for i, j in stack.pairs if i in stack.objects[0]}
    walk, q = C.forward_pass(q).frames, q.copy()
    for k in np.flatnonzero((q[:, at] != C.q[at]).any(1)):
        box = lambda i, k=k: body_boxes(C.frames[i], walk.R[k, i], walk.p[k, i])
        low, high = _concatenate_boxes([box(i) for i in parts])
        low, high = low.min(0), high.max(0)
        lows, tops = _concatenate_boxes(
            [box(C.index(stack.frame_names[j])) for j in below]
        )
        over = ((lows < high) & (tops > low))[:, :2].all(1)
        over &= tops[:, 2] < (low + high)[2] / 2
        if over.any():
            q[k, at[2]] += tops[over, 2].max() - low[2]
    return q


def are_clear(
    C: Config, stack: Stack, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """At which poses of its root the first thing of a stack overlaps with nothing.

    By upright boxes about parts, so that some are left out that would do.
    """
    own = {C.index(stack.frame_names[i]) for i in stack.objects[0]}
    pairs = [pair for pair in C.collision_indices().tolist() if own & {*pair}]
    others = sorted({i for pair in pairs for i in pair} - own)
    frames, root = C.forward_pass().frames, C.index(stack.root)
    lows, tops = _concatenate_boxes(
        [body_boxes(C.frames[i], frames.R[i], frames.p[i]) for i in others]
    )
    free = []
    for R, p in zip(quat_to_matrix(poses[:, 3:]), poses[:, :3], strict=True):
        turn = R @ frames.R[root].T
        at = lambda i, turn=turn, p=p: (
            turn @ frames.R[i],
            turn @ (frames.p[i] - frames.p[root]) + p,
        )
        parts = [
            body_boxes(C.frames[i], *at(i)) for i in own if has_collision_shape(C, i)
        ]
        low, high = (x[:, None] for x in _concatenate_boxes(parts))
        meets = (lows < high - CONTACT_OVERLAP) & (tops > low + CONTACT_OVERLAP)
        free.append(not meets.all(-1).any())
    return np.array(free)


def _concatenate_boxes(boxes: list) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.concatenate(x) for x in zip(*boxes, strict=True))
    return low, high

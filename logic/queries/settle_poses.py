"""Poses in which an object may come to rest, from bounding boxes, for random starts."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.geometry.bounding_boxes import body_boxes
from posewise.robots.kinematics.transforms import quat_to_matrix

from ..geometry.frame_groups import has_collision_shape
from ..relaxed.support_graph import Stack

CONTACT_OVERLAP = 1e-3
"""Overlap of boxes below which objects may only touch [m]."""


def lower_onto_support(
    C: Config, stack: Stack, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Return configurations in which the first object of a stack rests on its support.

    Upright boxes around parts decide: the object is moved onto the highest box below
    its middle. It stays where it is if its pose is that in the world, or if nothing is
    below.
    """
    own = [C.index(stack.frame_names[i]) for i in stack.objects[0]]
    at = C.coordinates([stack.root])
    parts = [i for i in own if has_collision_shape(C, i)]
    below = {x for pair in stack.pairs if {*pair} & {*stack.objects[0]} for x in pair}
    below -= {*stack.objects[0]}
    supports = [C.index(stack.frame_names[j]) for j in below]
    poses, q = C.forward_pass(q).frames, q.copy()

    def boxes(frames: Iterable[int], k: int) -> tuple[np.ndarray, np.ndarray]:
        return _concatenate_boxes(
            [body_boxes(C.frames[i], poses.R[k, i], poses.p[k, i]) for i in frames]
        )

    for k in np.flatnonzero((q[:, at] != C.q[at]).any(1)).tolist():
        low, high = boxes(parts, k)
        low, high = low.min(0), high.max(0)
        lows, tops = boxes(supports, k)
        overlaps = ((lows < high) & (tops > low))[:, :2].all(1)
        overlaps &= tops[:, 2] < (low + high)[2] / 2
        if overlaps.any():
            q[k, at[2]] += tops[overlaps, 2].max() - low[2]
    return q


def are_clear(
    C: Config, stack: Stack, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses of its root the first object of a stack overlaps nothing.

    Upright boxes around parts decide, so that some feasible poses are rejected.
    """
    own = {C.index(stack.frame_names[i]) for i in stack.objects[0]}
    pairs = [pair for pair in C.collision_indices().tolist() if own & {*pair}]
    others = sorted({i for pair in pairs for i in pair} - own)
    frames, root = C.forward_pass().frames, C.index(stack.root)
    lows, tops = _concatenate_boxes(
        [body_boxes(C.frames[i], frames.R[i], frames.p[i]) for i in others]
    )
    parts = [i for i in own if has_collision_shape(C, i)]
    clear = []
    for R, p in zip(quat_to_matrix(poses[:, 3:]), poses[:, :3], strict=True):
        rotation = R @ frames.R[root].T
        boxes = [
            body_boxes(
                C.frames[i],
                rotation @ frames.R[i],
                rotation @ (frames.p[i] - frames.p[root]) + p,
            )
            for i in parts
        ]
        low, high = (x[:, None] for x in _concatenate_boxes(boxes))
        overlaps = (lows < high - CONTACT_OVERLAP) & (tops > low + CONTACT_OVERLAP)
        clear.append(not overlaps.all(-1).any())
    return np.array(clear)


def _concatenate_boxes(
    boxes: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.concatenate(x) for x in zip(*boxes, strict=True))
    return low, high

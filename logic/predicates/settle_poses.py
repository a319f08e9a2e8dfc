"""Poses in which an object may come to rest, from bounding boxes, for random starts."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.bounding_boxes import body_boxes
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.masses.frame_masses import frame_masses

from ..geometry.frame_groups import has_collision_shape
from ..relaxed.contact_points import contact_samples
from ..relaxed.support_graph import Stack

CONTACT_OVERLAP = 1e-3
"""Overlap of boxes below which objects may only touch [m]."""
MAX_FACE_GAP = 2e-4
"""Height above the lowest point of an object up to which it rests on a point [m]."""
HORIZONTAL = np.stack(
    [f(2 * np.pi * np.arange(24) / 24) for f in (np.cos, np.sin)], axis=1
)
"""Directions in which a centre of mass has to be inside what an object rests on."""


def lower_onto_support(
    C: Config, stack: Stack, root: str, q: Float[np.ndarray, "n nq"]
) -> Float[np.ndarray, "n nq"]:
    """Return configurations in which an object of a stack rests on its support.

    Upright boxes around parts decide: the object is moved onto the highest box below
    its middle. It stays where it is if its pose is that in the world, if it rests on
    something, or if nothing is below.
    """
    members = {*stack.object_of(root)}
    indices = [C.index(stack.frame_names[i]) for i in members]
    columns = C.joints.coordinates([root])
    parts = [i for i in indices if has_collision_shape(C, i)]
    below = {x for pair in stack.pairs if {*pair} & members for x in pair}
    below -= members
    supports = [C.index(stack.frame_names[j]) for j in below]
    poses, q = C.forward_pass(q).frames, q.copy()

    def boxes(frames: Iterable[int], k: int) -> tuple[np.ndarray, np.ndarray]:
        return _concatenate_boxes(
            [body_boxes(C.frames[i], poses.R[k, i], poses.p[k, i]) for i in frames]
        )

    for k in np.flatnonzero((q[:, columns] != C.q[columns]).any(1)).tolist():
        low, high = boxes(parts, k)
        low, high = low.min(0), high.max(0)
        lows, tops = boxes(supports, k)
        overlaps = ((lows < high) & (tops > low))[:, :2].all(1)
        overlaps &= tops[:, 2] < (low + high)[2] / 2
        # What rests on something stays there: boxes overlap where shapes do not.
        rests = np.abs(tops[overlaps, 2] - low[2]) < CONTACT_OVERLAP
        if overlaps.any() and not rests.any():
            q[k, columns[2]] += tops[overlaps, 2].max() - low[2]
    return q


def are_clear(
    C: Config, stack: Stack, root: str, poses: Float[np.ndarray, "n 7"]
) -> Bool[np.ndarray, " n"]:
    """Return at which poses of its root an object of a stack overlaps nothing.

    Upright boxes around parts decide, so that some feasible poses are rejected.
    """
    members = {C.index(stack.frame_names[i]) for i in stack.object_of(root)}
    pairs = [pair for pair in C.pairs.indices().tolist() if members & {*pair}]
    others = sorted({i for pair in pairs for i in pair} - members)
    frames, root_index = C.forward_pass().frames, C.index(root)
    lows, tops = _concatenate_boxes(
        [body_boxes(C.frames[i], frames.R[i], frames.p[i]) for i in others]
    )
    parts = [i for i in members if has_collision_shape(C, i)]
    clear = []
    for R, p in zip(quat_to_matrix(poses[:, 3:]), poses[:, :3], strict=True):
        rotation = R @ frames.R[root_index].T
        boxes = [
            body_boxes(
                C.frames[i],
                rotation @ frames.R[i],
                rotation @ (frames.p[i] - frames.p[root_index]) + p,
            )
            for i in parts
        ]
        low, high = (x[:, None] for x in _concatenate_boxes(boxes))
        overlaps = (lows < high - CONTACT_OVERLAP) & (tops > low + CONTACT_OVERLAP)
        clear.append(not overlaps.all(-1).any())
    return np.array(clear)


def rests_on_face(
    C: Config,
    root: str,
    frames: Sequence[int],
    margin: float,
    poses: Float[np.ndarray, "n 7"],
) -> Bool[np.ndarray, " n"]:
    """Return at which poses of its root an object would stand on a level floor.

    Its centre of mass is then within its lowest points, by a margin. So a cylinder does
    not stand on its side, on which it could roll.

    Args:
        C: the world.
        root: frame whose poses are given.
        frames: frames of the object.
        margin: least horizontal distance of the centre of mass from the rim [m].
        poses: poses of the root in the world (n, 7).
    """
    world, root_index = C.forward_pass().frames, C.index(root)
    masses = frame_masses(C.frames)
    points, radii, weighted = [np.zeros((0, 3))], [np.zeros(0)], np.zeros(4)
    for i in frames:
        R = world.R[root_index].T @ world.R[i]
        p = world.R[root_index].T @ (world.p[i] - world.p[root_index])
        weighted += masses[i].mass * np.append(R @ masses[i].com + p, 1)
        for group in frame_bodies(C.frames[i]):
            body: Any = group.body
            for k in range(len(group)):
                core = type(body.core)(*(np.asarray(x[k]) for x in body.core))
                x = contact_samples(core, 1) @ body.R[k].T + body.p[k]
                points.append(x @ R.T + p)
                radii.append(np.full(len(x), body.radius[k]))
    samples, radius = np.concatenate(points), np.concatenate(radii)
    arms = samples - weighted[:3] / weighted[3]
    stands = []
    for R in quat_to_matrix(poses[:, 3:]):
        turn = R @ world.R[root_index].T
        boxes = [body_boxes(C.frames[i], turn @ world.R[i], turn @ world.p[i])
                 for i in frames if has_collision_shape(C, i)]  # fmt: skip
        lowest = (
            _concatenate_boxes(boxes)[0][:, 2].min() - (turn @ world.p[root_index])[2]
        )
        x = arms[samples @ R[2] - radius < lowest + MAX_FACE_GAP] @ R[:2].T
        reach = (x @ HORIZONTAL.T).max(0, initial=-np.inf)
        stands.append(reach.min() >= margin)
    return np.array(stands)


def _concatenate_boxes(
    boxes: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.concatenate(x) for x in zip(*boxes, strict=True))
    return low, high

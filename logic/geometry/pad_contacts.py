"""Contacts of the pads of a parallel gripper with flat, opposite surfaces.

Lines along and across each convex body of an object are cut with the whole object, all
of them at once, so that boxes, cylinders, handles and the walls of bowls are held in
the same way.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.ray_casting import intersect_lines

from .frame_groups import FrameGroup

PALM_GAP = 5e-3
"""Least distance of the palm from the object [m]; with less, no hand comes in without a
collision, with more, fingers hold less of it."""
FRICTION = 0.3
"""Tangent of the largest angle between a surface's normal and the line of the fingers
[1]. Larger values accept grasps that slip."""
PAD_RADIUS = 4e-3
"""Distance from the middle of a pad at which the surface is measured too [m]; a larger
one leaves out narrower surfaces."""
PLACES = (-0.7, 0.0, 0.7)
"""Places at which lines cross a body, in half extents from its middle."""
MIN_WIDTH = 1e-3
"""Least thickness that fingers close on [m]; with less, they hold sheets and seams."""
DIAGONAL = np.sqrt(0.5)
MAX_SEAM = 1e-6
"""Gap between two bodies on a line that counts as none [m]; a larger one takes bodies
for one that are apart."""


class PadContacts(NamedTuple):
    """Two pads on flat, opposite surfaces of an object, in its frame, row by row."""

    middle: Float[np.ndarray, "n 3"]
    """Points between the contacts."""
    width: Float[np.ndarray, " n"]
    """Distances of the contacts [m]."""
    R: Float[np.ndarray, "n 3 3"]
    """Orientations of the gripper's frame."""


class _Lines(NamedTuple):
    """Straight lines in an object's frame."""

    origin: Float[np.ndarray, "n 3"]
    direction: Float[np.ndarray, "n 3"]


def pad_contacts(
    group: FrameGroup, finger_length: float, max_width: float
) -> PadContacts:
    """Return contacts of two pads, wherever lines across bodies give any.

    Besides the middle line there are four lines at the edges of the pads. Where the
    surface steps back between them by more than the friction cone, a pad slips.

    Args:
        group: what is held.
        finger_length: distance from the palm to the middle of the pads [m].
        max_width: largest distance of the contacts [m].
    """
    lines, approach = _finger_lines(group, finger_length)
    near, far = _solid_runs(group, lines)
    width = far - near
    fits = (MIN_WIDTH <= width) & (width <= max_width) & np.isfinite(width)
    origin, closing = (x[fits] for x in lines)
    palm = -approach[fits]
    R = np.stack([closing, np.cross(palm, closing), palm], -1)
    edges = PAD_RADIUS * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    points = origin[:, None] + edges @ R[..., 1:].swapaxes(-1, -2)
    along = np.repeat(closing, len(edges), axis=0)
    near, far = (
        x.reshape(-1, len(edges))
        for x in _solid_runs(group, _Lines(points.reshape(-1, 3), along))
    )
    steps = np.maximum(np.abs(near - near[:, :1]), np.abs(far - far[:, :1]))
    # Comparisons with NaN, of lines beside the object, are false.
    holds = (steps <= FRICTION * PAD_RADIUS).all(1)
    middle = origin + closing * (near + far)[:, :1] / 2
    width = far.max(1, initial=-np.inf) - near.min(1, initial=np.inf)
    return PadContacts(middle[holds], width[holds], R[holds])


def _finger_lines(
    group: FrameGroup, finger_length: float
) -> tuple[_Lines, Float[np.ndarray, "n 3"]]:
    """Return lines on which fingers close, and directions in which they come there.

    The palm stays in front of the object: where the object is longer than the fingers,
    they hold it nearer to the palm.
    """
    lines = _object_lines(group)
    line, approach = _approaches(lines.direction)
    _, leave = _intervals(group, _Lines(lines.origin[line], -approach))
    depth = leave.max(1, initial=0.0)
    shift = np.maximum(depth - finger_length + PALM_GAP, 0.0)
    # From the side of a half-space no hand comes.
    is_open = np.isfinite(shift)
    line, approach, shift = line[is_open], approach[is_open], shift[is_open]
    origin = lines.origin[line] - shift[:, None] * approach
    return _Lines(origin, lines.direction[line]), approach


def _approaches(
    closing: Float[np.ndarray, "lines 3"],
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "n 3"]]:
    """Return directions across each line, along axes and between them.

    Each comes with the index of its line; equal ones of a line are left out.
    """
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    across = axes - (closing @ axes.T)[..., None] * closing[:, None]
    length = np.linalg.norm(across, axis=-1)
    is_far = length > 0.5
    across /= np.where(is_far, length, 1.0)[..., None]
    first = across[np.arange(len(closing)), is_far.argmax(1)]
    second = np.cross(closing, first)
    between = [
        DIAGONAL * (s * first + t * second) for s, t in product((-1, 1), (-1, 1))
    ]
    directions = np.concatenate([across, np.stack(between, 1)], 1)
    is_valid = np.concatenate([is_far, np.ones((len(closing), len(between)), bool)], 1)
    keys = np.round(directions, 3)
    is_equal = (keys[:, :, None] == keys[:, None]).all(-1) & is_valid[:, None]
    line, k = np.nonzero(is_valid & ~np.tril(is_equal, -1).any(-1))
    return line, directions[line, k]


def _object_lines(group: FrameGroup) -> _Lines:
    """Return lines along and across each body, in the object.

    Directions are the axes of each body, and those half-way between two of them.
    """
    lines = []
    for i in group.collision_frames:
        R_frame, p_frame = group.pose_in_root(i)
        for bodies in frame_bodies(group.C.frames[i]):
            body = bodies.body
            for k in range(len(bodies)):
                half = _half_extents(body.core, k) + body.radius[k]
                if not np.isfinite(half).all():
                    continue
                R, p = R_frame @ body.R[k], R_frame @ body.p[k] + p_frame
                local = _box_lines(half)
                lines.append((p + local.origin @ R.T, local.direction @ R.T))
    if not lines:
        return _Lines(np.zeros((0, 3)), np.zeros((0, 3)))
    return _Lines(*(np.concatenate(x) for x in zip(*lines, strict=True)))


def _box_lines(half: Float[np.ndarray, "3"]) -> _Lines:
    """Return lines along and across a box, in its axes."""
    axes, origins, directions = np.eye(3), [], []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for a, b in product(PLACES, PLACES):
            origins.append(a * half[u] * axes[u] + b * half[v] * axes[v])
            directions.append(axes[axis])
        for place, sign in product(PLACES, (-1, 1)):
            origins.append(place * half[axis] * axes[axis])
            directions.append(DIAGONAL * (axes[u] + sign * axes[v]))
    return _Lines(np.array(origins), np.array(directions))


def _half_extents(core: object, k: int) -> Float[np.ndarray, "3"]:
    """Return half of the extents of the box about a core, along its axes."""
    if hasattr(core, "vertices"):
        return np.abs(core.vertices[k]).max(0)
    half = getattr(core, "half", None)
    if half is None:
        return np.full(3, np.inf)
    radii = getattr(core, "radii", None)
    return np.array(half[k]) + (0.0 if radii is None else np.array(radii[k]))


def _solid_runs(
    group: FrameGroup, lines: _Lines
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return where each line enters and leaves the solid around its origin.

    NaN where the origin is in none of the bodies.
    """
    enter, leave = _intervals(group, lines)
    low, high = np.zeros(len(enter)), np.zeros(len(enter))
    inside = ((enter <= 0) & (leave >= 0)).any(1)
    for _ in range(enter.shape[1]):
        touches = (enter <= high[:, None] + MAX_SEAM) & (
            leave >= low[:, None] - MAX_SEAM
        )
        new_low = np.minimum(low, np.where(touches, enter, np.inf).min(1))
        new_high = np.maximum(high, np.where(touches, leave, -np.inf).max(1))
        if (new_low == low).all() and (new_high == high).all():
            break
        low, high = new_low, new_high
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def _intervals(
    group: FrameGroup, lines: _Lines
) -> tuple[Float[np.ndarray, "n bodies"], Float[np.ndarray, "n bodies"]]:
    """Return where lines enter and leave all bodies, from their origins [m]."""
    nothing = np.zeros((len(lines.origin), 0))
    enters, leaves = [nothing], [nothing]
    for i in group.collision_frames:
        R, p = group.pose_in_root(i)
        cuts = intersect_lines(
            group.C.frames[i], (lines.origin - p) @ R, lines.direction @ R
        )
        enters.append(cuts.enter)
        leaves.append(cuts.leave)
    return np.concatenate(enters, 1), np.concatenate(leaves, 1)

"""Antipodal grasps of any object, sampled on the convex bodies of its shapes.

A parallel gripper holds an object at two points whose normals both lie in the friction
cone about their line (Nguyen 1988, "Constructing force-closure grasps"). Lines along
and across each body are cut with the whole object, so that boxes, cylinders, handles
and the walls of bowls are found in the same way.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact.gjk_numpy import PosedFrame, min_distance
from posewise.robots.contact.hands import subtree_indices
from posewise.robots.contact.ray_casting import intersect_lines
from posewise.robots.kinematics.transforms import (
    make_pose,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_to_matrix,
)
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    FrameGroup,
    centre_of_mass,
    find_object,
    subtree_group,
)
from .grasp import Grasp
from .hand import Hand

CLEARANCE = 4e-3
"""Gap between each open finger and the object [m]. With less, solvers find no way in;
with more, wide objects do not fit."""
PALM_GAP = 5e-3
"""Least distance of the palm from the object [m]."""
FRICTION = 0.3
"""Tangent of the largest angle between a surface's normal and the line of the fingers.
Larger values accept grasps that slip."""
PAD_RADIUS = 4e-3
"""Distance from the middle of a pad at which the surface is measured too [m]."""
PLACES = (-0.7, 0.0, 0.7)
"""Places at which lines cross a body, in half extents from its middle."""
MIN_WIDTH = 1e-3
"""Least thickness that fingers close on [m]."""
DIAGONAL = np.sqrt(0.5)


def find_grasps(
    C: Config,
    obj: FrameName,
    hand: Hand,
    limit: int = 24,
    *,
    part: FrameName | None = None,
) -> list[Grasp]:
    """Return grasps of an object, the best first, from different sides in turn.

    The score is that of rostok's `InstantObjectCOGCriterion` for two equal forces:
    1 / (1 + d) for the distance d [m] of the middle of the contacts from the centre of
    mass. With equal forces its `InstantForceCriterion` is 1 for all.

    Args:
        C: the world; the object may be anywhere.
        obj: an object or a frame with a shape.
        hand: the gripper.
        limit: largest number of grasps.
        part: frame of the object by which it is held, such as a door; poses of grasps
            are in this frame. None: any.
    """
    whole = find_object(C, obj)
    group = whole if part is None else subtree_group(C, part)
    grasps = []
    com = _in_object(group, np.asarray(centre_of_mass(group))[None])[0]
    for contact in _contacts(group, hand, hand.max_width - 2 * CLEARANCE):
        score = 1 / (1 + float(np.linalg.norm(contact.middle - com)))
        closing, approach = contact.R[:, 0], -contact.R[:, 2]
        across = _axis(closing).removeprefix("-")
        name = f"{contact.width * 1e3:.0f} mm across {across}, along {_axis(approach)}"
        pose = make_pose(contact.middle, matrix_to_quat(contact.R))
        grasps.append(Grasp(pose, contact.width, score, name))
    return _distinct(GripperShape(C, hand), group, whole, grasps, limit)


def least_width(
    C: Config, obj: FrameName, hand: Hand, *, part: FrameName | None = None
) -> float:
    """Return the least width at which a hand of any opening could hold an object [m].

    Arguments are those of `find_grasps`. Infinite without flat, opposite surfaces.
    """
    group = find_object(C, obj) if part is None else subtree_group(C, part)
    widths = [contact.width for contact in _contacts(group, hand, np.inf)]
    return min(widths, default=np.inf)


class _Contact(NamedTuple):
    """Two pads that touch flat, opposite surfaces of an object, in its frame."""

    middle: Float[np.ndarray, "3"]
    """Point between the contacts."""
    width: float
    """Distance of the contacts [m]."""
    R: Float[np.ndarray, "3 3"]
    """Orientation of the gripper's frame."""


def _contacts(group: FrameGroup, hand: Hand, max_width: float) -> Iterator[_Contact]:
    """Yield contacts of a hand, wherever lines across bodies give any."""
    for origin, closing, approach in _frames(group, _object_lines(group), hand):
        R = np.stack([closing, np.cross(-approach, closing), -approach], -1)
        middle, width = _contact(group, origin, R, max_width)
        if width > 0:
            yield _Contact(middle, width, R)


def _frames(
    group: FrameGroup, lines: list[tuple[np.ndarray, np.ndarray]], hand: Hand
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield origins, closing axes and approach directions of grippers, in the object.

    The palm stays in front of the object: where the object is longer than the fingers,
    they hold it nearer to the palm.
    """
    for origin, closing in lines:
        for approach in _approaches(closing):
            depth = _leaving(group, origin, -approach)
            shift = max(depth - hand.finger_length + PALM_GAP, 0.0)
            yield origin - shift * approach, closing, approach


def _approaches(closing: Float[np.ndarray, "3"]) -> list[np.ndarray]:
    """Return directions across the line of the fingers: along axes and between them."""
    found: list[np.ndarray] = []
    for axis in np.concatenate([np.eye(3), -np.eye(3)]):
        across = axis - closing * (closing @ axis)
        length = np.linalg.norm(across)
        if length > 0.5:
            found.append(across / length)
    first = found[0]
    second = np.cross(closing, first)
    found += [DIAGONAL * (s * first + t * second) for s, t in product((-1, 1), (-1, 1))]
    keys = {tuple(np.round(a, 3) + 0.0): a for a in found}
    return list(keys.values())


def _object_lines(group: FrameGroup) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return points and directions of lines along and across each body, in the object.

    Directions are the axes of each body, and those half-way between two of them.
    """
    lines = []
    for i in group.collision_frames:
        R_frame, p_frame = _pose_in_object(group, i)
        for bodies in frame_bodies(group.C.frames[i]):
            body = bodies.body
            for k in range(len(bodies)):
                half = _half_extents(body.core, k) + body.radius[k]
                if not np.isfinite(half).all():
                    continue
                R, p = R_frame @ body.R[k], R_frame @ body.p[k] + p_frame
                lines += _body_lines(R, p, half)
    return lines


def _body_lines(
    R: Float[np.ndarray, "3 3"], p: Float[np.ndarray, "3"], half: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    lines = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for a, b in product(PLACES, PLACES):
            offset = np.zeros(3)
            offset[u], offset[v] = a * half[u], b * half[v]
            lines.append((p + R @ offset, R[:, axis]))
        for place, sign in product(PLACES, (-1, 1)):
            offset = np.zeros(3)
            offset[axis] = place * half[axis]
            lines.append((p + R @ offset, DIAGONAL * (R[:, u] + sign * R[:, v])))
    return lines


def _half_extents(core: object, k: int) -> Float[np.ndarray, "3"]:
    """Return half of the extents of the box about a core, along its axes."""
    if hasattr(core, "vertices"):
        return np.abs(core.vertices[k]).max(0)
    half = getattr(core, "half", None)
    if half is None:
        return np.full(3, np.inf)
    radii = getattr(core, "radii", None)
    return np.array(half[k]) + (0.0 if radii is None else np.array(radii[k]))


def _contact(
    group: FrameGroup,
    origin: Float[np.ndarray, "3"],
    R: Float[np.ndarray, "3 3"],
    max_width: float,
) -> tuple[Float[np.ndarray, "3"], float]:
    """Return the middle and the width of the contacts of two pads; 0: they do not hold.

    Besides the middle line there are four lines at the edges of the pads. Where the
    surface steps back between them by more than the friction cone, a pad slips.
    """
    closing = R[:, 0]
    edges = PAD_RADIUS * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    points = origin + edges @ R[:, 1:].T
    near, far = _solid_run(group, points, closing)
    width = far[0] - near[0]
    if not (MIN_WIDTH <= width <= max_width and np.isfinite(near + far).all()):
        return origin, 0.0
    steps = np.abs(np.stack([near - near[0], far - far[0]]))
    if steps.max() > FRICTION * PAD_RADIUS:
        return origin, 0.0
    return origin + closing * (near[0] + far[0]) / 2, float(far.max() - near.min())


def _solid_run(
    group: FrameGroup, points: Float[np.ndarray, "n 3"], direction: np.ndarray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return where each line enters and leaves the solid around its point.

    NaN where the point is in none of the bodies.
    """
    enter, leave = _intervals(group, points, direction)
    low, high = np.zeros(len(points)), np.zeros(len(points))
    inside = ((enter <= 0) & (leave >= 0)).any(1)
    for _ in range(enter.shape[1]):
        touches = (enter <= high[:, None] + 1e-6) & (leave >= low[:, None] - 1e-6)
        new_low = np.minimum(low, np.where(touches, enter, np.inf).min(1))
        new_high = np.maximum(high, np.where(touches, leave, -np.inf).max(1))
        if (new_low == low).all() and (new_high == high).all():
            break
        low, high = new_low, new_high
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)


def _leaving(group: FrameGroup, point: np.ndarray, direction: np.ndarray) -> float:
    """Return how far the object reaches from a point in a direction [m]."""
    _, leave = _intervals(group, point[None], direction)
    return max(float(leave.max()), 0.0)


def _intervals(
    group: FrameGroup, points: Float[np.ndarray, "n 3"], direction: np.ndarray
) -> tuple[Float[np.ndarray, "n bodies"], Float[np.ndarray, "n bodies"]]:
    """Return where lines enter and leave all bodies, from points in the object [m]."""
    enters, leaves = [], []
    for i in group.collision_frames:
        R, p = _pose_in_object(group, i)
        directions = np.tile(direction @ R, (len(points), 1))
        found = intersect_lines(group.C.frames[i], (points - p) @ R, directions)
        enters.append(found[0])
        leaves.append(found[1])
    return np.concatenate(enters, 1), np.concatenate(leaves, 1)


def _pose_in_object(group: FrameGroup, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return orientation and origin of a part in the object's frame."""
    R_root, p_root = group.pose(group.frames[0])
    R, p = group.pose(i)
    return R_root.T @ R, R_root.T @ (p - p_root)


def _in_object(
    group: FrameGroup, points: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "n 3"]:
    """Return world points in the object's frame."""
    R, p = group.pose(group.frames[0])
    return (points - p) @ R


def _distinct(
    gripper: "GripperShape",
    group: FrameGroup,
    whole: FrameGroup,
    grasps: list[Grasp],
    limit: int,
) -> list[Grasp]:
    """Return the best grasps whose hand is free of the object, from all sides in turn.

    Each side, a closing axis with an approach, gives its best grasps first.
    """
    sides: dict[tuple[float, ...], list[Grasp]] = {}
    unique = {tuple(np.round(g.pose, 4) + 0.0): g for g in grasps}
    for grasp in sorted(unique.values(), key=lambda g: -g.score):
        side = tuple(np.round(np.abs(grasp.pose[3:]), 2).tolist())
        sides.setdefault(side, []).append(grasp)
    rounds = max(map(len, sides.values()), default=0)
    found: list[Grasp] = []
    for k in range(rounds):
        for ranked in sides.values():
            if len(found) == limit or k >= len(ranked):
                continue
            if gripper.is_free(group, whole, ranked[k]):
                found.append(ranked[k])
    return sorted(found, key=lambda g: -g.score)


class GripperShape:
    """The shapes of a gripper, relative to its frame."""

    def __init__(self, C: Config, hand: Hand) -> None:
        self.C, self.hand = C.copy(), hand
        fingers = {C.index(name) for name in hand.fingers}
        below = subtree_indices(C.tree, C.index(hand.link))
        rest = subtree_indices(C.tree, C.index(hand.link), fingers)
        self.frames = [
            i for i in sorted(below) if any(g.collision for g in C.frames[i].geometries)
        ]
        self.is_finger = [i not in rest for i in self.frames]

    def is_free(self, group: FrameGroup, whole: FrameGroup, grasp: Grasp) -> bool:
        """Return whether the open gripper touches the whole object nowhere.

        Args:
            group: what is held.
            whole: the object that it is a part of.
            grasp: a pose in the first frame of the group.
        """
        C = self.C
        C.set_joint(self.hand.joint, self.hand.joint_value(grasp.width + 2 * CLEARANCE))
        root = group.C.pose(group.frames[0])
        to_world = pose_multiply(
            pose_multiply(root, grasp.pose), pose_inverse(self.hand.pose(C))
        )
        parts: list[PosedFrame] = []
        for i in self.frames:
            pose = pose_multiply(to_world, C.pose(i))
            parts.append((C.frames[i], quat_to_matrix(pose[3:]), pose[:3]))
        others = [(whole.C.frames[i], *whole.pose(i)) for i in whole.collision_frames]
        return min_distance(parts, others, CLEARANCE / 4) is None


def _axis(direction: Float[np.ndarray, "3"]) -> str:
    """Return the object's axis that a direction is nearest to, such as "-z"."""
    k = int(np.abs(direction).argmax())
    return ("-" if direction[k] < 0 else "") + "xyz"[k]

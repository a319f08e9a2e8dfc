"""Groups of frames, such as objects: bounding boxes, masses, ray hits, distances."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.contact.bounding_boxes import body_boxes, body_volumes
from posewise.robots.contact.gjk_numpy import PosedFrame, Separation, min_distance
from posewise.robots.contact.pose_batches import distances_at_poses
from posewise.robots.contact.proximity import nearest_contacts
from posewise.robots.contact.ray_casting import ray_hits
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import FrameName

OVERLAP_TOLERANCE = 1e-6
"""Distance up to which parts count as overlapping when their contact is sought [m];
those that are farther apart have none."""


@dataclass(frozen=True, eq=False)
class FrameGroup:
    """Some frames of a world under one name, usually those of an object."""

    C: Config
    name: str
    frames: tuple[int, ...]
    """Indices of the frames, the root first."""

    @cached_property
    def collision_frames(self) -> tuple[int, ...]:
        """The frames that have shapes for collision."""
        return tuple(i for i in self.frames if has_collision_shape(self.C, i))

    def pose(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Return orientation (3, 3) and origin (3,) of a frame in the world."""
        poses = self.C.forward_pass().frames
        return poses.R[frame], poses.p[frame]

    def pose_in_root(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Return orientation (3, 3) and origin (3,) of a frame in the first one."""
        R_root, p_root = self.pose(self.frames[0])
        R, p = self.pose(frame)
        return R_root.T @ R, R_root.T @ (p - p_root)


def has_collision_shape(C: Config, frame: int) -> bool:
    """Return whether a frame has a shape for collision."""
    return any(g.collision for g in C.frames[frame].geometries)


def find_object(C: Config, name: FrameName, *others: FrameName) -> FrameGroup:
    """Return an object with all its parts, or a single frame.

    Parts are the frames attached below the object's root, without other objects and
    without the subtrees of the other frames that a predicate names.

    Args:
        C: the world.
        name: of an object or frame.
        *others: names that the predicate uses besides.

    Raises:
        ConfigError: for an unknown name, with near matches.
    """
    known = [*C.objects, *C.frame_names]
    if name not in known:
        if name == "world":
            raise ConfigError("'world' is the origin, not an object; name an object.")
        raise ConfigError(unknown_name("object or frame", name, known))
    if name not in C.objects:
        return FrameGroup(C, name, (C.index(name),))
    cut = _frame_indices(C, (*C.objects, *others))
    return FrameGroup(C, name, subtree(C, C.index(name), cut))


def subtree_group(C: Config, frame: FrameName) -> FrameGroup:
    """Return a frame with everything attached below it, without other objects."""
    cut = _frame_indices(C, C.objects)
    return FrameGroup(C, frame, subtree(C, C.index(frame), cut))


def _frame_indices(C: Config, names: Iterable[str]) -> set[int]:
    """Return the indices of the names that are frames."""
    first = {C.frames[i].name: i for i in reversed(range(len(C.frames)))}
    return {first[name] for name in names if name in first}


def subtree(C: Config, root: int, cut: Collection[int] = ()) -> tuple[int, ...]:
    """Return a frame and all frames below it, without the subtrees of `cut`."""
    children: dict[int | None, list[int]] = {}
    for i, frame in enumerate(C.frames):
        children.setdefault(frame.parent, []).append(i)
    frames = [root]
    for i in frames:
        frames += [j for j in children.get(i, ()) if j not in cut]
    return tuple(frames)


def require_shapes(group: FrameGroup) -> FrameGroup:
    """Return the group after checking that it has a shape.

    Raises:
        ConfigError: when it has no shape at all, so that nothing can touch it.
    """
    frames = group.collision_frames
    if not frames and not any(group.C.frames[i].geometries for i in group.frames):
        C = group.C
        shaped = [x for x in C.subtree(group.name) if C.frame(x).geometries]
        among = (
            f" Frames that are attached to it, such as {shaped[0]!r}, are other"
            " objects: C.add_object makes one object of several shapes."
            if shaped
            else ""
        )
        raise ConfigError(
            f"{group.name!r} has no shape; give it one, e.g."
            f" C.set_shape({group.name!r}, Box([.1, .1, .1])).{among}"
        )
    return group


def part_boxes(
    group: FrameGroup, axes: Float[np.ndarray, "3 3"] | None = None
) -> tuple[Float[np.ndarray, "parts 3"], Float[np.ndarray, "parts 3"]]:
    """Return lower and upper corners of the bounding boxes of all convex parts.

    Args:
        group: frames with shapes.
        axes: orientation of the boxes in the world; None: the world's axes.
    """
    R_axes = np.eye(3) if axes is None else axes.T
    frames = group.collision_frames or group.frames[:1]
    corners = []
    for i in frames:
        R, p = group.pose(i)
        corners.append(body_boxes(group.C.frames[i], R_axes @ R, R_axes @ p))
    low, high = (np.concatenate(x) for x in zip(*corners, strict=True))
    return low, high


def bounding_box(
    group: FrameGroup, axes: Float[np.ndarray, "3 3"] | None = None
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Return the corners of the tight bounding box; see `part_boxes`."""
    low, high = part_boxes(group, axes)
    return low.min(0), high.max(0)


def region_around(
    C: Config,
    name: FrameName,
    other: FrameName,
    low: float | Float[np.ndarray, "3"] = 0.0,
    high: float | Float[np.ndarray, "3"] = 0.0,
) -> Float[np.ndarray, "2 3"] | None:
    """Return another object's bounding box, enlarged by the size of the named object.

    Args:
        C: the world.
        name: the object whose origin is to be sampled.
        other: the object around which it is sampled.
        low: added to the lower corner, in sizes of the named object.
        high: added to the upper corner, in sizes of the named object.

    Returns:
        Lower and upper corner; None when one is infinite.
    """
    box = np.array(bounding_box(find_object(C, other, name)))
    extent = np.ptp(bounding_box(find_object(C, name, other)), axis=0)
    box += np.array([low * extent, high * extent])
    return box if np.isfinite(box).all() else None


def centre_of_mass(
    group: FrameGroup, root_only: bool = False
) -> Float[np.ndarray, "3"]:
    """Return the centre of mass in the world [m].

    The centre of a frame is its `com`; without one, the centroid of its shapes at
    uniform density; without shapes, its origin. Frames are weighted by their masses, or
    by their volumes when no frame has a mass.

    Args:
        group: the frames.
        root_only: only the root frame counts, as in iGibson.
    """
    fractions, points = mass_fractions(group, root_only)
    poses = [group.pose(i) for i in group.frames[: len(fractions)]]
    centres = [R @ x + p for (R, p), x in zip(poses, points, strict=True)]
    return fractions @ np.array(centres)


def centres_of_mass_at(
    group: FrameGroup, poses: Float[np.ndarray, "n 7"], root_only: bool = False
) -> Float[np.ndarray, "n 3"]:
    """Return the centres of mass for given poses of the root frame [m]."""
    R, p = group.pose(group.frames[0])
    p_root_com = R.T @ (centre_of_mass(group, root_only) - p)
    return poses[:, :3] + quat_to_matrix(poses[:, 3:]) @ p_root_com


def mass_fractions(
    group: FrameGroup, root_only: bool = False
) -> tuple[Float[np.ndarray, " frames"], Float[np.ndarray, "frames 3"]]:
    """Return each frame's fraction of the mass, and its centre in the frame.

    `centre_of_mass` is the mean of the centres, weighted by the fractions.
    """
    frames = group.frames[:1] if root_only else group.frames
    masses = [_frame_mass(group, i) for i in frames]
    points = np.array([centre for *_, centre in masses])
    has_shape = np.array([float(has_collision_shape(group.C, i)) for i in frames])
    root = np.eye(len(frames))[0]
    # Masses, then volumes, then equal weights of frames with shapes: the first that
    # are not all zero.
    for weights in (*np.array([f[:2] for f in masses]).T, has_shape, root):
        if weights.sum() > 0:
            return weights / weights.sum(), points
    return root, points


def _frame_mass(group: FrameGroup, i: int) -> tuple[float, float, np.ndarray]:
    """Return mass (0: unknown), volume, and centre in the frame."""
    frame = group.C.frames[i]
    volume, centre = 0.0, np.zeros(3)
    if has_collision_shape(group.C, i):
        parts, centres = body_volumes(frame)
        volume = float(parts.sum())
        bounded = np.isfinite(centres).all(-1)
        centre = parts @ centres / volume if volume > 0 else centres[bounded].mean(0)
    if frame.com is not None:
        centre = np.asarray(frame.com, float)
    return frame.mass or 0.0, volume, centre


def first_hits(
    group: FrameGroup,
    origin: Float[np.ndarray, "#rays 3"],
    directions: Float[np.ndarray, "rays 3"],
) -> Float[np.ndarray, " rays"]:
    """Return how far rays go until they enter a convex part; inf for a miss.

    Distances are in lengths of the directions. A part in which a ray starts is ignored.
    """
    nearest = np.full(len(directions), np.inf)
    for i in group.collision_frames:
        R, p = group.pose(i)
        start = np.broadcast_to((origin - p) @ R, directions.shape)
        hit = ray_hits(group.C.frames[i], start, directions @ R)
        nearest = np.minimum(nearest, hit.min(-1))
    return nearest


def are_within(a: FrameGroup, b: FrameGroup, distance: float) -> bool:
    """Return whether the closest points of two groups are within a distance [m]."""
    return min_distance(posed_frames(a), posed_frames(b), distance) is not None


def are_within_at(
    a: FrameGroup, poses: Float[np.ndarray, "n 7"], b: FrameGroup, distance: float
) -> Bool[np.ndarray, " n"]:
    """Return whether two groups are within a distance [m], at poses of a's root."""
    parts = [a.pose_in_root(i) for i in a.collision_frames]
    R_parts, p_parts = (np.array(x) for x in zip(*parts, strict=True))
    R_root = quat_to_matrix(poses[:, 3:])[:, None]
    p = (R_root @ p_parts[..., None])[..., 0] + poses[:, None, :3]
    frames = [a.C.frames[i] for i in a.collision_frames]
    near = distances_at_poses(frames, R_root @ R_parts, p, posed_frames(b), distance)
    return np.isfinite(near)


def closest_separation(a: FrameGroup, b: FrameGroup) -> Separation:
    """Return the distance, 0 for overlapping groups, and the normal from b to a.

    Raises:
        ConfigError: when one has no shape, or both consist of half-spaces.
    """
    separation = min_distance(posed_frames(a), posed_frames(b))
    if separation is None:
        raise ConfigError(
            f"{a.name!r} and {b.name!r} are half-spaces, which have no distance."
        )
    return separation


def penetration_bound(a: FrameGroup, b: FrameGroup) -> float:
    """Return an upper bound of the penetration depth, from boxes of the parts [m]."""
    (low_a, high_a), (low_b, high_b) = part_boxes(a), part_boxes(b)
    shared = np.minimum(high_a[:, None] - low_b, high_b - low_a[:, None]).min(-1)
    return max(float(shared.max()), 0.0)


def contact_normal(a: FrameGroup, b: FrameGroup) -> Float[np.ndarray, "3"]:
    """Return the unit normal from b to a of two touching groups.

    For overlapping groups, the normal is that of the deepest contact that the narrow
    phase of collision detection finds.
    """
    separation = closest_separation(a, b)
    if separation.distance > 0:
        return separation.normal
    sides = [x.collision_frames or x.frames[:1] for x in (a, b)]
    pairs = [(i, j) for i in sides[0] for j in sides[1]]
    contacts = nearest_contacts(a.C.tree, pairs, OVERLAP_TOLERANCE)
    if not contacts:
        return separation.normal
    deepest = min(contacts.values(), key=lambda c: float(c.distance))
    return np.asarray(deepest.normal, float)


def posed_frames(group: FrameGroup) -> list[PosedFrame]:
    """Return the frames with shapes and their poses; a Marker counts as a point."""
    C = require_shapes(group).C
    frames = group.collision_frames or [
        i for i in group.frames if C.frames[i].geometries
    ]
    return [(C.frames[i], *group.pose(i)) for i in frames]

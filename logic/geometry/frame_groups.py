"""What predicates ask of the things they name: extents, masses, hits, distances."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.gjk_numpy import PosedFrame, Separation, min_distance
from posewise.robots.contact.proximity import nearest_contacts
from posewise.robots.contact.ray_casting import ray_hits
from posewise.robots.errors import ConfigError, unknown_name
from posewise.robots.geometry.bounding_boxes import body_boxes, body_volumes
from posewise.robots.kinematics.transforms import quat_to_matrix

OVERLAP_TOLERANCE = 1e-6
"""Gap that counts as none when overlapping parts are looked up [m]."""


@dataclass(frozen=True, eq=False)
class FrameGroup:
    """A thing as predicates see it: some frames of a world, where they stand."""

    C: Config
    name: str
    frames: tuple[int, ...]
    """Indices of its frames, the root first."""

    @cached_property
    def collision_frames(self) -> tuple[int, ...]:
        """Those with shapes for collision."""
        return tuple(i for i in self.frames if has_collision_shape(self.C, i))

    def pose(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Orientation and origin of a frame in the world."""
        poses = self.C.forward_pass().frames
        return poses.R[frame], poses.p[frame]


def has_collision_shape(C: Config, frame: int) -> bool:
    """Whether a frame has a shape for collision."""
    return any(g.collision for g in C.frames[frame].geometries)


def find_object(C: Config, name: str, *others: str) -> FrameGroup:
    """An object with all its parts, or a frame alone.

    Parts are what hangs on the object's root, but neither other objects nor the other
    things a predicate names.

    Raises:
        ConfigError: for an unknown name, with near matches.
    """
    known = [*C.objects, *C.frame_names]
    if name not in known:
        if name == "world":
            raise ConfigError("'world' is the origin and no thing; name an object.")
        raise ConfigError(unknown_name("object or frame", name, known))
    if name not in C.objects:
        return FrameGroup(C, name, (C.index(name),))
    cut = _frame_indices(C, (*C.objects, *others))
    return FrameGroup(C, name, subtree(C, C.index(name), cut))


def subtree_group(C: Config, frame: str) -> FrameGroup:
    """A frame with all that hangs on it, but no other object."""
    return FrameGroup(
        C, frame, subtree(C, C.index(frame), _frame_indices(C, C.objects))
    )


def _frame_indices(C: Config, names: Iterable[str]) -> set[int]:
    """Indices of those frames that there are."""
    first = {C.frames[i].name: i for i in reversed(range(len(C.frames)))}
    return {first[name] for name in names if name in first}


def subtree(C: Config, root: int, cut: Any = ()) -> tuple[int, ...]:
    """A frame and all that hangs on it, but for what hangs on the frames in `cut`."""
    children: dict[int | None, list[int]] = {}
    for i, frame in enumerate(C.frames):
        children.setdefault(frame.parent, []).append(i)
    found = [root]
    for i in found:
        found += [j for j in children.get(i, ()) if j not in cut]
    return tuple(found)


def require_shapes(thing: FrameGroup) -> FrameGroup:
    """The thing itself.

    Raises:
        ConfigError: when it has no shape at all, so that nothing can meet it.
    """
    frames = thing.collision_frames
    if not frames and not any(thing.C.frames[i].geometries for i in thing.frames):
        raise ConfigError(
            f"{thing.name!r} has no shape; give it one, e.g."
            f" C.set_shape({thing.name!r}, Box([.1, .1, .1]))."
        )
    return thing


def part_boxes(
    thing: FrameGroup, axes: Float[np.ndarray, "3 3"] | None = None
) -> tuple[Float[np.ndarray, "parts 3"], Float[np.ndarray, "parts 3"]]:
    """Corners of the boxes about its convex parts.

    Args:
        thing: with shapes.
        axes: orientation of the boxes in the world; None: the world's.
    """
    turn = np.eye(3) if axes is None else axes.T
    frames = thing.collision_frames or thing.frames[:1]
    parts = []
    for i in frames:
        R, p = thing.pose(i)
        parts.append(body_boxes(thing.C.frames[i], turn @ R, turn @ p))
    low, high = (np.concatenate(x) for x in zip(*parts, strict=True))
    return low, high


def bounding_box(
    thing: FrameGroup, axes: Float[np.ndarray, "3 3"] | None = None
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Corners of the tight box about it; see `part_boxes`."""
    low, high = part_boxes(thing, axes)
    return low.min(0), high.max(0)


def region_around(
    C: Config, name: str, other: str, low: Any = 0.0, high: Any = 0.0
) -> Float[np.ndarray, "2 3"] | None:
    """The other thing's bounding box, wider by the size of the named one.

    Args:
        C: the world.
        name: whose origin is looked for.
        other: about what.
        low: added to the lower corner, in sizes of the named thing.
        high: added to the upper corner.
    """
    box = np.array(bounding_box(find_object(C, other, name)))
    extent = np.ptp(bounding_box(find_object(C, name, other)), axis=0)
    box += np.array([low * extent, high * extent])
    return box if np.isfinite(box).all() else None


def centre_of_mass(thing: FrameGroup, root: bool = False) -> Float[np.ndarray, "3"]:
    """Centre of mass in the world [m].

    Of each frame its own (`com`), else the centroid of its shapes at uniform density,
    else its origin. Frames weigh their masses; where none has any, their volumes.

    Args:
        thing: whose frames count.
        root: only its root frame counts, as iGibson has it.
    """
    shares, points = mass_fractions(thing, root)
    frames = thing.frames[: len(shares)]
    poses = [thing.pose(i) for i in frames]
    places = [R @ x + p for (R, p), x in zip(poses, points, strict=True)]
    return shares @ np.array(places)


def centres_of_mass_at(
    thing: FrameGroup, poses: Float[np.ndarray, "n 7"], root: bool = False
) -> Float[np.ndarray, "n 3"]:
    """Where its centre of mass is when its root frame is at some poses [m]."""
    R, p = thing.pose(thing.frames[0])
    own = R.T @ (centre_of_mass(thing, root) - p)
    return poses[:, :3] + quat_to_matrix(poses[:, 3:]) @ own


def mass_fractions(
    thing: FrameGroup, root: bool = False
) -> tuple[Float[np.ndarray, " frames"], Float[np.ndarray, "frames 3"]]:
    """Each frame's share of the mass, and its centre in the frame.

    See `centre_of_mass`, which is their mean.
    """
    frames = thing.frames[:1] if root else thing.frames
    found = [_frame_mass(thing, i) for i in frames]
    points = np.array([centre for *_, centre in found])
    solid = np.array([float(has_collision_shape(thing.C, i)) for i in frames])
    first = np.eye(len(frames))[0]
    for weights in (*np.array([f[:2] for f in found]).T, solid, first):
        if weights.sum() > 0:
            return weights / weights.sum(), points
    return first, points


def _frame_mass(thing: FrameGroup, i: int) -> tuple[float, float, np.ndarray]:
    """Mass (0: unknown), volume, and centre in the frame."""
    frame = thing.C.frames[i]
    volume, centre = 0.0, np.zeros(3)
    if has_collision_shape(thing.C, i):
        parts, centres = body_volumes(frame)
        volume = float(parts.sum())
        bounded = np.isfinite(centres).all(-1)
        centre = parts @ centres / volume if volume > 0 else centres[bounded].mean(0)
    if frame.com is not None:
        centre = np.asarray(frame.com, float)
    return frame.mass or 0.0, volume, centre


def first_hits(
    thing: FrameGroup,
    origin: Float[np.ndarray, "#rays 3"],
    directions: Float[np.ndarray, "rays 3"],
) -> Float[np.ndarray, " rays"]:
    """How far rays go until they enter a convex part of the thing; inf: never.

    A part that a ray starts in does not count. In lengths of the directions.
    """
    nearest = np.full(len(directions), np.inf)
    for i in thing.collision_frames:
        R, p = thing.pose(i)
        start = np.broadcast_to((origin - p) @ R, directions.shape)
        hit = ray_hits(thing.C.frames[i], start, directions @ R)
        nearest = np.minimum(nearest, hit.min(-1))
    return nearest


def are_within(a: FrameGroup, b: FrameGroup, distance: float) -> bool:
    """Whether the nearest points of two things are no farther apart than that [m]."""
    return min_distance(_posed_frames(a), _posed_frames(b), distance) is not None


def closest_separation(a: FrameGroup, b: FrameGroup) -> Separation:
    """The gap between two things, 0 where they overlap, and the normal from b to a.

    Raises:
        ConfigError: when one has no shape, or both are half-spaces only.
    """
    gap = min_distance(_posed_frames(a), _posed_frames(b))
    if gap is None:
        raise ConfigError(
            f"{a.name!r} and {b.name!r} are half-spaces, which have no distance."
        )
    return gap


def penetration_bound(a: FrameGroup, b: FrameGroup) -> float:
    """What the depth of overlapping things is at most, by boxes about parts [m]."""
    (low_a, high_a), (low_b, high_b) = part_boxes(a), part_boxes(b)
    shared = np.minimum(high_a[:, None] - low_b, high_b - low_a[:, None]).min(-1)
    return max(float(shared.max()), 0.0)


def contact_normal(a: FrameGroup, b: FrameGroup) -> Float[np.ndarray, "3"]:
    """The unit normal from b to a of two things that touch, where they are deepest.

    Of overlapping things by the narrow phase that collisions use.
    """
    gap = closest_separation(a, b)
    if gap.distance > 0:
        return gap.normal
    sides = [x.collision_frames or x.frames[:1] for x in (a, b)]
    pairs = [(i, j) for i in sides[0] for j in sides[1]]
    found = nearest_contacts(a.C.tree, pairs, OVERLAP_TOLERANCE)
    if not found:
        return gap.normal
    deepest = min(found.values(), key=lambda c: float(c.distance))
    return np.asarray(deepest.normal, float)


def _posed_frames(thing: FrameGroup) -> list[PosedFrame]:
    """Its frames with shapes; a Marker is a point."""
    C = require_shapes(thing).C
    frames = thing.collision_frames or [
        i for i in thing.frames if C.frames[i].geometries
    ]
    return [(C.frames[i], *thing.pose(i)) for i in frames]

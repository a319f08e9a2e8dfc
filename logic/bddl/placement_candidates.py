"""Candidate placements of an object: free poses in which it rests on a surface."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.config.posed_frames import posed_frames
from posewise.robots.contact.gjk_numpy import PosedFrame
from posewise.robots.contact.pose_batches import distances_at_poses
from posewise.robots.kinematics.transforms import (
    axis_angle_to_quat,
    quat_multiply,
    quat_to_matrix,
)

from ..exact.contact import CONTACT_TOLERANCE
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import (
    centre_of_mass,
    find_object,
    has_collision_shape,
    subtree,
)
from ..planning.dnf_search import object_names
from ..predicates.attachment import Attached
from ..predicates.contact import InContactWith
from ..predicates.next_to import NextTo
from .aabb_queries import (
    AxisAlignedBoxes,
    box_distances,
    is_free,
    is_level,
    rotated_boxes,
    world_boxes,
)
from .support_surfaces import (
    NEIGHBOUR_REACH,
    RESTING_GAP,
    SupportSurfaces,
    find_support_surfaces,
    sample_points,
)

YAW_ANGLES = (0.0, np.pi / 2, np.pi, -np.pi / 2)
"""Rotations about the vertical, from the present orientation [rad]."""
NEIGHBOUR_CLEARANCE = 2e-3
"""Distance between neighbours that are not to touch [m]; farther ones are next to each
other less often."""
POINTS_PER_SURFACE = 60
"""Number of points sampled on each surface; more find tighter places, slower."""
MAX_EXACT_CHECKS = 40
"""Number of free points checked exactly, for each orientation; more find a rare place
more often, and take longer where there is none."""
MAX_DROP_STEPS = 20
"""Number of steps down until an object rests on a surface that is not flat."""
UP = np.array([0.0, 0.0, 1.0])
"""The vertical in the world."""


def solid_frames(C: Config, names: Iterable[str]) -> list[int]:
    """Return the indices of frames with collision shapes of objects."""
    frames = (i for name in names for i in find_object(C, name).frames)
    return [i for i in frames if has_collision_shape(C, i)]


@dataclass(frozen=True, eq=False)
class _Orientation:
    """An object in one orientation, its origin at zero."""

    quaternion: Float[np.ndarray, "4"]
    parts: list[PosedFrame]
    own_boxes: AxisAlignedBoxes
    """Boxes about the object's parts."""
    all_boxes: AxisAlignedBoxes
    """Boxes about the parts of the object and of those that it carries."""
    surfaces: SupportSurfaces
    """Surfaces clipped to where the object's centre may be."""

    @property
    def base_center(self) -> Float[np.ndarray, "3"]:
        """Center of the lower face of the box about the object [m]."""
        low, high = self.own_boxes.bounds
        return np.array([*(low + high)[:2] / 2, low[2]])

    @property
    def size(self) -> Float[np.ndarray, "3"]:
        """Edges of the box about the object [m]."""
        low, high = self.own_boxes.bounds
        return high - low


@dataclass(frozen=True, eq=False)
class _Neighbour:
    """An object next to which another one is to be placed."""

    boxes: AxisAlignedBoxes
    center_height: float
    """Height of its centre of mass [m]."""
    center_offset: float
    """Height of the other one's centre of mass above its origin [m]."""

    def is_near(
        self, origins: Float[np.ndarray, "n 3"], orientation: _Orientation
    ) -> Bool[np.ndarray, " n"]:
        """Return at which origins an object is near and level, as far as boxes say."""
        edges = [*orientation.size, *np.ptp(self.boxes.bounds, axis=0)]
        reach = NEIGHBOUR_REACH * np.mean(edges)
        near = box_distances(origins, orientation.own_boxes, self.boxes) <= reach
        return near & is_level(
            origins,
            orientation.own_boxes,
            self.center_offset,
            self.boxes,
            self.center_height,
        )


@dataclass(frozen=True, eq=False)
class PlacementCandidates:
    """An object to place, and the objects that are not in its way."""

    C: Config
    name: str
    """Name of the object."""
    carried: tuple[str, ...]
    """Names of the objects that move with it."""
    ignored: tuple[str, ...]
    """Names of the objects that are not there yet."""

    @cached_property
    def obstacles(self) -> AxisAlignedBoxes:
        """Boxes about all objects that may be in the way."""
        C = self.C
        absent = (self.name, *self.carried, *self.ignored)
        return world_boxes(C, {i for x in absent for i in subtree(C, C.index(x))})

    def poses(
        self,
        literals: Sequence[Predicate],
        rng: np.random.Generator,
        prefer_adjacent: bool,
    ) -> Iterator[Float[np.ndarray, "7"]]:
        """Yield poses in which the object and its load are free, and it rests.

        The object may be moved between one pose and the next.

        Args:
            literals: that are to hold; poses that boxes rule out are left out.
            rng: of the points.
            prefer_adjacent: whether poses beside other objects come first.
        """
        touches = any(isinstance(p, InContactWith) for p in literals)
        gap = RESTING_GAP if touches else NEIGHBOUR_CLEARANCE
        neighbours = list(self._neighbours(literals))
        orientations = [self._orientation(literals, yaw) for yaw in YAW_ANGLES]
        possible = [o for o in orientations if len(o.surfaces.z)]
        close = touches or any(isinstance(p, Attached) for p in literals)
        passes = (True, False) if prefer_adjacent or close else (False, True)
        for adjacent in passes:
            for k in rng.permutation(len(possible)):
                yield from self._free_poses(possible[k], neighbours, gap, adjacent, rng)

    def _orientation(self, literals: Sequence[Predicate], yaw: float) -> _Orientation:
        """Return the object rotated about the vertical."""
        C, root = self.C, self.C.index(self.name)
        parts = solid_frames(C, [self.name])
        rotation, pose = axis_angle_to_quat(UP, yaw), C.pose(self.name)
        R = quat_to_matrix(rotation)
        own_boxes = rotated_boxes(C, parts, root, R)
        load = solid_frames(C, self.carried)
        size = np.ptp(own_boxes.bounds, axis=0)
        return _Orientation(
            quaternion=quat_multiply(rotation, pose[3:]),
            parts=[
                (f, R @ R_f, R @ (p - pose[:3])) for f, R_f, p in posed_frames(C, parts)
            ],
            own_boxes=own_boxes,
            all_boxes=rotated_boxes(C, [*parts, *load], root, R),
            surfaces=find_support_surfaces(
                C, self.name, literals, size, self.obstacles
            ),
        )

    def _free_poses(
        self,
        orientation: _Orientation,
        neighbours: Sequence[_Neighbour],
        gap: float,
        adjacent: bool,
        rng: np.random.Generator,
    ) -> Iterator[Float[np.ndarray, "7"]]:
        """Yield free poses in one orientation.

        Args:
            orientation: of the object.
            neighbours: that it has to be next to.
            gap: between neighbours [m].
            adjacent: whether poses are beside other objects and rims.
            rng: of the points.
        """
        points, supports = sample_points(
            orientation.surfaces,
            orientation.size,
            self.obstacles,
            gap,
            adjacent,
            4 * POINTS_PER_SURFACE if adjacent else POINTS_PER_SURFACE,
            rng,
        )
        origins = points - orientation.base_center
        # Boxes rule out most points before the exact test.
        free = is_free(origins, orientation.all_boxes, self.obstacles, gap / 2)
        for neighbour in neighbours:
            free &= neighbour.is_near(origins, orientation)
        chosen = rng.permutation(np.flatnonzero(free))[:MAX_EXACT_CHECKS]
        # Who is content with the first pose does not wait for the others.
        for rows in (chosen[:1], chosen[1:]):
            drops = self._drop_heights(
                orientation.parts, origins[rows], [supports[k] for k in rows]
            )
            for k, drop in zip(rows, drops, strict=True):
                if np.isnan(drop):
                    continue
                origin = origins[k] - drop * UP
                # On its way down it may have come among others, e.g. into a basin.
                others = self._obstacles_besides(supports[k])
                if is_free(origin[None], orientation.all_boxes, others, gap / 2).all():
                    yield np.array([*origin, *orientation.quaternion])

    def _obstacles_besides(self, owner: str) -> AxisAlignedBoxes:
        """Return the boxes about all obstacles except one object."""
        owners = self.obstacles.owners
        return self.obstacles.select([k for k, o in enumerate(owners) if o != owner])

    def _neighbours(self, literals: Sequence[Predicate]) -> Iterator[_Neighbour]:
        """Yield the objects that it is to be next to, except those it carries."""
        for literal in literals:
            if isinstance(literal, NextTo):
                (other,) = set(object_names(literal)) - {self.name}
                boxes = self.obstacles.owned_by(other)
                if not boxes.owners:
                    continue
                # iGibson's semantics measures from the root frame alone.
                root_only = literal.semantics == "igibson"
                centre, height = (
                    float(centre_of_mass(find_object(self.C, *names), root_only)[2])
                    for names in ((self.name, other), (other, self.name))
                )
                offset = centre - self.C.pose(self.name)[2]
                yield _Neighbour(boxes, height, offset)

    def _drop_heights(
        self,
        parts: Sequence[PosedFrame],
        origins: Float[np.ndarray, "n 3"],
        supports: Sequence[str],
    ) -> Float[np.ndarray, " n"]:
        """Return the heights by which parts fall from origins until they rest [m].

        NaN where they overlap the support, or do not come to rest on it.
        """
        drops = np.full(len(origins), np.nan)
        for support in dict.fromkeys(supports):
            below = posed_frames(self.C, solid_frames(self.C, [support]))
            rows = [k for k, name in enumerate(supports) if name == support]
            drops[rows] = _drops_onto(below, parts, origins[rows])
        return drops


def _drops_onto(
    below: Sequence[PosedFrame],
    parts: Sequence[PosedFrame],
    origins: Float[np.ndarray, "n 3"],
) -> Float[np.ndarray, " n"]:
    """Return the heights by which parts fall from origins onto a support [m].

    Conservative advancement: parts are lowered by the distance to the support, which
    they cannot pass, until they are in contact. NaN where they never are.
    """
    frames, R, p = zip(*parts, strict=True)
    drops, resting = np.zeros(len(origins)), np.full(len(origins), np.nan)
    falling = np.arange(len(origins))
    for _ in range(MAX_DROP_STEPS):
        lowered = origins[falling] - drops[falling, None] * UP
        distance = distances_at_poses(
            frames,
            np.broadcast_to(R, (len(falling), len(frames), 3, 3)),
            lowered[:, None] + np.array(p),
            below,
        )
        rests = (distance > 0) & (distance <= CONTACT_TOLERANCE / 2)
        resting[falling[rests]] = drops[falling[rests]]
        falls = (distance > CONTACT_TOLERANCE / 2) & np.isfinite(distance)
        falling = falling[falls]
        if not len(falling):
            break
        drops[falling] += distance[falls] - RESTING_GAP
    return resting

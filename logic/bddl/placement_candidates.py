"""Free spots of a thing: poses in which it meets nothing and rests on something."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.contact.gjk_numpy import PosedFrame, min_distance
from posewise.robots.kinematics.transforms import (
    axis_angle_to_quat,
    quat_multiply,
    quat_to_matrix,
)

from ..exact.contact import CONTACT_TOLERANCE, InContactWith
from ..exact.next_to import NextTo
from ..formulas.predicate import Predicate
from ..geometry.frame_groups import (
    centre_of_mass,
    find_object,
    has_collision_shape,
    subtree,
)
from ..planning.dnf_search import object_names
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
"""About the vertical, from how a thing stands now [rad]."""
NEIGHBOUR_CLEARANCE = 2e-3
"""Between neighbours that are not to touch [m]."""
POINTS_PER_SURFACE = 60
"""So many points are drawn for each top."""
MAX_EXACT_CHECKS = 40
"""So many free spots are checked exactly, for each turn."""
MAX_DROP_STEPS = 20
"""Steps down until a thing rests on what is not flat."""
UP = np.array([0.0, 0.0, 1.0])


def solid_frames(C: Config, names: Iterable[str]) -> list[int]:
    """Frames with shapes of things."""
    return [
        i
        for name in names
        for i in find_object(C, name).frames
        if has_collision_shape(C, i)
    ]


def posed_frames(C: Config, frames: Sequence[int]) -> list[PosedFrame]:
    """Frames where they are."""
    poses = C.forward_pass().frames
    return [(C.frames[i], poses.R[i], poses.p[i]) for i in frames]


@dataclass(frozen=True, eq=False)
class _Orientation:
    """A thing in one orientation, its origin at zero."""

    quaternion: Float[np.ndarray, "4"]
    parts: list[PosedFrame]
    own_boxes: AxisAlignedBoxes
    """About its parts."""
    all_boxes: AxisAlignedBoxes
    """About these and its riders'."""
    surfaces: SupportSurfaces
    """Where its middle may be."""

    @property
    def base_center(self) -> Float[np.ndarray, "3"]:
        """The middle of its lower side."""
        low, high = self.own_boxes.bounds
        return np.array([*(low + high)[:2] / 2, low[2]])

    @property
    def size(self) -> Float[np.ndarray, "3"]:
        """Edges of the box about it [m]."""
        low, high = self.own_boxes.bounds
        return high - low


@dataclass(frozen=True, eq=False)
class _Neighbour:
    """What a mover is to be next to."""

    boxes: AxisAlignedBoxes
    center_height: float
    """Of its centre of mass [m]."""
    center_offset: float
    """How far the mover's centre of mass is above its origin [m]."""

    def is_near(
        self, origins: Float[np.ndarray, "n 3"], stance: _Orientation
    ) -> Bool[np.ndarray, " n"]:
        """Where the mover is near it, and at its height, as boxes tell."""
        reach = NEIGHBOUR_REACH * np.mean(
            [*stance.size, *np.ptp(self.boxes.bounds, axis=0)]
        )
        close = box_distances(origins, stance.own_boxes, self.boxes) <= reach
        return close & is_level(
            origins,
            stance.own_boxes,
            self.center_offset,
            self.boxes,
            self.center_height,
        )


@dataclass(frozen=True, eq=False)
class PlacementCandidates:
    """A thing to be placed, and what does not stand in its way."""

    C: Config
    name: str
    carried: tuple[str, ...]
    """What it carries."""
    ignored: tuple[str, ...]
    """What does not count."""

    @cached_property
    def obstacles(self) -> AxisAlignedBoxes:
        """All that may be in its way."""
        C = self.C
        gone = (self.name, *self.carried, *self.ignored)
        return world_boxes(C, {i for x in gone for i in subtree(C, C.index(x))})

    def poses(
        self, literals: Sequence[Predicate], rng: np.random.Generator, snug: bool
    ) -> Iterator[Float[np.ndarray, "7"]]:
        """Poses in which it and its riders meet nothing and it rests on something.

        It may be moved from one to the next.

        Args:
            literals: that are to hold; spots where boxes rule them out are left out.
            rng: of the spots.
            snug: whether those beside others come first.
        """
        touch = any(isinstance(p, InContactWith) for p in literals)
        gap = RESTING_GAP if touch else NEIGHBOUR_CLEARANCE
        neighbours = list(self._neighbours(literals))
        stances = [self._orientation(literals, turn) for turn in YAW_ANGLES]
        possible = [stance for stance in stances if len(stance.surfaces.z)]
        for beside in (True, False) if snug or touch else (False, True):
            for k in rng.permutation(len(possible)):
                yield from self._free_poses(possible[k], neighbours, gap, beside, rng)

    def _orientation(self, literals: Sequence[Predicate], turn: float) -> _Orientation:
        C, root, own = (
            self.C,
            self.C.index(self.name),
            solid_frames(self.C, [self.name]),
        )
        about_z, stood = axis_angle_to_quat(UP, turn), C.pose(self.name)
        R = quat_to_matrix(about_z)
        parts = [
            (f, R @ R_f, R @ (p - stood[:3])) for f, R_f, p in posed_frames(C, own)
        ]
        shape = rotated_boxes(C, own, root, R)
        whole = rotated_boxes(C, [*own, *solid_frames(C, self.carried)], root, R)
        size = np.ptp(shape.bounds, axis=0)
        tops = find_support_surfaces(C, self.name, literals, size, self.obstacles)
        return _Orientation(
            quat_multiply(about_z, stood[3:]), parts, shape, whole, tops
        )

    def _free_poses(
        self,
        stance: _Orientation,
        neighbours: Sequence[_Neighbour],
        gap: float,
        beside: bool,
        rng: np.random.Generator,
    ) -> Iterator[Float[np.ndarray, "7"]]:
        count = 4 * POINTS_PER_SURFACE if beside else POINTS_PER_SURFACE
        points, below = sample_points(
            stance.surfaces, stance.size, self.obstacles, gap, beside, count, rng
        )
        origins = points - stance.base_center
        possible = is_free(origins, stance.all_boxes, self.obstacles, gap / 2)
        for other in neighbours:
            possible &= other.is_near(origins, stance)
        for k in rng.permutation(np.flatnonzero(possible))[:MAX_EXACT_CHECKS]:
            parts = [(frame, R, p + origins[k]) for frame, R, p in stance.parts]
            drop = self._drop_height(parts, below[k])
            if drop is not None:
                yield np.array([*origins[k] - drop * UP, *stance.quaternion])

    def _neighbours(self, literals: Sequence[Predicate]) -> Iterator[_Neighbour]:
        """The things that it is to be next to, but for its own riders."""
        for literal in literals:
            if isinstance(literal, NextTo):
                (other,) = set(object_names(literal)) - {self.name}
                boxes, root = (
                    self.obstacles.owned_by(other),
                    literal.semantics == "igibson",
                )
                pair = ((self.name, other), (other, self.name))
                own, height = (
                    float(centre_of_mass(find_object(self.C, *names), root)[2])
                    for names in pair
                )
                if boxes.owners:
                    yield _Neighbour(boxes, height, own - self.C.pose(self.name)[2])

    def _drop_height(self, parts: Sequence[PosedFrame], below: str) -> float | None:
        """How far down it is until it rests [m]; None: it does not."""
        under = posed_frames(self.C, solid_frames(self.C, [below]))
        drop = 0.0
        for _ in range(MAX_DROP_STEPS):
            lowered = [(f, R, p - drop * UP) for f, R, p in parts]
            gap = min_distance(lowered, under)
            if gap is None or gap.distance == 0:
                return None
            if gap.distance <= CONTACT_TOLERANCE / 2:
                return drop
            drop += gap.distance - RESTING_GAP
        return None

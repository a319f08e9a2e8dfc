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
from .aabb_queries import Boxes, boxes_of, free, gaps, level, turned_boxes
from .support_surfaces import NEAR, RESTING, Tops, draw, tops_for

TURNS = (0.0, np.pi / 2, np.pi, -np.pi / 2)
"""About the vertical, from how a thing stands now [rad]."""
CLEAR = 2e-3
"""Between neighbours that are not to touch [m]."""
POINTS = 60
"""So many points are drawn for each top."""
CHECKS = 40
"""So many free spots are checked exactly, for each turn."""
SLIDES = 20
"""Steps down until a thing rests on what is not flat."""
UP = np.array([0.0, 0.0, 1.0])


def solid(C: Config, names: Iterable[str]) -> list[int]:
    """Frames with shapes of things."""
    return [
        i
        for name in names
        for i in find_object(C, name).frames
        if has_collision_shape(C, i)
    ]


def placed(C: Config, frames: Sequence[int]) -> list[PosedFrame]:
    """Frames where they are."""
    poses = C.forward_pass().frames
    return [(C.frames[i], poses.R[i], poses.p[i]) for i in frames]


@dataclass(frozen=True, eq=False)
class _Stance:
    """A thing in one orientation, its origin at zero."""

    quaternion: Float[np.ndarray, "4"]
    parts: list[PosedFrame]
    shape: Boxes
    """About its parts."""
    whole: Boxes
    """About these and its riders'."""
    tops: Tops
    """Where its middle may be."""

    @property
    def foot(self) -> Float[np.ndarray, "3"]:
        """The middle of its lower side."""
        low, high = self.shape.around
        return np.array([*(low + high)[:2] / 2, low[2]])

    @property
    def size(self) -> Float[np.ndarray, "3"]:
        """Edges of the box about it [m]."""
        low, high = self.shape.around
        return high - low


@dataclass(frozen=True, eq=False)
class _Neighbour:
    """What a mover is to be next to."""

    boxes: Boxes
    height: float
    """Of its centre of mass [m]."""
    own: float
    """How far the mover's centre of mass is above its origin [m]."""

    def near(
        self, origins: Float[np.ndarray, "n 3"], stance: _Stance
    ) -> Bool[np.ndarray, " n"]:
        """Where the mover is near it, and at its height, as boxes tell."""
        reach = NEAR * np.mean([*stance.size, *np.ptp(self.boxes.around, axis=0)])
        close = gaps(origins, stance.shape, self.boxes) <= reach
        return close & level(origins, stance.shape, self.own, self.boxes, self.height)


@dataclass(frozen=True, eq=False)
class Mover:
    """A thing to be placed, and what does not stand in its way."""

    C: Config
    name: str
    riders: tuple[str, ...]
    """What it carries."""
    absent: tuple[str, ...]
    """What does not count."""

    @cached_property
    def others(self) -> Boxes:
        """All that may be in its way."""
        C = self.C
        gone = (self.name, *self.riders, *self.absent)
        return boxes_of(C, {i for x in gone for i in subtree(C, C.index(x))})

    def spots(
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
        gap = RESTING if touch else CLEAR
        neighbours = list(self._neighbours(literals))
        stances = [self._stance(literals, turn) for turn in TURNS]
        possible = [stance for stance in stances if len(stance.tops.z)]
        for beside in (True, False) if snug or touch else (False, True):
            for k in rng.permutation(len(possible)):
                yield from self._free(possible[k], neighbours, gap, beside, rng)

    def _stance(self, literals: Sequence[Predicate], turn: float) -> _Stance:
        C, root, own = self.C, self.C.index(self.name), solid(self.C, [self.name])
        about_z, stood = axis_angle_to_quat(UP, turn), C.pose(self.name)
        R = quat_to_matrix(about_z)
        parts = [(f, R @ R_f, R @ (p - stood[:3])) for f, R_f, p in placed(C, own)]
        shape = turned_boxes(C, own, root, R)
        whole = turned_boxes(C, [*own, *solid(C, self.riders)], root, R)
        size = np.ptp(shape.around, axis=0)
        tops = tops_for(C, self.name, literals, size, self.others)
        return _Stance(quat_multiply(about_z, stood[3:]), parts, shape, whole, tops)

    def _free(
        self,
        stance: _Stance,
        neighbours: Sequence[_Neighbour],
        gap: float,
        beside: bool,
        rng: np.random.Generator,
    ) -> Iterator[Float[np.ndarray, "7"]]:
        count = 4 * POINTS if beside else POINTS
        points, below = draw(
            stance.tops, stance.size, self.others, gap, beside, count, rng
        )
        origins = points - stance.foot
        possible = free(origins, stance.whole, self.others, gap / 2)
        for other in neighbours:
            possible &= other.near(origins, stance)
        for k in rng.permutation(np.flatnonzero(possible))[:CHECKS]:
            parts = [(frame, R, p + origins[k]) for frame, R, p in stance.parts]
            drop = self._drop(parts, below[k])
            if drop is not None:
                yield np.array([*origins[k] - drop * UP, *stance.quaternion])

    def _neighbours(self, literals: Sequence[Predicate]) -> Iterator[_Neighbour]:
        """The things that it is to be next to, but for its own riders."""
        for literal in literals:
            if isinstance(literal, NextTo):
                (other,) = set(object_names(literal)) - {self.name}
                boxes, root = self.others.of(other), literal.semantics == "igibson"
                pair = ((self.name, other), (other, self.name))
                own, height = (
                    float(centre_of_mass(find_object(self.C, *names), root)[2])
                    for names in pair
                )
                if boxes.owners:
                    yield _Neighbour(boxes, height, own - self.C.pose(self.name)[2])

    def _drop(self, parts: Sequence[PosedFrame], below: str) -> float | None:
        """How far down it is until it rests [m]; None: it does not."""
        under = placed(self.C, solid(self.C, [below]))
        drop = 0.0
        for _ in range(SLIDES):
            lowered = [(f, R, p - drop * UP) for f, R, p in parts]
            gap = min_distance(lowered, under)
            if gap is None or gap.distance == 0:
                return None
            if gap.distance <= CONTACT_TOLERANCE / 2:
                return drop
            drop += gap.distance - RESTING
        return None

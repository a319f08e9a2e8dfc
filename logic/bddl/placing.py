"""One thing placed so that literals hold: tried on free spots, checked exactly."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ...objectives.placement import solve_placement
from ...robots.config import Config
from ...robots.gaps import Placed, nearest_gap
from ...robots.proximity import nearest_contacts
from ...robots.transforms import (
    axis_angle,
    pose_inverse,
    pose_multiply,
    quat_multiply,
    quat_to_matrix,
)
from ..branches import things_in
from ..errors import PredicateError
from ..geometry.contact import TOLERANCE, InContactWith
from ..geometry.nearness import NextTo
from ..geometry.solids import is_solid, subtree, thing
from ..predicate import Predicate
from .boxes import Boxes, boxes_of, free, gaps, turned_boxes
from .spots import NEAR, RESTING, draw, tops_for

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


def place(
    C: Config,
    name: str,
    literals: Sequence[Predicate],
    absent: Collection[str] = (),
    *,
    seed: int = 0,
    snug: bool = False,
) -> bool:
    """Move a thing, with all that it carries, to a free spot where literals hold.

    Things stay upright as they are, turned by quarters. They meet nothing there, and
    rest on something.

    Args:
        C: the world, which is changed; where there is no such spot it stays as it is.
        name: of the thing.
        literals: that are to hold.
        absent: things that do not count, since they will be moved themselves.
        seed: of the spots.
        snug: whether spots beside others are tried first.

    Returns:
        Whether such a spot was found.
    """
    mover = _Mover(C, name, tuple(carried(C, name, absent)), tuple(absent))
    before = C.pose(name)
    stood = {rider: C.pose(rider) for rider in mover.riders}
    for pose in mover.spots(literals, np.random.default_rng(seed), snug):
        moved = pose_multiply(pose, pose_inverse(before))
        C.set_pose(name, pose)
        for rider, old in stood.items():
            C.set_pose(rider, pose_multiply(moved, old))
        if all(p.holds(C) for p in literals):
            return True
    for thing_, old in {name: before, **stood}.items():
        C.set_pose(thing_, old)
    return False


def optimize(
    C: Config, name: str, literals: Sequence[Predicate], *, seed: int = 0
) -> bool:
    """The same by optimization, in any orientation; what it carries stays behind.

    Args:
        C: the world, which is changed if a placement is found.
        name: of the thing.
        literals: that are to hold.
        seed: of the random starts.
    """
    involved = {name, *(n for p in literals for n in things_in(p))}
    try:
        placements = solve_placement(
            _alone(C, involved), list(literals), [name], starts=16, seed=seed
        )
    except PredicateError:
        return False
    before = C.pose(name)
    for found in placements:
        if found.feasible:
            found.apply(C)
            if all(p.holds(C) for p in literals) and not _overlaps(C, name):
                return True
    C.set_pose(name, before)
    return False


def _alone(C: Config, involved: Collection[str]) -> Config:
    """A copy with just these objects, so that alike ones are programs compiled once."""
    world = C.copy()
    for other in C.objects:
        gone = other not in world.objects
        if not gone and not {other, *world.objects[other].parts} & set(involved):
            world.remove(other)
    return world


def _overlaps(C: Config, name: str) -> bool:
    """Whether a thing penetrates another by more than what counts as contact."""
    boxes, own = boxes_of(C), _solid(C, [name])
    low, high = boxes.of(name).around
    room = -TOLERANCE
    for other in set(boxes.owners) - {name}:
        (foot, head), theirs = boxes.of(other).around, _solid(C, [other])
        if (np.minimum(high, head) - np.maximum(low, foot) > room).all():
            pairs = [(i, j) for i in own for j in theirs]
            poses = C.walk().frames
            found = nearest_contacts(C.frames, poses.R, poses.p, pairs, 0.0)
            if any(float(c.distance) < -TOLERANCE for c in found.values()):
                return True
    return False


def carried(C: Config, name: str, absent: Collection[str] = ()) -> list[str]:
    """Loose things that stand on a thing, or in it, and on these, and so on."""
    boxes = boxes_of(C)
    found = [name]
    for below in found:
        found += [
            other
            for other in C.objects
            if other not in (*found, *absent) and _rides(C, boxes, other, below)
        ]
    return found[1:]


def _rides(C: Config, boxes: Boxes, rider: str, below: str) -> bool:
    """Whether a loose thing touches another one, and its middle is above its foot."""
    joint = C.frame(rider).joint
    own, other = boxes.of(rider), boxes.of(below)
    if joint is None or joint.type != "free" or not own.owners or not other.owners:
        return False
    (low, high), (foot, head) = own.around, other.around
    middle = (low + high)[:2] / 2
    above = (foot[:2] <= middle) & (middle <= head[:2])
    if not above.all() or low[2] <= foot[2] or low[2] > head[2] + TOLERANCE:
        return False
    a, b = (_placed(C, _solid(C, [x])) for x in (rider, below))
    return nearest_gap(a, b, TOLERANCE) is not None


def _solid(C: Config, names: Iterable[str]) -> list[int]:
    """Frames with shapes of things."""
    return [i for name in names for i in thing(C, name).frames if is_solid(C, i)]


def _placed(C: Config, frames: Sequence[int]) -> list[Placed]:
    poses = C.walk().frames
    return [(C.frames[i], poses.R[i], poses.p[i]) for i in frames]


@dataclass(frozen=True, eq=False)
class _Mover:
    """A thing to be placed, and what does not stand in its way."""

    C: Config
    name: str
    riders: tuple[str, ...]
    absent: tuple[str, ...]

    @cached_property
    def others(self) -> Boxes:
        """All that may be in its way."""
        C = self.C
        gone = (self.name, *self.riders, *self.absent)
        return boxes_of(C, {i for x in gone for i in subtree(C, C.index(x))})

    def spots(
        self, literals: Sequence[Predicate], rng: np.random.Generator, snug: bool
    ) -> Iterator[Float[np.ndarray, "7"]]:
        """Poses in which it and its riders meet nothing and it rests on something."""
        touch = any(isinstance(p, InContactWith) for p in literals)
        gap = RESTING if touch else CLEAR
        for beside in (True, False) if snug or touch else (False, True):
            for turn in rng.permutation(TURNS):
                yield from self._turned(literals, turn, gap, beside, rng)

    def _turned(
        self,
        literals: Sequence[Predicate],
        turn: float,
        gap: float,
        beside: bool,
        rng: np.random.Generator,
    ) -> Iterator[Float[np.ndarray, "7"]]:
        C, root = self.C, self.C.index(self.name)
        own = _solid(C, [self.name])
        placed, stood = _placed(C, own), C.pose(self.name)
        about_z = axis_angle(UP, turn)
        R = quat_to_matrix(about_z)
        shape = turned_boxes(C, own, root, R)
        low, high = shape.around
        foot = np.array([*(low + high)[:2] / 2, low[2]])
        tops = tops_for(C, self.name, literals, high - low, self.others)
        count = 4 * POINTS if beside else POINTS
        points, below = draw(tops, high - low, self.others, gap, beside, count, rng)
        origins = points - foot
        boxes = turned_boxes(C, [*own, *_solid(C, self.riders)], root, R)
        possible = free(origins, boxes, self.others, gap / 2)
        for other in self._neighbours(literals):
            reach = NEAR * np.mean([*(high - low), *np.ptp(other.around, axis=0)])
            possible &= gaps(origins, shape, other) <= reach
        at = np.flatnonzero(possible)
        quaternion = quat_multiply(about_z, stood[3:])
        for k in rng.permutation(at)[:CHECKS]:
            turned = [
                (frame, R @ R_f, R @ (p - stood[:3]) + origins[k])
                for frame, R_f, p in placed
            ]
            drop = self._drop(turned, below[k])
            if drop is not None:
                yield np.array([*origins[k][:2], origins[k][2] - drop, *quaternion])

    def _neighbours(self, literals: Sequence[Predicate]) -> Iterator[Boxes]:
        """Boxes of the things that it is to be next to."""
        for literal in literals:
            if isinstance(literal, NextTo):
                (other,) = set(things_in(literal)) - {self.name}
                yield self.others.of(other)

    def _drop(self, placed: Sequence[Placed], below: str) -> float | None:
        """How far down it is until it rests [m]; None: it does not."""
        under = _placed(self.C, _solid(self.C, [below]))
        drop = 0.0
        for _ in range(SLIDES):
            lowered = [(f, R, p - drop * UP) for f, R, p in placed]
            gap = nearest_gap(lowered, under)
            if gap is None or gap.distance == 0:
                return None
            if gap.distance <= TOLERANCE / 2:
                return drop
            drop += gap.distance - RESTING
        return None

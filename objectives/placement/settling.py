"""Placements in which objects stand on their faces, with their centres supported.

A constraint such as `OnTopOf` holds of an object that is tilted by a few degrees, or
whose centre is beyond the edge of what carries it, and `InsideOf` of one in the air. It
is not likely meant so.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.config.posed_frames import posed_frames
from posewise.robots.contact.bounding_boxes import body_boxes
from posewise.robots.contact.gjk_numpy import PosedFrame
from posewise.robots.contact.verticals import (
    MAX_CARRIED_GAP,
    columns_of_box,
    vertical_spans,
)
from posewise.robots.kinematics.transforms import (
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
)
from posewise.robots.masses.frame_masses import frame_masses
from posewise.robots.typing import FrameName

from ..checks.doubts import containers_of, supports_of
from .stable_poses import collision_points, stable_faces, turn_face_down
from .symmetry import is_ball


@dataclass(frozen=True, slots=True)
class SettlingChoices:
    """Choices of placements that are settled, varied in docs/evidence.md."""

    columns: int = 24
    """Number of columns along each edge of an object; more find thinner supports."""
    columns_of_body: int = 8
    """Number of columns along each edge of what is above another body; more find
    contacts with round ones earlier."""
    edge_margin: float = 1e-2
    """Least distance of a centre of mass from the edge of what carries it [m]; a larger
    one keeps objects off supports that are hardly large enough."""
    max_edges: int = 3
    """Number of edges from which an object is moved away (count); more are met above
    holes."""
    rest_seconds: float = 2.0
    """Duration of the simulation in which contents come to rest [s]; a longer one
    brings more rolling objects to rest, and takes longer."""
    rounds: int = 3
    """Number of times that objects are settled (count); more find more that stay where
    some had to be moved aside, and take longer."""
    rest_shift: float = 2e-3
    """Largest change of a coordinate, after the first time, with which objects are at
    rest [m or 1]. Soft contacts creep, and solvers leave gaps of a millimetre, so that
    a smaller one solves again what stays."""
    tries: int = 4
    """Number of easier placements that are settled for each one that is wanted (count);
    more find more towers that stand, and delay placements of which none does."""
    iterations_of_try: int = 8
    """Largest number of iterations from each of them [1]. What stands takes a few;
    more find few others, and delay the next try."""
    max_iterations: int = 20
    """Largest number of iterations from a settled placement [1]; more find room for
    more objects at once, and delay those that are settled in halves."""


SETTLING_CHOICES = SettlingChoices()
DIRECTIONS = np.stack(
    [f(2 * np.pi * np.arange(24) / 24) for f in (np.cos, np.sin)], axis=1
)
"""Horizontal directions in which a centre of mass has to be within its supports."""


def supports_of_objects(
    constraints: Iterable[object], world: Config, movable: Collection[FrameName]
) -> dict[FrameName, FrameName]:
    """Return the movables that constraints want in or on something, each with it."""
    pairs = (
        pair
        for c in constraints
        for pair in (*containers_of(c, world), *supports_of(c, world))
    )
    return {obj: support for obj, support in pairs if obj in movable}


def contents_of_objects(
    constraints: Iterable[object],
    world: Config,
    supports: Mapping[FrameName, FrameName],
) -> set[FrameName]:
    """Return the objects that constraints want in something, and what they carry."""
    pairs = (pair for c in constraints for pair in containers_of(c, world))
    return {x for obj, _ in pairs if obj in supports for x in _with_load(obj, supports)}


def cycle_of_supports(supports: Mapping[FrameName, FrameName]) -> Iterator[str]:
    """Yield a sentence if objects are to carry each other in a circle."""
    for first in supports:
        names = [first]
        while names[-1] in supports and supports[names[-1]] not in names:
            names.append(supports[names[-1]])
        if supports.get(names[-1]) == first:
            links = ", ".join(f"{a!r} on or in {supports[a]!r}" for a in names)
            yield f"It is asked for {links}: objects can hardly carry each other."
            return


def settled_state(
    world: Config,
    q: Float[np.ndarray, " nq"],
    supports: Mapping[FrameName, FrameName],
    names: Iterable[FrameName],
) -> Float[np.ndarray, " nq"]:
    """Return a state in which objects stand on faces, and their centres are supported.

    Each is turned about its centre by the least angle, lowered to what is below it, and
    moved horizontally by the least distance, with all that stands on it. Balls are
    lowered only. What it may overlap then, and whether an object is to lean, is for the
    solver to tell.

    Args:
        world: in which the objects are on free joints; not changed.
        q: state in which each object is on or in its support.
        supports: the support of each object.
        names: the objects that are settled, with what stands on them.
    """
    world = world.copy()
    world.q = q
    stacks = [_LoadedObject(world, name, _with_load(name, supports)) for name in names]
    standing = [s for s in stacks if not is_ball(world, s.name)]
    for stack in standing:
        stack.stand_on_face()
    for _ in range(SETTLING_CHOICES.max_edges):
        # What is below comes down first, and what is above moves first: with it, its
        # support carries another centre of mass.
        stacks.sort(key=lambda s: s.bottom)
        bases = [stack.come_down() for stack in stacks]
        pairs = reversed([*zip(stacks, bases, strict=True)])
        if not any([s.leave_edge(base) for s, base in pairs if s in standing]):
            break
    return world.q


def _with_load(
    name: FrameName, supports: Mapping[FrameName, FrameName]
) -> list[FrameName]:
    """Return an object and all that stands on it."""
    names = [name]
    for lower in names:
        names += [x for x, s in supports.items() if s == lower and x not in names]
    return names


class _Base(NamedTuple):
    """Places at the bottom of an object, in the world [m]."""

    carried: Float[np.ndarray, "n 2"]
    """Places at which something carries it."""
    lowest: Float[np.ndarray, "m 2"]
    """All of its base, whether or not something carries it there."""


@dataclass(frozen=True, eq=False)
class _LoadedObject:
    """An object with all that stands on it, in a world in which they are moved."""

    world: Config
    name: FrameName
    """Name of the object."""
    names: Sequence[FrameName]
    """Names of the object and of what stands on it."""

    @cached_property
    def _points(self) -> Float[np.ndarray, "n 3"]:
        """Points in the object's frame whose hull is the object [m]."""
        return collision_points(self.world, self.name)

    def _centre(self, names: Sequence[FrameName]) -> Float[np.ndarray, "3"]:
        """Return the centre of mass of some objects in the world [m]."""
        poses = self.world.forward_pass().frames
        masses = frame_masses(self.world.frames)
        frames = [x for name in names for x in self.world.subtree(name)]
        indices = [self.world.index(x) for x in frames]
        weights = np.array([masses[i].mass for i in indices])
        centres = np.array([poses.R[i] @ masses[i].com + poses.p[i] for i in indices])
        return weights @ centres / weights.sum()

    def _move(self, name: FrameName, pose: Float[np.ndarray, "7"]) -> None:
        q = self.world.q.copy()
        q[self.world.joints.coordinates([name])] = pose
        self.world.q = q

    @cached_property
    def _faces(self) -> Float[np.ndarray, "n 3"]:
        """Normals of the object's stable faces in its frame."""
        return stable_faces(self._points)[0]

    @property
    def _lowest_face(self) -> Float[np.ndarray, "3"]:
        """Normal in the world of the stable face that is turned down most; or zero."""
        normals = self._faces @ quat_to_matrix(self.world.pose(self.name)[3:]).T
        lowest: np.ndarray = min(normals, key=lambda n: n[2], default=np.zeros(3))
        return lowest

    def stand_on_face(self) -> None:
        """Turn the object onto its nearest stable face, its lowest point as high."""
        pose = self.world.pose(self.name)
        turn = turn_face_down(self._lowest_face[None])[0]
        turned = quat_normalize(quat_multiply(turn, pose[3:]))
        centre = self._centre([self.name])
        origin = centre + quat_to_matrix(turn) @ (pose[:3] - centre)
        old, new = (self._points @ quat_to_matrix(r).T for r in (pose[3:], turned))
        origin[2] = pose[2] + old[:, 2].min() - new[:, 2].min()
        self._move(self.name, np.concatenate([origin, turned]))

    @property
    def _posed_points(self) -> Float[np.ndarray, "n 3"]:
        """Points in the world whose hull is the object [m]."""
        pose = self.world.pose(self.name)
        points: np.ndarray = self._points @ quat_to_matrix(pose[3:]).T + pose[:3]
        return points

    @property
    def bottom(self) -> float:
        """Height of the object's lowest point [m]."""
        return float(self._posed_points[:, 2].min())

    def come_down(self) -> _Base:
        """Move the stack vertically until the object is on what is below it, if any."""
        places, bottom, middle, tops = self._columns()
        with np.errstate(invalid="ignore"):
            is_below = tops < middle[:, None]
            gaps = np.where(is_below, bottom[:, None] - tops, np.inf)
        heights = gaps.min(1, initial=np.inf)
        fall = heights.min(initial=np.inf)
        if not np.isfinite(fall):
            return _Base(places[:0], places[:0])
        self._shift(np.array([0.0, 0.0, -fall]))
        return _Base(
            places[heights - fall <= MAX_CARRIED_GAP],
            places[bottom - bottom.min() <= MAX_CARRIED_GAP],
        )

    def leave_edge(self, base: _Base) -> bool:
        """Move the stack from an edge that its centre of mass is beyond; if it was.

        It moves horizontally by the least distance.
        """
        if not len(base.carried):
            return False
        arms = base.carried - self._centre(self.names)[:2]
        reach = (arms @ DIRECTIONS.T).max(0)
        # Narrow objects are never far from an edge: a fourth of their width is enough.
        width = np.ptp(base.lowest @ DIRECTIONS.T, axis=0).min()
        margin = min(SETTLING_CHOICES.edge_margin, width / 4)
        nearest = reach.argmin()
        distance = float(reach[nearest] - margin)
        if distance >= 0:
            return False
        self._shift(np.append(distance * DIRECTIONS[nearest], 0.0))
        return True

    def _shift(self, shift: Float[np.ndarray, "3"]) -> None:
        """Move the stack by a vector [m]."""
        q = self.world.q.copy()
        for name in self.names:
            q[self.world.joints.coordinates([name])[:3]] += shift
        self.world.q = q

    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return columns through the object, and heights in each of them [m].

        Returns:
            Places of columns, the object's bottoms and middles, and tops of others.
        """
        world, subtree = self.world, {*self.world.subtree(self.name)}
        solid = [i for i, f in enumerate(world.frames) if f.geometries]
        parts = [i for i in solid if world.frames[i].name in subtree]
        others = [i for i in solid if world.frames[i].name not in subtree]
        points, below = self._posed_points, list[PosedFrame]()
        low, high = points.min(0), points.max(0)
        grids = [columns_of_box(low, high, SETTLING_CHOICES.columns)]
        for frame in posed_frames(world, others):
            bodies = body_boxes(*frame)
            first, last = np.maximum(low, bodies[0]), np.minimum(high, bodies[1])
            is_near = (first < last)[:, :2].all(1) & (bodies[0][:, 2] < high[2])
            if is_near.any():
                below.append(frame)
            # Walls may be thinner than the distances between columns of the object.
            grids += [
                columns_of_box(*box, SETTLING_CHOICES.columns_of_body)
                for box in zip(first[is_near], last[is_near], strict=True)
            ]
        places = np.concatenate(grids)
        spans = vertical_spans(posed_frames(world, parts), places)
        bottom, top = spans.bottom.min(1), spans.top.max(1)
        with np.errstate(invalid="ignore"):
            middle = (bottom + top) / 2
        return places, bottom, middle, vertical_spans(below, places).top

"""Starts of crowded placements: objects put into free space one after the other.

Random starts of many objects overlap, and the solver cannot part them. Here
each object gets a place, on a grid, where it overlaps with none before it if possible:
one that touches much, so that objects pack closely, or a low one at random, so that
they keep apart. The solver does the rest, also what the grid is too coarse for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.solvers.deadline import passed_deadline

from .orientations import packing_orientations, world_headings
from .sampling import PlacementHints, SamplingBox, usable_boxes, with_ancestors
from .stable_poses import collision_points
from .voxel_places import VoxelModel, VoxelPlace, best_places
from .voxels import Solid, VoxelGrid, solid_of

CELLS_PER_WIDTH = 4
"""Number of cells across the thinnest object; more find tighter places, slower."""
MAX_CELLS = 2**17
"""Number of cells of the grid; more follow thin objects in large regions, slower."""
MIN_ORIENTATIONS = 4
"""Number of orientations of each object that an attempt tries, or more until one fits;
more find better places, slower."""
POSITIONS_PER_TURN = 8
"""Number of random positions at which each orientation is rated. More rate it better,
but take longer."""
ATTEMPTS = 4, 64
"""Smallest and largest number of arrangements that are tried."""
MAX_WORK = 6e6
"""Number of cells times that of objects, over all attempts; more take longer."""
SIZE_NOISE = 0.3
"""Standard deviation of the logarithm by which sizes vary in the order of objects [1].
A larger one tries more orders, but large objects come first less often."""
SHIFT = np.array([10.0, 20.0, 30.0])
"""Displacement that tells whether hints depend on an object [m]."""
HintsOf: TypeAlias = Callable[[Config, str], PlacementHints]
"""Returns the hints of constraints for a movable in the present state of a world."""


class Arranged(NamedTuple):
    """An arrangement, which lacks some movables if it was given up."""

    poses: dict[str, Float[np.ndarray, "7"]]
    """Poses of movables by name."""
    overlap: float
    """Number of cells that overlap."""


def arranged_starts(
    world: Config,
    names: Sequence[str],
    region: SamplingBox,
    hints_of: HintsOf,
    count: int,
    rng: np.random.Generator,
) -> dict[str, Float[np.ndarray, "_ 7"]]:
    """Return poses of those movables that get in each other's way, for some starts.

    Args:
        world: in which the movables are on free joints; it is not changed.
        names: of the movables.
        region: in which all of them stay.
        hints_of: hints of constraints.
        count: largest number of starts.
        rng: source of randomness.
    """
    if count == 0 or len(names) == 1:
        return {}
    stage = world.copy()
    boxes = {name: _box(stage, name, region, hints_of) for name in names}
    hinted = {
        name: box
        for name, box in boxes.items()
        if box is not None and len(collision_points(stage, name))
    }
    leaders = _leaders(stage, hinted, hints_of)
    led = {name for name, others in leaders.items() if others}
    leading = {other for others in leaders.values() for other in others}
    crowded = {
        name: box
        for name, box in hinted.items()
        if name in led | leading
        or any(_intersect(box, hinted[other]) for other in hinted if other != name)
    }
    if not crowded:
        return {}
    leaders = {name: leaders[name] for name in crowded}
    return Arrangement(stage, crowded, leaders, region, hints_of, rng).poses(count)


def _box(
    world: Config, name: str, region: SamplingBox, hints_of: HintsOf
) -> SamplingBox | None:
    """Return the box in which hints want the origin of a movable; None without any."""
    boxes = usable_boxes(hints_of(world, name).boxes, region)
    return boxes[0] if boxes else None


def _leaders(
    stage: Config, boxes: Mapping[str, SamplingBox], hints_of: HintsOf
) -> dict[str, set[str]]:
    """Return, for each movable, the others on whose poses its hints depend."""
    unbounded = np.array([[-np.inf], [np.inf]]) * np.ones(3)
    before = {name: _box(stage, name, unbounded, hints_of) for name in boxes}
    leaders: dict[str, set[str]] = {name: set() for name in boxes}
    for other in boxes:
        pose = stage.pose(other)
        stage.set_pose(other, np.concatenate([pose[:3] + SHIFT, pose[3:]]))
        for name in set(boxes) - {other}:
            after = _box(stage, name, unbounded, hints_of)
            if not _same(before[name], after):
                leaders[name].add(other)
        stage.set_pose(other, pose)
    return leaders


def _same(a: SamplingBox | None, b: SamplingBox | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _intersect(a: SamplingBox, b: SamplingBox) -> bool:
    return bool((np.maximum(a[0], b[0]) <= np.minimum(a[1], b[1])).all())


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Movables to be arranged in what stands still."""

    stage: Config
    """A world in which the movables are put as they get places."""
    boxes: Mapping[str, SamplingBox]
    """Box in which hints want the origin of each movable, in the present state."""
    leaders: Mapping[str, set[str]]
    """Movables on whose poses the hints for each movable depend."""
    region: SamplingBox
    """Box in which all movables stay."""
    hints_of: HintsOf
    rng: np.random.Generator
    _models: dict[tuple[str, int], VoxelModel] = field(default_factory=dict)

    def poses(self, count: int) -> dict[str, Float[np.ndarray, "_ 7"]]:
        """Return arrangements of all movables, those with the least overlap first.

        In the first one objects keep apart. If this leads to overlap there is little
        room, and all others pack the objects; else they alternate.

        Args:
            count: largest number of arrangements.
        """
        arrangements = [self._attempt(packs=False)]
        is_tight = arrangements[0].overlap > 0
        work = np.prod(self._grid.shape) * len(self.boxes)
        for k in range(1, int(np.clip(MAX_WORK / work, *ATTEMPTS))):
            if sum(x.overlap == 0 for x in arrangements) == (1 if is_tight else 2):
                break
            if passed_deadline():
                break
            least = min(x.overlap for x in arrangements)
            arrangements.append(
                self._attempt(packs=is_tight or k % 2 == 1, worst=least)
            )
        complete = [x for x in arrangements if len(x.poses) == len(self.boxes)]
        complete.sort(key=lambda x: x.overlap)
        return {
            name: np.stack([x.poses[name] for x in complete[:count]])
            for name in self.boxes
        }

    def _attempt(self, packs: bool, worst: float = np.inf) -> Arranged:
        """Return poses of the movables.

        Args:
            packs: whether objects touch as much as possible, otherwise they are apart.
            worst: number of overlapping cells beyond which the attempt is given up.
        """
        cells, total, poses = self._still.copy(), 0.0, {}
        for name in self._order():
            place = self._best_place(name, cells, packs)
            total += place.overlap
            if total > worst:
                break
            place.occupy(cells)
            poses[name] = place.pose
            self.stage.set_pose(name, place.pose)
        return Arranged(poses, total)

    def _order(self) -> list[str]:
        """Return the movables: each after its leaders if possible, large ones first."""
        noise = np.exp(SIZE_NOISE * self.rng.normal(size=len(self.boxes)))
        volumes = [np.ptp(s.points, axis=0).prod() for s in self._solids.values()]
        sizes = dict(zip(self._solids, noise * volumes, strict=True))
        order: list[str] = []
        while remaining := [name for name in self.boxes if name not in order]:
            waits = {name: len(self.leaders[name] - set(order)) for name in remaining}
            order.append(min(remaining, key=lambda name: (waits[name], -sizes[name])))
        return order

    def _best_place(
        self, name: str, cells: Bool[np.ndarray, "x y z"], packs: bool
    ) -> VoxelPlace:
        """Return the place of least overlap, then of most votes, then of most merit."""
        from scipy import fft

        box = self.boxes[name]
        if self.leaders[name]:
            now = _box(self.stage, name, self.region, self.hints_of)
            box = box if now is None else now
        spectrum = fft.rfftn(cells.astype(np.float32))
        allowed = self._grid.inside_box(box)
        places: list[VoxelPlace] = []
        for k, i in enumerate(self.rng.permutation(len(self._orientations[name]))):
            model = self._model(name, int(i))
            places += best_places(model, spectrum, allowed, packs, self.rng)
            if k + 1 >= MIN_ORIENTATIONS and any(x.overlap == 0 for x in places):
                break
        least = min(place.overlap for place in places)
        places = [place for place in places if place.overlap == least]
        votes = self._votes(name, np.stack([place.pose for place in places]))
        merits = np.array([place.merit for place in places])
        return places[np.lexsort([merits, votes])[-1]]

    def _votes(
        self, name: str, poses: Float[np.ndarray, "n 7"]
    ) -> Float[np.ndarray, " n"]:
        """Return how many constraints admit an object at each pose."""
        admitting = self.hints_of(self.stage, name).admitting
        if admitting is None:
            return np.zeros(len(poses))
        # Among places that as many admit merit decides: packing needs the tightest.
        return np.asarray(admitting(poses), float)

    @cached_property
    def _solids(self) -> dict[str, Solid]:
        """Bodies of each movable, in its frame."""
        C, solids = self.stage, {}
        for name in self.boxes:
            parts = [i for i in self._solid_frames if C.index(name) in self._above[i]]
            solids[name] = solid_of(C, parts, C.pose(name))
        return solids

    @cached_property
    def _above(self) -> list[set[int]]:
        """Indices of each frame and its ancestors."""
        frames = self.stage.frames
        return [with_ancestors(frames, i) for i in range(len(frames))]

    @cached_property
    def _solid_frames(self) -> list[int]:
        """Indices of frames with collision shapes."""
        frames = enumerate(self.stage.frames)
        return [i for i, f in frames if any(g.collision for g in f.geometries)]

    @cached_property
    def _still_frames(self) -> list[int]:
        """Indices of frames with collision shapes that do not move."""
        roots = {self.stage.index(name) for name in self.boxes}
        return [i for i in self._solid_frames if not self._above[i] & roots]

    @cached_property
    def _grid(self) -> VoxelGrid:
        """The grid about all boxes, with room for the thinnest object at each end.

        An object that sticks out farther comes in again at the other side, which makes
        places at the rim rarer. Objects with leaders may all come on top of each other.
        """
        from scipy import fft

        free = [box for name, box in self.boxes.items() if not self.leaders[name]]
        boxes = np.stack(free or list(self.boxes.values()))
        low, high = boxes[:, 0].min(0), boxes[:, 1].max(0)
        extents = {k: np.ptp(s.points, axis=0) for k, s in self._solids.items()}
        led = np.array([extents[k] for k in extents if self.leaders[k]])
        if len(led):
            beside = np.array([led.max(), led.max(), 0.0])
            low = np.maximum(low - beside, self.region[0])
            high = high + beside + [0.0, 0.0, led.max(1).sum()]
            high = np.minimum(high, self.region[1])
        sizes = np.stack(list(extents.values()))
        thinnest = max(float(sizes.min()), 1e-3)
        diagonal = np.linalg.norm(sizes, axis=1).max()
        length = np.maximum(high - low + 2 * thinnest, diagonal)
        spacing = np.cbrt(length.prod() / MAX_CELLS)
        spacing = max(thinnest / CELLS_PER_WIDTH, float(spacing))
        shape = [fft.next_fast_len(int(np.ceil(x / spacing)) + 1, True) for x in length]
        lower = (low + high - spacing * (np.array(shape) - 1)) / 2
        return VoxelGrid(lower, spacing, (shape[0], shape[1], shape[2]))

    @cached_property
    def _still(self) -> Bool[np.ndarray, "x y z"]:
        """Cells of all that does not move."""
        origin = np.array([0.0, 0, 0, 1, 0, 0, 0])
        return self._grid.occupied(solid_of(self.stage, self._still_frames, origin))

    @cached_property
    def _orientations(self) -> dict[str, Float[np.ndarray, "n 4"]]:
        """Orientations of each movable that most constraints admit."""
        headings = world_headings(self.stage, self._still_frames)
        chosen = {}
        for name, (low, high) in self.boxes.items():
            turns = packing_orientations(self.stage, name, headings, self.rng)
            positions = self.rng.uniform(low, high, (POSITIONS_PER_TURN, 3))
            every = np.tile(positions, (len(turns), 1))
            turned = np.repeat(turns, len(positions), 0)
            votes = self._votes(name, np.concatenate([every, turned], 1))
            most = votes.reshape(len(turns), -1).max(1)
            chosen[name] = turns[most == most.max()]
        return chosen

    def _model(self, name: str, number: int) -> VoxelModel:
        """Return a movable in one of its orientations."""
        if (name, number) not in self._models:
            turn, solid = self._orientations[name][number], self._solids[name]
            self._models[name, number] = VoxelModel.of(solid, turn, self._grid)
        return self._models[name, number]

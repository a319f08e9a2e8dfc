"""Arranged starts of placements: voxels, free places, order, and what they solve."""

from functools import partial

import numpy as np
import pytest

import posewise as pw
from posewise import logic
from posewise.objectives.placement.arrangement import arranged_starts
from posewise.objectives.placement.hints import start_region
from posewise.objectives.placement.movables import free_movables
from posewise.objectives.placement.problem import _hints
from posewise.objectives.placement.sampling import default_region
from posewise.objectives.placement.voxel_places import VoxelModel, best_places
from posewise.objectives.placement.voxels import VoxelGrid, solid_of

ORIGIN = np.array([0.0, 0, 0, 1, 0, 0, 0])
UPRIGHT = np.array([1.0, 0, 0, 0])


def world_of(shape, **pose) -> pw.Config:
    C = pw.Config()
    C.add_frame("a", shape=shape, **pose)
    return C


def grid(count: int = 40, spacing: float = 0.01) -> VoxelGrid:
    """A cube of cells about the origin, with centres there if the count is odd."""
    lower = -spacing * (count - 1) / 2 * np.ones(3)
    return VoxelGrid(lower, spacing, (count, count, count))


def volume_in_cells(shape, **pose) -> int:
    C = world_of(shape, **pose)
    return int(grid().occupied(solid_of(C, [0], ORIGIN)).sum())


@pytest.mark.parametrize("position", [[0, 0, 0], [0.005, 0, 0], [0.005, 0.005, -0.105]])
def test_a_box_of_whole_cells_occupies_as_many(position):
    assert volume_in_cells(pw.Box([0.1, 0.05, 0.03]), position=position) == 150


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (pw.Sphere(0.1), 4 / 3 * np.pi * 0.1**3),
        (pw.Cylinder(0.2, 0.08), np.pi * 0.08**2 * 0.2),
        (pw.Capsule(0.1, 0.06), np.pi * 0.06**2 * (0.1 + 4 / 3 * 0.06)),
        (pw.Box([0.15, 0.12, 0.2]), 0.0036),
        (pw.Ellipsoid([0.1, 0.06, 0.15]), 4 / 3 * np.pi * 0.0009),
    ],
)
@pytest.mark.parametrize("quaternion", [[1, 0, 0, 0], [0.8, 0.3, -0.5, 0.2]])
def test_volumes(shape, volume, quaternion):
    """Round bodies are inscribed polytopes, so that up to a sixth is missing."""
    cells = volume_in_cells(shape, quaternion=quaternion)
    assert 0.84 * volume < cells * 1e-6 < 1.05 * volume


def test_a_sheet_does_not_fall_between_centres():
    for height in np.linspace(0, 0.01, 7):
        cells = volume_in_cells(pw.Box([0.1, 0.1, 1e-4]), position=[0, 0, height])
        assert cells >= 100


def test_a_half_space_is_below_its_plane():
    cells = grid().occupied(solid_of(world_of(pw.Plane()), [0], ORIGIN))
    assert cells[:, :, :20].all() and not cells[:, :, 20:].any()


@pytest.mark.parametrize("packs", [True, False])
def test_the_only_gap_is_found(packs):
    """All cells but a slot of 4 x 2 x 3 are full; a box of that size fits there."""
    from scipy import fft

    cells = np.ones((40, 40, 40), bool)
    cells[10:14, 20:22, 5:8] = False
    solid = solid_of(world_of(pw.Box([0.04, 0.02, 0.03])), [0], ORIGIN)
    model = VoxelModel.of(solid, UPRIGHT, grid())
    places = best_places(
        model,
        fft.rfftn(cells.astype(np.float32)),
        np.ones_like(cells),
        packs,
        np.random.default_rng(0),
    )
    assert {place.overlap for place in places} == {0.0}
    for place in places:
        alone = np.zeros_like(cells)
        place.occupy(alone)
        assert alone.sum() == 24 and not (alone & cells).any()


def blocks(count: int = 5) -> tuple[pw.Config, list[str]]:
    C, rng = pw.Config(), np.random.default_rng(0)
    C.add_frame("table", position=[0, 0, -0.02], shape=pw.Box([0.3, 0.2, 0.04]))
    names = [f"block{k}" for k in range(count)]
    for name in names:
        pose = [*rng.uniform(0.3, 0.5, 3), *rng.normal(size=4)]
        C.add_frame(name, joint="free", pose=pose, shape=pw.Box([0.06, 0.06, 0.06]))
    return C, names


def arranged(C, names, constraints, count=4, seed=0) -> list[pw.Config]:
    """Worlds in arranged starts."""
    world, free = free_movables(C, names)
    region = default_region(world, free)
    rng = np.random.default_rng(seed)
    hints = partial(_hints, constraints)
    starts = arranged_starts(world, free, region, hints, count, rng)
    worlds = []
    for k in range(len(next(iter(starts.values()), []))):
        worlds.append(C.copy())
        for name, poses in starts.items():
            worlds[-1].set_pose(name, poses[k])
    return worlds


def test_objects_on_a_table_keep_clear():
    C, names = blocks()
    worlds = arranged(C, names, [logic.OnTopOf(name, "table") for name in names])
    assert worlds
    for world in worlds:
        # by half of a cell at each face
        assert not world.collisions(margin=-0.016)
        heights = [world.pose(name)[2] for name in names]
        assert max(heights) < 0.05


def test_each_block_is_put_on_the_one_before():
    C, names = blocks()
    names = names[::-1]
    on = [logic.OnTopOf(a, b) for a, b in zip(names, ["table", *names], strict=False)]
    for world in arranged(C, names, on):
        heights = np.array([world.pose(name)[2] for name in names])
        assert (np.diff(heights) > 0.04).all()


def test_markers_and_clouds_of_points():
    """A marker takes no room; a movable cloud of thousands of points does."""
    C, names = blocks(2)
    C.add_frame("mark", joint="free", position=[0, 0, 1], shape=pw.Marker(0.1))
    rng = np.random.default_rng(0)
    cloud = pw.PointCloud(rng.uniform(-0.03, 0.03, (4000, 3)), 1e-3)
    C.add_frame("cloud", joint="free", position=[0, 0, 1], shape=cloud)
    C.add_frame("dust", shape=pw.PointCloud(rng.uniform(-9, 9, (4000, 3)), 1e-3))
    pairs = [logic.OnTopOf(name, "table") for name in (*names, "cloud")]
    pairs.append(logic.InsideOf("mark", "table"))
    assert arranged(C, [*names, "mark", "cloud"], pairs)


def test_objects_that_are_not_in_the_way_are_left_alone():
    C, names = blocks(2)
    C.add_frame("shelf", position=[3, 0, 0], shape=pw.Box([0.3, 0.2, 0.04]))
    pair = [logic.OnTopOf(names[0], "table"), logic.OnTopOf(names[1], "shelf")]
    assert arranged(C, names, pair) == []
    assert arranged(C, names, []) == []


def assert_placed(C, names, predicates, starts) -> None:
    """Place the objects, and check that all predicates hold exactly."""
    best = pw.solve_placement(
        C, predicates, names, starts=starts, count=1, progress=False
    )[0]
    best.apply(C)
    assert best.feasible, best.message
    assert all(predicate.holds(C) for predicate in predicates)


@pytest.mark.slow
def test_boxes_that_just_fit_into_a_tray():
    """Six boxes of 6 x 4 cm in a tray of 12.4 x 12.4 cm, from random poses."""
    C, rng, size = pw.Config(), np.random.default_rng(1), 0.124
    walls = [(pw.Box([size + 0.02, size + 0.02, 0.01]), [0, 0, -0.005, 1, 0, 0, 0])]
    for s in (-1, 1):
        offset = s * (size + 0.01) / 2
        walls.append(
            (pw.Box([0.01, size + 0.02, 0.03]), [offset, 0, 0.015, 1, 0, 0, 0])
        )
        walls.append((pw.Box([size, 0.01, 0.03]), [0, offset, 0.015, 1, 0, 0, 0]))
    C.add_object("tray", walls)
    names = [f"box{k}" for k in range(6)]
    for name in names:
        pose = [*rng.uniform(0.3, 0.5, 3), *rng.normal(size=4)]
        C.add_frame(name, joint="free", pose=pose, shape=pw.Box([0.06, 0.04, 0.03]))
    predicates = [
        kind
        for name in names
        for kind in (
            logic.InsideOf(name, "tray"),
            logic.OnTopOf(name, "tray"),
            logic.Upright(name),
        )
    ]
    assert_placed(C, names, predicates, starts=8)
    assert not C.collisions(margin=-1e-3)


@pytest.mark.slow
def test_a_tower_that_stands():
    C, names = blocks(3)
    on = [logic.OnTopOf(a, b) for a, b in zip(names, ["table", *names], strict=False)]
    predicates = [*on, logic.Stable(names[-1])]
    assert_placed(C, names, predicates, starts=16)


@pytest.mark.parametrize(("tilt", "above"), [(0.0, [0.2, 0.3]), (0.1, None)])
def test_objects_on_a_floor_without_end_are_above_it(tilt, above) -> None:
    C = pw.Config()
    turn = [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
    C.add_frame("floor", pose=[0, 0, 0.2, *turn], shape=pw.Plane())
    C.add_frame("x", joint="free", shape=pw.Box([0.3, 0.2, 0.1]))
    box = start_region(logic.OnTopOf("x", "floor"), C, "x")
    assert box is None if above is None else [*box[:, 2]] == pytest.approx(above)

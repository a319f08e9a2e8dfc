"""Costmaps: against counting by hand, merging, poses that are drawn, placement."""

import numpy as np
import pytest
from helpers.predicate_scenes import at, built_once

import posewise as pw
from posewise import PosewiseError, logic
from posewise.objectives.placement import search
from posewise.objectives.problem.spec import initial_paths
from posewise.robots.kinematics.transforms import quat_to_matrix

SMALL = dict(size=40, resolution=0.1)


@built_once
def room() -> pw.Config:
    """A table with a cup, and a wall on one side of it."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_object("table", [(pw.Box([0.6, 0.6, 0.7]), None)], pose=at(1.0, 0, 0.35))
    C.add_object("cup", [(pw.Cylinder(0.1, 0.04), None)], pose=at(1.0, 0, 0.75))
    C.add_object("wall", [(pw.Box([0.1, 1.5, 2.0]), None)], pose=at(1.8, 0, 1.0))
    return C


def middles(m):
    """World positions of all cells (n, n, 2), written independently."""
    n = len(m.values)
    along = (np.arange(n) - (n - 1) / 2) * m.resolution
    return m.centre[:2] + np.stack(np.meshgrid(along, along, indexing="ij"), -1)


def test_occupancy():
    C = room()
    plain = logic.occupancy_costmap(C, "table", 0.1, **SMALL)
    x, y = np.moveaxis(middles(plain), -1, 0)
    # rays in a face meet it
    table = (np.abs(x - 1.0) < 0.3 + 1e-9) & (np.abs(y) < 0.3 + 1e-9)
    wall = (np.abs(x - 1.8) < 0.05 + 1e-9) & (np.abs(y) < 0.75 + 1e-9)
    blocked = table | wall
    free = np.pad(~blocked, 1)
    want = free[1:-1, 1:-1] & free[:-2, 1:-1] & free[1:-1, :-2] & free[:-2, :-2]
    np.testing.assert_array_equal(plain.values, want)
    wide = logic.occupancy_costmap(C, "table", 0.32, **SMALL)
    assert (wide.values <= plain.values).all()
    assert wide.values.sum() < plain.values.sum()
    assert wide.values[:3].sum() == wide.values[-2:].sum() == 0


def test_what_is_held_is_no_obstacle():
    C = room().copy()
    C.load("mobile")
    C.attach("tool", "cup")
    without_cup = logic.occupancy_costmap(
        C, [0, 0, 0], robot="odom", size=60, resolution=0.02
    )
    assert without_cup.values[20:40, 20:40].sum() == 400
    met = logic.occupancy_costmap(C, [0, 0, 0], size=60, resolution=0.02)
    assert met.values[20:40, 20:40].sum() < 400


def test_visibility():
    m = logic.visibility_costmap(room(), "cup", (0.8, 1.6), **SMALL)
    behind, before = middles(m)[..., 0] > 1.9, middles(m)[..., 0] < 1.6
    level = np.abs(middles(m)[..., 1]) < 0.5
    assert (m.values[behind & level] == 0).all()
    assert (m.values[before] == 1).all()
    assert set(np.unique(m.values)) <= {0, 0.25, 0.5, 0.75, 1}


def test_ring_and_gaussian():
    C = room()
    ring = logic.ring_costmap(C, "cup", 0.5, 1.0, **SMALL)
    off = np.linalg.norm(middles(ring) - [1.0, 0], axis=-1)
    np.testing.assert_array_equal(ring.values > 0, (0.5 <= off) & (off <= 1.0))
    m = logic.gaussian_costmap(C, "cup", **SMALL)
    inside = (np.abs(middles(m) - [1.0, 0]) <= 0.6).all(-1)
    assert (m.values[inside] == 0).all()
    np.testing.assert_allclose(m.values[~inside], np.exp(-(off[~inside] ** 2) / 0.18))


def test_reachability():
    """A planar arm reaches a disc about its base, which faces the target."""
    C = room().copy()
    C.load("planar3", pose=at(-1, 0, 0.1))
    grid = dict(size=9, resolution=0.25)
    m = logic.reachability_costmap(C, [1.0, 0, 0.1], "base", "tip", **grid)
    off = np.linalg.norm(middles(m) - [1.0, 0], axis=-1)
    C.q = [0.0, 0.0, 0.0]
    length = C.pose("tip")[0] + 1
    np.testing.assert_array_equal(m.values > 0, off < length + 0.01)
    assert not logic.reachability_costmap(C, "cup", "base", "tip", **grid).values.any()


def test_merging():
    C = room()
    a = logic.ring_costmap(C, "cup", 0.3, 1.0, **SMALL)
    b = logic.gaussian_costmap(C, "cup", **SMALL)
    empty = logic.ring_costmap(C, "cup", 9.0, 9.0, **SMALL)
    np.testing.assert_array_equal((a + a).values, a.values)
    np.testing.assert_array_equal((a * b).values, (b + a).values)
    assert (a * b).values.max() == 1 and not (a + empty).values.any()
    for other in (
        logic.ring_costmap(C, "cup", 0.3, 1.0, size=20, resolution=0.1),
        logic.ring_costmap(C, "cup", 0.3, 1.0, size=40, resolution=0.2),
        logic.ring_costmap(C, "wall", 0.3, 1.0, **SMALL),
        logic.ring_costmap(C, at(1.0, yaw=0.5), 0.3, 1.0, **SMALL),
    ):
        with pytest.raises(PosewiseError, match="cannot be merged"):
            a * other
    with pytest.raises(PosewiseError, match="nothing to draw"):
        (a * empty).sample(3)


def test_poses():
    C = room()
    m = logic.gaussian_costmap(C, [1.0, 0, 0.75], size=40, resolution=0.05)
    poses = m.sample(4000, seed=1)
    np.testing.assert_array_equal(poses, m.sample(4000, seed=1))
    off = poses[:, :2] - [1.0, 0]
    assert (np.abs(off) > 0.25).any(-1).all() and (poses[:, 2] == 0).all()
    counts, *_ = np.histogram2d(*off.T, bins=4, range=[[-1, 1]] * 2)
    want = m.values.reshape(4, 10, 4, 10).sum((1, 3)) / m.values.sum() * 4000
    assert (np.abs(counts - want) < 5 * np.sqrt(want) + 5).all()
    ahead = quat_to_matrix(poses[:, 3:])[:, :2, 0]
    away = np.linalg.norm(off, axis=-1)
    assert ((ahead * -off).sum(-1) / away > 1 - 1e-9).all()
    best = m.best(100)
    assert len(best) == 100 and len(m.best(10**6)) == (m.values > 0).sum()
    near = np.linalg.norm(best[:, :2] - [1.0, 0], axis=-1)
    assert near.max() < np.median(away) and (np.diff(near) > -1e-9).all()
    turned = m.sample(50, yaw="random")
    assert np.ptp(quat_to_matrix(turned[:, 3:])[:, 0, 0]) > 1.5


def test_placement_starts_where_it_is_told(monkeypatch):
    C = room().copy()
    C.add_object("robot", [(pw.Box([0.3, 0.3, 0.5]), at(z=0.25))], joint="free")
    poses = logic.ring_costmap(C, "cup", 0.6, 1.0, **SMALL).sample(6, seed=2)
    near = pw.Feature(pw.FS.positionDiff, ["robot", "cup"], scale=[1, 1, 0])
    solve = lambda starts: pw.solve_placement(
        C, [(near, pw.OT.sos)], ["robot"], starts=starts, progress=False
    )
    for bad in ({"cup": poses}, {"robot": poses[0]}, {"robot": 0 * poses}):
        with pytest.raises(PosewiseError, match="starts"):
            solve(bad)
    paths = []
    noted = lambda spec, settings, count: (
        paths.append(initial_paths(spec, settings.seed, settings.starts)) or []
    )
    monkeypatch.setattr(search, "solve_starts", noted)
    solve({"robot": poses})
    np.testing.assert_allclose(paths[0][:, 0], [C.pose("robot"), *poses])


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    m = logic.gaussian_costmap(room(), "cup", **SMALL)
    m.plot(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda C: logic.Costmap([[1, 2]], 0.1, at()), "expected a square"),
        (lambda C: logic.Costmap([[-1.0]], 0.1, at()), "not all finite and >= 0"),
        (lambda C: logic.Costmap([[1.0]], 0, at()), "resolution is 0"),
        (lambda C: logic.Costmap([[1.0]], 1, at()).sample(1, yaw=3), "yaw is 3"),
        (lambda C: logic.Costmap([[1.0]], 1, at()).sample(-1), "count is -1"),
        (lambda C: logic.gaussian_costmap(C, "cu"), "did you mean 'cup'"),
        (lambda C: logic.gaussian_costmap(C, "cup", 0), "sigma is 0"),
        (lambda C: logic.gaussian_costmap(C, "cup", size=1.5), "size is 1.5"),
        (lambda C: logic.ring_costmap(C, "cup", 2, 1), "not above the second"),
        (lambda C: logic.visibility_costmap(C, "cup", 3), "expected two numbers"),
        (lambda C: logic.occupancy_costmap(C, [1, 2]), "a target"),
        (lambda C: logic.occupancy_costmap(C, "cup", robot="r"), "No agent or frame"),
    ],
)
def test_what_cannot_be(make, message):
    with pytest.raises(PosewiseError, match=message):
        make(room())

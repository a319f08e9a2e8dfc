"""Convex parts of meshes: they cover the mesh, are few, and come fast again."""

import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh
from helpers.mesh_cases import BOX, NAMES, ell, outside_of, reference_mesh, triangles

from posewise.robots.errors import ConfigError
from posewise.robots.geometry import convex_parts as module
from posewise.robots.geometry import disk_cache
from posewise.robots.geometry.coacd_process import CoacdError
from posewise.robots.geometry.convex_parts import convex_parts
from posewise.robots.geometry.hulls import hull_vertices
from posewise.robots.geometry.outer_hulls import outer_hull
from posewise.robots.geometry.shapes import Mesh

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "posewise" / "meshes"


@pytest.fixture
def coacd_calls(monkeypatch) -> list:
    """Record the calls of a stand-in for coacd that returns two boxes."""
    calls: list = []
    halves = [BOX.vertices * [2, 1, 1], BOX.vertices * [1, 2, 1]]

    def run(*args):
        calls.append(args)
        return halves

    monkeypatch.setitem(sys.modules, "coacd", object())
    monkeypatch.setattr(module, "run_coacd", run)
    return calls


# -- hulls -------------------------------------------------------------------------


def same_points(a, b) -> bool:
    """Whether two sets of points are equal; none of them lie close together."""
    away = np.linalg.norm(np.asarray(a)[:, None] - np.asarray(b), axis=2)
    return len(a) == len(b) and max(away.min(0).max(), away.min(1).max()) < 1e-8


def test_hull_of_solids():
    fine = BOX.subdivide().subdivide()
    assert same_points(hull_vertices(fine.vertices), BOX.vertices)
    inner = np.concatenate([BOX.vertices, RNG.uniform(-0.5, 0.5, (100, 3))])
    assert same_points(hull_vertices(np.tile(inner, (3, 1))), BOX.vertices)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_hull_of_degenerate_points(scale):
    turn = trimesh.transformations.random_rotation_matrix(np.array([0.1, 0.5, 0.9]))[
        :3, :3
    ]
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]) @ turn * scale
    flat = np.concatenate([square, square, square.mean(0)[None]])
    assert same_points(hull_vertices(flat) / scale, square / scale)
    line = np.linspace(0, 1, 7)[:, None] * turn[0] * scale + 3 * scale
    assert same_points(hull_vertices(line) / scale, line[[0, -1]] / scale)
    assert same_points(hull_vertices(np.ones((5, 3)) * scale), [np.ones(3) * scale])


def test_hull_of_nearly_flat_points():
    for thickness in (1e-16, 1e-13, 1e-10, 1e-8, 1e-5):
        noise = RNG.normal(size=(50, 1)) * thickness
        points = np.column_stack([RNG.uniform(size=(50, 2)), noise])
        directions = RNG.normal(size=(1000, 3))
        reach = (directions @ points.T).max(1)
        assert (directions @ hull_vertices(points).T).max(1) == pytest.approx(
            reach, abs=1e-8
        )


def ring(count: int) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.column_stack([np.cos(angle), 2 * np.sin(angle), 0 * angle])


BALL = trimesh.creation.icosphere(3).vertices
MANY_VERTICES = {
    "ball": (BALL, 1.2),
    "ellipsoid": (BALL * [1, 2, 0.3], 1.2),
    "cylinder": (trimesh.creation.cylinder(1, 3, sections=64).vertices, 1.08),
    "capsule": (trimesh.creation.capsule(3, 0.5).vertices, 1.2),
    "plate": (np.concatenate([ring(200), ring(200) + [0, 0, 1e-3]]), 1.08),
    "sheet": (np.concatenate([ring(200), ring(200) + [0, 0, 1e-7]]), 1.08),
    "needle": (BALL * [1e-4, 1e-4, 1], 1.2),
    "far away": (BALL * 1e-3 + 100, 1.2),
}


@pytest.mark.parametrize("name", MANY_VERTICES)
@pytest.mark.parametrize("most", [8, 16, 32])
def test_outer_hulls_contain_all_and_little_else(name, most):
    points, ratio = MANY_VERTICES[name]
    hull = outer_hull(points, most)
    assert len(hull) <= most
    assert outside_of(hull, points).max() < 1e-9 * np.abs(points).max()
    volume = trimesh.convex.convex_hull(points - points.mean(0)).volume
    grown = trimesh.convex.convex_hull(hull - points.mean(0)).volume
    assert most < 32 or volume < grown < ratio * volume
    assert np.array_equal(hull, outer_hull(points, most))


@pytest.mark.parametrize("most", [8, 32])
def test_outer_hulls_of_flat_points(most):
    turn = trimesh.transformations.random_rotation_matrix(np.array([0.1, 0.5, 0.9]))
    outline = outer_hull(ring(100) @ turn[:3, :3], most) @ turn[:3, :3].T
    assert len(outline) == most and np.abs(outline[:, 2]).max() < 1e-9
    scaled = outline[:, :2] / [1, 2]
    angle = np.arctan2(scaled[:, 1], scaled[:, 0])
    corners = scaled[np.argsort(angle)]
    middles = (corners + np.roll(corners, 1, 0)) / 2
    # Each edge is outside of the inscribed polygon, and its middle near the circle.
    radii = np.linalg.norm(middles, axis=1)
    assert radii.min() > np.cos(np.pi / 100) and radii.max() < 1.1


def test_few_or_all_vertices():
    for most in (None, 642):
        assert same_points(outer_hull(BALL, most), BALL)
    mesh = trimesh.creation.icosphere(3)
    for mode in ("convex", "decompose"):
        (hull,) = convex_parts(Mesh(mesh, mode=mode))
        assert 24 <= len(hull) <= 32
        (hull,) = convex_parts(Mesh(mesh, mode=mode, max_vertices=None))
        assert len(hull) == 642
    for count in (7, 8.5, "many"):
        with pytest.raises(ConfigError, match="max_vertices.*None for all"):
            Mesh(mesh, max_vertices=count)


def test_hulls_of_few_vertices_are_computed_once(monkeypatch, cache):
    mesh = trimesh.creation.icosphere(2)
    (first,) = convex_parts(Mesh(mesh, mode="convex"))
    monkeypatch.setattr(module, "outer_hull", None)
    (again,) = convex_parts(Mesh(mesh, mode="convex"))
    assert np.array_equal(first, again) and len(list(cache.iterdir())) == 1


# -- what needs no coacd -----------------------------------------------------------


def boxes(second: np.ndarray, turned: bool = False) -> trimesh.Trimesh:
    faces = BOX.faces[:, ::-1] if turned else BOX.faces
    vertices = np.concatenate([BOX.vertices, second])
    return triangles(vertices, np.concatenate([BOX.faces, faces + 8]))


CONVEX = {
    "box": (BOX, [8]),
    "inside out": (triangles(BOX.vertices, BOX.faces[:, ::-1]), [8]),
    "finer": (BOX.subdivide(), [8]),
    "nearly": (
        triangles(BOX.vertices + RNG.normal(size=(8, 3)) * 1e-8, BOX.faces),
        [8],
    ),
    "soup": (
        triangles(BOX.vertices[BOX.faces].reshape(-1, 3), np.arange(36).reshape(-1, 3)),
        [8],
    ),
    "twin faces": (
        triangles(BOX.vertices, [*BOX.faces, BOX.faces[3], [0, 0, 1]]),
        [8],
    ),
    "two": (boxes(BOX.vertices + 5), [8, 8]),
    "crossing": (boxes(BOX.vertices + 0.3), [8, 8]),
    "triangle": (triangles(np.eye(3), [[0, 1, 2]]), [3]),
    "square": (
        triangles([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]),
        [4],
    ),
    "line": (triangles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]), [2]),
    "point": (triangles(np.ones((3, 3)), [[0, 1, 2]]), [1]),
}


@pytest.mark.parametrize("name", CONVEX)
def test_convex_meshes_need_no_coacd(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    mesh, counts = CONVEX[name]
    assert [len(part) for part in convex_parts(Mesh(mesh))] == counts


@pytest.mark.parametrize("name", NAMES)
def test_hulls_cover_the_reference_meshes(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    mesh = reference_mesh(name)
    (hull,) = convex_parts(Mesh(mesh, mode="convex", scale=2.0))
    assert outside_of(hull, 2 * mesh.vertices).max() < 1e-12
    with pytest.raises(ImportError, match=r'pip install "posewise\[meshes\]"'):
        convex_parts(Mesh(mesh))


def box(size, middle) -> trimesh.Trimesh:
    mesh = trimesh.creation.box(np.broadcast_to(size, 3))
    return mesh.apply_translation(middle)


def union(*meshes: trimesh.Trimesh) -> trimesh.Trimesh:
    return trimesh.util.concatenate(meshes)


PLATE = box([1, 1, 0.2], [0, 0, 0])
MERGED = {
    "one inside another": (union(PLATE, box(0.1, [0.2, 0.1, 0])), 1),
    "twice the same": (union(PLATE, PLATE), 1),
    "screws": (
        union(PLATE, *(box(0.02, [x, y, 0.1]) for x in (-0.4, 0.4) for y in (-0.4, 0))),
        1,
    ),
    "a crumb far away": (union(PLATE, box(0.01, [3, 0, 0])), 2),
    "a wall on a plate": (union(PLATE, box([0.1, 1, 1], [0, 0, 0.5])), 2),
    "a hundred cubes": (
        union(*(box(0.1, [x, y, 0]) for x in range(10) for y in range(10))),
        32,
    ),
}


LONG = "a hundred cubes"


@pytest.mark.parametrize(
    "name",
    [*sorted(MERGED.keys() - {LONG}), pytest.param(LONG, marks=pytest.mark.slow)],
)
def test_parts_are_merged(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    mesh, count = MERGED[name]
    parts = convex_parts(Mesh(mesh))
    assert len(parts) == count
    gap = np.min([outside_of(part, mesh.vertices) for part in parts], axis=0)
    assert gap.max() < 1e-8


def test_tiny_solids_need_no_coacd(monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    screw = ell().apply_scale(0.01).apply_translation([0, 0, 0.1])
    assert len(convex_parts(Mesh(union(PLATE, screw)))) == 1


# -- coacd -------------------------------------------------------------------------


def check_parts(mesh: trimesh.Trimesh, parts: list[np.ndarray], beyond: float) -> None:
    """Parts cover the solid, and reach at most so far beyond it."""
    size = np.linalg.norm(mesh.extents)
    points = RNG.uniform(*mesh.bounds + [[-0.1], [0.1]] * np.array(size), (20000, 3))
    gap = np.min([outside_of(part, points) for part in parts], axis=0)
    inside = mesh.contains(points)
    assert np.mean(gap[inside] > 0) < 1e-3
    reached = points[~inside & (gap < 0)]
    far = trimesh.proximity.closest_point(mesh, reached)[1] if len(reached) else [0.0]
    assert np.max(far) <= beyond * size
    surface = trimesh.sample.sample_surface(mesh, 5000, seed=0)[0]
    gap = np.min([outside_of(part, surface) for part in parts], axis=0)
    assert gap.max() <= 1e-4 * size
    assert max(len(part) for part in parts) <= 32


def test_coacd_on_an_ell(capfd, cache, monkeypatch):
    pytest.importorskip("coacd")
    # Nothing is printed by coacd; how long it takes is told by a line of our own.
    monkeypatch.setattr("posewise.compilation.progress.SLOW_AFTER", 1e3)
    mesh = ell()
    parts = convex_parts(Mesh(mesh))
    assert capfd.readouterr() == ("", "")
    assert len(parts) == 2
    check_parts(mesh, parts, 0.001)
    assert cache.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(module, "run_coacd", None)
    again = convex_parts(Mesh(mesh))
    assert all(map(np.array_equal, parts, again))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_coacd_on_the_reference_meshes(name):
    pytest.importorskip("coacd")
    mesh = reference_mesh(name)
    check_parts(mesh, convex_parts(Mesh(mesh)), 0.03)


@pytest.mark.slow
def test_coacd_on_open_surfaces():
    pytest.importorskip("coacd")
    parts = convex_parts(Mesh(triangles(BOX.vertices, BOX.faces[:-2])))
    centre = np.zeros((1, 3))
    assert min(outside_of(part, centre)[0] for part in parts) > 0.1


def test_coacd_that_aborts_is_explained():
    pytest.importorskip("coacd")
    nothing = np.zeros((8, 3)), np.asarray(BOX.faces)
    with pytest.raises(CoacdError, match="ended with code"):
        module.run_coacd(*nothing, 0.05, 60.0)


def test_coacd_that_never_ends_is_stopped(monkeypatch):
    pytest.importorskip("coacd")
    monkeypatch.setattr(module, "COACD_TIME_LIMIT", 0.01)
    with pytest.raises(ConfigError, match=r"within 0.01 s\).*mode='convex'"):
        convex_parts(Mesh(ell()))


def test_cavities_stay_with_what_holds_them(coacd_calls):
    convex_parts(Mesh(boxes(BOX.vertices / 2, turned=True)))
    assert len(coacd_calls) == 1 and len(coacd_calls[0][1]) == 24


@pytest.mark.parametrize(
    "mesh, message",
    [
        (Mesh(triangles(BOX.vertices * np.nan, BOX.faces)), "NaN"),
        (Mesh(triangles(BOX.vertices, np.zeros((0, 3), int))), "no triangles"),
        (Mesh(triangles(np.zeros((0, 3)), np.zeros((0, 3), int))), "no vertices"),
        (Mesh(triangles(BOX.vertices * np.inf, BOX.faces), mode="convex"), "infinite"),
        (Mesh(BOX, mode="sdf"), "mode 'sdf'.*expected mode 'decompose'"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_meshes(mesh, message):
    with pytest.raises(ConfigError, match=message):
        convex_parts(mesh)


# -- what is remembered ------------------------------------------------------------


def test_parts_are_computed_once(coacd_calls, cache):
    mesh = Mesh(ell())
    first = convex_parts(mesh)
    assert [len(part) for part in first] == [8, 8]
    convex_parts(mesh)
    convex_parts(Mesh(ell()))
    assert len(coacd_calls) == 1 and len(list(cache.iterdir())) == 1
    convex_parts(Mesh(ell(), scale=2.0))
    assert len(coacd_calls) == 2


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", None])
def test_a_broken_file_is_built_again(content, coacd_calls, cache):
    convex_parts(Mesh(ell()))
    (file,) = cache.iterdir()
    good = file.read_bytes()
    file.write_bytes(good[: len(good) // 2] if content is None else content)
    parts = convex_parts(Mesh(ell()))
    assert len(coacd_calls) == 2 and [len(part) for part in parts] == [8, 8]
    assert file.read_bytes() == good
    np.savez(file, other=np.zeros(3))
    convex_parts(Mesh(ell()))
    assert len(coacd_calls) == 3
    np.savez(file, vertices=np.array([{}]), ends=np.array([1]))  # holds a pickle
    convex_parts(Mesh(ell()))
    assert len(coacd_calls) == 4


@pytest.mark.parametrize("dtype", [str, bool, complex])
def test_arrays_of_a_broken_file(dtype, coacd_calls, cache):
    expected = convex_parts(Mesh(ell()))
    (file,) = cache.iterdir()
    with np.load(file) as arrays:
        good = dict(arrays)
    wrong = {name: good[name].astype(dtype) for name in good if name != "checksum"}
    for arrays in (wrong, {**good, **wrong}, {name: good[name][:1] for name in wrong}):
        np.savez(file, **arrays)
        np.testing.assert_equal(convex_parts(Mesh(ell())), expected)
    with file.open("wb") as stream:
        np.save(stream, np.zeros(3))  # no archive
    np.testing.assert_equal(convex_parts(Mesh(ell())), expected)
    assert len(coacd_calls) == 5


def test_without_a_home(coacd_calls, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert len(convex_parts(Mesh(ell()))) == 2


def test_without_a_folder_to_write(coacd_calls, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    for n in (1, 2):
        assert len(convex_parts(Mesh(ell()))) == 2
        assert len(coacd_calls) == n


def test_half_a_file_is_never_seen(cache, monkeypatch):
    def fail(*args, **arrays):
        args[0].write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(disk_cache.np, "savez", fail)
    with pytest.raises(KeyboardInterrupt):
        disk_cache.memoize_to_disk("a", [1], ["x"], lambda: {"x": np.zeros(2)})
    assert list(cache.iterdir()) == []

"""Signed distance grids: exact nodes, small errors between, sound outside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh
from helpers.mesh_cases import BOX, NAMES, ell, reference_mesh, triangles

from posewise.collision import Grid, grid_distance
from posewise.robots.errors import ConfigError
from posewise.robots.geometry import sdf_grid as module
from posewise.robots.geometry.sdf_grid import signed_distance_grid
from posewise.robots.geometry.shapes import Mesh

RNG = np.random.default_rng(0)
distance = jax.jit(grid_distance)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def nodes(grid: Grid) -> np.ndarray:
    index = np.stack(np.meshgrid(*map(np.arange, grid.values.shape), indexing="ij"), -1)
    return grid.origin + grid.spacing * index


def box_of(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    high = grid.origin + grid.spacing * (np.array(grid.values.shape) - 2)
    return grid.origin + grid.spacing, high


def points_in_box(grid: Grid, n: int) -> np.ndarray:
    return RNG.uniform(*box_of(grid), (n, 3))


def brute(mesh: trimesh.Trimesh, points: np.ndarray) -> np.ndarray:
    """Distance to all triangles, by trimesh's own formula."""
    T = np.asarray(mesh.triangles)
    nearest = trimesh.triangles.closest_point
    return np.array(
        [
            np.linalg.norm(nearest(T, np.tile(p, (len(T), 1))) - p, axis=1).min()
            for p in points
        ]
    )


def signed(mesh: trimesh.Trimesh, points: np.ndarray) -> np.ndarray:
    return np.where(mesh.contains(points), -1, 1) * brute(mesh, points)


def ball(spacing=0.1, side=24) -> Grid:
    """Exact distances to a ball of radius .5 about the origin."""
    spacing = np.broadcast_to(spacing, (3,))
    grid = Grid(np.zeros((side,) * 3), -spacing * (side - 1) / 2, spacing)
    values = np.linalg.norm(nodes(grid), axis=-1) - 0.5
    return Grid(values, grid.origin, grid.spacing)


# -- the grid of a mesh ------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_reference_meshes(name):
    mesh = reference_mesh(name)
    grid = signed_distance_grid(Mesh(mesh), 32)
    h = float(grid.spacing)
    node_points = nodes(grid).reshape(-1, 3)
    some = RNG.integers(0, len(node_points), 150)
    exact = signed(mesh, node_points[some])
    np.testing.assert_allclose(grid.values.reshape(-1)[some], exact, atol=1e-12)
    points = points_in_box(grid, 400)
    error = np.abs(distance(grid, points) - signed(mesh, points)) / h
    assert np.median(error) < 0.02
    assert np.quantile(error, 0.99) < 0.3 and error.max() < 0.5


def test_the_box_leaves_room():
    mesh = ell()
    grid = signed_distance_grid(Mesh(mesh, scale=[1, 2, 3]), resolution=40)
    low, high = box_of(grid)
    h = float(grid.spacing)
    assert max(grid.values.shape) == 40
    assert np.all(low <= -2.9 * h)
    assert np.all(high >= np.array([2, 4, 3]) + 2.9 * h)
    assert grid.values.min() == pytest.approx(-1, abs=h)


@pytest.mark.parametrize("name", ["triangle", "sliver", "line"])
def test_surfaces_without_volume(name):
    vertices = {
        "triangle": np.eye(3),
        "sliver": [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5 + 1e-9]],
        "line": [[0, 0, 0], [1, 1, 1], [2, 2, 2]],
    }[name]
    mesh = triangles(vertices, [[0, 1, 2]])
    grid = signed_distance_grid(Mesh(mesh), 20)
    if name == "line":
        along = np.clip(nodes(grid).mean(-1), 0, 2)[..., None]
        exact = np.linalg.norm(nodes(grid) - along, axis=-1)
        np.testing.assert_allclose(grid.values, exact, atol=1e-12)
    else:
        exact = brute(mesh, nodes(grid).reshape(-1, 3)[::7])
        np.testing.assert_allclose(grid.values.reshape(-1)[::7], exact, atol=1e-8)


def test_an_open_box_is_a_shell():
    grid = signed_distance_grid(Mesh(triangles(BOX.vertices, BOX.faces[:-2])), 24)
    points = points_in_box(grid, 200)
    error = distance(grid, points) - brute(
        triangles(BOX.vertices, BOX.faces[:-2]), points
    )
    assert np.abs(error).max() < 0.6 * float(grid.spacing)


def test_small_holes_and_wrong_turns_do_not_matter():
    fine = BOX.subdivide().subdivide().subdivide().subdivide()
    full = signed_distance_grid(Mesh(BOX), 24).values
    holed = triangles(fine.vertices, np.delete(fine.faces, [5, 300], axis=0))
    turned = triangles(BOX.vertices, BOX.faces[:, ::-1])
    soup = triangles(
        BOX.vertices[BOX.faces].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    )
    np.testing.assert_allclose(
        signed_distance_grid(Mesh(holed), 24).values, full, atol=0.05
    )
    for mesh in (turned, soup):
        np.testing.assert_allclose(
            signed_distance_grid(Mesh(mesh), 24).values, full, atol=1e-12
        )


def test_a_cavity_is_outside():
    vertices = np.concatenate([BOX.vertices, BOX.vertices / 2])
    faces = np.concatenate([BOX.faces, BOX.faces[:, ::-1] + 8])
    grid = signed_distance_grid(Mesh(triangles(vertices, faces)), 32)
    distances = distance(grid, np.array([[0.0, 0, 0], [0.375, 0, 0], [0.6, 0, 0]]))
    np.testing.assert_allclose(distances, [0.25, -0.125, 0.1], atol=0.02)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_meshes():
    for vertices, faces, message in [
        (BOX.vertices * np.nan, BOX.faces, "NaN"),
        (BOX.vertices, np.zeros((0, 3), int), "no triangles"),
        (np.ones((3, 3)), [[0, 1, 2]], "one point"),
    ]:
        with pytest.raises(ConfigError, match=message):
            signed_distance_grid(Mesh(triangles(vertices, faces)))
    for resolution in (3, 1000, 20.5, "fine"):
        with pytest.raises(ConfigError, match="resolution.*12 to 512"):
            signed_distance_grid(Mesh(BOX), resolution)


def test_grids_are_computed_once(monkeypatch):
    calls = []
    exact = module.grid_distances
    count = lambda *args: calls.append(1) or exact(*args)
    monkeypatch.setattr(module, "grid_distances", count)
    mesh = Mesh(BOX)
    grid = signed_distance_grid(mesh, 16)
    assert signed_distance_grid(mesh, 16) is grid
    again = signed_distance_grid(Mesh(BOX), 16)
    assert len(calls) == 1
    assert all(map(np.array_equal, jax.tree.leaves(grid), jax.tree.leaves(again)))
    signed_distance_grid(mesh, 17)
    assert len(calls) == 2


# -- the function ------------------------------------------------------------------


def test_nodes_and_planes_are_exact():
    grid = ball()
    inner = nodes(grid)[1:-1, 1:-1, 1:-1]
    np.testing.assert_allclose(
        distance(grid, inner), grid.values[1:-1, 1:-1, 1:-1], atol=1e-14
    )
    normal = np.array([0.6, 0, 0.8])
    plane = Grid(nodes(grid) @ normal, grid.origin, grid.spacing)
    points = points_in_box(grid, 100)
    np.testing.assert_allclose(distance(plane, points), points @ normal, atol=1e-14)
    slope = jax.vmap(jax.grad(grid_distance, 1), (None, 0))(plane, points)
    np.testing.assert_allclose(slope, np.tile(normal, (100, 1)), atol=1e-13)


def test_spacing_of_each_axis():
    grid = ball(np.array([0.1, 0.05, 0.2]))
    points = points_in_box(grid, 500)
    points = points[np.linalg.norm(points, axis=1) > 0.3]
    exact = np.linalg.norm(points, axis=1) - 0.5
    np.testing.assert_allclose(distance(grid, points), exact, atol=0.02)


def test_gradients():
    grid = ball()
    slope = jax.jit(jax.vmap(jax.grad(grid_distance, 1), (None, 0)))
    points = RNG.uniform(-2.5, 2.5, (400, 3))
    step = 1e-6 * np.eye(3)
    ahead, behind = (distance(grid, points[:, None] + s * step) for s in (1.0, -1.0))
    np.testing.assert_allclose(slope(grid, points), (ahead - behind) / 2e-6, atol=1e-5)
    at_nodes = nodes(grid).reshape(-1, 3)
    assert np.isfinite(slope(grid, at_nodes)).all()
    zero = Grid(np.zeros_like(grid.values), grid.origin, grid.spacing)
    assert np.isfinite(slope(zero, at_nodes)).all()
    across = points_in_box(grid, 100)
    across[:, 0] = nodes(grid)[7, 0, 0, 0]  # from one cell to the next
    jump = slope(grid, across + [1e-9, 0, 0]) - slope(grid, across - [1e-9, 0, 0])
    assert np.abs(jump).max() < 1e-6


def test_outside_it_is_a_lower_bound_that_points_away():
    mesh = ell()
    grid = signed_distance_grid(Mesh(mesh), 32)
    low, high = box_of(grid)
    size = high - low
    points = RNG.uniform(low - 2 * size, high + 2 * size, (400, 3))
    nearest = np.clip(points, low, high)
    points = points[(points != nearest).any(1)]
    nearest = np.clip(points, low, high)
    got, exact = distance(grid, points), brute(mesh, points)
    error = 0.3 * float(grid.spacing)
    assert np.all(got <= exact + error)
    assert np.all(got >= exact / np.sqrt(2) - error)
    slope = jax.vmap(jax.grad(grid_distance, 1), (None, 0))(grid, points)
    assert np.all(np.einsum("ij,ij->i", slope, points - nearest) > 0)
    out = (points - nearest) * 1e-9
    at_box = distance(grid, nearest)
    np.testing.assert_allclose(distance(grid, nearest + out), at_box, atol=1e-7)


def test_a_solid_that_leaves_the_box_stays_continuous():
    grid = ball(spacing=0.02)
    assert (grid.values < 0).all()
    low, high = box_of(grid)
    outside = np.array([high * [1, 0, 0] + [x, 0, 0] for x in (0.0, 1e-9, 1.0)])
    a, b, c = distance(grid, outside)
    assert a < 0 and b == pytest.approx(a) and c == pytest.approx(a + 1)


@pytest.mark.slow
def test_grids_are_data():
    jax.clear_caches()
    programs = jax.jit(grid_distance)
    points = RNG.uniform(-1, 1, (5, 3))
    first, second = ball(), ball(spacing=0.12)
    programs(first, points)
    programs(second, points)
    assert programs._cache_size() == 1
    grids = jax.tree.map(lambda *x: jnp.stack(x), first, second)
    stacked = jax.vmap(grid_distance, (0, None))(grids, points)
    for got, grid in zip(stacked, (first, second), strict=True):
        np.testing.assert_allclose(got, distance(grid, points), atol=1e-14)


def test_dtypes_and_shapes():
    grid = ball()
    points = RNG.uniform(-1, 1, (2, 4, 3))
    wide, narrow = distance(grid, points), distance(grid, points.astype(np.float32))
    assert wide.shape == (2, 4) and wide.dtype == np.float64
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, wide, atol=1e-6)
    assert distance(grid, points[0, 0]).shape == ()
    with pytest.raises(ValueError, match="at least 4 nodes"):
        grid_distance(Grid(np.zeros((3, 4, 4)), np.zeros(3), np.ones(())), points)

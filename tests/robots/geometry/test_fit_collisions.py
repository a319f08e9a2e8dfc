"""Primitives in place of meshes: they enclose, are tight, and say what they cost."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from helpers.mesh_cases import ell, open_cube, triangles

import posewise as pw
from posewise.robots.geometry.fitting.error import collision_model_error
from posewise.robots.geometry.fitting.measures import outside, volume
from posewise.robots.geometry.fitting.surface import PosedShape
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.world.frame import Frame

KINDS = ("capsules", "spheres", "boxes", "hulls")
CLASSES = {
    "capsules": pw.Capsule,
    "spheres": pw.Sphere,
    "boxes": pw.Box,
    "hulls": pw.Convex,
}


def bone() -> trimesh.Trimesh:
    ends = [trimesh.creation.icosphere(2, 0.1) for _ in range(2)]
    ends[1].apply_translation([0, 0, 0.5])
    shaft = trimesh.creation.cylinder(0.03, 0.5, sections=24)
    shaft.apply_translation([0, 0, 0.25])
    return trimesh.util.concatenate([*ends, shaft])


def sheet() -> trimesh.Trimesh:
    grid = np.array([[x, y, 0.0] for x in (0, 1) for y in (0, 2)])
    return triangles(grid, [[0, 2, 1], [1, 2, 3]])


MESHES = {
    "L": ell(),
    "cylinder": trimesh.creation.cylinder(0.1, 1.0, sections=32),
    "bone": bone(),
    "torus": trimesh.creation.torus(0.3, 0.08),
    "plate": trimesh.creation.box([1.0, 0.6, 0.004]),
    "cube": trimesh.creation.box([0.2, 0.2, 0.2]),
    "sheet": sheet(),
    "wedge": triangles([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
    "wire": triangles([[0, 0, 0], [1, 0, 0], [0.5, 0, 0]], [[0, 1, 2]]),
    "needle": triangles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]),
    "triangle": triangles(np.eye(3), [[0, 1, 2]]),
    "point": triangles(np.ones((3, 3)), [[0, 1, 2]]),
}
TURN = trimesh.transformations.random_rotation_matrix(np.array([0.2, 0.7, 0.4]))


def world(mesh: trimesh.Trimesh) -> pw.Config:
    C = pw.Config()
    C.add_frame("link", shape=pw.Mesh(mesh, mode="convex"))
    return C


def fitted_shapes(C: pw.Config, frame: str) -> list[PosedShape]:
    geometries = C.frame(frame).geometries
    return [PosedShape(g.shape, np.asarray(g.pose)) for g in geometries if g.collision]


def surface_points(mesh: trimesh.Trimesh) -> np.ndarray:
    """Vertices, and points inside of triangles: the whole surface is enclosed."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (20, len(mesh.faces)))
    inner = np.einsum("nfk,fki->nfi", weights, mesh.triangles)
    return np.concatenate([mesh.vertices, inner.reshape(-1, 3)])


@pytest.mark.sampled
@pytest.mark.parametrize("tolerance", [None, 0.03])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MESHES)
def test_shapes_enclose(name, kind, tolerance):
    mesh = MESHES[name].copy().apply_transform(TURN)
    C = world(mesh)
    report = C.fit_collisions(kind, tolerance=tolerance)
    shapes = fitted_shapes(C, "link")
    assert all(isinstance(s.shape, CLASSES[kind]) for s in shapes)
    assert report.links[0].shape_count == len(shapes)
    points = surface_points(mesh)
    gaps = np.min([outside(s, points) for s in shapes], axis=0)
    assert gaps.max() <= 1e-8


@pytest.mark.parametrize(
    "name, kind, ratio",
    [
        ("cylinder", "capsules", 1.15),
        ("bone", "capsules", 1.5),
        ("cube", "boxes", 1.001),
        ("plate", "boxes", 1.001),
        ("torus", "hulls", 1.1),
    ],
)
def test_shapes_are_tight(name, kind, ratio):
    mesh = MESHES[name].copy().apply_transform(TURN)
    C = world(mesh)
    C.fit_collisions(kind)
    assert volume(fitted_shapes(C, "link")) <= ratio * mesh.convex_hull.volume


def test_the_smallest_capsule_is_found():
    mesh = trimesh.creation.capsule(0.5, 0.1, count=[32, 32]).apply_transform(TURN)
    C = world(mesh)
    report = C.fit_collisions("capsules")
    (shape,) = [s.shape for s in fitted_shapes(C, "link")]
    assert shape.length == pytest.approx(0.5, abs=0.01)
    assert shape.radius == pytest.approx(0.1, abs=0.002)
    assert report.links[0].volume_ratio == pytest.approx(1.0, abs=0.04)
    assert report.links[0].max_beyond < 0.005


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["capsules", "spheres"])
def test_a_smaller_tolerance_costs_shapes(kind):
    counts, reaches = [], []
    for tolerance in (np.inf, 0.05, 0.02):
        C = world(MESHES["plate"])
        (link,) = C.fit_collisions(kind, tolerance=tolerance).links
        counts.append(link.shape_count)
        reaches.append(link.max_beyond)
    assert counts[0] == 1 < counts[2]
    assert reaches[0] > reaches[2]


def test_hulls_follow_concave_surfaces():
    C = world(ell())
    C.fit_collisions("hulls", tolerance=0.01)
    assert 2 <= len(fitted_shapes(C, "link")) <= 4
    assert volume(fitted_shapes(C, "link")) < 1.1 * 3


def test_a_tolerance_that_is_not_kept_is_told():
    C = world(open_cube())
    report = C.fit_collisions("hulls", tolerance=0.005)
    assert report.links[0].excess > 0.02
    assert "The tolerance is not kept by link ('link' reaches" in str(report)
    assert "not kept" not in str(C.fit_collisions("hulls"))
    assert "not kept" not in str(world(ell()).fit_collisions("hulls", tolerance=0.01))


def test_a_cube_is_cut_along_the_axes_of_its_frame():
    """All axes through a cube are principal: rounding must not choose them."""
    C = world(open_cube())
    C.fit_collisions("hulls", tolerance=0.005)
    hulls = [s.shape.vertices - [0, 0, 0.1] for s in fitted_shapes(C, "link")]
    sides = [(h > -1e-6).all(0) | (h < 1e-6).all(0) for h in hulls]
    # The first cut goes through the middle, across two axes at least.
    assert (np.sum(sides, axis=1) >= 2).all()


def test_everything_else_stays():
    C = pw.Config()
    C.add_frame("base", shape=pw.Box([0.1, 0.1, 0.1]))
    C.add_frame("arm", parent="base", joint="hingeZ", contact=-1)
    mesh = trimesh.creation.cylinder(0.1, 1.0)
    shapes = [pw.Sphere(0.05), (pw.Mesh(mesh, mode="convex"), [0, 0, 1, 1, 0, 0, 0])]
    C.set_shape("arm", shapes)
    C.set_contact("arm", -1)
    C.ignore_collisions("arm", "base")
    before = C.pairs.names()
    report = C.fit_collisions("capsules", links="arm", tolerance=np.inf)
    assert C.pairs.names() == before and C.frame("arm").contact == -1
    solid = [g for g in C.frame("arm").geometries if g.collision]
    assert [type(g.shape) for g in solid] == [pw.Capsule, pw.Sphere]
    drawn = [g.shape for g in C.frame("arm").geometries if g.visual]
    assert [type(s) for s in drawn] == [pw.Sphere, pw.Mesh]
    table = str(report)
    assert "arm" in table and "volume / hull" in table and "median" in table
    C.set_shape("arm", pw.Sphere(0.1))
    assert "nothing was replaced" in str(C.fit_collisions("boxes"))


def test_hulls_count_as_meshes():
    C = pw.Config()
    C.add_frame("tool", shape=pw.Convex(trimesh.creation.box([0.1, 0.1, 0.4]).vertices))
    C.add_frame("round", shape=pw.Convex(np.eye(3), rounding=0.1))
    report = C.fit_collisions("boxes")
    assert [link.frame for link in report.links] == ["tool"]
    assert report.links[0].volume_ratio == pytest.approx(1.0)


def test_fits_are_repeatable():
    results = []
    for _ in range(2):
        C = world(MESHES["bone"])
        C.fit_collisions("capsules")
        results.append([s.pose for s in fitted_shapes(C, "link")])
    assert np.array_equal(*results)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"primitives": "cones"}, "primitives is 'cones', expected 'capsules'"),
        ({"tolerance": 0.0}, "tolerance is 0.0, expected a number > 0"),
        ({"tolerance": "fine"}, "tolerance is 'fine'"),
        ({"links": ["lnk"]}, "lnk.*link"),
        ({"links": 3}, "links is 3, expected the name of a frame"),
        ({"links": "empty"}, "links: frame 'empty' has no mesh"),
    ],
)
def test_bad_arguments(arguments, message):
    C = world(MESHES["cube"])
    C.add_frame("empty")
    with pytest.raises(pw.ConfigError, match=message):
        C.fit_collisions(**arguments)
    assert isinstance(C.frame("link").shape, pw.Mesh)


# -- the error of a model ----------------------------------------------------------


def test_errors_of_known_models():
    cube = pw.Mesh(MESHES["cube"], mode="convex")
    exact = collision_model_error(cube)
    assert exact.volume_ratio == pytest.approx(1.0)
    assert exact.max_beyond < 1e-6 and abs(exact.max_uncovered) < 1e-9
    ball = collision_model_error(cube, [pw.Sphere(0.1 * 3**0.5)])
    assert ball.max_beyond == pytest.approx(0.1 * (3**0.5 - 1), rel=0.02)
    assert ball.volume_ratio == pytest.approx(np.pi * 3**0.5 / 2)
    inner = collision_model_error(cube, [pw.Sphere(0.1)])
    assert inner.max_uncovered == pytest.approx(0.1 * (3**0.5 - 1), rel=1e-6)
    moved = collision_model_error(cube, [(pw.Box([0.2] * 3), [0.01, 0, 0, 1, 0, 0, 0])])
    assert moved.max_uncovered == pytest.approx(0.01)
    assert moved.max_beyond == pytest.approx(0.01)
    assert "the mesh is inside" in str(ball) and "sticks out" in str(inner)


def test_the_hull_of_a_concave_mesh_is_far_beyond():
    hull = collision_model_error(pw.Mesh(ell(), mode="convex"))
    # The middle of the oblique face is half a unit away from both sides of the notch.
    assert hull.max_beyond == pytest.approx(0.5, abs=0.02)
    assert hull.mean_beyond < 0.2 * hull.max_beyond
    with pytest.raises(pw.ConfigError, match="Cylinder cannot be measured"):
        collision_model_error(pw.Mesh(ell()), [pw.Cylinder(1.0, 0.1)])


# -- several shapes ----------------------------------------------------------------


def test_frames_have_several_shapes():
    parts = [pw.Sphere(0.1), (pw.Box([0.1, 0.2, 0.3]), [0, 0, 1, 1, 0, 0, 0])]
    C = pw.Config()
    C.add_frame("a", shape=parts, color=[1, 0, 0])
    C.add_frame("b", position=[0, 0, 3], shape=pw.Sphere(0.1))
    for _ in range(2):
        assert [type(g.shape) for g in C.frame("a").geometries] == [pw.Sphere, pw.Box]
        assert C.frame("a").geometries[1].pose[2] == 1.0 and C.frame("a").contact == 1
        assert C.frame("a").geometries[0].color == (1.0, 0.0, 0.0)
        distance = C.signed_distance("a", "b")[0]
        assert distance == pytest.approx(3 - 0.1 - 1.15)
        C.set_shape("a", parts, color=[1, 0, 0])
    C.set_shape("a", [pw.Marker(0.1), pw.Sphere(0.1)])
    assert [g.collision for g in C.frame("a").geometries] == [False, True]
    C.set_shape("a", [])
    assert C.frame("a").geometries == () and C.frame("a").contact == 0


@pytest.mark.parametrize(
    "shape, message",
    [
        ([pw.Sphere(0.1), 3], "'a'.*part 1 is 3, expected a shape or"),
        ((pw.Sphere(0.1), [0, 0, 1, 1, 0, 0, 0]), "part 1 is"),
        ([(pw.Sphere(0.1), [0, 0, 1])], "part 0.*shape \\(3,\\), expected \\(7,\\)"),
        ([("ball", None)], "shape is str"),
        ("ball", "shape is str"),
        (3, "shape is int, expected one of posewise's shapes.*or a list"),
    ],
)
def test_bad_shapes(shape, message):
    C = pw.Config()
    C.add_frame("a", shape=pw.Sphere(0.2))
    with pytest.raises(pw.ConfigError, match=message):
        C.set_shape("a", shape)
    with pytest.raises(pw.ConfigError):
        C.add_frame("b", shape=shape)
    assert C.frame_names == ("a",) and C.frame("a").shape.radius == 0.2


# -- real robots -------------------------------------------------------------------

ROBOTS = (
    "panda ur5_robot so101 xarm7 kinova tiago pr2 baxter g1_29dof_rev_1_0 talos_reduced"
).split()


def robot_file(name: str) -> Path:
    folder = Path(np.__file__).parents[1] / "cmeel.prefix/share/example-robot-data"
    if not folder.is_dir():
        pytest.skip("example-robot-data is not installed; it holds these robots")
    return sorted(folder.rglob(f"{name}.urdf"))[0]


def replaced_vertices(frame: Frame) -> np.ndarray:
    """All vertices, in the frame, of the meshes that collide."""
    clouds = []
    for g in frame.geometries:
        if g.collision and isinstance(g.shape, pw.Mesh):
            R = quat_to_matrix(np.asarray(g.pose[3:], float))
            clouds.append(np.asarray(g.shape.mesh.vertices) @ R.T + g.pose[:3])
    return np.concatenate(clouds)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_real_robots_are_enclosed(kind):
    ratios = []
    for name in ROBOTS:
        C = pw.Config()
        C.add_file(robot_file(name))
        original = {f.name: f for f in C.frames}
        report = C.fit_collisions(kind)
        ratios += [link.volume_ratio for link in report.links]
        for link in report.links:
            if link.frame in report.hulls:  # keeps its meshes
                continue
            points = replaced_vertices(original[link.frame])
            shapes = fitted_shapes(C, link.frame)
            gaps = np.min([outside(s, points) for s in shapes], axis=0)
            assert gaps.max() <= 1e-8, (name, link.frame)
    limits = {"capsules": 1.6, "spheres": 1.8, "boxes": 1.4, "hulls": 1.1}
    assert np.median(ratios) <= limits[kind]

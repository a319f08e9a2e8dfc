"""`FS.supportPolygon` against hulls by scipy, and masses by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh
from helpers.worlds import central_differences
from scipy.spatial import ConvexHull

import posewise as pw
from posewise import FS, OT, ConfigError
from posewise.features.errors import FeatureError
from posewise.features.support_polygon import nearest_of_polygon
from posewise.objectives.checks.path_doubts import path_doubts
from posewise.objectives.problem.spec import mode_sequence
from posewise.robots.kinematics.transforms import quat_to_matrix


def truth(x, points) -> float:
    """Distance of a point from the hull of points, negative inside."""
    hull = ConvexHull(points)
    planes = hull.equations[:, :2] @ x + hull.equations[:, 2]
    if planes.max() <= 0:
        return planes.max()
    return min(to_segment(x, *points[list(edge)]) for edge in hull.simplices)


def to_segment(x, a, b) -> float:
    s = np.clip((x - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    return float(np.linalg.norm(x - a - s * (b - a)))


@jax.jit
def polygon_distance(x, points, counts):
    u, weights = nearest_of_polygon(x, points, counts)
    return jnp.sum(u * (x - jnp.sum(weights[:, None] * points, 0)))


@pytest.mark.parametrize("count", [3, 4, 8, 20])
def test_the_polygon_is_the_hull(count):
    rng = np.random.default_rng(count)
    for _ in range(100):
        stretch = np.diag(10.0 ** rng.uniform(-1, 0, 2))
        points = rng.normal(size=(count, 2)) @ stretch
        counts = rng.random(count) < 0.7
        counts[:3] = True
        x = rng.normal(size=2) @ stretch
        got = float(polygon_distance(x, points, counts))
        assert got == pytest.approx(truth(x, points[counts]), abs=1e-9)


CASES = {
    "one point": ([[1, 1]] * 4, [1, 3], 2.0),
    "beside a line": ([[0, 0], [2, 0], [1, 0]], [1, 0.5], 0.5),
    "beyond its end": ([[0, 0], [2, 0], [1, 0]], [3, 0], 1.0),
    "on it": ([[0, 0], [2, 0], [1, 0]], [0.5, 0], 0.0),
    "square": ([[0, 0], [2, 0], [2, 2], [0, 2]], [1.5, 1], -0.5),
    "edge": ([[0, 0], [2, 0], [2, 2], [0, 2]], [2, 1], 0.0),
    "corner": ([[0, 0], [2, 0], [2, 2], [0, 2]], [5, 6], 5.0),
}


@pytest.mark.parametrize("name", CASES)
def test_singular_polygons(name):
    points, x, want = CASES[name]
    args = jnp.array(x, float), jnp.array(points, float), np.ones(len(points), bool)
    assert float(polygon_distance(*args)) == pytest.approx(want, abs=1e-12)
    grad = jax.grad(polygon_distance, (0, 1))(*args)
    assert all(np.isfinite(g).all() for g in grad)
    if name == "edge":
        np.testing.assert_allclose(grad[0], [1, 0], atol=1e-12)


def foot_shapes():
    corners = np.array(np.meshgrid([-0.1, 0.1], [-0.04, 0.04], [-0.02, 0.02]))
    corners = corners.reshape(3, -1).T
    angle = 2 * np.pi * np.arange(32) / 32
    disc = 0.05 * np.stack([np.cos(angle), np.sin(angle)], -1)
    box = corners[corners[:, 2] < 0, :2]
    return {
        "box": (pw.Box([0.2, 0.08, 0.04]), box),
        "rounded box": (
            pw.Box([0.2, 0.08, 0.04], rounding=0.01),
            np.sign(box) * (np.abs(box) - 0.01),
        ),
        "sphere": (pw.Sphere(0.02), np.zeros((1, 2))),
        "cylinder": (pw.Cylinder(0.04, 0.05), disc),
        "mesh": (pw.Mesh(trimesh.convex.convex_hull(corners)), box),
    }


def biped(shape, base="free") -> pw.Config:
    """A heavy body on two feet 0.3 m apart, and an arm with a load."""
    C = pw.Config()
    C.add_frame("body", position=[0, 0, 1], joint=base, mass=10.0)
    for side, x, y in (("left", 0, 0.15), ("right", 0.02, -0.15)):
        place = [x, y, -0.4]
        C.add_frame(f"{side}_hip", "body", position=place, joint="hingeY", mass=1.0)
        C.add_frame(f"{side}_foot", f"{side}_hip", position=[0, 0, -0.58], mass=0.5)
        C.set_shape(f"{side}_foot", shape)
    C.add_frame("arm", "body", position=[0, -0.2, 0.2], joint="hingeZ", mass=0.0)
    load = pw.Sphere(0.05)
    C.add_frame("load", "arm", position=[0.8, 0, 0], mass=2.0, shape=load)
    C.add_frame("table", position=[3, 0, 0.4], shape=pw.Box([1, 1, 0.8]), mass=50.0)
    return C


FEET = ["left_foot", "right_foot"]


@pytest.mark.long
@pytest.mark.sampled("mesh")
@pytest.mark.parametrize("name", foot_shapes())
def test_of_a_biped(name):
    shape, sole = foot_shapes()[name]
    C = biped(shape)
    C.set_joint("arm", 0.4)
    turn = np.array([np.cos(0.3), 0, 0, np.sin(0.3)])
    C.set_pose("body", [0.2, -0.1, 1.3, *turn])
    bodies = {"body": 10, "left_hip": 1, "right_hip": 1, "left_foot": 0.5}
    bodies |= {"right_foot": 0.5, "load": 2}
    centre = sum(m * C.pose(f)[:3] for f, m in bodies.items()) / sum(bodies.values())
    Rz = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    if name == "sphere":
        a, b = (C.pose(f)[:2] for f in FEET)
        want = to_segment(centre[:2], a, b)
    else:
        soles = np.vstack([C.pose(f)[:2] + sole @ Rz.T for f in FEET])
        want = truth(centre[:2], soles)
    (value,), J = C.eval(FS.supportPolygon, FEET)
    # Of two discs not all points are tried, so that the polygon is a little smaller.
    assert -1e-9 < value - want < (3e-4 if name == "cylinder" else 1e-9)
    phi = C.feature(FS.supportPolygon, FEET).function(C)
    plain = central_differences(lambda q: np.asarray(phi(q)), C.q)
    np.testing.assert_allclose(J, plain, atol=1e-6)


def test_feet_that_do_not_lie_flat_carry_by_their_lowest_points():
    C = biped(foot_shapes()["box"][0])
    C.set_joint("arm", np.pi)
    C.set_pose("body", [0, 0, 1, np.cos(0.06), 0, np.sin(0.06), 0])
    R = quat_to_matrix(C.pose("left_foot")[3:])
    toes = [C.pose(f)[:3] + R @ [0.1, y, -0.02] for f in FEET for y in (-0.04, 0.04)]
    bodies = [f.name for f in C.frames if f.mass and f.name != "table"]
    to_centre = C.eval(FS.EqCenterOfMass, ["table", *bodies])[0]
    want = truth((C.pose("table")[:3] - to_centre)[:2], np.array(toes)[:, :2])
    assert want > 0.05
    assert C.eval(FS.supportPolygon, FEET)[0][0] == pytest.approx(want, abs=1e-9)
    whole = C.feature(FS.supportPolygon, FEET, sole=0.1)
    assert whole.eval(C)[0][0] < 0


@pytest.mark.slow
def test_meshes_of_many_vertices_carry_by_what_is_lowest():
    """A round plate on a small pad; the plate is wide, but in the air."""
    plate = trimesh.creation.cylinder(0.15, 0.02, sections=200)
    pad = trimesh.creation.cylinder(0.02, 0.02, sections=80)
    pad.apply_translation([0, 0, -0.02])
    C = pw.Config()
    C.add_frame("body", position=[0, 0, 1], joint="free", mass=1.0)
    shape = pw.Mesh(trimesh.util.concatenate([plate, pad]))
    C.add_frame("foot", "body", position=[0.05, 0, -0.5], shape=shape, mass=0.0)
    C.add_frame("weight", "body", position=[0.06, 0.01, 0.3], mass=9.0)
    pads = pad.vertices[:, :2] + [0.05, 0]
    want = truth(np.array([0.054, 0.009]), pads)
    (value,), J = C.eval(FS.supportPolygon, ["foot"])
    assert value == pytest.approx(want, abs=1e-4) and want < 0
    phi = C.feature(FS.supportPolygon, ["foot"]).function(C)
    plain = central_differences(lambda q: np.asarray(phi(q)), C.q)
    np.testing.assert_allclose(J, plain, atol=1e-5)


def test_a_negative_sole_is_refused():
    with pytest.raises(FeatureError, match="sole is -0.01, expected metres >= 0"):
        planted().eval(FS.supportPolygon, FEET, sole=-0.01)


def test_what_the_hand_carries_counts():
    C = biped(foot_shapes()["box"][0])
    alone = C.eval(FS.supportPolygon, FEET)[0][0]
    C.add_frame("box", position=[1.2, 0, 1], shape=pw.Box([0.1] * 3), mass=5.0)
    assert C.eval(FS.supportPolygon, FEET)[0][0] == alone
    C.attach("load", "box")
    assert C.eval(FS.supportPolygon, FEET)[0][0] > alone + 0.1


@pytest.mark.slow
def test_a_humanoid_leans_back_to_stay_over_its_feet():
    C = biped(foot_shapes()["box"][0])
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_control_objective(0, 0.1)
    komo.add_objective(None, FS.qItself, ["arm"], OT.eq, target=[0.0])
    for foot in FEET:
        komo.add_objective(None, FS.pose, [foot], OT.eq, target=C.pose(foot))
    falling = komo.solve(progress=False)
    balance = FS.supportPolygon, FEET, OT.ineq
    komo.add_objective(None, *balance, target=-0.02, name="balance")
    standing = komo.solve(progress=False)
    assert falling.feasible and standing.feasible
    soles = np.vstack([C.pose(f)[:2] + foot_shapes()["box"][1] for f in FEET])
    distances = []
    for solution in (falling, standing):
        C.q = solution.q
        mass = np.array([f.mass for f in C.frames if f.name != "table"])
        places = [C.pose(f.name)[:2] for f in C.frames if f.name != "table"]
        distances.append(truth(mass @ np.array(places) / mass.sum(), soles))
    assert distances[0] > -0.01 and -0.03 < distances[1] < -0.019


def planted() -> pw.Config:
    C = biped(foot_shapes()["box"][0])
    C.add_frame("statue", shape=pw.Box([1, 1, 1]), mass=3.0)
    C.add_frame("pole", joint="hingeX", shape=pw.Box([1, 1, 1]), mass=3.0)
    C.add_frame("cart", joint="transXYPhi", shape=pw.Box([1, 1, 1]), mass=3.0)
    C.add_frame("ghost", joint="free", shape=pw.Box([1, 1, 1]), mass=0.0)
    C.add_frame("tip", "ghost", mass=0.0)
    return C


@pytest.mark.parametrize(
    ("feet", "message"),
    [
        (["statue"], "'statue' cannot fall, because no joint moves its base"),
        (["pole"], "'pole' cannot fall"),
        (["left_foot", "cart"], "'left_foot' is carried by 'body', but 'cart' by"),
        (["left_hip"], "foot 'left_hip' has no solid shape"),
        (["world"], "the world is no foot"),
        (["left_foot", "nope"], "nope"),
    ],
)
def test_feet_that_cannot_be(feet, message):
    with pytest.raises(ConfigError, match=message):
        planted().eval(FS.supportPolygon, feet)


@pytest.mark.parametrize(
    ("lift", "is_told"), [(0.0, False), (0.02, False), (0.2, True)]
)
def test_a_foot_in_the_air_is_told(lift, is_told):
    C = pw.Config()
    C.add_frame("body", joint="free", position=[0, 0, 1], shape=pw.Box([0.2] * 3))
    for name, y, z in (("left", 0.1, 0.0), ("right", -0.1, lift)):
        C.add_frame(
            name, "body", position=[0, y, z - 0.9], shape=pw.Box([0.2, 0.1, 0.05])
        )
    komo = pw.KOMO(C)
    komo.add_objective(None, FS.supportPolygon, ["left", "right"], OT.ineq)
    doubts = [*path_doubts(mode_sequence(komo.spec), C.q[None], komo.objectives)]
    assert len(doubts) == is_told
    assert not is_told or "'right' is 0.2 m higher than 'left'" in doubts[0]

"""Placement: geometry of solutions, their order, distinctness and status; errors."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import optax
import pytest
import trimesh
from helpers.worlds import random_pose

import posewise as pw
from posewise import FS, OT, Feature
from posewise.objectives.placement import distinct_placements
from posewise.objectives.placement.sampling import (
    PlacementHints,
    default_region,
    sample_placements,
)
from posewise.objectives.placement.stable_poses import settle_on_face, stable_faces
from posewise.robots.kinematics.transforms import quat_to_matrix

X, Y, Z = np.eye(3)
UPRIGHT = [
    (Feature(FS.vectorX, ["cup"], target=X), OT.eq),
    (Feature(FS.vectorZ, ["cup"], target=Z), OT.eq),
]


def two_sides(a):
    """Zero at x = ±0.3."""
    return (a.p[0] ** 2 - 0.09)[None]


@dataclass(frozen=True)
class Level:
    """A statement like a predicate: the origin at a height [m]."""

    frame: str
    height: float

    def objectives(self, C, interval):
        goal = [0, 0, self.height]
        row = Feature(FS.position, [self.frame], scale=[[0, 0, 1]], target=goal)
        yield row, OT.eq, interval.slices


def kitchen() -> pw.Config:
    """An arm, and a tray that hangs on it with a cup on top."""
    C = pw.Config()
    C.add_frame("arm", joint="hingeZ", q=[0.3])
    C.add_frame("tray", "arm", position=[0.2, 0, 0.5], shape=pw.Box([0.4, 0.3, 0.02]))
    C.add_frame("cup", "tray", position=[0, 0, 0.07], shape=pw.Cylinder(0.1, 0.04))
    return C


@pytest.mark.long
def test_every_side_is_found_the_cheaper_first_and_the_world_stays():
    C = kitchen()
    before, pose = C.model(), C.pose("cup")
    goal = Feature(FS.position, ["cup"], target=[0.1, 0.05, 0.6], scale=0.1)
    what = [
        *UPRIGHT,
        (Feature(two_sides, ["cup"]), OT.eq),
        Level("cup", 0.4),
        (goal, OT.sos),
    ]
    solve = lambda **kw: pw.solve_placement(
        C, what, ["cup"], starts=16, collisions=False, **kw
    )
    near, far = solve()
    assert C.model().frames == before.frames and (C.pose("cup") == pose).all()
    for placement, x in ((near, 0.3), (far, -0.3)):
        assert placement.feasible and placement.solution.status is pw.Status.CONVERGED
        want = [x, 0.05, 0.4, 1, 0, 0, 0]
        cup_pose = placement.poses["cup"]
        got = cup_pose * np.sign(cup_pose[3]) ** ([0] * 3 + [1] * 4)
        np.testing.assert_allclose(got, want, atol=1e-3)
        np.testing.assert_allclose(
            placement.cost, 0.01 * ((x - 0.1) ** 2 + 0.04), rtol=1e-2
        )
        assert "cup: " in placement.report() and "two_sides" in placement.report()
    assert near.cost < far.cost
    far.apply(C)
    np.testing.assert_allclose(C.pose("cup"), far.poses["cup"], atol=1e-12)
    np.testing.assert_allclose(C.q, [0.3])
    C.set_pose("cup", pose)
    again = solve()
    for one, other in zip((near, far), again, strict=True):
        np.testing.assert_array_equal(one.poses["cup"], other.poses["cup"])
    assert len(solve(min_separation=(1.0, 0.1))) == 1
    elsewhere = solve(region=[[-1, -1, 0], [0, 1, 1]])
    assert elsewhere[0].feasible and elsewhere[0].poses["cup"][0] < 0


def test_conflicts_are_named_and_nothing_is_called_feasible():
    what = [Level("cup", 0.4), (Feature(FS.position, ["cup"], target=Z), OT.eq)]
    placements = pw.solve_placement(
        kitchen(), what, ["cup"], starts=4, collisions=False
    )
    assert placements and not any(p.feasible for p in placements)
    best = placements[0]
    assert best.solution.status is pw.Status.INFEASIBLE
    assert "Level: position(cup)" in best.message and "conflict" in best.message
    worst = [max(p.solution.eq, p.solution.ineq) for p in placements]
    assert worst == sorted(worst)


@pytest.mark.long
def test_movables_keep_clear_of_everything():
    """Two balls on one spot beside a fixed one, on an arm that is not to move."""
    C = pw.Config()
    C.add_frame("arm", joint="hingeZ", q=[0.3])
    C.add_frame("fixed", "arm", position=[0.1, 0, 0.2], shape=pw.Sphere(0.1))
    for name in "ab":
        C.add_frame(name, joint="free", shape=pw.Sphere(0.05))
    middle = C.pose("fixed")[:3]
    what = [
        (Feature(FS.position, [name], target=middle, scale=0.1), OT.sos)
        for name in "ab"
    ]
    best = pw.solve_placement(C, what, list("ab"), starts=4)[0]
    assert best.feasible
    best.apply(C)
    a, b = C.pose("a")[:3], C.pose("b")[:3]
    reach = [np.linalg.norm(p - middle) for p in (a, b)]
    np.testing.assert_allclose(reach, 0.15, atol=2e-3)
    assert np.linalg.norm(a - b) >= 0.1 - 1e-3
    assert C.collisions(margin=-1.1e-3) == []
    np.testing.assert_allclose(C.q[0], 0.3)


def test_a_frame_and_what_hangs_on_it_move_by_themselves():
    C = kitchen()
    what = [Level("tray", 0.3), Level("cup", 0.7)]
    placements = pw.solve_placement(
        C, what, ["cup", "tray"], starts=2, collisions=False
    )
    assert list(placements[0].poses) == ["tray", "cup"]
    placements[0].apply(C)
    for name, height in (("tray", 0.3), ("cup", 0.7)):
        np.testing.assert_allclose(C.pose(name), placements[0].poses[name], atol=1e-12)
        assert abs(C.pose(name)[2] - height) < 1e-3


def test_the_region_holds_all_shapes_with_room_for_the_movables():
    rng = np.random.default_rng(2)
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_frame(
        "box", pose=random_pose(rng), shape=pw.Box([0.3, 0.5, 0.7], rounding=0.1)
    )
    C.add_frame("ball", position=[2, 0, 0], shape=pw.Sphere(0.25))
    C.add_frame("goal", position=[0, -3, 0])
    C.add_frame("cup", joint="free", position=[0, 0, 1], shape=pw.Sphere(0.05))
    corners = np.array(list(product([-1, 1], repeat=3))) * [0.05, 0.15, 0.25]
    W = C.poses()[1]
    w, v = W[3], W[4:]
    turned = corners + 2 * np.cross(v, np.cross(v, corners) + w * corners)
    parts = np.concatenate(
        [[[0, 0, 0], [0, -3, 0], [1.75, -0.25, -0.25], [2.25, 0.25, 0.25],
          [0.05, 0.05, 1.05], [-0.05, -0.05, 0.95]],
         W[:3] + turned + 0.1, W[:3] + turned - 0.1]
    )  # fmt: skip
    room = 0.1 + np.sqrt(3) * 0.1
    got = default_region(C, ["cup"])
    np.testing.assert_allclose(got, [parts.min(0) - room, parts.max(0) + room])


def test_starts_are_the_present_then_upright_and_any_turns():
    C = pw.Config()
    C.add_frame("cup", joint="free", pose=random_pose(np.random.default_rng(0)))
    corners = np.array([[0, 1, 2], [1, 3, 5.0]])
    q = sample_placements(C, ["cup"], corners, 400, np.random.default_rng(1))[:, 0]
    np.testing.assert_array_equal(q[0], C.q)
    assert (q[1:, :3] >= corners[0]).all() and (q[1:, :3] <= corners[1]).all()
    np.testing.assert_allclose(q[1:, :3].mean(0), corners.mean(0), atol=0.15)
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:], axis=1), 1)
    w, x, y, z = q[:, 3:].T
    tilt = 1 - 2 * (x * x + y * y)
    np.testing.assert_allclose(tilt[1::4], tilt[0])
    assert tilt[3::4].std() > 0.5


@pytest.mark.long
def test_starts_are_where_hints_say_and_the_present_the_last():
    C = pw.Config()
    C.add_frame("cup", joint="free", shape=pw.Box([0.1, 0.2, 0.3]))
    corners, box = (
        np.array([[-2, -2, -2], [2, 2, 2.0]]),
        np.array([[0.0, 0, 0], [1, 1, 1]]),
    )
    low = PlacementHints([box], lambda poses: poses[:, 2] < 0.1)
    q = sample_placements(
        C, ["cup"], corners, 65, np.random.default_rng(1), {"cup": low}
    )[:, 0]
    np.testing.assert_array_equal(q[-1], C.q)
    anywhere = np.isin(np.arange(64) % 8, (3, 7))
    hinted, free = q[:-1][~anywhere], q[:-1][anywhere]
    assert (hinted[:, :3] >= 0).all() and (hinted[:, 2] < 0.1).mean() > 0.9
    assert (free[:, :3] < 0).any() and (hinted[:, :2].max(0) > 0.9).all()
    laid = np.abs(quat_to_matrix(q[[0, 2, 4], 3:])[:, 2])
    np.testing.assert_allclose(np.sort(laid, 1), [[0, 0, 1]] * 3, atol=1e-9)


HULLS = {
    "block": [[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)],
    "tetrahedron": [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    "leaning": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [3, 3, 1]],
    "random": np.random.default_rng(4).normal(size=(12, 3)),
}


@pytest.mark.parametrize("name", HULLS)
def test_faces_to_rest_on(name):
    """Their triangles, projected along the normal, hold the centroid (trimesh's)."""
    hull = trimesh.Trimesh(HULLS[name]).convex_hull
    normals, heights = stable_faces(np.array(HULLS[name], float))
    want = []
    for normal, origin in zip(hull.face_normals, hull.triangles_center, strict=True):
        height = normal @ (origin - hull.center_mass)
        foot = hull.center_mass + height * normal
        if trimesh.proximity.closest_point(hull, [foot])[1][0] < 1e-9:
            want.append([*normal, height])
    unique = lambda rows: np.unique(np.round(rows, 6) + 0.0, axis=0)
    got = np.column_stack([normals, heights])
    np.testing.assert_allclose(unique(got), unique(want), atol=2e-6)
    turned = random_pose(np.random.default_rng(0))[None, 3:]
    down = -quat_to_matrix(settle_on_face(np.array(HULLS[name], float), turned))[0, 2]
    assert np.abs(normals - down).max(1).min() < 1e-9


def test_what_has_no_volume_rests_on_nothing():
    for points in (np.zeros((0, 3)), np.eye(3), np.zeros((5, 3))):
        assert len(stable_faces(points)[0]) == 0
        turned = np.array([[1.0, 0, 0, 0]])
        np.testing.assert_array_equal(settle_on_face(points, turned), turned)


def test_coinciding_is_symmetric_and_blind_to_a_quaternion_s_sign():
    half = lambda angle: [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
    poses = [[0, 0, 0, *half(0)], [0.005, 0, 0, *np.negative(half(0.09))],
             [0, 0, 0, *half(0.2)], [0.02, 0, 0, *half(0)]]  # fmt: skip
    C = pw.Config()
    C.add_frame("cup", joint="free", shape=pw.Box([0.1, 0.1, 0.1]))
    done = pw.Solution(
        *(C.q[None], pw.Status.CONVERGED, 1e-3, 0, 0.0), *(C, np.ones(1))
    )
    placements = [pw.Placement({"cup": np.array(p, float)}, done) for p in poses]
    first, same, turned, shifted = placements
    distinct = distinct_placements(placements, 0.01, 0.1)
    assert distinct == [first, turned, shifted]
    assert distinct_placements([same, first], 0.01, 0.1) == [same]


LEVEL = Level("cup", 0.4)
BAD = [
    ([LEVEL], "cop", {}, ["'cop'", "'cup'"]),
    ([LEVEL], [], {}, ["movable is []", "names"]),
    ([LEVEL], 3, {}, ["movable is 3"]),
    ([LEVEL], ["world"], {}, ["world"]),
    ([Level("cop", 0.4)], ["cup"], {}, ["'cop'", "'cup'"]),
    (LEVEL, ["cup"], {}, ["constraints is", "expected a list"]),
    ([FS.position], ["cup"], {}, ["constraints[0]", "predicate"]),
    ([(LEVEL, OT.eq)], ["cup"], {}, ["constraints[0]", "(Feature, OT)"]),
    ([(UPRIGHT[0][0], "eq")], ["cup"], {}, ["type is 'eq'"]),
    ([], ["cup"], {"collisions": False}, ["no objective"]),
    ([LEVEL], ["cup"], {"starts": 0}, ["starts is 0"]),
    ([LEVEL], ["cup"], {"seed": -1}, ["seed is -1"]),
    ([LEVEL], ["cup"], {"tolerance": 0}, ["tolerance is 0"]),
    ([LEVEL], ["cup"], {"region": [[0, 0, 1], [1, 1, 0]]}, ["region is", "lower"]),
    ([LEVEL], ["cup"], {"region": "table"}, ["region is 'table'"]),
    ([LEVEL], ["cup"], {"count": 0}, ["count is 0", "at least 1"]),
    (
        [LEVEL],
        ["cup"],
        {"min_separation": 0.1},
        ["min_separation is 0.1", "two numbers"],
    ),
    (
        [LEVEL],
        ["cup"],
        {"min_separation": (0.1, -1)},
        ["min_separation: radians is -1"],
    ),
    ([LEVEL], ["cup"], {"max_iteration": 3}, ["max_iteration", "max_iterations"]),
]


@pytest.mark.parametrize(("what", "movable", "options", "says"), BAD)
def test_bad_arguments(what, movable, options, says):
    with pytest.raises(pw.PosewiseError) as error:
        pw.solve_placement(kitchen(), what, movable, **options)
    for part in says:
        assert part in str(error.value)


def test_the_world_must_be_one():
    with pytest.raises(pw.ObjectiveError, match="C is dict"):
        pw.solve_placement({}, [LEVEL], ["cup"])


@pytest.mark.long
def test_an_optimiser_of_optax_places_too():
    C = kitchen()
    goal = Feature(FS.position, ["cup"], target=[0.1, 0.05, 0.6])
    best = pw.solve_placement(
        C,
        [(goal, OT.eq)],
        ["cup"],
        starts=2,
        collisions=False,
        method=optax.adam(0.02),
        progress=False,
    )[0]
    assert best.feasible
    np.testing.assert_allclose(best.poses["cup"][:3], [0.1, 0.05, 0.6], atol=2e-3)

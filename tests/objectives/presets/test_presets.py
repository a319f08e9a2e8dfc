"""Presets: each row against NumPy, which slices, solved grasps and pushes, errors."""

import pickle
from itertools import permutations, product

import numpy as np
import pytest
from helpers.worlds import random_pose

import posewise as pw
from posewise import FS, OT, presets
from posewise.objectives.checks.findings import find_problems
from posewise.objectives.problem.spec import compile_chain, initial_paths
from posewise.objectives.terms.interval import SliceInterval
from posewise.objectives.trajectory.waypoints import slerp

AXES = "xyz"
X, Y, Z = np.eye(3)
SIZE, TOP = np.array([0.1, 0.14, 0.2]), np.array([0.8, 1.2, 0.04])
RADIUS, LENGTH = 0.04, 0.15


def scene() -> pw.Config:
    """Free-flying gripper, box and can, a table; all at random poses."""
    rng = np.random.default_rng(3)
    pose = lambda: random_pose(rng)
    C = pw.Config()
    C.add_frame("table", pose=pose(), shape=pw.Box(TOP))
    C.add_frame("gripper", joint="free", pose=pose(), shape=pw.Marker())
    C.add_frame("palm", "gripper", position=[0, 0, 0.12], shape=pw.Marker())
    C.add_frame("box", joint="free", pose=pose(), shape=pw.Box(SIZE))
    C.add_frame("can", joint="free", pose=pose(), shape=pw.Cylinder(LENGTH, RADIUS))
    C.add_frame("ball", joint="free", pose=pose(), shape=pw.Sphere(0.05))
    C.add_frame("tip", "gripper", shape=pw.Sphere(0.01))
    return C


def matrix(C, frame) -> np.ndarray:
    """R of a frame by the textbook formula."""
    w, v = C.pose(frame)[3], C.pose(frame)[4:]
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def seen(C, a, b) -> np.ndarray:
    """Origin of a in b."""
    return matrix(C, b).T @ (C.pose(a)[:3] - C.pose(b)[:3])


def box_gap(C, point, box) -> float:
    """Distance of a point outside a box."""
    out = np.abs(seen(C, point, box)) - C.frame(box).shape.size / 2
    assert out.max() > 0
    return float(np.linalg.norm(np.maximum(out, 0)))


def rows_of(C, preset, type) -> np.ndarray:
    """All rows of a type at the present state, in order."""
    komo = pw.KOMO(C)
    objectives = [o for o in komo.add(preset) if o.type is type]
    return np.concatenate([o.feature.eval(C)[0] for o in objectives])


def grasp_box_rows(C, direction):
    k = AXES.index(direction)
    p, plane = seen(C, "gripper", "box"), [i for i in range(3) if i != k]
    finger = matrix(C, "gripper")[:, 0]
    inside = np.abs(p) - np.maximum(SIZE / 2 - 0.02, 0)
    sides = [p - (SIZE / 2 - 0.02), -p - (SIZE / 2 - 0.02)]
    assert np.allclose(np.maximum(*sides), inside)
    return (
        [10 * p[k], *(finger @ matrix(C, "box")[:, i] for i in plane)],
        [*(10 * side[i] for side in sides for i in plane),
         10 * (0.001 - box_gap(C, "palm", "box"))],
    )  # fmt: skip


def grasp_cylinder_rows(C):
    p, half = seen(C, "gripper", "can"), LENGTH / 2 - 0.02
    product_xz = matrix(C, "gripper")[:, 0] @ matrix(C, "can")[:, 2]
    return (
        [10 * p[0], 10 * p[1], product_xz],
        [10 * (p[2] - half), 10 * (-p[2] - half)],
    )


def place_box_rows(C, direction):
    k, sign = AXES.index(direction[-1]), -1 if direction[0] == "-" else 1
    p = seen(C, "box", "table")
    up = matrix(C, "box").T @ matrix(C, "table")[:, 2]
    sides = [p - (TOP / 2 - 0.02), -p - (TOP / 2 - 0.02)]
    return (
        [10 * (p[2] - (SIZE[k] + TOP[2]) / 2), *(up - sign * np.eye(3)[k])],
        [*(10 * side[i] for side in sides for i in (0, 1)),
         10 * (0.001 - box_gap(C, "palm", "table"))],
    )  # fmt: skip


CASES = [
    *((presets.grasp_box("gripper", "box", "palm", d),
       lambda C, d=d: grasp_box_rows(C, d)) for d in AXES),
    *((presets.place_box("box", "table", "palm", d),
       lambda C, d=d: place_box_rows(C, d)) for d in ("x", "-x", "y", "z", "-z")),
    (presets.target_relative_xy_position("box", "table", [0.1, -0.2]),
     lambda C: (10 * (seen(C, "box", "table")[:2] - [0.1, -0.2]), [])),
    (presets.target_x_orientation("box", [0, -3, 4]),
     lambda C: (10 * (matrix(C, "box")[:, 0] - [0, -0.6, 0.8]), [])),
    (presets.no_collisions([("tip", "ball")], 0.02),
     lambda C: ([], [10 * (0.02 + 0.06 - np.linalg.norm(
         C.pose("tip")[:3] - C.pose("ball")[:3]))])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("preset", "want"), CASES, ids=[preset.name for preset, _ in CASES]
)
def test_rows_are_what_numpy_says(preset, want):
    C = scene()
    for type, rows in zip((OT.eq, OT.ineq), want(C), strict=True):
        if len(rows):
            got = rows_of(C, preset, type)
            np.testing.assert_allclose(got, rows, atol=1e-9, err_msg=str(type))


def test_rows_of_a_grasped_cylinder():
    """All but the palm's, which is minus a distance that tests of contacts check."""
    C = scene()
    preset = presets.grasp_cylinder("gripper", "can", "palm")
    equal, unequal = grasp_cylinder_rows(C)
    np.testing.assert_allclose(rows_of(C, preset, OT.eq), equal, atol=1e-9)
    komo = pw.KOMO(C)
    ends = [o for o in komo.add(preset) if o.type is OT.ineq][:2]
    got = np.concatenate([o.feature.eval(C)[0] for o in ends])
    np.testing.assert_allclose(got, unequal, atol=1e-9)


def turns() -> list[np.ndarray]:
    """The 24 rotations of a cube."""
    signs = [np.diag(s) for s in product([1, -1], repeat=3)]
    orders = [np.eye(3)[list(o)] for o in permutations(range(3))]
    every = [a @ b for a in signs for b in orders]
    return [R for R in every if np.linalg.det(R) > 0]


def quaternion(R) -> np.ndarray:
    """Return the quaternion of a matrix, an eigenvector of its 4x4 form."""
    M = np.zeros((4, 4))
    M[0, 0] = np.trace(R)
    M[0, 1:] = M[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    M[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    return np.linalg.eigh(M)[1][:, -1]


@pytest.mark.parametrize("direction", ["xy", "xz", "yx", "yz", "zx", "zy"])
def test_grasp_top_box_holds_for_the_right_turns_only(direction):
    """Four of the 24 aligned orientations have the axes that the direction names."""
    C = pw.Config()
    C.add_frame("box", pose=random_pose(np.random.default_rng(0)))
    C.add_frame("gripper", joint="free")
    closing, approach = map(AXES.index, direction)
    preset = presets.grasp_top_box("gripper", "box", direction)
    features = [o.feature for o in pw.KOMO(C).add(preset)]
    count = 0
    for R in turns():
        C.set_pose("gripper", [0, 0, 0, *quaternion(R)], relative_to="box")
        rows = np.concatenate([f.eval(C)[0] for f in features])
        right = abs(R[closing, 0]) == 1 and abs(R[approach, 2]) == 1
        assert (np.abs(rows).max() < 1e-9) == right, R
        count += right
    assert count == 4


def test_a_capsule_is_grasped_within_its_straight_part():
    C = scene()
    preset = presets.grasp_cylinder("gripper", "can", "palm")
    C.set_shape("can", pw.Capsule(LENGTH, RADIUS))
    equal, unequal = grasp_cylinder_rows(C)
    np.testing.assert_allclose(rows_of(C, preset, OT.eq), equal, atol=1e-9)
    ends = rows_of(C, preset, OT.ineq)[:2]
    np.testing.assert_allclose(ends, unequal, atol=1e-9)


def test_a_placement_without_a_palm_lacks_its_row_only():
    C = scene()
    without = rows_of(C, presets.place_box("box", "table", None), OT.ineq)
    with_palm = rows_of(C, presets.place_box("box", "table", "palm"), OT.ineq)
    np.testing.assert_array_equal(without, with_palm[:-1])


def path_scene() -> tuple[pw.Config, np.ndarray]:
    C = pw.Config()
    C.add_frame("box", joint="free", shape=pw.Sphere(0.05))
    C.add_frame("gripper", joint="free", shape=pw.Marker())
    rng = np.random.default_rng(8)
    q = np.stack([np.concatenate([random_pose(rng), random_pose(rng)]) for _ in "ab"])
    return C, q


def test_velocity_rows_are_in_the_gripper_s_axes():
    C, q = path_scene()
    tau = 0.25
    C.q = q[1]
    R = matrix(C, "gripper")
    velocity = R.T @ (q[1, 7:10] - q[0, 7:10]) / tau
    np.testing.assert_allclose(
        C.feature(FS.bodyVel, ["gripper"]).eval(C, q, tau)[0], velocity
    )
    komo = pw.KOMO(C, 1, 4, 1)
    for sign, preset in ((1, presets.retract), (-1, presets.approach)):
        objectives = komo.add(preset("gripper", 0.06), times=[0.25, 1.0])
        still, across, along, far = objectives
        assert [o.slices for o in objectives] == [(1, 2, 3)] * 3 + [(2,)]
        assert [o.type for o in objectives] == [OT.eq, OT.eq, OT.ineq, OT.ineq]
        assert still.feature.symbol is FS.angularVel.symbol
        value = lambda o: o.feature.eval(C, q, tau)[0]
        np.testing.assert_allclose(value(across), 10 * velocity[:2])
        np.testing.assert_allclose(value(along), [-10 * sign * velocity[2]])
        want = 10 * (0.06 / tau - sign * velocity[2])
        np.testing.assert_allclose(value(far), [want])


@pytest.mark.slow
def test_a_box_is_approached_held_between_the_fingers_put_down_and_left():
    C = pw.Config()
    C.add_frame("table", position=[0.5, 0, 0.2], shape=pw.Box(TOP))
    C.add_frame("gripper", joint="free", position=[0, 0, 1], shape=pw.Marker())
    C.add_frame("palm", "gripper", position=[0, 0, 0.12], shape=pw.Marker())
    C.add_frame(
        "box", joint="free", pose=[0, 0.4, 0.3, 1, 0, 0.1, 0], shape=pw.Box(SIZE)
    )
    komo = pw.KOMO(C, 3, 4, 1)
    komo.add_control_objective(1, 0.1)
    komo.add(presets.freeze_joint("box"), [0.0, 1.0])
    komo.add(presets.approach("gripper", 0.1), [0.25, 1.0])
    komo.add(presets.grasp_box("gripper", "box", "palm", "y"), [1.0])
    komo.add(presets.freeze_relative_pose("box", "gripper"), [1.0, 2.0])
    komo.add(presets.place_box("box", "table", "palm", "-x"), [2.0])
    komo.add(presets.freeze_joint("box"), [2.0, 3.0])
    komo.add(presets.retract("gripper", 0.05), [2.0, 3.0])
    start = C.pose("box")
    sol = komo.solve()
    assert sol.feasible, sol.report()
    grips = []
    for q in sol.path[3:8]:
        C.q = q
        place = seen(C, "gripper", "box")
        turn = matrix(C, "box").T @ matrix(C, "gripper")
        assert abs(place[1]) < 2e-3
        assert (np.abs(place) <= SIZE / 2 - 0.02 + 2e-3).all()
        np.testing.assert_allclose(np.abs(turn[:, 0]), Y, atol=2e-3)
        grips.append((place, turn))
        if len(grips) == 1:
            np.testing.assert_allclose(C.pose("box"), start, atol=1e-3)
            assert box_gap(C, "palm", "box") >= 0.0008
        np.testing.assert_allclose(grips[0][0], place, atol=1e-3)
        np.testing.assert_allclose(grips[0][1], turn, atol=2e-3)
    np.testing.assert_allclose(matrix(C, "box")[:, 0], -Z, atol=2e-3)
    center = seen(C, "box", "table")
    assert abs(center[2] - (SIZE[0] + TOP[2]) / 2) < 2e-4
    assert (np.abs(center[:2]) <= TOP[:2] / 2 - 0.02 + 2e-4).all()
    for span, distance in ((range(3, -1, -1), 0.1), (range(7, 12), 0.05)):
        C.q = sol.path[span[0]]
        R, p = matrix(C, "gripper"), C.pose("gripper")[:3]
        along = []
        for t in span:
            C.q = sol.path[t]
            np.testing.assert_allclose(matrix(C, "gripper"), R, atol=1e-3)
            local = R.T @ (C.pose("gripper")[:3] - p)
            np.testing.assert_allclose(local[:2], 0, atol=2e-4)
            along.append(local[2])
        assert (np.diff(along) > -1e-4).all()
        assert along[-1] >= distance - 1e-3


@pytest.mark.slow
def test_a_push_is_straight_from_behind():
    C = pw.Config()
    C.add_frame("puck", joint="transXYPhi", shape=pw.Sphere(0.05))
    C.add_frame("gripper", joint="free", position=[-0.3, 0.1, 0.3], shape=pw.Marker())
    komo = pw.KOMO(C, 2, 2, 1)
    komo.add_control_objective(1, 0.1)
    komo.add(presets.freeze_joint("puck"), [0.5, 1.0])
    komo.add_objective([0.5], FS.qItself, ["puck"], OT.eq)
    komo.add(presets.straight_push("gripper", "puck"), [1.0, 2.0])
    goal = [0.3, 0.4, 0]
    flat = [[1, 0, 0], [0, 1, 0]]
    komo.add_objective([2.0], FS.position, ["puck"], OT.eq, scale=flat, target=goal)
    sol = komo.solve()
    assert sol.feasible, sol.report()
    ahead = np.array([0.6, 0.8, 0])
    C.q = sol.path[1]
    R = matrix(C, "gripper")
    offset = C.pose("gripper")[:3] - C.pose("puck")[:3]
    np.testing.assert_allclose(offset, -0.075 * ahead, atol=2e-3)
    np.testing.assert_allclose(R[:, 0], np.cross(ahead, Z), atol=5e-3)
    assert R[:, 1] @ ahead >= 0.199 and R[2, 1] >= 0.199
    for t in (2, 3):
        before = C.pose("puck")[:3]
        C.q = sol.path[t]
        np.testing.assert_allclose(matrix(C, "gripper"), R, atol=1e-3)
        now = C.pose("gripper")[:3] - C.pose("puck")[:3]
        np.testing.assert_allclose(now, offset, atol=1e-3)
        moved = C.pose("puck")[:3] - before
        np.testing.assert_allclose(np.cross(moved, ahead), 0, atol=1e-3)
        assert moved @ ahead > -1e-3


@pytest.mark.parametrize(
    ("slices_per_phase", "slices", "lead", "led"),
    [
        (1, (0,), 0.2, (0,)),
        (1, (2,), 0.3, (2,)),
        (10, (9,), 0.2, (7, 8, 9)),
        (10, (9,), 0.3, (6, 7, 8, 9)),
        (10, (1, 2), 0.3, (0, 1, 2)),
        (4, (3,), 0.2, (2, 3)),
    ],
)
def test_leads(slices_per_phase, slices, lead, led):
    assert (
        SliceInterval(slices, slices_per_phase, np.full(9, 0.1)).extended_back(lead)
        == led
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda d: presets.grasp_top_box("gripper", "box", d),
        lambda d: presets.grasp_box("gripper", "box", "palm", d[0]),
        lambda d: presets.place_box("box", "table", "palm", d[0]),
        lambda d: presets.place_box("box", "table", "palm", "-" + d[1]),
    ],
)
def test_another_direction_compiles_nothing(make):
    structures = set()
    for direction in ("xz", "yx", "zy"):
        komo = pw.KOMO(scene())
        komo.add(make(direction))
        structures.add(compile_chain(komo.spec)[0])
    assert len(structures) == 1


def test_slices_of_presets():
    C = scene()
    komo = pw.KOMO(C, 2, 10, 1)
    grasp = komo.add(presets.grasp_box("gripper", "box", "palm"), [1.0])
    last, early, earlier = (9,), (7, 8, 9), (6, 7, 8, 9)
    assert [o.slices for o in grasp] == [last, last, last, early, earlier]
    assert grasp[0].name == "grasp_box: positionRel(gripper, box)"
    assert [o.slices for o in komo.add(presets.stop(), [2.0])] == [(19,)]
    frozen = komo.add(presets.freeze_joint(["box"]), [1.0, 1.3])
    assert [o.slices for o in frozen] == [(10, 11, 12)]
    assert all(o in komo.objectives for o in (*grasp, *frozen))


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        ([0.0, 0.5], (0, 1)),
        ([0.25, 0.75], (1, 2)),
        ([0.5, -1.0], (2, 3)),
        (None, (0, 1, 2, 3)),
    ],
)
def test_steps_from_time_zero_begin_at_the_present_state(times, steps):
    komo = pw.KOMO(scene(), 1, 4, 1)
    assert komo.add(presets.freeze_joint(), times)[0].slices == steps


def test_a_margin_beyond_the_middle_means_the_middle():
    C = scene()
    C.set_shape("box", pw.Box([0.1, 0.02, 0.2]))
    lower, upper = (
        o.feature.target[1]
        for o in pw.KOMO(C).add(presets.grasp_box("gripper", "box", "palm"))[1:3]
    )
    assert lower == upper == 0


def test_setups():
    C = scene()
    ik, waypoints, motion = (
        presets.setup_inverse_kinematics(C),
        presets.setup_sequence(C, 3),
        presets.setup_motion(C, 2, 4, collisions=False),
    )
    sizes = [(k.T, k.k_order) for k in (ik, waypoints, motion)]
    assert sizes == [(1, 0), (3, 1), (8, 2)]
    names = [[o.name for o in k.objectives] for k in (ik, waypoints, motion)]
    assert names[0] == ["control order 0", "accumulatedCollisions()"]
    assert names[1][:2] == ["control order 0", "control order 1"]
    assert names[2] == ["control order 2", "stop: qItself() velocity"]
    assert motion.objectives[1].slices == (7,)


@pytest.mark.parametrize("linear", [True, False])
def test_waypoints_are_reached_at_the_ends_of_phases(linear):
    C = pw.Config()
    C.add_frame("lift", joint="transZ", limits=[[0.0], [0.9]], q=[0.1])
    C.add_frame("hand", "lift", joint="quatBall")
    half = np.sqrt(0.5)
    points = np.array([[0.5, half, 0, 0, half], [1.2, -1, 0, 0, 0]])
    komo = pw.KOMO(C, 2, 4)
    komo.initialize_waypoints(points, linear=linear)
    path = initial_paths(komo.spec, 0, 1)[0]
    share = np.array([0.25, 0.5, 0.75, 1])
    if not linear:
        share = np.sin(np.pi * share / 2) ** 2
    lift = np.concatenate([0.1 + 0.4 * share, np.minimum(0.5 + 0.7 * share, 0.9)])
    np.testing.assert_allclose(path[:, 0], lift, atol=1e-12)
    angle = np.concatenate([np.pi / 2 * share, np.pi / 2 * (1 - share)])
    side = np.sign(path[:, 1:2])
    want = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], 1)
    np.testing.assert_allclose(side * path[:, 1:], want, atol=1e-9)


def test_slerp_of_equal_and_opposite_quaternions():
    q = np.array([[0.5, 0.5, -0.5, 0.5]])
    for other in (q, -q, q + 1e-12):
        out = slerp(q, other, np.array([0.3]))
        np.testing.assert_allclose(out, q, atol=1e-9)


BAD = [
    (lambda: presets.grasp_box("g", "b", "p", "xy"), ["grasp_box: direction", "'x'"]),
    (lambda: presets.grasp_box("g", "b", "p", margin=-1), ["margin is -1", "metres"]),
    (lambda: presets.grasp_top_box("g", "b", "xx"), ["grasp_top_box: direction"]),
    (lambda: presets.grasp_cylinder("g", "c", "p", None), ["margin is None"]),
    (lambda: presets.place_box("b", "t", "p", "up"), ["place_box: direction", "'-z'"]),
    (lambda: presets.retract("g", "far"), ["retract: distance is 'far'"]),
    (lambda: presets.approach("g", -0.1), ["approach: distance is -0.1"]),
    (lambda: presets.straight_push("g", "b", -1), ["straight_push: gap"]),
    (lambda: presets.pull("g", "b", -1), ["pull: gap is -1"]),
    (lambda: presets.retract_push("g", -1), ["retract_push: distance is -1"]),
    (lambda: presets.approach_push("g", -1), ["approach_push: distance is -1"]),
    (lambda: presets.no_collisions(["palm", "box"]), ["no_collisions: pairs", "e.g."]),
    (lambda: presets.no_collisions([]), ["no_collisions: pairs is []"]),
    (lambda: presets.no_collisions(3), ["no_collisions: pairs is 3"]),
    (lambda: presets.target_x_orientation("b", [0, 0, 0]), ["vector is zero"]),
    (lambda: presets.target_relative_xy_position("b", "t", [1]), ["2 finite numbers"]),
]


@pytest.mark.parametrize(("make", "says"), BAD)
def test_bad_arguments(make, says):
    with pytest.raises(pw.ObjectiveError) as error:
        make()
    for part in says:
        assert part in str(error.value)


REFUSED = [
    (presets.grasp_box("gripper", "can", "palm"), [1.0], ["grasp_box: box", "'can'"]),
    (presets.grasp_box("gripper", "bocks", "palm"), [1.0], ["'bocks'", "'box'"]),
    (presets.grasp_box("gripper", "box", "plam"), [1.0], ["'plam'", "'palm'"]),
    (presets.grasp_cylinder("gripper", "box", "palm"), [1.0], ["Cylinder or Capsule"]),
    (presets.place_box("box", "can", "palm"), [1.0], ["place_box: table"]),
    (presets.place_box("ball", "table", "palm"), [1.0], ["Box or Cylinder"]),
    (presets.retract("gripper"), [1.0], ["retract: times", "[from, to]"]),
    (presets.retract_push("gripper"), [1.0], ["retract_push: times", "[from, to]"]),
    (presets.approach_push("gripper"), [1.0], ["approach_push: times"]),
    (presets.pull("gripper", "box"), [1.0], ["pull: times", "[from, to]"]),
    (presets.freeze_joint(["nut"]), [0.5, 1], ["moving joint 'nut'"]),
    (presets.stop(), [7.0], ["stop: times [7.0] select no slice"]),
]


@pytest.mark.parametrize(("preset", "times", "says"), REFUSED)
def test_what_does_not_fit_is_refused_and_nothing_added(preset, times, says):
    komo = pw.KOMO(scene(), 1, 4, 1)
    with pytest.raises(pw.PosewiseError) as error:
        komo.add(preset, times)
    for part in says:
        assert part in str(error.value)
    assert komo.objectives == ()


def test_velocities_need_an_order():
    with pytest.raises(pw.ObjectiveError, match="k_order=1"):
        pw.KOMO(scene()).add(presets.stop())


@pytest.mark.parametrize(
    ("points", "says"),
    [([[0.0, 1, 0]], "shape"), ([["a"]], "waypoints"), ([[np.nan]], "finite")],
)
def test_bad_waypoints(points, says):
    C = pw.Config()
    C.add_frame("lift", joint="transZ")
    with pytest.raises(pw.ObjectiveError, match=says):
        pw.KOMO(C, 1, 4).initialize_waypoints(points)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (presets.grasp_top_box, ("hand", "box", "xz")),
        (presets.straight_push, ("hand", "box", 0.03)),
        (presets.stop, ()),
        (presets.no_collisions, ([("hand", "box")], 0.01)),
        (presets.target_x_orientation, ("hand", [0, 0, 1])),
    ],
)
def test_presets_are_values(make, arguments):
    one, other = make(*arguments), make(*arguments)
    assert one == other and hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one).startswith(f"{make.__name__}(")
    assert all(repr(a) in repr(one) for a in arguments if isinstance(a, str))
    assert one != presets.approach("hand")


def test_a_preset_whose_shape_has_changed_since_is_told():
    C = pw.Config()
    C.add_frame("hand", joint="free", shape=pw.Sphere(0.02))
    C.add_frame("box", position=[1, 0, 0], shape=pw.Box([0.1, 0.1, 0.1]))
    komo = pw.KOMO(C)
    komo.add(pw.presets.grasp_box("hand", "box", "hand"))
    C.set_pose("box", [1, 0.1, 0, 1, 0, 0, 0])
    assert not any("was added" in f for f in find_problems(komo.spec, 1e-3))
    C.set_shape("box", pw.Box([0.1, 0.1, 0.1]))
    assert not any("was added" in f for f in find_problems(komo.spec, 1e-3))
    for shape, reason in ((pw.Box([0.1, 0.1, 0.3]), "now"), (pw.Sphere(0.1), "Box")):
        C.set_shape("box", shape)
        (finding,) = [f for f in find_problems(komo.spec, 1e-3) if "was added" in f]
        assert "grasp_box" in finding and reason in finding

"""Paths over time: configurations at times, samples, rounded corners, and files."""

import dataclasses
import json
import math

import numpy as np
import pytest
from helpers.cases import case

import posewise as pw
from posewise import FS, OT, ObjectiveError, Trajectory
from posewise.objectives.trajectory.rounded_path import RoundedPath
from posewise.objectives.trajectory.straight_path import StraightPath

RNG = np.random.default_rng(5)
TIMES = np.array([0.0, 0.5, 0.75, 1.5, 2.0])
POINTS = RNG.uniform(-1, 1, (5, 3))


def slider(k_order=2, slices=4, phases=2, durations=(1.0, 2.0)):
    """A cart on rails with a turntable, moved along a path that is given."""
    C = pw.Config()
    C.add_frame("cart", joint="transX", q=[0.3])
    C.add_frame("table", "cart", joint="quatBall")
    C.add_frame("tip", "table", position=[0.2, 0, 0])
    komo = pw.KOMO(C, phases, slices, k_order, durations)
    komo.add_objective(None, FS.position, "tip", OT.sos, scale=1e-6)
    path = np.zeros((phases * slices, 5))
    path[:, 0] = RNG.uniform(-1, 1, phases * slices)
    angle = np.linspace(0.3, 2.4, phases * slices) / 2
    path[:, 1], path[:, 4] = np.cos(angle), np.sin(angle)
    # q and -q are the same orientation
    path[3, 1:] *= -1
    komo.initialize(path)
    return komo.solve(max_iterations=1, progress=False), C


def orientation(q):
    """The products of a quaternion's entries, equal for q and -q."""
    return q[..., :, None] * q[..., None, :]


def test_the_path_is_straight_from_the_start():
    solution, C = slider()
    C.q = C.q + 1  # the start is the state at the solve
    knots = np.concatenate([[0.0], solution.times])
    cart = np.concatenate([[0.3], solution.path[:, 0]])
    t = np.linspace(0, 3, 301)
    q = solution.at_time(t)
    np.testing.assert_allclose(q[:, 0], np.interp(t, knots, cart), atol=1e-12)
    at_slices = solution.at_time(solution.times)
    np.testing.assert_allclose(at_slices[:, 0], solution.path[:, 0], atol=1e-12)
    np.testing.assert_allclose(
        orientation(at_slices[:, 1:]), orientation(solution.path[:, 1:]), atol=1e-9
    )


def test_quaternions_turn_about_a_constant_axis():
    solution, _ = slider()
    knots = np.concatenate([[0.0], solution.times])
    angles = 2 * np.arctan2(solution.path[:, 4], solution.path[:, 1])
    angles = np.unwrap(np.concatenate([[0.0], angles]), period=2 * np.pi)
    t = np.linspace(0, 3, 301)
    q = solution.at_time(t)[:, 1:]
    half = np.interp(t, knots, angles) / 2
    zero = np.zeros_like(half)
    expected = np.stack([np.cos(half), zero, zero, np.sin(half)], -1)
    np.testing.assert_allclose(orientation(q), orientation(expected), atol=1e-9)


def test_one_time_gives_one_configuration():
    solution, _ = slider()
    q = solution.at_time(0.4)
    assert q.shape == (5,)
    np.testing.assert_array_equal(q, solution.at_time([0.4])[0])
    assert solution.at_time([]).shape == (0, 5)


@pytest.mark.sampled
@pytest.mark.parametrize("t", [-0.1, 3.1, [0.0, np.nan], "now", [[0.5]], np.inf])
def test_other_times_are_refused(t):
    solution, _ = slider()
    with pytest.raises(ObjectiveError, match="seconds from 0 to 3, the duration"):
        solution.at_time(t)


@pytest.mark.slow
def test_carried_objects_move_with_what_carries_them():
    C = pw.Config()
    C.add_frame("arm", joint="hingeZ", q=[0.0])
    C.add_frame("hand", "arm", position=[0.5, 0, 0], shape=pw.Marker(0.1))
    box = pw.Box([0.1, 0.1, 0.1])
    C.add_frame("cube", joint="free", position=[0.5, 0, 0], shape=box)
    komo = pw.KOMO(C, 2, 4, 1)
    komo.add_control_objective(1)
    komo.add_mode_switch([1.0, 2.0], "stable", ["hand", "cube"])
    komo.add_objective([2.0], FS.qItself, ["arm"], OT.eq, target=[2.0])
    solution = komo.solve(progress=False)
    for t in np.linspace(solution.times[3], solution.times[-1], 9):
        D = C.copy()
        D.q = solution.at_time(t)
        relative, _ = D.eval(FS.positionRel, ["cube", "hand"])
        np.testing.assert_allclose(relative, solution_offset(solution), atol=1e-6)
    names = solution.resample(0.1).joint_names
    assert names == ("arm",)


def solution_offset(solution):
    """The position of the cube in the hand at the end."""
    return solution.world_at(-1).eval(FS.positionRel, ["cube", "hand"])[0]


@pytest.mark.parametrize("dt", [0.25, 0.1, 0.07, 1.0])
def test_samples_have_a_fixed_rate(dt):
    solution, _ = slider()
    got = solution.resample(dt)
    count = math.ceil(3 / dt - 1e-9)
    np.testing.assert_allclose(got.times, dt * np.arange(count + 1))
    assert got.joint_names == ("cart", "table:0", "table:1", "table:2", "table:3")
    expected = solution.at_time(np.minimum(got.times, 3.0))
    np.testing.assert_allclose(got.positions, expected, atol=1e-12)
    after = got.times > 3.0 + 1e-9
    assert not got.velocities[after].any() and not got.accelerations[after].any()


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, "fast", 1e-9, 5.0])
def test_other_rates_are_refused(dt):
    with pytest.raises(ObjectiveError, match="dt is"):
        slider()[0].resample(dt)


def test_velocities_and_accelerations_are_those_of_the_features():
    solution, C = slider()
    path = np.concatenate([[[0.3]], [[0.3]], solution.path[:, :1]])
    tau = solution.tau
    samples = solution.resample(tau[0] / 8)
    for k, t in enumerate(solution.times):
        now = np.argmin(abs(samples.times - t))
        window = path[k : k + 3, 0]
        before = tau[max(k - 1, 0)]
        v = (window[2] - window[1]) / tau[k]
        a = (v - (window[1] - window[0]) / before) / ((tau[k] + before) / 2)
        assert samples.velocities[now, 0] == pytest.approx(v)
        middle = np.argmin(abs(samples.times - (t - tau[k] * 0.75)))
        assert samples.accelerations[middle, 0] == pytest.approx(a)


def test_derivatives_of_quaternions():
    angle, axis = np.array([0.2, 1.0, 1.4]), np.array([0.6, 0.0, 0.8])
    half = angle[:, None] / 2
    points = np.concatenate([np.cos(half), np.sin(half) * axis], 1)
    path = StraightPath(np.array([0.0, 0.5, 1.0]), points, (0,))
    t, h = np.array([0.1, 0.3, 0.6, 0.9]), 1e-5
    q, v, _ = path.sample(t)
    slope = (path.positions(t + h) - path.positions(t - h)) / (2 * h)
    np.testing.assert_allclose(v, slope, atol=1e-8)
    # in the last quarter no velocity changes: q'' = -(ω/2)² q
    rate = (angle[2] - angle[1]) / 0.5
    np.testing.assert_allclose(path.sample(t)[2][3], -(rate**2) / 4 * q[3], atol=1e-9)


@pytest.mark.parametrize("quaternions", [(), (0,)])
def test_derivatives_of_rounded_paths(quaternions):
    points = POINTS if not quaternions else RNG.normal(size=(5, 4)) + [3, 0, 0, 0]
    reach = np.array([0.1, 0.125, 0.25])
    path = RoundedPath(TIMES, points, reach, quaternions)
    t, h = np.array([0.05, 0.45, 0.55, 0.7, 0.8, 1.2, 1.4, 1.6, 1.9]), 1e-4
    q, v, a = path.sample(t)
    late, early = path.sample(t + h)[0], path.sample(t - h)[0]
    np.testing.assert_allclose(v, (late - early) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(a, (late - 2 * q + early) / h**2, atol=1e-5)
    ends = path.joints_of_pieces
    assert len(ends) == 8
    before, after = path.sample(ends - 1e-12), path.sample(ends + 1e-12)
    np.testing.assert_allclose(before[0], after[0], atol=1e-9)
    np.testing.assert_allclose(before[1], after[1], atol=1e-9)


def test_acceleration_where_two_parabolas_meet():
    times = 0.1 * np.arange(8)
    path = RoundedPath(times, times[:, None] ** 2, np.full(6, 0.05))
    middles = (times[1:-2] + times[2:-1]) / 2
    t = np.concatenate(
        [middles, np.nextafter(middles, 0), np.nextafter(middles, 1), times[1:-1]]
    )
    np.testing.assert_allclose(path.sample(t)[2], 2, atol=1e-9)


def test_rounded_paths_keep_their_deviation():
    reach = np.array([0.1, 0.125, 0.25])
    path = RoundedPath(TIMES, POINTS, reach)
    t = np.union1d(np.linspace(0, 2, 5001), TIMES)
    straight = StraightPath(TIMES, POINTS).positions(t)
    distance = np.abs(path.sample(t)[0] - straight)
    assert distance.max() == pytest.approx(path.deviation, rel=1e-12)
    far = np.abs(t[:, None] - TIMES[1:-1]).T >= reach[:, None]
    np.testing.assert_allclose(distance[far.all(0)], 0, atol=1e-12)


def test_rounded_samples_begin_at_rest_and_keep_what_slices_keep():
    C = pw.load("planar3")
    komo = pw.KOMO(C, 1, 8, 2, 1.0)
    komo.add_control_objective(2)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[1.0, -0.5, 0.4])
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    solution = komo.solve(progress=False)
    got = solution.resample(0.001, rounded=True)
    tau = 1 / 8
    slices = np.concatenate([np.tile(C.q, (2, 1)), solution.path])
    first, second = np.diff(slices, axis=0) / tau, np.diff(slices, n=2, axis=0) / tau**2
    assert (np.abs(got.velocities).max(0) <= np.abs(first).max(0) + 1e-9).all()
    assert (np.abs(got.accelerations).max(0) <= np.abs(second).max(0) + 1e-9).all()
    np.testing.assert_allclose(got.positions[0], C.q, atol=1e-12)
    np.testing.assert_allclose(got.positions[-1], solution.q, atol=1e-6)
    assert not got.velocities[0].any() and np.abs(got.velocities[-1]).max() < 1e-3
    assert got.deviation == pytest.approx(np.abs(second).max() * tau**2 / 8)
    # derivatives of positions, as a controller computes them
    v = np.diff(got.positions, axis=0) / 0.001
    assert (np.abs(v).max(0) <= np.abs(first).max(0) + 1e-9).all()
    a = np.diff(v, axis=0)[:-1] / 0.001
    assert (np.abs(a).max(0) <= np.abs(second).max(0) + 1e-6).all()


def trajectory(names=("left", "joint, right"), samples=4):
    values = RNG.uniform(-1, 1, (3, samples, len(names)))
    times = np.array([0.0, 0.1, 1.0 - 1e-10, 2.25])[:samples]
    return Trajectory(tuple(names), times, *values)


@pytest.mark.parametrize("suffix", ["csv", "npz", "json", "CSV"])
@pytest.mark.parametrize("samples", [1, 4])
def test_files_keep_a_trajectory(tmp_path, suffix, samples):
    written = trajectory(samples=samples)
    file = tmp_path / f"motion.{suffix}"
    written.save(file)
    read = Trajectory.load(str(file))
    assert read.joint_names == written.joint_names
    for name in ("positions", "velocities", "accelerations"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))
    resolution = 1e-9 if suffix == "json" else 0
    np.testing.assert_allclose(read.times, written.times, rtol=0, atol=resolution)


@pytest.mark.parametrize("suffix", ["csv", "npz", "json"])
def test_files_keep_other_quantities(tmp_path, suffix):
    plain = trajectory(samples=4)
    others = {"slice": np.array([-1.0, 0.5, 2.0, 2.0]), "box:0": np.arange(4.0)}
    written = dataclasses.replace(plain, others=others)
    file = tmp_path / f"motion.{suffix}"
    written.save(file)
    read = Trajectory.load(file)
    assert list(read.others) == ([] if suffix == "json" else list(others))
    for name, values in read.others.items():
        np.testing.assert_array_equal(values, others[name])
    np.testing.assert_array_equal(read.accelerations, plain.accelerations)
    with pytest.raises(ObjectiveError, match=r"others\['slice'\] has shape \(3,\)"):
        dataclasses.replace(plain, others={"slice": np.zeros(3)})


def test_arrays_of_version_0_1_have_no_other_quantities(tmp_path):
    written, file = trajectory(samples=4), tmp_path / "old.npz"
    names = ("times", "positions", "velocities", "accelerations")
    arrays = {name: getattr(written, name) for name in names}
    np.savez(file, joint_names=np.array(written.joint_names), **arrays)
    read = Trajectory.load(file)
    np.testing.assert_array_equal(read.positions, written.positions)
    assert not read.others
    np.savez(
        file, joint_names=np.array(written.joint_names), other_names=["slice"], **arrays
    )
    with pytest.raises(pw.LoadError, match="expected arrays of numbers"):
        Trajectory.load(file)


@pytest.mark.parametrize("kind", ["resampled", "rounded", "retimed"])
def test_samples_tell_their_place_on_the_path(kind):
    solution, _ = slider()
    if kind == "retimed":
        pytest.importorskip("toppra", reason="retiming needs toppra")
        sampled = solution.retime(1.0, 5.0, deviation=1e-3, dt=0.002)
    else:
        sampled = solution.resample(0.002, rounded=kind == "rounded")
    slices = sampled.others["slice"]
    assert slices[0] == -1 and slices[-1] == pytest.approx(len(solution.path) - 1)
    assert (np.diff(slices) >= 0).all()
    # At the places of slices the samples are beside them by the deviation at most.
    for t, q in enumerate(solution.path):
        near = sampled.positions[np.abs(slices - t).argmin()]
        assert abs(near[0] - q[0]) <= sampled.deviation + 0.01


def test_csv_opens_in_other_programs(tmp_path):
    written = trajectory(["a", "b"])
    written.save(tmp_path / "motion.csv")
    header, first, *_ = (tmp_path / "motion.csv").read_text().splitlines()
    assert header.split(",") == (
        "time,position a,position b,velocity a,velocity b,acceleration a,"
        "acceleration b".split(",")
    )
    row = [0.0, *written.positions[0], *written.velocities[0]]
    np.testing.assert_array_equal([float(x) for x in first.split(",")][:5], row)


def test_json_has_the_fields_of_a_ros_message(tmp_path):
    written = trajectory()
    written.save(tmp_path / "motion.json")
    message = json.loads((tmp_path / "motion.json").read_text())
    assert set(message) == {"joint_names", "points"}
    stamps = [point.pop("time_from_start") for point in message["points"]]
    assert [(s["sec"], s["nanosec"]) for s in stamps] == [
        (0, 0),
        (0, 100_000_000),
        (1, 0),
        (2, 250_000_000),
    ]
    for k, point in enumerate(message["points"]):
        assert set(point) == {"positions", "velocities", "accelerations"}
        assert point["velocities"] == written.velocities[k].tolist()


def test_json_leaves_joints_of_several_coordinates_out(tmp_path):
    written = trajectory(["arm", "base:0", "base:1", "base:2"])
    with pytest.warns(UserWarning, match="^base: left out, because") as caught:
        written.save(tmp_path / "motion.json")
    assert len(caught) == 1
    read = Trajectory.load(tmp_path / "motion.json")
    assert read.joint_names == ("arm",)
    np.testing.assert_array_equal(read.positions, written.positions[:, :1])


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_a_mark_of_byte_order_is_no_part_of_a_file(tmp_path, suffix):
    written, file = trajectory(), tmp_path / f"motion{suffix}"
    written.save(file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    read = Trajectory.load(file)
    assert read.joint_names == written.joint_names
    np.testing.assert_array_equal(read.positions, written.positions)


def test_a_robot_trajectory_holds_a_joint_trajectory(tmp_path):
    written, file = trajectory(), tmp_path / "motion.json"
    written.save(file)
    message = {"joint_trajectory": json.loads(file.read_text())}
    file.write_text(json.dumps(message | {"multi_dof_joint_trajectory": {}}))
    np.testing.assert_array_equal(Trajectory.load(file).positions, written.positions)


@pytest.mark.parametrize("header", ["time,a", "time,a,velocity a"])
def test_columns_without_any_position_are_refused(tmp_path, header):
    file = tmp_path / "motion.csv"
    file.write_text(f"{header}\n{','.join('0' * (header.count(',') + 1))}\n")
    with pytest.raises(pw.LoadError, match="'position NAME' of each joint"):
        Trajectory.load(file)


NAMES = [
    *("robot:1", "robot:0", "arm:7", "a:b", "tf/hand", "a.b", "a b", " a ", "π", "手"),
    *("a,b", "it's", 'say "x"', "position a", "velocity a", "time", "slice", "#1", ""),
    *("two\nlines", "a\r\n", "tab\t", "-", "{x}", "a:0:2", "null", "1", "nan"),
]


@pytest.mark.parametrize("suffix", ["csv", "npz", "json"])
def test_files_keep_any_names(tmp_path, suffix):
    written = trajectory(NAMES)
    others = {f"{name} of a box": np.arange(4.0) for name in NAMES}
    written = dataclasses.replace(written, others=others)
    written.save(file := tmp_path / f"motion.{suffix}")
    read = Trajectory.load(file)
    assert list(read.joint_names) == NAMES
    np.testing.assert_array_equal(read.accelerations, written.accelerations)
    assert list(read.others) == ([] if suffix == "json" else list(others))


@pytest.mark.parametrize("suffix", ["csv", "npz", "json"])
@pytest.mark.parametrize("name", ["half \ud83d", "zero\0"])
def test_names_that_no_file_keeps(tmp_path, suffix, name):
    with pytest.raises(ObjectiveError, match=r"The name '.*' cannot be kept"):
        trajectory([name]).save(tmp_path / f"motion.{suffix}")
    assert not [*tmp_path.iterdir()]


def test_joints_of_several_coordinates_between_others(tmp_path):
    names = ["box:1", "base:0", "base:1", "base:2", "arm:0", "arm:0:0", "arm:0:1", "c"]
    with pytest.warns(UserWarning, match="^base, arm:0: left out, because"):
        trajectory(names).save(tmp_path / "motion.json")
    read = Trajectory.load(tmp_path / "motion.json")
    assert read.joint_names == ("box:1", "arm:0", "c")


def message(*points):
    return {"joint_names": ["a", "b"], "points": list(points)}


def at(time, q, **more):
    stamp = {"sec": int(time), "nanosec": round(time % 1 * 1e9)}
    return {"positions": q, "time_from_start": stamp, **more}


def load_message(tmp_path, fields):
    (tmp_path / "planned.json").write_text(json.dumps(fields))
    return Trajectory.load(tmp_path / "planned.json")


EMPTY = {"velocities": [], "accelerations": [], "effort": []}
COURSE = np.array([[0.0, 1.0], [0.5, 0.5], [2.0, 0.0], [2.5, -3.0]])


@pytest.mark.parametrize("more", [{}, EMPTY, {"velocities": None}])
def test_derivatives_that_planners_leave_out(tmp_path, more):
    times = [0.0, 0.5, 1.25, 2.0]
    points = [at(t, q.tolist(), **more) for t, q in zip(times, COURSE, strict=True)]
    read = load_message(tmp_path, message(*points))
    np.testing.assert_array_equal(read.positions, COURSE)
    v = np.gradient(COURSE, times, axis=0)
    np.testing.assert_allclose(read.velocities, v)
    np.testing.assert_allclose(read.accelerations, np.gradient(v, times, axis=0))


def test_derivatives_of_some_points(tmp_path):
    # q = t²: what is told is kept, the rest are differences.
    points = [at(t, [t * t, 0.0], velocities=[2 * t, 0.0]) for t in (0.0, 1.0, 2.0)]
    points[1]["velocities"] = []
    points[2]["accelerations"] = [5.0, 6.0]
    read = load_message(tmp_path, message(*points))
    np.testing.assert_allclose(read.velocities[:, 0], [0, 2, 4])
    np.testing.assert_allclose(read.accelerations, [[2, 0], [2, 0], [5, 6]])


def test_a_single_point_is_at_rest(tmp_path):
    read = load_message(tmp_path, message(at(0.5, [1.0, 2.0])))
    assert not read.velocities.any() and not read.accelerations.any()
    assert read.times == [0.5]


@pytest.mark.parametrize(
    "stamp",
    [{"sec": 1, "nanosec": 5}, {"secs": 1, "nsecs": 5}, {"nsecs": 1_000_000_005}],
)
def test_times_of_both_versions_of_ros(tmp_path, stamp):
    point = {"positions": [1, 2], "time_from_start": stamp}
    assert load_message(tmp_path, message(point)).times == pytest.approx([1 + 5e-9])


def test_a_trajectory_of_a_report(tmp_path):
    fields = json.loads(case("joint_trajectory_no_accelerations.json").read_text())
    read = Trajectory.load(case("joint_trajectory_no_accelerations.json"))
    assert read.joint_names == ("a", "b")
    np.testing.assert_allclose(read.times, [0.5, 1.5, 2.5])
    expected = [point["positions"] for point in fields["points"]]
    np.testing.assert_array_equal(read.positions, expected)
    assert not read.velocities.any() and not read.accelerations.any()


def broken(**changes):
    return json.dumps(message({**at(1.0, [0, 0]), **changes}))


POINT = (
    '{"positions": [1], "velocities": [1], "accelerations": [1],'
    ' "time_from_start": {"sec": 1, "nanosec": 0}}'
)
BROKEN = {
    "empty.csv": ("", ":1: the columns are"),
    "header.csv": ("time,position a,velocity a\n", ":1: the columns are"),
    "twice.csv": (
        "time,position a,velocity a,acceleration a,slice,slice\n0,0,0,0,0,0\n",
        ":1: the columns are.*each once",
    ),
    "none.csv": ("time,position a,velocity a,acceleration a\n", "no sample"),
    "text.csv": (
        "time,position a,velocity a,acceleration a\n\n0,0,0,0\n1,x,0,0\n",
        ":4: could not convert.*expected 4 numbers",
    ),
    "short.csv": (
        "time,position a,velocity a,acceleration a\n0,0,0\n",
        ":2: got 3 numbers, not 4",
    ),
    "nan.csv": (
        "time,position a,velocity a,acceleration a\n0,nan,0,0\n",
        r"positions: nan at index \[0, 0\], expected finite",
    ),
    "back.csv": (
        "time,position a,velocity a,acceleration a\n1,0,0,0\n1,0,0,0\n",
        "Sample 1 is at 1 s, not after 1 s",
    ),
    "text.npz": ("hello", "cannot be read as .npz"),
    "text.json": ("hello", "is no JSON"),
    "list.json": ("[]", "expected the fields joint_names and points"),
    "velocity.json": (
        '{"joint_names": ["a"], "points": [' + POINT.replace("[1]", "[]", 1) + "]}",
        "point 0: got 0 numbers, not 1",
    ),
    "unit.json": (broken(time_from_start={"s": 1}), "point 0: time_from_start has s;"),
    "mixed.json": (
        broken(time_from_start={"sec": 1, "nsecs": 1}),
        "time_from_start has sec, nsecs",
    ),
    "float.json": (broken(time_from_start=1.5), "time_from_start is 1.5"),
    "untimed.json": (
        '{"joint_names": ["a"], "points": [{"positions": [1]}]}',
        "point 0: time_from_start is None",
    ),
    "text time.json": (broken(time_from_start={"sec": "x"}), "could not convert"),
    "huge time.json": (broken(time_from_start={"sec": 10**400}), "point 0: int too"),
    "point.json": (
        '{"joint_names": ["a"], "points": [[1, 2]]}',
        r"point 0: got \[1, 2\], no message",
    ),
    "no positions.json": (broken(positions=None), "got None, no list of numbers"),
    "one velocity.json": (broken(velocities=[1]), "got 1 numbers, not 2"),
    "nan velocity.json": (
        broken(velocities=[1, float("nan")]),
        r"velocities are \[1, nan\]",
    ),
    "nan velocity.csv": (
        "time,position a,velocity a,acceleration a\n0,0,nan,0\n",
        "velocities: nan at index",
    ),
    "names.json": ('{"joint_names": "ab", "points": []}', "expected the fields joint"),
    "twice.json": (
        '{"joint_names": ["a", "a"], "points": []}',
        "joint_names has 'a' twice",
    ),
    "no points.json": ('{"joint_names": ["a"], "points": []}', "no sample"),
    "same.json": (
        '{"joint_names": ["a"], "points": [' + f"{POINT}, {POINT}" + "]}",
        "times must increase",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_the_place(tmp_path, name):
    text, message = BROKEN[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(pw.LoadError, match=f"{name}.*{message}"):
        Trajectory.load(tmp_path / name)


def test_arrays_of_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "path.npz", path=POINTS, times=TIMES)
    with pytest.raises(pw.LoadError, match="path, times; expected also joint_names"):
        Trajectory.load(tmp_path / "path.npz")
    with pytest.raises(pw.LoadError, match="cannot be read: No such file"):
        Trajectory.load(tmp_path / "absent.csv")


@pytest.mark.parametrize("name", ["motion.txt", "motion", "motion.yaml"])
def test_other_suffixes_are_refused(tmp_path, name):
    expected = r"ends in \.csv, \.npz, \.json"
    with pytest.raises(ObjectiveError, match=expected):
        trajectory().save(tmp_path / name)
    with pytest.raises(ObjectiveError, match=expected):
        Trajectory.load(tmp_path / name)


def test_a_start_in_motion_goes_on():
    C = pw.load("planar3")
    komo = pw.KOMO(C, 1, 8, 2, 1.0)
    velocity = np.array([0.4, -0.3, 0.2])
    komo.set_start(velocity=velocity)
    komo.add_control_objective(2)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    solution = komo.solve(progress=False)
    got = solution.resample(0.001, rounded=True)
    np.testing.assert_allclose(got.velocities[0], velocity, atol=1e-9)
    np.testing.assert_allclose(got.positions[0], C.q - velocity / 16, atol=1e-9)
    slope = np.diff(got.positions[:2], axis=0)[0] / 0.001
    np.testing.assert_allclose(slope, velocity, atol=1e-2)
    tau = 1 / 8
    first = (solution.path[0] - C.q) / tau
    rates = solution.resample(tau / 4).accelerations
    np.testing.assert_allclose(rates[1], (first - velocity) / tau, atol=1e-9)

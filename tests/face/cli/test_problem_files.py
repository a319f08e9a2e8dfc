"""Problem files: the worlds and problems that they describe."""

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.problem_files import RICH
from helpers.worlds import plain_poses

import posewise as pw
from posewise import logic
from posewise.cli import help_texts
from posewise.cli.problem_file import (
    make_path_problem,
    make_placement_arguments,
    read_problem,
)
from posewise.cli.yaml_entries import ProblemError, read_entries


def test_a_scene_is_the_world_that_the_same_calls_make(write_problem):
    file = write_problem(RICH)
    C = read_problem(file).world
    D = pw.Config()
    D.add_file(file.parent / "robot.urdf")
    D.add_file(file.parent / "robot.urdf", "b_", pose=[0, 2, 0, 1, 0, 0, 0])
    D.load("table", pose=[1, 0, 0, 1, 0, 0, 0])
    can = (pw.Cylinder(0.1, 0.04), [0, 0, 0.05, 1, 0, 0, 0])
    D.add_object("mug", [can], joint="free", pose=[1, 0, 0.8, 1, 0, 0, 0])
    board = pw.Box([0.3, 0.3, 0.02], rounding=0.01)
    D.add_frame("lever", "table", joint="hingeZ", q=0.25, shape=board)
    D.add_frame("7")
    D.add_frame("eye", position=[0, 0, 1])
    D.set_joint("joint1", 0.1)
    D.lock(["b_joint1", "b_joint2", "b_joint3"])
    D.set_joint("lever", 0.5)
    assert C.frame_names == D.frame_names and C.joint_names == D.joint_names
    np.testing.assert_array_equal(C.q, D.q)
    np.testing.assert_allclose(plain_poses(C), plain_poses(D), atol=1e-12)
    assert C.limits[1][C.joints.coordinates("lever")] == np.inf
    assert C.object("mug").category == "mug.n.04"
    assert C.annotations.states["mug"].temperature == 80.0
    dust = C.annotations.states["mug"].dust
    assert dust.positions.tolist() == [[0, 0, 0.1], [0, 0, 0.2]] and dust.active.all()
    assert C.annotations.states["mug"].particles("mud").positions.tolist() == [
        [0, 0, 0.3]
    ]
    assert C.annotations.states["mug"].contained == {"water": 0, "flour": 3}
    assert C.object("lever").category == "door.n.01"
    top = D.annotations.add_region(
        "table", "top", "support", size=[1, 0.6], pose=[0, 0, 0.73, 1, 0, 0, 0]
    )
    np.testing.assert_allclose(C.annotations.regions[-1].corners, top.corners)
    assert (
        C.annotations.rooms.room_at([4.9, -7.4]).type == "hall"
        and C.annotations.rooms.resolution == 0.5
    )
    assert (
        C.annotations.agents["me"].camera == "eye"
        and C.annotations.cameras["eye"].width == 16
    )


PAIRS = """\
scene:
  files:
    - {file: robot.urdf, prefix: b_, srdf: robot.srdf}
  frames:
    wall: {joint: transX, shape: Sphere(0.1), contact: 1}
    post: {joint: transX, shape: Sphere(0.1), contact: 1}
    lamp: {joint: transX, shape: Sphere(0.1), contact: 1}
  ignore_collisions:
    - [wall, b_link1]
    - [post, [wall, b_link2]]
"""
LINK = """\
<link name="{}"><collision><geometry><sphere radius="0.1"/></geometry></collision>
</link>"""
JOINT = """\
<joint name="{0}{1}" type="revolute"><parent link="{0}"/><child link="{1}"/>
<origin xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""


def test_pairs_are_ignored_as_by_the_same_calls(write_problem):
    file = write_problem(PAIRS)
    names = [f"link{k}" for k in range(4)]
    parts = [LINK.format(name) for name in names]
    parts += [JOINT.format(*pair) for pair in zip(names, names[1:], strict=False)]
    (file.parent / "robot.urdf").write_text(f"<robot name='r'>{''.join(parts)}</robot>")
    (file.parent / "robot.srdf").write_text(
        "<robot name='r'><disable_collisions link1='link0' link2='link3'"
        " reason='Never'/></robot>"
    )
    C, D = read_problem(file).world, pw.Config()
    D.add_file(file.parent / "robot.urdf", "b_")
    D.pairs.read_srdf(file.parent / "robot.srdf", "b_")
    for name in ("wall", "post", "lamp"):
        D.add_frame(name, joint="transX", shape=pw.Sphere(0.1), contact=1)
    assert ("wall", "post") in D.pairs.names()
    D.ignore_collisions("wall", "b_link1")
    D.ignore_collisions("post", ["wall", "b_link2"])
    assert C.pairs.ignored() == D.pairs.ignored()
    pairs = {frozenset(pair) for pair in C.pairs.names()}
    assert pairs == {frozenset(pair) for pair in D.pairs.names()}
    left_out = [("wall", "b_link1"), ("post", "wall"), ("post", "b_link2")]
    left_out += [("b_link0", "b_link3")]
    assert not pairs & set(map(frozenset, left_out))
    assert {"b_link0", "b_link2"} in pairs and {"wall", "lamp"} in pairs


def test_objectives_and_predicates_are_those_of_the_same_calls(write_problem):
    problem = read_problem(write_problem(RICH))
    near = logic.InReachOfAgent("mug", "me", reach=3)
    lies, cooked = ~logic.OnTopOf("mug", "table"), logic.Cooked("mug")
    first, second = problem.predicates
    assert first.predicate == (lies & cooked) | logic.AtLeast(1, near)
    assert second.predicate == logic.NextTo("mug", "7", semantics="igibson")
    assert second.times == [1.0, 2.0]
    plain = read_problem(write_problem(RICH[: RICH.index("predicates:")] + "seed: 3\n"))
    komo, arguments = make_path_problem(plain)
    assert arguments == {"seed": 3, "starts": 2}
    assert (komo.T, komo.k_order, len(komo.switches)) == (6, 1, 1)
    np.testing.assert_allclose(komo.tau, np.repeat([1, 2.5], 3) / 3)
    control, reach, up = komo.objectives[:3]
    apart = komo.objectives[-1]
    assert apart.feature.frames == ("mug", "lever") and apart.slices == (5,)
    assert control.feature.order == 1 and control.feature.scale == 0.01
    assert (reach.slices, reach.type) == ((2,), pw.OT.eq)
    assert reach.feature.frames == ("tip", "7")
    assert (up.name, up.type, up.feature.options) == (
        "up",
        pw.OT.ineq,
        {"margin": 0.01},
    )


def test_arguments_of_a_placement(write_problem):
    arguments = make_placement_arguments(
        read_problem(write_problem(help_texts.PLACEMENT_FILE))
    )
    assert arguments == {
        "constraints": [logic.OnTopOf("box", "table")],
        "movable": ["box"],
        "starts": 16,
        "seed": 0,
    }


MOTION = """\
scene:
  models: [planar3]
  frames:
    post: {position: [0.9, 0.9, 0], shape: Sphere(0.1)}
    cup: {joint: free, position: [0, 0, 1], shape: Sphere(0.1)}
komo:
  phases: 2
  slices_per_phase: 4
  k_order: 3
  KEYS
objectives:
  - {control: 2}
"""


def same_calls(add):
    C = pw.load("planar3")
    C.add_frame("post", position=[0.9, 0.9, 0], shape=pw.Sphere(0.1))
    C.add_frame("cup", joint="free", position=[0, 0, 1], shape=pw.Sphere(0.1))
    komo = pw.KOMO(C, 2, 4, 3)
    add(komo)
    komo.add_control_objective(2)
    return komo.spec


LIMITS = np.full(10, np.inf)
LIMITS[1] = 2.0


@pytest.mark.parametrize(
    ("keys", "add"),
    [
        ("avoid_collisions:", lambda komo: komo.avoid_collisions()),
        ("avoid_collisions: true", lambda komo: komo.avoid_collisions()),
        ("avoid_collisions: false", lambda komo: None),
        (
            "avoid_collisions: {margin: 0.01, self_margin: 0, between: false}",
            lambda komo: komo.avoid_collisions(0.01, 0.0, between=False),
        ),
        (
            "avoid_collisions: {allow: [[tip, post, [0, 1]], [cup, post, null]]}",
            lambda komo: komo.avoid_collisions(
                allow=[("tip", "post", [0, 1]), ("cup", "post", None)]
            ),
        ),
        (
            "motion_limits: {velocity: 1, acceleration: 2, jerk: 30, joints: joint1}",
            lambda komo: komo.add_motion_limits(1, 2, 30, joints="joint1"),
        ),
        (
            "motion_limits: {velocity: {joint2: 2}, times: [1, 2], scale: 5}",
            lambda komo: komo.add_motion_limits(LIMITS, times=[1, 2], scale=5),
        ),
        (
            "start_velocity: {joint1: 0.5, joint3: -1}",
            lambda komo: komo.set_start(velocity=[0.5, 0, -1, *[0] * 6]),
        ),
        (
            "start_velocity: [0, 0, 1, 0, 0, 0, 0, 0, 2]",
            lambda komo: komo.set_start(velocity=[0, 0, 1, *[0] * 5, 2]),
        ),
        (
            "time_objective: {scale: 2}\n  free_durations: {min: [0.1, 1], max: 5}",
            lambda komo: (komo.free_durations([0.1, 1], 5), komo.add_time_objective(2)),
        ),
    ],
)
def test_keys_of_komo_are_calls(write_problem, keys, add):
    file = write_problem(MOTION.replace("KEYS", keys))
    got = make_path_problem(read_problem(file))[0].spec
    expected = same_calls(add)
    assert got.avoidance == expected.avoidance
    assert got.durations == expected.durations
    np.testing.assert_equal(got.start_velocity, expected.start_velocity)
    for helper, other in zip(got.helpers, expected.helpers, strict=True):
        np.testing.assert_equal(helper.arguments, other.arguments)
    for objective, other in zip(got.objectives, expected.objectives, strict=True):
        assert (objective.name, objective.slices) == (other.name, other.slices)
        assert objective.fraction == other.fraction
        assert objective.weights == other.weights
        assert objective.feature.frames == other.feature.frames
        np.testing.assert_equal(objective.feature.scale, other.feature.scale)


def test_the_velocity_of_an_object_is_given_with_all(write_problem):
    file = write_problem(MOTION.replace("KEYS", "start_velocity: {cup: 1}"))
    with pytest.raises(ProblemError, match=r"10: komo.start_velocity.cup: .* all 9"):
        make_path_problem(read_problem(file))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2.5e-3", -0.0025),
        ("1e-3", 0.001),
        (".inf", np.inf),
        ("-inf", -np.inf),
        ("'1'", "1"),
        ("true", True),
        ("null", None),
        ("off", "off"),
        ("2026-01-01", "2026-01-01"),
        ("0x10", "0x10"),
        ("[1, [a, {b: ~}]]", [1, ["a", {"b": None}]]),
    ],
)
def test_values(write_problem, text, value):
    assert read_entries(write_problem(f"a: {text}\n")).to_python() == {"a": value}


PAGES = [
    Path(__file__).parents[3] / name for name in ("README.md", "docs/command_line.md")
]
FILES = [
    text
    for page in PAGES
    for text in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S)
]


def test_the_pages_show_what_the_help_does():
    assert help_texts.PLACEMENT_FILE in FILES and help_texts.GRASP_FILE in FILES


@pytest.mark.parametrize("text", FILES)
def test_problem_files_of_the_pages_are_read(write_problem, text):
    problem = read_problem(write_problem(text))
    if "komo" in problem.sections:
        make_path_problem(problem)
    for statement in problem.predicates:
        statement.predicate.holds(problem.world)


def test_a_link_to_a_file_elsewhere_is_refused(write_problem, tmp_path_factory):
    file = write_problem("scene:\n  files: [link.urdf]\n")
    other = tmp_path_factory.mktemp("other") / "a.urdf"
    other.write_text("<robot/>")
    (file.parent / "link.urdf").symlink_to(other)
    with pytest.raises(ProblemError, match="outside"):
        read_problem(file)

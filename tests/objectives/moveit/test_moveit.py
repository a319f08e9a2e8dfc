"""Scenes and motion requests of MoveIt, against what their messages say."""

import gzip
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.oracle import SHARED
from helpers.planning_texts import (
    ARM_URDF,
    HALF,
    TURNED,
    box,
    load_problem,
    orientation_excess,
    point,
    pose,
    world_of,
)
from scipy.spatial.transform import Rotation

import posewise as pw
from posewise import FS, OT, LoadError
from posewise.objectives.moveit.files import read_message
from posewise.objectives.moveit.shapes import primitive
from posewise.robots.kinematics.transforms import quat_to_matrix


@pytest.fixture
def robot(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM_URDF)
    return file


def test_poses_of_objects_and_shapes(tmp_path):
    obj = box("shelf", 1, 0, 0, pose=pose(0, 0, 2, orientation=TURNED))
    obj["header"] = {"frame_id": "room"}
    room = {"translation": point(0, 0, 5), "rotation": {"w": 1.0}}
    frames = [{"child_frame_id": "room", "transform": room}]
    obj["subframe_names"], obj["subframe_poses"] = ["handle"], [pose(0, 0, 1)]
    C = load_problem(tmp_path, world_of(obj, fixed_frame_transforms=frames)).world
    np.testing.assert_allclose(C.pose("shelf"), [0, 0, 7, HALF, 0, 0, HALF], atol=1e-12)
    np.testing.assert_allclose(C.pose("shelf/handle")[:3], [0, 0, 8])
    (geometry,) = C.frame("shelf").geometries
    np.testing.assert_allclose(geometry.shape.size, [0.2, 0.4, 0.6])
    np.testing.assert_allclose(geometry.pose[:3], [1, 0, 0])
    # A point at the shape's centre is at (0, 1, 7) in the world.
    C.add_frame("probe", position=[0, 1, 7], shape=pw.Sphere(0.01))
    C.add_frame("beside", position=[0, 1.2, 7], shape=pw.Sphere(0.01))
    assert C.signed_distance("shelf", "probe")[0] == pytest.approx(-0.11)
    assert C.signed_distance("shelf", "beside")[0] == pytest.approx(0.09)


SHAPES = {
    "box": (1, [1, 2, 3], pw.Box([1, 2, 3])),
    "sphere": (2, [0.3], pw.Sphere(0.3)),
    "cylinder": (3, [2.0, 0.3], pw.Cylinder(2.0, 0.3)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("by_name", [True, False])
def test_primitives(name, by_name):
    number, sizes, expected = SHAPES[name]
    message = read_message_of(
        {"type": name if by_name else number, "dimensions": sizes}
    )
    shape = primitive(message)
    assert type(shape) is type(expected)
    for field in ("size", "radius", "length"):
        if hasattr(expected, field):
            got, want = getattr(shape, field), getattr(expected, field)
            np.testing.assert_allclose(got, want)


def read_message_of(fields):
    from posewise.objectives.moveit.messages import Message

    return Message(fields, Path("m.json"))


def test_a_cone_is_enclosed():
    shape = primitive(read_message_of({"type": "cone", "dimensions": [0.8, 0.3]}))
    C = pw.Config()
    C.add_frame("cone", shape=shape)
    C.add_frame("probe", shape=pw.Sphere(1e-3))
    for angle in np.linspace(0, 2 * np.pi, 7):
        rim = [0.3 * np.cos(angle), 0.3 * np.sin(angle), -0.4]
        for p in (rim, [0, 0, 0.4]):
            C.set_pose("probe", [*p, 1, 0, 0, 0])
            assert C.signed_distance("cone", "probe")[0] <= 1e-9
    C.set_pose("probe", [0.32, 0, -0.4, 1, 0, 0, 0])
    assert C.signed_distance("cone", "probe")[0] > 0


def test_meshes_and_planes(tmp_path):
    corners = [point(*p) for p in ([0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1])]
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    mesh = {
        "vertices": corners,
        "triangles": [{"vertex_indices": f} for f in faces],
    }
    tetrahedron = {"id": "t", "meshes": [mesh], "mesh_poses": [pose(0, 0, 1)]}
    plane = {"id": "floor", "planes": [{"coef": [0, 0, 2, 1]}], "plane_poses": []}
    wall = {"id": "wall", "planes": [{"coef": [-1, 0, 0, 3]}]}
    C = load_problem(tmp_path, world_of(tetrahedron, plane, wall)).world
    C.add_frame("p", position=[0, 0, 2.5], shape=pw.Sphere(0.1))
    assert C.signed_distance("t", "p")[0] == pytest.approx(0.4)
    # 2 z + 1 = 0 is at z = -0.5, and -x + 3 = 0 at x = 3, whose inside is beyond.
    assert C.signed_distance("floor", "p")[0] == pytest.approx(2.9)
    assert C.signed_distance("wall", "p")[0] == pytest.approx(2.9)


def test_state_matrix_and_attached_objects(tmp_path, robot):
    tool = box("tool", 0, 0, 0)
    tool["header"], tool["operation"] = {"frame_id": "hand"}, 0
    state = {
        "joint_state": {"name": ["j1", "j3"], "position": [0.5, -0.2]},
        "attached_collision_objects": [
            {"link_name": "hand", "object": tool, "touch_links": ["hand", "upper"]}
        ],
    }
    matrix = {
        "entry_names": ["upper", "hand", "shelf"],
        "entry_values": [
            {"enabled": [True, False, True]},
            {"enabled": [False, True, False]},
            {"enabled": [True, False, True]},
        ],
        "default_entry_names": ["free"],
        "default_entry_values": [True],
    }
    scene = world_of(
        box("shelf", 5, 0, 0),
        box("free", 6, 0, 0),
        robot_state=state,
        allowed_collision_matrix=matrix,
    )
    C = load_problem(tmp_path, scene, robot=robot).world
    np.testing.assert_allclose(C.q, [0.5, 0, -0.2])
    pairs = {frozenset(pair) for pair in C.pairs.names()}
    assert frozenset(("upper", "shelf")) not in pairs
    assert (
        frozenset(("hand", "shelf")) in pairs and frozenset(("lower", "shelf")) in pairs
    )
    assert not any("free" in pair for pair in pairs)
    partners = {name for pair in pairs if "tool" in pair for name in pair}
    assert "hand" not in partners and "upper" not in partners and "shelf" in partners
    np.testing.assert_allclose(C.pose("tool"), C.pose("hand"))
    before = C.pose("tool")
    C.q = [0, 0, 0]
    assert not np.allclose(C.pose("tool"), before)


OLD = """scene
* crate
1
box
0.2 0.4 0.6
1 0 2
0 0 0.70710678 0.70710678
0.5 0.25 0 1
* pipe
2
cylinder
0.1 2
0 3 0
0 0 0 1
0 0 0 0
sphere
0.5
0 3 1
0 0 0 1
0 0 0 0
.
"""
NEW = """scene
* crate
1 0 0
0 0 0.70710678 0.70710678
1
box
0.2 0.4 0.6
0 0 2
0 0 0 1
0.5 0.25 0 1
1
grip
0 0 1
0 0 0 1
* pipe
0 3 0
0 0 0 1
2
cylinder
0.1 2
0 0 0
0 0 0 1
0 0 0 0
sphere
0.5
0 0 1
0 0 0 1
0 0 0 0
0
.
"""


@pytest.mark.long
@pytest.mark.parametrize("text", [OLD, NEW], ids=["old", "new"])
def test_scenes_as_text(tmp_path, text):
    file = tmp_path / "a.scene"
    file.write_text(text)
    C = pw.load_moveit(file).world
    C.add_frame("p", position=[1, 0, 2], shape=pw.Sphere(0.05))
    C.add_frame("q", position=[0.15, 3, 0], shape=pw.Sphere(0.01))
    # The crate is turned by a quarter: 0.4 along x, 0.2 along y.
    assert C.signed_distance("crate", "p")[0] == pytest.approx(-0.15, abs=1e-6)
    assert C.signed_distance("pipe", "q")[0] == pytest.approx(0.04)
    assert C.frame("crate").geometries[0].color == (0.5, 0.25, 0.0, 1.0)
    assert ("crate/grip" in C.frame_names) == (text is NEW)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OLD.replace("0.2 0.4 0.6", "0.2 0.4"), r"a.scene:\d+: got .*expected 3 num"),
        (OLD.replace("cylinder", "torus"), "shape is 'torus', expected one of box"),
        (OLD.removesuffix(".\n"), "ends too early"),
        ("{", "not valid JSON"),
        ("a: [", "a.scene:.*not valid YAML"),
        ("- 1", "expected a message with keys"),
        (
            '{"world": {"collision_objects": [{"id": "b", "primitives":'
            ' [{"type": 1, "dimensions": [1, 2]}]}]}}',
            r"primitives\[0\].dimensions is \[1, 2\], expected 3 numbers for a box",
        ),
        ('{"world": {"collision_objects": {"id": 1}}}', "expected a list of mappings"),
    ],
)
def test_broken_files_name_the_place(tmp_path, text, message):
    file = tmp_path / "a.scene"
    file.write_text(text)
    with pytest.raises(LoadError, match=message):
        pw.load_moveit(file)


def test_what_is_not_read_costs_one_warning(tmp_path, robot):
    scene = world_of(
        box("upper", 5, 0, 0),
        {"id": "can", "type": {"key": "can.n.01", "db": ""}},
        box("far", 0, 0, 0, header={"frame_id": "nowhere"}),
        robot_state={"joint_state": {"name": ["elbow"], "position": [1]}},
        link_padding=[{"link_name": "hand", "padding": 0.01}],
        mystery={"value": 3},
        robot_model_name="arm",
    )
    scene["world"]["octomap"] = {"octomap": {"data": [1, 2]}}
    request = {
        "goal_constraints": [
            {
                "joint_constraints": [{"joint_name": "elbow", "position": 1}],
                "visibility_constraints": [{"target_radius": 1.0}],
            }
        ],
        "planner_id": "RRTConnect",
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = load_problem(tmp_path, scene, request, robot)
    assert len(caught) == 1
    text = str(caught[0].message)
    # A long warning shows the first few; the rest is counted.
    shown = ["elbow", "upper_object", "can", "nowhere", "octomap", "link_padding"]
    assert all(word in text for word in shown[:5]) and re.search(r"and \d+ more", text)
    assert "planner_id" not in text
    assert problem.goals[0].features == ()


# -- requests --------------------------------------------------------------------------


def solved(problem: pw.MoveItProblem):
    solution = problem.komo(8).solve()
    assert solution.feasible, solution.report()
    return solution


@pytest.mark.slow
def test_joint_goals(tmp_path, robot):
    goal = {
        "joint_constraints": [
            {"joint_name": "j1", "position": 1.0, "tolerance_above": 1e-4},
            {
                "joint_name": "j3",
                "position": -0.5,
                "tolerance_above": 0.2,
                "tolerance_below": 0.1,
            },
        ]
    }
    start = {"joint_state": {"name": ["j1", "j2"], "position": [0.1, 0.2]}}
    request = {"start_state": start, "goal_constraints": [goal]}
    problem = load_problem(tmp_path, world_of(), request, robot)
    assert problem.world.joint_names == ("j1", "j3")
    assert problem.world.joints.value("j2") == pytest.approx(0.2)
    q = solved(problem).q
    assert q[0] == pytest.approx(1.0, abs=1e-3) and -0.601 <= q[1] <= -0.299


MIDDLE = np.array([1.1, 1.1, -0.9])
"""Middle of regions, within reach."""


def region(kind, *sizes, center=MIDDLE) -> dict:
    return {
        "primitives": [{"type": kind, "dimensions": list(sizes)}],
        "primitive_poses": [pose(*center)],
    }


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_position_goals_are_met(tmp_path, robot, kind):
    sizes = {1: [0.2, 0.1, 0.1], 2: [0.1], 3: [0.2, 0.1]}[kind]
    constraint = {
        "link_name": "hand",
        "target_point_offset": point(0.1, 0, 0),
        "constraint_region": region(kind, *sizes),
    }
    request = {
        "start_state": {"joint_state": {"name": ["j2", "j3"], "position": [0.5, -1]}},
        "goal_constraints": [{"position_constraints": [constraint]}],
    }
    problem = load_problem(tmp_path, world_of(), request, robot)
    C = solved(problem).world_at(-1)
    R, p = quat_to_matrix(C.pose("hand")[3:]), C.pose("hand")[:3]
    x, y, z = p + R @ [0.1, 0, 0] - MIDDLE
    error = {
        1: max(abs(x) - 0.1, abs(y) - 0.05, abs(z) - 0.05),
        2: np.linalg.norm([x, y, z]) - 0.1,
        3: max(np.hypot(x, y) - 0.1, abs(z) - 0.1),
    }
    assert error[kind] < 2e-3


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(
    "tolerances",
    [
        (1e-4, 1e-4, 1e-4),
        pytest.param((0.1, 0.2, 0.3), marks=pytest.mark.slow),
        (0.1, 0.1, 3.2),
        pytest.param((0.1, 7, 7), marks=pytest.mark.slow),
    ],
)
def test_orientation_goals_are_met(tmp_path, robot, tolerances):
    # Turned by 0.4 about z, then by 0.9 about the new y axis: j1 and j2 + j3 reach it.
    half = np.array([0.2, 0.45])
    (c1, c2), (s1, s2) = np.cos(half), np.sin(half)
    w, x, y, z = c1 * c2, -s1 * s2, c1 * s2, s1 * c2
    constraint = {"link_name": "hand", "orientation": dict(w=w, x=x, y=y, z=z)}
    for axis, tolerance in zip("xyz", tolerances, strict=True):
        constraint[f"absolute_{axis}_axis_tolerance"] = tolerance
    request = {"goal_constraints": [{"orientation_constraints": [constraint]}]}
    C = solved(load_problem(tmp_path, world_of(), request, robot)).world_at(-1)
    goal, is_now = (rotation(q) for q in ((w, x, y, z), C.pose("hand")[3:]))
    # The tolerance 1e-4 is finer than what the solver keeps.
    assert orientation_excess(goal, is_now, np.maximum(tolerances, 2e-4)) <= 0


def rotation(quaternion) -> Rotation:
    w, x, y, z = quaternion
    return Rotation.from_quat([x, y, z, w])


@pytest.mark.slow
def test_path_constraints_hold_on_all_slices(tmp_path, robot):
    upright = {
        "link_name": "hand",
        "orientation": {"w": 1.0},
        "absolute_x_axis_tolerance": 0.1,
        "absolute_y_axis_tolerance": 0.1,
        "absolute_z_axis_tolerance": 3.14159,
    }
    goal = {
        "joint_constraints": [
            {"joint_name": "j1", "position": 1.0},
            {"joint_name": "j2", "position": 1.0},
        ]
    }
    request = {
        "goal_constraints": [goal],
        "path_constraints": {"orientation_constraints": [upright]},
    }
    solution = solved(load_problem(tmp_path, world_of(), request, robot))
    for t in range(8):
        hand = rotation(solution.world_at(t).pose("hand")[3:])
        assert orientation_excess(Rotation.identity(), hand, [0.1, 0.1, 4]) <= 0


# -- one problem as MoveIt wrote it ----------------------------------------------------

MBM = SHARED / "oracle" / "mbm"


@pytest.mark.skipif(not MBM.is_dir(), reason="needs ../shared/oracle/mbm")
@pytest.mark.filterwarnings("ignore:.*(meshes are left out|left out, because)")
def test_a_scene_of_motion_bench_maker():
    files = [MBM / "moveit" / name for name in ("scene0002.yaml", "request0002.yaml")]
    robot, srdf = MBM / "ur5_spherized.urdf", MBM / "ur5.srdf"
    with pytest.warns(UserWarning, match="robotiq_85_left_inner_knuckle_joint"):
        problem = pw.load_moveit(*files, robot, srdf=srdf)
    with gzip.open(MBM / "ur5.json.gz") as stream:
        data = json.load(stream)
    (expected,) = [p for p in data["problems"] if (p["set"], p["index"]) == ("cage", 2)]
    C = problem.world
    assert list(C.joint_names) == data["joints"]
    np.testing.assert_allclose(C.q, expected["start"], atol=1e-6)
    goal = [f.target[0] for f, kind in problem.goals[0].features if kind is OT.eq]
    np.testing.assert_allclose(goal, expected["goal"], atol=1e-6)
    assert all(f.symbol is FS.qItself.symbol for f, _ in problem.goals[0].features)
    for name, kind, size, where in expected["obstacles"]:
        (geometry,) = C.frame(name).geometries
        assert kind == "box"
        np.testing.assert_allclose(geometry.shape.size, size, atol=1e-6)
        placed = C.pose(name)
        sign = np.sign(placed[3:] @ where[3:])
        placed[3:] *= sign
        np.testing.assert_allclose(placed, where, atol=1e-6)
        np.testing.assert_allclose(geometry.pose, [0, 0, 0, 1, 0, 0, 0])


def test_read_message_takes_the_first_document(tmp_path):
    file = tmp_path / "echo.yaml"
    file.write_text("name: a\nworld: {collision_objects: []}\n---\nname: b\n")
    assert read_message(file).text("name") == "a"

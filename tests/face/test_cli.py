"""Problem files: what is read, refused and where, solved and checked."""

import json
import re
import textwrap
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from helpers.problem_files import RICH
from helpers.worlds import plain_poses

import posewise as pw
from posewise import logic
from posewise.__main__ import main
from posewise.cli import help_texts
from posewise.cli.problem_file import (
    make_path_problem,
    make_placement_arguments,
    read_problem,
)
from posewise.cli.yaml_entries import ProblemError, read_entries

pytest.importorskip("yaml", reason="problem files need pyyaml")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Writes a problem file beside a robot's, and names it."""
    monkeypatch.setattr("posewise.__main__.prepare_jax", lambda: None)
    from posewise.robots.models import DATA_DIR

    (tmp_path / "robot.urdf").write_text((DATA_DIR / "planar3.urdf").read_text())

    def write(text, name="problem.yaml"):
        file = tmp_path / name
        file.write_text(textwrap.dedent(text))
        return file

    return write


def test_a_scene_is_the_world_that_the_same_calls_make(place):
    file = place(RICH)
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
    assert C.limits[1][C.coordinates("lever")] == np.inf
    assert C.object("mug").category == "mug.n.04"
    assert C.states["mug"].temperature == 80.0
    dust = C.states["mug"].dust
    assert dust.positions.tolist() == [[0, 0, 0.1], [0, 0, 0.2]] and dust.active.all()
    assert C.object("lever").category == "door.n.01"
    top = D.add_region(
        "table", "top", "support", size=[1, 0.6], pose=[0, 0, 0.73, 1, 0, 0, 0]
    )
    np.testing.assert_allclose(C.regions[-1].corners, top.corners)
    assert C.rooms.room_at([4.9, -7.4]).type == "hall" and C.rooms.resolution == 0.5
    assert C.agents["me"].camera == "eye" and C.cameras["eye"].width == 16


def test_objectives_and_predicates_are_those_of_the_same_calls(place):
    problem = read_problem(place(RICH))
    near = logic.InReachOfAgent("mug", "me", reach=3)
    lies, cooked = ~logic.OnTopOf("mug", "table"), logic.Cooked("mug")
    first, second = problem.predicates
    assert first.predicate == (lies & cooked) | logic.AtLeast(1, near)
    assert second.predicate == logic.NextTo("mug", "7", semantics="igibson")
    assert second.times == [1.0, 2.0]
    plain = read_problem(place(RICH[: RICH.index("predicates:")] + "seed: 3\n"))
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


def test_arguments_of_a_placement(place):
    arguments = make_placement_arguments(read_problem(place(help_texts.PLACEMENT_FILE)))
    assert arguments == {
        "what": [logic.OnTopOf("box", "table")],
        "movable": ["box"],
        "starts": 16,
        "seed": 0,
    }


def scene(line: str) -> str:
    return f"scene:\n  models: [planar3]\n{line}\n"


def asked(text: str) -> str:
    return scene(f"  frames: {{mug: }}\npredicates:\n  - {text}")


def solved(line: str) -> str:
    return scene(f"komo:\nobjectives:\n  - {line}")


BAD = {
    "no mapping": ("- a\n", 1, "", "a mapping at the top"),
    "empty": ("", 1, "", "a mapping at the top"),
    "broken": ("scene: {models: [a\nq: 1\n", 2, "", "not valid YAML"),
    "two documents": ("a: 1\n---\nb: 1\n", 2, "", "not valid YAML"),
    "a tag": ("scene: !!python/name:os.system x\n", 1, "scene", "tags"),
    "an alias": ("scene: &a {}\nq: *a\n", 2, "q", "aliases"),
    "a key twice": ("scene:\nq: 1\nscene:\n", 3, "", "stands there twice"),
    "a list as key": ("? [a]\n: 1\n", 1, "", "expected a name"),
    "no scene": ("q: [1]\n", 1, "", "there is no scene"),
    "section": (scene("predicate: []"), 3, "predicate", "did you mean 'predicates'"),
    "in the scene": ("scene:\n  model: [a]\n", 2, "scene.model", "'models'"),
    "no list": ("scene:\n  models: table\n", 2, "scene.models", "a list of"),
    "model": ("scene:\n  models: [tabel]\n", 2, "scene.models[0]", "'table'"),
    "no model": (
        "scene:\n  models:\n  - prefix: a\n",
        3,
        "scene.models[0]",
        "no key 'model'",
    ),
    "argument": (
        scene("  frames:\n    a:\n      positon: [0, 0, 0]"),
        5,
        "scene.frames.a.positon",
        "did you mean 'position'",
    ),
    "three numbers": (
        scene("  frames: {a: {position: [0]}}"),
        3,
        "scene.frames.a",
        "3",
    ),
    "parent": (scene("  frames: {a: {parent: tipp}}"), 3, "scene.frames.a", "'tip'"),
    "parent 7": (scene("  frames: {a: {parent: 7}}"), 3, "scene.frames.a.parent", "7"),
    "taken": (scene("  frames: {tip: }"), 3, "scene.frames.tip", "exists already"),
    "shape": (
        scene("  frames: {a: {shape: Ball(1)}}"),
        3,
        "scene.frames.a.shape",
        "No shape 'Ball'; there are",
    ),
    "shape's numbers": (
        scene("  frames: {a: {shape: Sphere(-1)}}"),
        3,
        "scene.frames.a.shape",
        "radius is -1",
    ),
    "no shape": (
        scene("  frames: {a: {shape: tip}}"),
        3,
        "scene.frames.a.shape",
        "expected a shape",
    ),
    "agent": (scene("  agents: {a: {hands: [tip]}}"), 3, "scene.agents.a", "'base'"),
    "state": (
        scene("  states: {tip: {wet: 1}}"),
        3,
        "scene.states.tip.wet",
        "'wetness'",
    ),
    "dust": (
        "scene:\n  objects: {a: }\n  states: {a: {dust: [[1, 2]]}}\n",
        3,
        "scene.states.a.dust",
        "expected a list of [x, y, z]",
    ),
    "stream": (scene("  states: {tip: {stream: 1}}"), 3, "scene.states.tip.stream", ""),
    "region's object": (
        scene("  regions: [{object: tip, name: in}]"),
        3,
        "scene.regions[0]",
        "No object 'tip'",
    ),
    "region's name": (
        scene("  regions: [{object: tip}]"),
        3,
        "scene.regions[0]",
        "no key 'name'",
    ),
    "region": (
        scene("  regions: [{object: tip, name: in, sise: 1}]"),
        3,
        "scene.regions[0].sise",
        "'size'",
    ),
    "region's size": (
        "scene:\n  objects: {a: }\n  regions:\n"
        "  - {object: a, name: in, size: [1, 2]}\n",
        4,
        "scene.regions[0]",
        "size",
    ),
    "rooms without size": (scene("  rooms: {}"), 3, "scene.rooms", "no key 'size'"),
    "room": (
        scene("  rooms:\n    size: 9\n    rooms:\n      a_0: {cells: [0, 0, 9, 10]}"),
        6,
        "scene.rooms.rooms.a_0",
        "rectangles",
    ),
    "room's key": (
        scene("  rooms: {size: 9, rooms: {a_0: {cell: 1}}}"),
        3,
        "scene.rooms.rooms.a_0.cell",
        "'cells'",
    ),
    "resolution": (
        scene("  rooms: {size: 9, resolution: -1}"),
        3,
        "scene.rooms",
        "resolution",
    ),
    "mark": (scene("  mark: {tap: }"), 3, "scene.mark.tap", "'tip'"),
    "ability": (
        scene("  mark: {tip: {abilities: {cokable: }}}"),
        3,
        "scene.mark.tip",
        "'cookable'",
    ),
    "joint": (scene("  joints: {joint4: 1}"), 3, "scene.joints.joint4", "'joint1'"),
    "lock": (scene("  lock: [joint]"), 3, "scene.lock[0]", "'joint1'"),
    "above": (
        "scene:\n  files: [../x.urdf]\n",
        2,
        "scene.files[0]",
        "lies outside of the problem file's folder",
    ),
    "absolute": ("scene:\n  files: [/etc/passwd]\n", 2, "scene.files[0]", "outside"),
    "a mesh above": (
        scene("  frames: {a: {shape: Mesh('../a.obj')}}"),
        3,
        "scene.frames.a.shape",
        "outside",
    ),
    "no file": ("scene:\n  files: [robt.urdf]\n", 2, "scene.files[0]", "'robot.urdf'"),
    "no name of a file": ('scene:\n  files: ["\\0"]\n', 2, "scene.files[0]", "no name"),
    "q": (scene("q: [1]"), 3, "q", "(3,)"),
    "predicate": (asked("OnTop(mug, tip)"), 5, "predicates[0]", "'OnTopOf'"),
    "arguments": (asked("OnTopOf(mug)"), 5, "predicates[0]", "argument: 'b'"),
    "frame": (asked("OnTopOf(mugg, tip)"), 5, "predicates[0]", "'mug'"),
    "same": (asked("OnTopOf(mug, mug)"), 5, "predicates[0]", "different things"),
    "words": (asked("Open(mug) and Open(tip)"), 5, "predicates[0]", "&, | and ~"),
    "dots": (asked("Open(mug.n)"), 5, "predicates[0]", "into quotes"),
    "dots and digits": (asked("Open(mug.04_1)"), 5, "predicates[0]", "with quotes"),
    "code": (
        asked("__import__('os').system('touch x')"),
        5,
        "predicates[0]",
        "No predicate \"__import__('os').system\"",
    ),
    "attributes": (asked("mug.__class__"), 5, "predicates[0]", "into quotes"),
    "arithmetic": (asked("Open(2**9**9)"), 5, "predicates[0]", "not understood"),
    "lambda": (asked("'Open(lambda: 1)'"), 5, "predicates[0]", "not understood"),
    "stars": (asked("OnTopOf(*[mug, tip])"), 5, "predicates[0]", "starred"),
    "deep": (asked(f"'{'~' * 99}Open(mug)'"), 5, "predicates[0]", "40 levels"),
    "deeper": (asked(f"'{'(' * 999}'"), 5, "predicates[0]", "is no predicate"),
    "long": (asked(f"'{'~' * 10001}'"), 5, "predicates[0]", "10000 characters"),
    "a name": (asked("mug"), 5, "predicates[0]", "expected a predicate"),
    "a number": (asked("1"), 5, "predicates[0]", "with some of the keys predicate"),
    "joined": (asked("Open(mug) & mug"), 5, "predicates[0]", "join predicates"),
    "semantics": (
        asked("{predicate: 'Open(mug)', semantics: igibsn}"),
        5,
        "predicates[0].predicate",
        "'igibson'",
    ),
    "no semantics": (
        asked("{predicate: Sliced(mug), semantics: igibson}"),
        5,
        "predicates[0].predicate",
        "no predicate in it has semantics",
    ),
    "of a path": (asked("Always(Open(mug))"), 5, "predicates[0]", "speaks of a path"),
    "no object": (asked("Cooked(mug)"), 5, "predicates[0]", "No object 'mug'"),
    "nothing to check": (scene(""), 1, "", "there are no predicates"),
}
BAD_PROBLEMS = {
    "nothing to solve": (scene(""), 1, "", "neither komo nor placement"),
    "both": (scene("komo:\nplacement:"), 1, "", "komo and placement; expected one"),
    "phases": (scene("komo: {phases: -1}"), 3, "komo", "phases is -1"),
    "key": (scene("komo: {phase: 1}"), 3, "komo.phase", "'phases'"),
    "starts": (scene("komo: {starts: 0}"), 3, "komo.starts", "starts is 0"),
    "seed": (scene("komo:\nseed: x"), 4, "seed", "an integer >= 0"),
    "option": (scene("komo:\nsolver: {mu_: 1}"), 4, "solver.mu_", "'mu'"),
    "value": (scene("komo:\nsolver: {mu: -1}"), 4, "solver.mu", "a number > 0"),
    "no objective": (scene("komo:"), 3, "komo", "There is no objective"),
    "nothing moves": (
        scene("  lock: [joint1, joint2, joint3]\nkomo:"),
        4,
        "komo",
        "no moving joint",
    ),
    "kind": (solved("{frames: [tip]}"), 5, "objectives[0]", "none of the keys"),
    "feature": (
        solved("{feature: postion}"),
        5,
        "objectives[0].feature",
        "'position'",
    ),
    "count": (solved("{feature: position}"), 5, "objectives[0]", "got 0 frames"),
    "frame": (
        solved("{feature: position, frames: [tap]}"),
        5,
        "objectives[0]",
        "No frame 'tap'; did you mean 'tip'",
    ),
    "target": (
        solved("{feature: position, frames: tip, target: [1, 2]}"),
        5,
        "objectives[0]",
        "target",
    ),
    "type": (
        solved("{feature: position, frames: tip, type: equ}"),
        5,
        "objectives[0].type",
        "'eq'",
    ),
    "margin": (
        solved("{feature: position, frames: tip, margin: 1}"),
        5,
        "objectives[0].margin",
        "No key 'margin'",
    ),
    "times": (
        solved("{feature: position, frames: tip, times: [3]}"),
        5,
        "objectives[0]",
        "select no slice",
    ),
    "order": (
        solved("{feature: position, frames: tip, order: 1}"),
        5,
        "objectives[0]",
        "k_order",
    ),
    "preset": (
        solved("{preset: grasp_bax, box: tip}"),
        5,
        "objectives[0].preset",
        "'grasp_box'",
    ),
    "preset's key": (
        solved("{preset: grasp_box, boxx: tip}"),
        5,
        "objectives[0].boxx",
        "'box'",
    ),
    "preset's need": (
        solved("{preset: grasp_box, box: tip}"),
        5,
        "objectives[0]",
        "no key 'gripper'",
    ),
    "preset's value": (
        solved("{preset: grasp_box, box: tip, gripper: tip, palm: tip, margin: -1}"),
        5,
        "objectives[0]",
        "margin",
    ),
    "preset's frame": (
        solved("{preset: target_x_orientation, frame: tap, vector: [1, 0, 0]}"),
        5,
        "objectives[0]",
        "'tip'",
    ),
    "preset of a path": (
        scene(
            "placement: {movable: tip}\nobjectives: [{preset: approach, gripper: tip}]"
        ),
        4,
        "objectives[0]",
        "speaks of velocities",
    ),
    "no such preset": (
        solved("{preset: setup_motion}"),
        5,
        "objectives[0].preset",
        "No preset",
    ),
    "switch": (solved("{switch: stable}"), 5, "objectives[0]", "no key 'frames'"),
    "mode": (
        scene("komo: {order: 1}\nobjectives:\n")
        + "  - {switch: stabel, frames: [world, tip], times: [1]}\n",
        6,
        "objectives[0]",
        "'stable'",
    ),
    "no rows": (
        solved("{control: 0}\npredicates: [Sliced(tip)]"),
        6,
        "predicates[0]",
        "No object 'tip'",
    ),
    "movable": (scene("placement: {starts: 1}"), 3, "placement", "no key 'movable'"),
    "no such movable": (
        scene("placement: {movable: [tap]}"),
        3,
        "placement",
        "'tip'",
    ),
    "control placed": (
        scene("placement: {movable: tip}\nobjectives: [{control: 0}]"),
        4,
        "objectives[0]",
        "features and presets only",
    ),
    "times placed": (
        scene("placement: {movable: tip}\npredicates:\n")
        + "  - {predicate: 'Open(tip)', times: 1}\n",
        6,
        "predicates[0].predicate",
        "one moment",
    ),
    "collisions": (
        scene("placement: {movable: tip, collisions: 2}"),
        3,
        "placement.collisions",
        "true or false",
    ),
    "region": (
        scene("placement: {movable: tip, region: [1, 2]}"),
        3,
        "placement",
        "region",
    ),
}


@pytest.mark.parametrize(
    ("command", "text", "line", "key", "problem"),
    [("check", *case) for case in BAD.values()]
    + [("solve", *case) for case in BAD_PROBLEMS.values()],
    ids=[*BAD, *(f"solve {name}" for name in BAD_PROBLEMS)],
)
def test_bad_files_end_with_line_and_key(
    place, capsys, command, text, line, key, problem
):
    file = place(text)
    assert main([command, str(file)]) == 2
    told = capsys.readouterr().err
    at = f"posewise: {file}:{line}: {f'{key}: ' if key else ''}"
    assert told.startswith(at) and problem in told, told
    assert told.count("\n") == 1 or "not valid YAML" in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["solve", "nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["check", "."], "cannot be read"),
        (["solve", "FILE", "--json", "no/such/folder.json"], "cannot be written"),
        (["solve", "FILE", "--npz", "."], "cannot be written"),
        (["bddl", "nowhere.bddl"], "nowhere.bddl cannot be read"),
        (["bddl", "(define)"], "cannot be read"),
    ],
)
def test_bad_arguments(place, capsys, arguments, problem):
    file = str(place(help_texts.INVERSE_KINEMATICS_FILE))
    assert main([file if a == "FILE" else a for a in arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_link_to_a_file_elsewhere_is_refused(place, tmp_path_factory):
    file = place("scene:\n  files: [link.urdf]\n")
    other = tmp_path_factory.mktemp("other") / "a.urdf"
    other.write_text("<robot/>")
    (file.parent / "link.urdf").symlink_to(other)
    with pytest.raises(ProblemError, match="outside"):
        read_problem(file)


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
def test_values(place, text, value):
    assert read_entries(place(f"a: {text}\n")).plain() == {"a": value}


ODD = [
    None,
    True,
    -1,
    1e400,
    "x",
    "",
    "Box([1, 2, 3])",
    "Open(mug)",
    [],
    [[1]],
    {"a": 1},
]


@pytest.mark.slow
def test_no_value_leads_to_the_wrong_kind_of_error(place):
    """Values of a file are replaced by odd ones, one at a time."""
    yaml = pytest.importorskip("yaml")
    places = list(_places(yaml.safe_load(RICH)))
    for path, odd in list(product(places, ODD))[::29]:
        text = yaml.safe_dump(_with(yaml.safe_load(RICH), path, odd), sort_keys=False)
        try:
            make_path_problem(read_problem(place(text)))
        except pw.PosewiseError as error:
            assert str(error).startswith(str(place(text)))


def _places(value, path=()):
    """Ways to all parts of nested lists and dictionaries."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield (*path, key)
        if isinstance(value[key], dict | list):
            yield from _places(value[key], (*path, key))


def _with(value, path, new):
    target = value
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = new
    return value


PAGES = [
    Path(__file__).parents[2] / name for name in ("README.md", "docs/command_line.md")
]
FILES = [
    text
    for page in PAGES
    for text in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S)
]


def test_the_pages_show_what_the_help_does():
    assert help_texts.PLACEMENT_FILE in FILES and help_texts.GRASP_FILE in FILES


@pytest.mark.parametrize("text", FILES)
def test_problem_files_of_the_pages_are_read(place, text):
    problem = read_problem(place(text))
    if "komo" in problem.sections:
        make_path_problem(problem)
    for statement in problem.predicates:
        statement.predicate.holds(problem.world)


def test_check_says_why_as_the_help_does(place, capsys):
    file = place(help_texts.PLACEMENT_FILE)
    target = file.parent / "out.json"
    assert main(["check", str(file), "--json", str(target)]) == 1
    told = capsys.readouterr()
    assert told.err == "posewise: not every predicate holds\n"
    assert textwrap.indent(told.out, "    ") in help_texts.CHECK
    data = json.loads(target.read_text())
    assert not data["holds"]
    assert [p["holds"] for p in data["predicates"]] == [False]
    file = place(help_texts.PLACEMENT_FILE.replace("OnTopOf", "~OnTopOf"))
    assert main(["check", str(file)]) == 0


POINTING = """\
scene:
  models: [planar3]
komo:
objectives:
  - {feature: position, frames: tip, target: [0.5, 0.6, 0]}
predicates:
  - InReachOfAgent(tip, base, reach=5)
  - Eventually(InReachOfAgent(tip, base, reach=5))
"""


def test_a_configuration_is_solved_and_written(place, capsys):
    file = place(POINTING)
    target, arrays = file.parent / "out.json", file.parent / "out"
    arguments = ["solve", str(file), "--json", str(target), "--npz", str(arrays)]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "CONVERGED" in told and "position(tip)" in told
    data = json.loads(target.read_text())
    assert data["solved"] and data["status"] == "CONVERGED"
    assert [o["type"] for o in data["objectives"]] == ["eq", "ineq", "ineq"]
    assert [p["holds"] for p in data["predicates"]] == [True, None]
    assert "+ InReachOfAgent('tip', 'base', reach=5)\n  Slice 0: " in told
    with np.load(arrays) as found:
        path, joints = found["path"], list(found["joints"])
    np.testing.assert_array_equal(path, data["path"])
    C = read_problem(file).world
    assert joints == list(C.joint_names)
    C.q = path[0]
    tip = plain_poses(C)[C.index("tip")]
    np.testing.assert_allclose(tip[:2], [0.5, 0.6], atol=2e-4)
    file.write_text(POINTING.replace("[0.5, 0.6", "[9, 9"))
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert "Violated: position(tip)" in told.out and "not solved" in told.err
    assert not json.loads(target.read_text())["solved"]


@pytest.mark.slow
def test_the_reaching_of_the_help_is_solved(place, capsys):
    file = place(help_texts.INVERSE_KINEMATICS_FILE)
    target = file.parent / "out.json"
    assert main(["solve", str(file), "--json", str(target)]) == 0
    assert "cost share" in capsys.readouterr().out
    C = read_problem(file).world
    C.q = json.loads(target.read_text())["path"][0]
    hand = plain_poses(C)[C.index("panda_hand_tcp")]
    np.testing.assert_allclose(hand[:3], [0.5, 0.2, 0.5], atol=2e-4)
    w, x, y, z = hand[3:]
    assert 1 - 2 * (x * x + y * y) < -0.999


@pytest.mark.slow
def test_the_placing_of_the_help_is_solved_and_checked(place, capsys):
    file = place(help_texts.PLACEMENT_FILE)
    target, arrays = file.parent / "out.json", file.parent / "out.npz"
    arguments = ["solve", str(file), "--json", str(target), "--npz", str(arrays)]
    assert main(arguments) == 0
    assert "+ OnTopOf('box', 'table')" in capsys.readouterr().out
    data = json.loads(target.read_text())
    best = data["placements"][data["best"]]
    with np.load(arrays) as found:
        np.testing.assert_array_equal(
            found["pose of box"][data["best"]], best["poses"]["box"]
        )
    place(
        help_texts.PLACEMENT_FILE.replace(
            "[0, 0, 1.2, 1, 0, 0, 0]", str(best["poses"]["box"])
        )
    )
    assert main(["check", str(file)]) == 0
    impossible = help_texts.PLACEMENT_FILE.replace(
        "box, table)", "box, table) & Under(box, table)"
    )
    assert main(["solve", str(place(impossible))]) == 1
    assert "not solved" in capsys.readouterr().err


CLEARING = """
(define (problem clearing) (:domain igibson)
    (:objects mug.n.04_1 - mug.n.04  table.n.02_1 - table.n.02
        floor.n.01_1 - floor.n.01)
    (:init (ontop mug.n.04_1 table.n.02_1) (inroom floor.n.01_1 kitchen)
        (inroom table.n.02_1 kitchen))
    (:goal (and (onfloor mug.n.04_1 floor.n.01_1)
        (not (ontop mug.n.04_1 table.n.02_1)))))
"""
STUCK = "(not (ontop mug.n.04_1 table.n.02_1))"


@pytest.mark.parametrize(
    ("text", "code", "init", "goal"),
    [
        (CLEARING, 0, True, True),
        (CLEARING.replace("(:goal (and", f"(:goal (and (not {STUCK})"), 1, True, False),
        (CLEARING.replace("(:init", f"(:init {STUCK}"), 1, False, None),
    ],
)
def test_activities(place, capsys, text, code, init, goal):
    file = place(text, "clearing.bddl")
    target = file.parent / "out.json"
    assert main(["bddl", str(file), "--json", str(target)]) == code
    told = capsys.readouterr().out
    assert f"init: {'' if init else 'not '}solved" in told
    data = json.loads(target.read_text())
    assert data["solved"] is (code == 0) and data["init"]["solved"] is init
    if goal is None:
        assert "goal" not in data and "the goal was not tried" in told
    else:
        assert data["goal"]["solved"] is goal
        held = {x["literal"]: x["holds"] for x in data["goal"]["literals"]}
        if goal:
            assert set(held.values()) == {True}
            assert "+ OnFloor('mug.n.04_1', 'floor.n.01_1')" in told


SLIDING = """\
scene:
  models: [planar3]
  objects: {ball: {parts: [Sphere(0.1)], joint: free, position: [0, 0, 1]}}
komo: {phases: 1, slices: 3}
"""


@pytest.fixture
def written(place):
    """A problem with the arrays that `solve --npz` writes, not solved."""
    file = place(SLIDING)
    C = read_problem(file).world
    path = np.repeat([C.q], 3, 0)
    path[:, 0] = [0.0, 0.5, 1.0]
    joints = np.array(C.joint_names)
    times = np.array([0.5, 1.0, 1.5])
    np.savez(file.parent / "path.npz", path=path, times=times, joints=joints)
    poses = np.array([[0, 0, 2.0, 1, 0, 0, 0], [0, 0, 3.0, 1, 0, 0, 0]])
    arrays = {"pose of ball": poses, "solved": np.array([False, True])}
    np.savez(file.parent / "poses.npz", cost=np.zeros(2), **arrays)
    np.savez(file.parent / "other.npz", a=np.zeros(1))
    np.savez(file.parent / "late.npz", path=path, times=np.zeros(3), joints=joints)
    np.savez(file.parent / "alien.npz", path=path, times=times, joints=["x"])
    (file.parent / "no.npz").write_text("PK")
    return file


@pytest.mark.parametrize("solved", [[], ["path.npz"], ["poses.npz"]])
def test_view_writes_a_page_and_ends(written, capsys, solved):
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    page = written.parent / "out.html"
    given = [str(written.parent / name) for name in solved]
    assert main(["view", str(written), *given, "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"written: {page}\n"
    assert "__VISER_EMBED_DATA__" in page.read_text()


def test_what_view_shows(written):
    from posewise.cli.view import _load_solution

    world = lambda: read_problem(written).world
    C, path, dt = _load_solution(world(), written.parent / "path.npz")
    np.testing.assert_allclose(path[:, 0], [0, 0.5, 1])
    assert dt == 0.5
    C, path, _ = _load_solution(world(), written.parent / "poses.npz")
    assert path is None and C.pose("ball")[2] == 3.0


def test_view_of_a_model_runs_until_interrupted(written, capsys, monkeypatch):
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    monkeypatch.setattr(
        "posewise.robots.visual.viewer.view.open_page", lambda url: None
    )

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("posewise.cli.view.sleep", interrupt)
    assert main(["view", str(written.parent / "robot.urdf")]) == 0
    assert "http://127.0.0.1:" in capsys.readouterr().out


def test_view_opens_a_page(written, capsys, monkeypatch):
    page = written.parent / "page.html"
    page.write_text("<html>")
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert main(["view", str(page)]) == 0
    assert page.as_uri() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere.yaml"], "nowhere.yaml cannot be read"),
        (["nowhere.urdf"], "'nowhere.urdf' is no file; expected a problem"),
        (["nowhere.html"], "is no file"),
        (["robot.urdf", "--html", "no/such/x.html"], "cannot be written"),
        (["robot.urdf", "--html", "x.png"], "expected a name like 'x.html'"),
        (["robot.urdf", "no.npz"], "no.npz cannot be read as .npz"),
        (["robot.urdf", "nowhere.npz"], "nowhere.npz cannot be read as .npz"),
        (["robot.urdf", "path.npz"], "the world has"),
        (["problem.yaml", "alien.npz"], "a path of the joints x, the world has"),
        (["problem.yaml", "late.npz"], "a time > 0"),
        (["problem.yaml", "other.npz"], "has a, expected the path or the poses"),
        (["robot.urdf", "poses.npz"], "No frame 'ball'"),
    ],
)
def test_bad_arguments_of_view(written, capsys, monkeypatch, arguments, problem):
    pytest.importorskip("viser", reason="the viewer needs the extra viz")
    monkeypatch.chdir(written.parent)
    if "--html" not in arguments:
        page = [] if arguments == ["nowhere.html"] else ["--html", "x.html"]
        arguments = [*arguments, *page]
    assert main(["view", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_bench_prints_a_table(place, capsys, monkeypatch):
    from posewise.cli import bench

    komo = lambda: make_path_problem(
        read_problem(place(POINTING[: POINTING.index("pred")]))
    )[0]
    monkeypatch.setattr(bench, "standard_problems", lambda: {"pointing": komo})
    assert main(["bench"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "cores" in told[0] and told[2].split() == [
        "problem",
        "first",
        "s",
        "ms",
        "success",
    ]
    name, first, ms, share = told[3].split()
    assert name == "pointing" and 1e3 * float(first) > float(ms) > 0 and share == "100%"


def test_bench_runs_scripts_of_the_repository(place, capfd, monkeypatch, tmp_path):
    from posewise.cli import bench

    for name, code in {"good": "print('done')", "bad": "raise SystemExit(3)"}.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.setattr(bench, "BENCHMARKS_DIR", tmp_path)
    assert main(["bench", "good"]) == 0
    assert capfd.readouterr().out == "benchmarks/good.py\ndone\n"
    assert main(["bench", "bad", "good"]) == 1
    assert "done" in capfd.readouterr().out
    assert main(["bench", "goood"]) == 2
    assert "did you mean 'good'" in capfd.readouterr().err
    monkeypatch.setattr(bench, "BENCHMARKS_DIR", tmp_path / "none")
    assert main(["bench", "good"]) == 2
    assert "of the repository, which is not here" in capfd.readouterr().err


@pytest.mark.slow
def test_the_grasping_of_the_help_is_solved(place, capsys):
    file = place(help_texts.GRASP_FILE)
    arrays = file.parent / "out.npz"
    assert main(["solve", str(file), "--npz", str(arrays)]) == 0
    with np.load(arrays) as found:
        path = found["path"]
    C = read_problem(file).world
    C.q = path[-1]
    offset = C.pose("hand")[:3] - C.pose("mug")[:3]
    np.testing.assert_allclose(offset[:2], 0, atol=2e-4)
    assert abs(offset[2]) < 0.0301


@pytest.mark.parametrize("command", ["demo", "solve", "check", "view", "bddl", "bench"])
def test_help_teaches_by_an_example(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert f"posewise {command} " in told.partition("options:")[2]

"""Errors in problem files, each with its line and key."""

from itertools import product

import pytest
from helpers.problem_files import RICH, check_file, objective_file, scene_file

import posewise as pw
from posewise.__main__ import main
from posewise.cli.problem_file import (
    make_path_problem,
    read_problem,
)

BAD = {
    "no mapping": ("- a\n", 1, "", "a mapping at the top"),
    "empty": ("", 1, "", "a mapping at the top"),
    "broken": ("scene: {models: [a\nq: 1\n", 2, "", "not valid YAML"),
    "an expression without quotes": (
        "scene:\n  frames: {a: {shape: Boxx([1,1,1])}}\n",
        2,
        "",
        'put expressions into quotes, such as shape: "Box([1, 1, 1])"',
    ),
    "an expression that a comma ends": (
        scene_file("komo:\npredicates: [{predicate: OnTopOf(a, b)}]"),
        4,
        "predicates[0].b)",
        'Put expressions into quotes: "OnTopOf(a, b)"',
    ),
    "ignored pairs": (
        scene_file("  ignore_collisions: [link1, link2]"),
        3,
        "scene.ignore_collisions[0]",
        "[a, [b, c]]",
    ),
    "an ignored side": (
        scene_file("  ignore_collisions: [[link1]]"),
        3,
        "scene.ignore_collisions[0]",
        "two names, [a, b]",
    ),
    "an ignored frame": (
        scene_file("  ignore_collisions: [[link1, lnk2]]"),
        3,
        "scene.ignore_collisions[0]",
        "did you mean 'link2'",
    ),
    "two documents": ("a: 1\n---\nb: 1\n", 2, "", "not valid YAML"),
    "a tag": ("scene: !!python/name:os.system x\n", 1, "scene", "tags"),
    "an alias": ("scene: &a {}\nq: *a\n", 2, "q", "aliases"),
    "a key twice": ("scene:\nq: 1\nscene:\n", 3, "", "occurs twice"),
    "a list as key": ("? [a]\n: 1\n", 1, "", "expected a name"),
    "no scene": ("q: [1]\n", 1, "", "there is no scene"),
    "section": (
        scene_file("predicate: []"),
        3,
        "predicate",
        "did you mean 'predicates'",
    ),
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
        scene_file("  frames:\n    a:\n      positon: [0, 0, 0]"),
        5,
        "scene.frames.a.positon",
        "did you mean 'position'",
    ),
    "three numbers": (
        scene_file("  frames: {a: {position: [0]}}"),
        3,
        "scene.frames.a",
        "3",
    ),
    "parent": (
        scene_file("  frames: {a: {parent: tipp}}"),
        3,
        "scene.frames.a",
        "'tip'",
    ),
    "parent 7": (
        scene_file("  frames: {a: {parent: 7}}"),
        3,
        "scene.frames.a.parent",
        "7",
    ),
    "taken": (scene_file("  frames: {tip: }"), 3, "scene.frames.tip", "exists already"),
    "shape": (
        scene_file("  frames: {a: {shape: Ball(1)}}"),
        3,
        "scene.frames.a.shape",
        "No shape 'Ball'; there are",
    ),
    "shape's numbers": (
        scene_file("  frames: {a: {shape: Sphere(-1)}}"),
        3,
        "scene.frames.a.shape",
        "radius is -1",
    ),
    "no shape": (
        scene_file("  frames: {a: {shape: tip}}"),
        3,
        "scene.frames.a.shape",
        "expected a shape",
    ),
    "agent": (
        scene_file("  agents: {a: {hands: [tip]}}"),
        3,
        "scene.agents.a",
        "'base'",
    ),
    "state": (
        scene_file("  states: {tip: {wet: 1}}"),
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
    "stream": (
        scene_file("  states: {tip: {stream: 1}}"),
        3,
        "scene.states.tip.stream",
        "",
    ),
    "region's object": (
        scene_file("  regions: [{object: tip, name: in}]"),
        3,
        "scene.regions[0]",
        "No object 'tip'",
    ),
    "region's name": (
        scene_file("  regions: [{object: tip}]"),
        3,
        "scene.regions[0]",
        "no key 'name'",
    ),
    "region": (
        scene_file("  regions: [{object: tip, name: in, sise: 1}]"),
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
    "rooms without size": (
        scene_file("  rooms: {}"),
        3,
        "scene.rooms",
        "no key 'size'",
    ),
    "room": (
        scene_file(
            "  rooms:\n    size: 9\n    rooms:\n      a_0: {cells: [0, 0, 9, 10]}"
        ),
        6,
        "scene.rooms.rooms.a_0",
        "rectangles",
    ),
    "room's key": (
        scene_file("  rooms: {size: 9, rooms: {a_0: {cell: 1}}}"),
        3,
        "scene.rooms.rooms.a_0.cell",
        "'cells'",
    ),
    "resolution": (
        scene_file("  rooms: {size: 9, resolution: -1}"),
        3,
        "scene.rooms",
        "resolution",
    ),
    "mark": (scene_file("  mark: {tap: }"), 3, "scene.mark.tap", "'tip'"),
    "ability": (
        scene_file("  mark: {tip: {abilities: {cokable: }}}"),
        3,
        "scene.mark.tip",
        "'cookable'",
    ),
    "joint": (
        scene_file("  joints: {joint4: 1}"),
        3,
        "scene.joints.joint4",
        "'joint1'",
    ),
    "lock": (scene_file("  lock: [joint]"), 3, "scene.lock[0]", "'joint1'"),
    "above": (
        "scene:\n  files: [../x.urdf]\n",
        2,
        "scene.files[0]",
        "lies outside of the problem file's folder",
    ),
    "absolute": (
        "scene:\n  files: [/no/arm.urdf]\n",
        2,
        "scene.files[0]",
        "not a file",
    ),
    "package": (
        "scene:\n  files: ['package://arms/arm.urdf']\n",
        2,
        "scene.files[0]",
        "--package arms=FOLDER",
    ),
    "a mesh above": (
        scene_file("  frames: {a: {shape: Mesh('../a.obj')}}"),
        3,
        "scene.frames.a.shape",
        "outside",
    ),
    "no file": ("scene:\n  files: [robt.urdf]\n", 2, "scene.files[0]", "'robot.urdf'"),
    "no name of a file": (
        'scene:\n  files: ["\\0"]\n',
        2,
        "scene.files[0]",
        "valid file",
    ),
    "q": (scene_file("q: [1]"), 3, "q", "(3,)"),
    "predicate": (check_file("OnTop(mug, tip)"), 5, "predicates[0]", "'OnTopOf'"),
    "arguments": (check_file("OnTopOf(mug)"), 5, "predicates[0]", "argument: 'b'"),
    "frame": (check_file("OnTopOf(mugg, tip)"), 5, "predicates[0]", "'mug'"),
    "same": (
        check_file("OnTopOf(mug, mug)"),
        5,
        "predicates[0]",
        "two different objects",
    ),
    "words": (check_file("Open(mug) and Open(tip)"), 5, "predicates[0]", "&, | and ~"),
    "dots": (check_file("Open(mug.n)"), 5, "predicates[0]", "into quotes"),
    "dots and digits": (
        check_file("Open(mug.04_1)"),
        5,
        "predicates[0]",
        "with quotes",
    ),
    "code": (
        check_file("__import__('os').system('touch x')"),
        5,
        "predicates[0]",
        "No predicate \"__import__('os').system\"",
    ),
    "attributes": (check_file("mug.__class__"), 5, "predicates[0]", "into quotes"),
    "arithmetic": (check_file("Open(2**9**9)"), 5, "predicates[0]", "not supported"),
    "lambda": (check_file("'Open(lambda: 1)'"), 5, "predicates[0]", "not supported"),
    "stars": (check_file("OnTopOf(*[mug, tip])"), 5, "predicates[0]", "starred"),
    "deep": (check_file(f"'{'~' * 99}Open(mug)'"), 5, "predicates[0]", "40 levels"),
    "deeper": (check_file(f"'{'(' * 999}'"), 5, "predicates[0]", "is not a predicate"),
    "long": (check_file(f"'{'~' * 10001}'"), 5, "predicates[0]", "10000 characters"),
    "a name": (check_file("mug"), 5, "predicates[0]", "expected a predicate"),
    "a number": (
        check_file("1"),
        5,
        "predicates[0]",
        "with some of the keys predicate",
    ),
    "joined": (check_file("Open(mug) & mug"), 5, "predicates[0]", "join predicates"),
    "semantics": (
        check_file("{predicate: 'Open(mug)', semantics: igibsn}"),
        5,
        "predicates[0].predicate",
        "'igibson'",
    ),
    "no semantics": (
        check_file("{predicate: Sliced(mug), semantics: igibson}"),
        5,
        "predicates[0].predicate",
        "no predicate in it has semantics",
    ),
    "of a path": (
        check_file("Always(Open(mug))"),
        5,
        "predicates[0]",
        "is about a path",
    ),
    "no object": (check_file("Cooked(mug)"), 5, "predicates[0]", "No object 'mug'"),
    "nothing to check": (scene_file(""), 1, "", "there are no predicates"),
}
BAD_PROBLEMS = {
    "nothing to solve": (scene_file(""), 1, "", "neither komo nor placement"),
    "both": (
        scene_file("komo:\nplacement:"),
        1,
        "",
        "komo and placement; expected one",
    ),
    "phases": (scene_file("komo: {phases: -1}"), 3, "komo", "phases is -1"),
    "key": (scene_file("komo: {phase: 1}"), 3, "komo.phase", "'phases'"),
    "starts": (scene_file("komo: {starts: 0}"), 3, "komo.starts", "starts is 0"),
    "seed": (scene_file("komo:\nseed: x"), 4, "seed", "an integer >= 0"),
    "option": (scene_file("komo:\nsolver: {mu_: 1}"), 4, "solver.mu_", "'mu'"),
    "value": (scene_file("komo:\nsolver: {mu: -1}"), 4, "solver.mu", "a number > 0"),
    **{
        f"in komo: {keys}": (scene_file(f"komo:\n  {keys}"), 4, key, problem)
        for keys, key, problem in (
            ("avoid_colisions:", "komo.avoid_colisions", "'avoid_collisions'"),
            ("avoid_collisions: 0.01", "komo.avoid_collisions", "got 0.01, expected"),
            (
                "avoid_collisions: {margn: 1}",
                "komo.avoid_collisions.margn",
                "did you mean 'margin'",
            ),
            ("avoid_collisions: {margin: x}", "komo.avoid_collisions", "margin is 'x'"),
            (
                "avoid_collisions: {between: 1}",
                "komo.avoid_collisions.between",
                "true or false",
            ),
            (
                "avoid_collisions: {allow: tip}",
                "komo.avoid_collisions.allow",
                "a list of contacts",
            ),
            (
                "avoid_collisions: {allow: [tip, base]}",
                "komo.avoid_collisions.allow[0]",
                "got 'tip', expected [frame, frame, times]",
            ),
            (
                "avoid_collisions: {allow: [[tip, base]]}",
                "komo.avoid_collisions.allow[0]",
                "expected [frame, frame, times]",
            ),
            (
                "avoid_collisions: {allow: [[tip, 7, null]]}",
                "komo.avoid_collisions.allow[0][1]",
                "got 7, expected the name of a frame",
            ),
            (
                "avoid_collisions: {allow: [[link1, bse, null]]}",
                "komo.avoid_collisions.allow[0]",
                "did you mean 'base'",
            ),
            (
                "avoid_collisions: {allow: [[link1, link2, [3]]]}",
                "komo.avoid_collisions.allow[0]",
                "times [3.0] select no slice",
            ),
            ("motion_limits: {speed: 1}", "komo.motion_limits.speed", "'velocity'"),
            (
                "motion_limits: {velocity: -1}",
                "komo.motion_limits",
                "velocity is -1, expected one number > 0",
            ),
            (
                "motion_limits: {velocity: {joint4: 1}}",
                "komo.motion_limits.velocity",
                "No moving joint 'joint4'; did you mean",
            ),
            (
                "motion_limits: {velocity: {joint1: fast}}",
                "komo.motion_limits.velocity.joint1",
                "got 'fast', expected a number",
            ),
            (
                "motion_limits: {velocity: 1, joints: joint4}",
                "komo.motion_limits",
                "'joint1'",
            ),
            ("motion_limits: {velocity: 1}", "komo.motion_limits", "k_order"),
            ("start_velocity: [1, 0, 0]", "komo.start_velocity", "k_order=2"),
            (
                "start_velocity: {joint4: 1}",
                "komo.start_velocity",
                "No moving joint 'joint4'; did you mean",
            ),
            ("free_durations: {least: 1}", "komo.free_durations.least", "'min', 'max'"),
            ("free_durations: {min: 0}", "komo.free_durations", "min is 0"),
            ("time_objective:", "komo.time_objective", "free_durations"),
        )
    },
    "start of free durations": (
        scene_file("komo:\n  k_order: 2\n  start_velocity: [1, 0, 0]")
        + "  free_durations:\n",
        6,
        "komo.free_durations",
        "The start is in motion",
    ),
    "start of another size": (
        scene_file("komo:\n  k_order: 2\n  start_velocity: [1, 0]"),
        5,
        "komo.start_velocity",
        "(3,)",
    ),
    "no objective": (scene_file("komo:"), 3, "komo", "There is no objective"),
    "nothing moves": (
        scene_file("  lock: [joint1, joint2, joint3]\nkomo:"),
        4,
        "komo",
        "no moving joint",
    ),
    "kind": (objective_file("{frames: [tip]}"), 5, "objectives[0]", "none of the keys"),
    "feature": (
        objective_file("{feature: postion}"),
        5,
        "objectives[0].feature",
        "'position'",
    ),
    "count": (
        objective_file("{feature: position}"),
        5,
        "objectives[0]",
        "got 0 frames",
    ),
    "frame": (
        objective_file("{feature: position, frames: [tap]}"),
        5,
        "objectives[0]",
        "No frame 'tap'; did you mean 'tip'",
    ),
    "target": (
        objective_file("{feature: position, frames: tip, target: [1, 2]}"),
        5,
        "objectives[0]",
        "target",
    ),
    "type": (
        objective_file("{feature: position, frames: tip, type: equ}"),
        5,
        "objectives[0].type",
        "'eq'",
    ),
    "margin": (
        objective_file("{feature: position, frames: tip, margin: 1}"),
        5,
        "objectives[0].margin",
        "No key 'margin'",
    ),
    "times": (
        objective_file("{feature: position, frames: tip, times: [3]}"),
        5,
        "objectives[0]",
        "select no slice",
    ),
    "order": (
        objective_file("{feature: position, frames: tip, order: 1}"),
        5,
        "objectives[0]",
        "k_order",
    ),
    "preset": (
        objective_file("{preset: grasp_bax, box: tip}"),
        5,
        "objectives[0].preset",
        "'grasp_box'",
    ),
    "preset's key": (
        objective_file("{preset: grasp_box, boxx: tip}"),
        5,
        "objectives[0].boxx",
        "'box'",
    ),
    "preset's need": (
        objective_file("{preset: grasp_box, box: tip}"),
        5,
        "objectives[0]",
        "no key 'gripper'",
    ),
    "preset's value": (
        objective_file(
            "{preset: grasp_box, box: tip, gripper: tip, palm: tip, margin: -1}"
        ),
        5,
        "objectives[0]",
        "margin",
    ),
    "preset's frame": (
        objective_file("{preset: target_x_orientation, frame: tap, vector: [1, 0, 0]}"),
        5,
        "objectives[0]",
        "'tip'",
    ),
    "preset of a path": (
        scene_file(
            "placement: {movable: tip}\nobjectives: [{preset: approach, gripper: tip}]"
        ),
        4,
        "objectives[0]",
        "constrains velocities",
    ),
    "no such preset": (
        objective_file("{preset: setup_motion}"),
        5,
        "objectives[0].preset",
        "No preset",
    ),
    "switch": (
        objective_file("{mode_switch: stable}"),
        5,
        "objectives[0]",
        "no key 'frames'",
    ),
    "mode": (
        scene_file("komo: {k_order: 1}\nobjectives:\n")
        + "  - {mode_switch: stabel, frames: [world, tip], times: [1]}\n",
        6,
        "objectives[0]",
        "'stable'",
    ),
    "no rows": (
        objective_file("{control: 0}\npredicates: [Sliced(tip)]"),
        6,
        "predicates[0]",
        "No object 'tip'",
    ),
    "movable": (
        scene_file("placement: {starts: 1}"),
        3,
        "placement",
        "no key 'movable'",
    ),
    "no such movable": (
        scene_file("placement: {movable: [tap]}"),
        3,
        "placement",
        "'tip'",
    ),
    "control placed": (
        scene_file("placement: {movable: tip}\nobjectives: [{control: 0}]"),
        4,
        "objectives[0]",
        "features and presets only",
    ),
    "times placed": (
        scene_file("placement: {movable: tip}\npredicates:\n")
        + "  - {predicate: 'Open(tip)', times: 1}\n",
        6,
        "predicates[0].predicate",
        "one moment",
    ),
    "collisions": (
        scene_file("placement: {movable: tip, collisions: 2}"),
        3,
        "placement.collisions",
        "true or false",
    ),
    "region": (
        scene_file("placement: {movable: tip, region: [1, 2]}"),
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
    write_problem, capsys, command, text, line, key, problem
):
    file = write_problem(text)
    assert main([command, str(file)]) == 2
    output = capsys.readouterr().err
    position = f"posewise: {file}:{line}: {f'{key}: ' if key else ''}"
    assert output.startswith(position) and problem in output, output
    assert output.count("\n") == 1 or "not valid YAML" in output


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
def test_no_value_leads_to_the_wrong_kind_of_error(write_problem):
    """Values of a file are replaced by odd ones, one at a time."""
    yaml = pytest.importorskip("yaml")
    places = list(_places(yaml.safe_load(RICH)))
    for path, odd in list(product(places, ODD))[::29]:
        text = yaml.safe_dump(_with(yaml.safe_load(RICH), path, odd), sort_keys=False)
        try:
            make_path_problem(read_problem(write_problem(text)))
        except pw.PosewiseError as error:
            assert str(error).startswith(str(write_problem(text)))


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

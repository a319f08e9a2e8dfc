"""Lists of messages of MoveIt, against the rules of MoveIt's PlanningScene."""

import json
from itertools import combinations

import numpy as np
import pytest
from helpers.cases import case
from helpers.planning_texts import ARM_URDF, TURNED, box, load_problem, pose, world_of

import posewise as pw
from posewise.robots.kinematics.transforms import pose_multiply

ADD, REMOVE, APPEND, MOVE = range(4)
UNREAD = pytest.mark.filterwarnings("ignore:.*not used as written")


@pytest.fixture
def robot(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM_URDF)
    return file


def op(operation, id="", **more):
    return {"id": id, "operation": operation, **more}


def moved(id, *xyz, **more):
    return op(MOVE, id, primitive_poses=[pose(*xyz)], **more)


def attached(link, obj, **more):
    return {"link_name": link, "object": obj, **more}


def carrying(*objects, is_diff=True, **more):
    state = {"attached_collision_objects": list(objects), "is_diff": is_diff}
    return {"is_diff": True, "robot_state": state, **more}


def centres(C) -> dict[str, list[list[float]]]:
    """Return the centres of the shapes of each object in the world [m]."""
    return {
        name: [
            np.round(pose_multiply(C.pose(name), g.pose)[:3], 9).tolist()
            for g in C.frame(name).geometries
        ]
        for name in C.objects
        if name not in ("base", "arm")
    }


WORLDS = {
    "removed": ([box("a", 1, 0, 0), op(REMOVE, "a")], {}),
    "removed by a character": ([box("a", 1, 0, 0), op("\x01", "a")], {}),
    "all removed": (
        [box("a", 1, 0, 0), box("b", 2, 0, 0), op(REMOVE), box("c", 3, 0, 0)],
        {"c": [[3, 0, 0]]},
    ),
    "added twice": ([box("a", 1, 0, 0), box("a", 2, 0, 0)], {"a": [[2, 0, 0]]}),
    "added again": (
        [box("a", 1, 0, 0), op(REMOVE, "a"), box("a", 2, 0, 0)],
        {"a": [[2, 0, 0]]},
    ),
    "moved by its pose": (
        [box("a", 1, 0, 0), op(MOVE, "a", pose=pose(0, 2, 0))],
        {"a": [[0, 2, 0]]},
    ),
    "moved by the pose of its shape": (
        [box("a", 1, 0, 0), moved("a", 0, 3, 0)],
        {"a": [[0, 3, 0]]},
    ),
    "moved and turned": (
        [
            box("a", 1, 0, 0, pose=pose(0, 0, 1)),
            op(MOVE, "a", pose=pose(0, 0, 0, orientation=TURNED)),
        ],
        {"a": [[0, 1, 0]]},
    ),
    "moved in a frame of another object": (
        [
            box("a", 1, 0, 0),
            box("b", 5, 0, 0, subframe_names=["top"], subframe_poses=[pose(0, 0, 1)]),
            op(MOVE, "a", header={"frame_id": "b/top"}, pose=pose(0, 1, 0)),
        ],
        {"a": [[5, 1, 1]], "b": [[5, 0, 0]]},
    ),
    "appended, in the frame of the object": (
        [
            box("a", 1, 0, 0, pose=pose(0, 0, 1)),
            box("a", 0, 1, 0, pose=pose(9, 9, 9), operation=APPEND),
        ],
        {"a": [[1, 0, 1], [0, 1, 1]]},
    ),
    "appended to nothing": ([box("a", 1, 0, 0, operation=APPEND)], {"a": [[1, 0, 0]]}),
    "a pose that says nothing": ([box("a", 1, 0, 0, pose=pose(0, 0, 0))],
                                 {"a": [[1, 0, 0]]}),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_operations_on_objects(tmp_path, name):
    messages, expected = WORLDS[name]
    assert centres(load_problem(tmp_path, world_of(*messages)).world) == expected


PRISM = {"type": 5, "dimensions": [1.0]}
SKIPPED = {
    "removed, but not there": ([op(REMOVE, "a")], {}, "REMOVE of object 'a'"),
    "moved, but not there": ([op(MOVE, "a")], {}, "MOVE of object 'a'"),
    "another number of poses": (
        [box("a", 1, 0, 0), op(MOVE, "a", primitive_poses=[pose(1, 1, 1)] * 2)],
        {"a": [[0, 0, 0]]},
        "poses of shapes in MOVE of object 'a': 2, but it has 1",
    ),
    "replaced by nothing": (
        [box("a", 1, 0, 0), op(ADD, "a")],
        {"a": [[1, 0, 0]]},
        "object 'a', which has no shapes",
    ),
    "replaced in an unknown frame": (
        [box("a", 1, 0, 0), box("a", 2, 0, 0, header={"frame_id": "nowhere"})],
        {"a": [[1, 0, 0]]},
        "unknown frame 'nowhere'",
    ),
    "a prism": (
        [
            box("a", 1, 0, 0),
            op(ADD, "b", primitives=[PRISM], primitive_poses=[pose(1, 0, 0)]),
        ],
        {"a": [[1, 0, 0]]},
        "a prism, which posewise does not read",
    ),
    "more poses than shapes": (
        [box("a", 1, 0, 0), box("a", 1, 0, 0, primitive_poses=[pose(1, 0, 0)] * 2)],
        {},
        "more primitive_poses than primitives",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SKIPPED)
def test_operations_that_moveit_skips(tmp_path, name):
    messages, expected, words = SKIPPED[name]
    with pytest.warns(UserWarning, match=words):
        problem = load_problem(tmp_path, world_of(*messages))
    assert centres(problem.world) == expected


@pytest.mark.parametrize("kind", [[1, 1], {}, [[]]])
def test_types_of_shapes_that_are_none(tmp_path, kind):
    shape = {"type": kind, "dimensions": [1.0, 1.0, 1.0]}
    obj = op(ADD, "a", primitives=[shape], primitive_poses=[pose(1, 0, 0)])
    with pytest.raises(pw.LoadError, match="type is .*, expected a text"):
        load_problem(tmp_path, world_of(obj))


def test_an_unknown_operation(tmp_path):
    with pytest.raises(pw.LoadError, match=r"operation is 7, expected one of ADD \(0"):
        load_problem(tmp_path, world_of(op(7, "a")))


def test_the_name_of_a_removed_object_has_no_entry(tmp_path):
    matrix = {
        "entry_names": ["a", "b"],
        "entry_values": [{"enabled": [False, True]}, {"enabled": [True, False]}],
    }
    again = [op(REMOVE, "a"), box("a", 0, 0, 0)]
    for more, pairs in (([], []), (again, [("b", "a")])):
        objects = [box("a", 0, 0, 0), box("b", 0, 0, 0), *more]
        scene = world_of(*objects, allowed_collision_matrix=matrix)
        C = load_problem(tmp_path, scene).world
        # A pair of fixed objects is no pair of a path, but is restored all the same.
        ignored = {frozenset((p.a, p.b)) for p in C.pairs.ignored()}
        assert (frozenset("ab") in ignored) == (not pairs)


TOOL = box("tool", 0, 0, 0.5, header={"frame_id": "hand"})
ATTACHED = {
    "with shapes": ([carrying(attached("hand", TOOL))], "hand", [2, 0, 0.5]),
    "from the world": (
        [
            world_of(box("tool", 0, 1, 0)),
            carrying(attached("hand", op(ADD, "tool"))),
        ],
        "hand",
        [0, 1, 0],
    ),
    "in place of one in the world": (
        [world_of(box("tool", 0, 1, 0)), carrying(attached("hand", TOOL))],
        "hand",
        [2, 0, 0.5],
    ),
    "detached": (
        [
            carrying(attached("hand", TOOL)),
            carrying(attached("", op(REMOVE, "tool"))),
        ],
        None,
        [2, 0, 0.5],
    ),
    "all of a link detached": (
        [carrying(attached("hand", TOOL), attached("hand", op(REMOVE)))],
        None,
        [2, 0, 0.5],
    ),
    "nothing of another link detached": (
        [carrying(attached("hand", TOOL), attached("lower", op(REMOVE)))],
        "hand",
        [2, 0, 0.5],
    ),
    "removed from the world, still carried": (
        [carrying(attached("hand", TOOL), **world_of(op(REMOVE)))],
        "hand",
        [2, 0, 0.5],
    ),
    "detached, then moved": (
        [
            carrying(attached("hand", TOOL)),
            attached("hand", op(REMOVE, "tool")),
            op(MOVE, "tool", pose=pose(0, 0, 3)),
        ],
        None,
        [0, 0, 3],
    ),
    "from one link to another": (
        [carrying(attached("hand", TOOL), attached("lower", TOOL))],
        "lower",
        [2, 0, 0.5],
    ),
}


@pytest.mark.parametrize("name", ATTACHED)
def test_operations_on_what_links_carry(tmp_path, robot, name):
    messages, link, centre = ATTACHED[name]
    C = load_problem(tmp_path, messages, robot=robot).world
    assert centres(C) == {"tool": [centre]}
    parent = C.frame("tool").parent
    assert (None if parent is None else C.frame_names[parent]) == link
    before = C.pose("tool")
    C.q = [1.0, 0, 0]
    assert np.allclose(C.pose("tool"), before) == (link is None)


def test_shapes_appended_to_what_a_link_carries(tmp_path, robot):
    more = box("tool", 0, 0, 0, operation=APPEND, header={"frame_id": "hand"})
    more["primitive_poses"] = [pose(0, 0, 1)] * 2
    more["primitives"] *= 2
    scene = carrying(
        attached("hand", TOOL, touch_links=["lower"]),
        attached("hand", more, touch_links=["upper"]),
    )
    C = load_problem(tmp_path, [scene], robot=robot).world
    assert sorted(centres(C)["tool"]) == [[2, 0, 0.5], [2, 0, 1.5], [2, 0, 1.5]]
    assert not any("tool" in pair for pair in C.pairs.names())


NOT_ATTACHED = {
    "from another link": (
        [carrying(attached("hand", TOOL)), attached("lower", op(REMOVE, "tool"))],
        "it is attached to 'hand'",
    ),
    "in a state that is no diff": (
        [
            carrying(attached("hand", TOOL)),
            carrying(attached("hand", op(REMOVE, "tool")), is_diff=False),
        ],
        "REMOVE of attached object 'tool'.*is_diff",
    ),
    "moved": (
        [carrying(attached("hand", TOOL), attached("hand", op(MOVE, "tool")))],
        "MOVE of attached object 'tool'",
    ),
}


@pytest.mark.parametrize("name", NOT_ATTACHED)
def test_what_moveit_does_not_detach(tmp_path, robot, name):
    messages, words = NOT_ATTACHED[name]
    with pytest.warns(UserWarning, match=words):
        C = load_problem(tmp_path, messages, robot=robot).world
    assert C.frame_names[C.frame("tool").parent] == "hand"


def test_a_scene_that_is_no_diff_begins_anew(tmp_path, robot):
    state = {"joint_state": {"name": ["j1"], "position": [0.5]}}
    messages = [
        carrying(attached("hand", TOOL), **world_of(box("a", 1, 0, 0))),
        world_of(box("b", 2, 0, 0), robot_state=state),
    ]
    C = load_problem(tmp_path, messages, robot=robot).world
    assert centres(C) == {"b": [[2, 0, 0]]} and C.q[0] == 0.5
    messages[1] |= {"is_diff": True}
    messages[1]["robot_state"] |= {"is_diff": True}
    C = load_problem(tmp_path, messages, robot=robot).world
    # The tool has moved with the hand.
    assert centres(C)["a"] == [[1, 0, 0]]
    expected = [2 * np.cos(0.5), 2 * np.sin(0.5), 0.5]
    np.testing.assert_allclose(centres(C)["tool"], [expected], atol=1e-8)


def test_documents_of_yaml_are_messages(tmp_path):
    yaml = pytest.importorskip("yaml")
    messages = [world_of(box("a", 1, 0, 0)), op(REMOVE, "a"), box("b", 2, 0, 0)]
    file = tmp_path / "echo.yaml"
    file.write_text("---\n".join(map(yaml.safe_dump, messages)) + "---\n")
    assert centres(pw.load_moveit(file).world) == {"b": [[2, 0, 0]]}


@UNREAD
def test_a_removed_box_of_a_report():
    C = pw.load_moveit(case("moveit_remove.json"), None, case("moveit_acm.urdf")).world
    assert "box" not in C.frame_names


# -- what may touch --------------------------------------------------------------------


def moveit_allows(entries, defaults, a, b):
    """Return what `AllowedCollisionMatrix::getAllowedCollision` says."""
    if (a, b) in entries or (b, a) in entries:
        return entries.get((a, b), entries.get((b, a)))
    of_both = [defaults.get(a), defaults.get(b)]
    if of_both == [None, None]:
        return False
    return False not in of_both


@pytest.mark.parametrize("seed", range(8))
def test_entries_and_defaults(tmp_path, seed):
    rng = np.random.default_rng(seed)
    ids = ["base", "l0", "l1", "l2", "box", "can"]
    named = [str(name) for name in rng.permutation(ids)[: rng.integers(0, 4)]]
    enabled = rng.random((len(named), len(named))) < 0.5
    enabled = np.triu(enabled, 1) | np.triu(enabled, 1).T
    defaults = {name: bool(rng.random() < 0.5) for name in ids if rng.random() < 0.6}
    matrix = {
        "entry_names": named,
        "entry_values": [{"enabled": row.tolist()} for row in enabled],
        "default_entry_names": [*defaults],
        "default_entry_values": [*defaults.values()],
    }
    objects = [box("box", 1, 0, 0), box("can", 0, 1, 0)]
    urdf = case("moveit_acm.urdf")
    scene = world_of(*objects, allowed_collision_matrix=matrix)
    C = load_problem(tmp_path, scene, robot=urdf).world
    entries = {
        (named[i], named[j]): bool(enabled[i, j])
        for i, j in combinations(range(len(named)), 2)
    }
    ignored = {frozenset((p.a, p.b)) for p in C.pairs.ignored()}
    adjacent = {frozenset(p) for p in (("base", "l0"), ("l0", "l1"), ("l1", "l2"))}
    for a, b in combinations(ids, 2):
        expected = moveit_allows(entries, defaults, a, b)
        pair = frozenset((a, b))
        # Without an entry neighbours are ignored, since no SRDF is read.
        if pair in adjacent and (a, b) not in entries and (b, a) not in entries:
            expected = True
        assert (pair in ignored) == expected, (a, b)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"default_entry_names": ["a"]}, "default_entry_values is None, expected 1"),
        ({"entry_names": ["a"]}, "expected 1 rows of 1 entries"),
        (
            {"default_entry_names": ["a"], "default_entry_values": ["no"]},
            r"default_entry_values is \['no'\], expected booleans",
        ),
    ],
)
def test_matrices_that_do_not_fit(tmp_path, changes, words):
    scene = world_of(box("a", 0, 0, 0), allowed_collision_matrix=changes)
    with pytest.raises(pw.LoadError, match=words):
        load_problem(tmp_path, scene)


def test_the_matrix_of_a_report():
    C = pw.load_moveit(case("moveit_acm.json"), None, case("moveit_acm.urdf")).world
    assert {"box", "l2"} in [{*pair} for pair in C.pairs.names()]
    matrix = json.loads(case("moveit_acm.json").read_text())["allowed_collision_matrix"]
    assert matrix["default_entry_values"] == [True, False]

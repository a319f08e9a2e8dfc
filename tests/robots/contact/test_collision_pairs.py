"""Frames that can collide: by hand, against `robotic`, MuJoCo and SRDF files."""

import importlib.util
import json
import random
import re
import subprocess
import sys
import time
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers.reference_kinematics import EXAMPLES
from helpers.robotic_pairs import FILES, trees

import posewise as pw
import posewise.rai as ry
from posewise import logic
from posewise.robots.contact.collision_pairs import collision_pairs
from posewise.robots.kinematics.joint_types import neutral_value
from posewise.robots.world.frame import Frame, Geometry, Joint

needs_robotic = pytest.mark.skipif(
    importlib.util.find_spec("robotic") is None,
    reason="robotic, whose pairs these tests compare with, is not installed",
)
BALL = pw.Sphere(0.1)


def words(C: pw.Config) -> list[str]:
    """The pairs of frames with names of one letter."""
    return [a + b for a, b in C.pairs.names()]


def chain(*contacts: int, rigid: str = "", locked: str = "") -> pw.Config:
    """Frames a, b, c, … each on a hinge of the one before, except the rigid ones."""
    C = pw.Config()
    for k, contact in enumerate(contacts):
        name = "abcdefgh"[k]
        up, joint = ("abcdefgh"[k - 1], "hingeX") if k else ("world", None)
        joint = None if name in rigid else joint
        C.add_frame(name, up, joint=joint, shape=BALL, contact=contact)
    C.lock(list(locked))
    return C


# -- by hand ---------------------------------------------------------------------------

CHAINS = {
    "all": (chain(1, 1, 1), "ab ac bc"),
    "zero": (chain(1, 0, 1, 1), "ac ad cd"),
    "above 1 is 1": (chain(3, 2, 1), "ab ac bc"),
    # c: its parent, and the root above it; d: its parent only
    "-1": (chain(-1, -1, -1, -1, -1), "ad ae bd be ce"),
    "-2": (chain(-2, -2, -2, -2, -2), "ae be"),
    "-3": (chain(-3, -3, -3, -3, -3), ""),
    "only the lower one's flag": (chain(1, 1, 1, -1), "ab ac ad bc bd"),
    "not the upper one's flag": (chain(-9, 1, 1), "ab ac bc"),
    "rigid": (chain(1, 1, 1, 1, rigid="bd"), "ac ad bc bd"),
    "rigid and -1": (chain(1, 1, -1, 1, -1, rigid="bd"), "ad bd"),
    "locked": (chain(1, 1, 1, 1, locked="bd"), "ac ad bc bd"),
    "locked joints count for -1": (
        chain(1, 1, -1, -1, 1, locked="d"),
        "ab ad ae bd be ce de",
    ),
    "all locked": (chain(1, 1, 1, locked="bc"), ""),
}


@pytest.mark.parametrize("C, expected", CHAINS.values(), ids=CHAINS.keys())
def test_chains(C, expected):
    assert words(C) == expected.split()


def test_what_stands_still_and_what_follows():
    C = pw.Config()
    C.add_frame("a", shape=pw.Plane())
    C.add_frame("b", position=[1, 0, 0], shape=BALL)
    assert words(C) == []
    C.add_frame("c", joint="free", shape=BALL)
    C.add_frame("d", joint="hingeX", shape=BALL)
    C.add_frame("e", joint="hingeX", mimic="d", shape=BALL)
    assert words(C) == "ac ad ae bc bd be cd ce de".split()
    C.lock("d")
    assert words(C) == "ac bc cd ce".split()
    C.lock("c")
    assert words(C) == []
    C.unlock(["c", "d"])
    C.attach("d", "c")
    assert words(C) == "ac ad ae bc bd be ce de".split()


@pytest.mark.slow
def test_half_spaces_have_no_distance():
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_frame("lid", joint="free", position=[0, 0, 1], shape=pw.Plane())
    assert words(C) == []
    C.add_frame("ball", joint="free", shape=BALL)
    assert C.pairs.names() == [("ground", "ball"), ("lid", "ball")]
    on_top = logic.OnTopOf("ball", "ground")
    assert pw.solve_placement(C, [on_top], ["ball", "lid"], count=1)
    with pytest.raises(
        logic.PredicateError, match="'lid' and 'ground': two half-spaces"
    ):
        pw.solve_placement(C, [logic.InContactWith("lid", "ground")], ["lid"])


def test_only_shapes_for_collision_count():
    C = pw.Config()
    C.add_frame("a", joint="free", shape=pw.Marker(0.1), contact=1)
    C.add_frame("b", joint="free", contact=1)
    C.add_frame("c", joint="free", shape=BALL)
    C.add_frame("d", joint="free", shape=BALL)
    C.add_object("e", parts=[(BALL, None), (BALL, None)], joint="free")
    assert words(C) == "cd ce de".split()
    C.set_shape("c", None)
    C.set_contact("d", 0)
    assert words(C) == []
    assert pw.Config().pairs.names() == []


# -- exclusions ------------------------------------------------------------------------


def floating(names: str = "abcde") -> pw.Config:
    C = pw.Config()
    for name in names:
        C.add_frame(name, joint="free", shape=BALL)
    return C


def ignored(C: pw.Config, names: str = "abcde") -> set[str]:
    return {a + b for a, b in combinations(names, 2)} - set(words(C))


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("b", "a", "ab"),
        ("a", ["b", "a", "c"], "ab ac"),
        (["a", "b"], ["b", "c"], "ab ac bc"),
        (["c", "a", "e"], None, "ac ae ce"),
        (("a", "b"), None, "ab"),
        ([], None, ""),
        (1, 0, "ab"),
    ],
)
def test_ignoring_and_restoring(a, b, expected):
    C = floating()
    C.ignore_collisions(a, b)
    assert ignored(C) == set(expected.split())
    C.ignore_collisions(["b", "e"])
    C.restore_collisions(a, b)
    assert ignored(C) == {"be"}


def test_objects_stand_for_all_their_parts():
    C = floating("ab")
    C.add_object("c", parts=[(BALL, None)], joint="free")
    C.add_frame("d", "c", joint="hingeX", shape=BALL)
    C.add_frame("e", "d", joint="hingeX", shape=BALL)
    C.ignore_collisions("c", "a")
    assert ignored(C) == {"ac", "ad", "ae"}
    C.ignore_collisions("c")
    assert ignored(C) == {"ac", "ad", "ae", "cd", "ce", "de"}
    C.restore_collisions("c", ["a", "c"])
    C.ignore_collisions("d", "b")
    assert ignored(C) == {"bd"}


def test_exclusions_survive_edits():
    C = floating()
    C.ignore_collisions(["b", "d"], "e")
    assert ignored(C) == {"be", "de"}
    other = C.copy()
    other.ignore_collisions("a", "b")
    assert ignored(C) == {"be", "de"}
    C.attach("a", "d")
    assert ignored(C) == {"ad", "be", "de"}
    C.detach("d")
    C.set_pose("d", [1, 0, 0, 1, 0, 0, 0])
    assert ignored(C) == {"be", "de"}
    C.remove("c")
    assert words(C) == ["ab", "ad", "ae", "bd"]
    C.add_frame("f", joint="free", shape=BALL)
    twice = pw.Config()
    twice.add_frame("base", shape=BALL)
    twice.add_model(C.model(), "x")
    twice.add_model(C.model(), "y")
    lost = set(combinations(twice.frame_names, 2)) - set(twice.pairs.names())
    assert lost == {(s + u, s + "e") for s in "xy" for u in "bd"}
    C.remove("e")
    assert words(C) == "ab ad af bd bf df".split()


def test_a_refused_model_adds_no_exclusions():
    C = floating("ab")
    model = floating("ab")
    model.ignore_collisions("a", "b")
    with pytest.raises(pw.ConfigError):
        C.add_model(model.model())
    assert words(C) == ["ab"]


@pytest.mark.parametrize(
    "a, b, sentence",
    [
        ("mgu", "table", "No frame 'mgu'; did you mean 'mug'?"),
        ("mug", ["table", "tabel"], "No frame 'tabel'; did you mean 'table'?"),
        ("mug", None, "a is 'mug', a single frame, and b is not given; name as b"),
        ("mug", "world", "b has 'world', the fixed origin, which has no shape"),
        (3.5, "mug", "a is 3.5, expected the name of a frame or an object, or a list"),
        ("mug", [None], r"b is \[None\], expected the name"),
    ],
)
def test_errors(a, b, sentence):
    C = pw.Config()
    C.add_frame("table", shape=BALL)
    C.add_frame("mug", joint="free", shape=BALL)
    for change in (C.ignore_collisions, C.restore_collisions):
        with pytest.raises(pw.ConfigError, match=sentence):
            change(a, b)
    assert C.pairs.names() == [("table", "mug")]


# -- speed -----------------------------------------------------------------------------


def test_a_thousand_frames_are_fast_and_kept():
    r = random.Random(0)
    frames = [
        Frame(
            f"f{i}",
            r.randrange(max(0, i - 4), i) if i else None,
            joint=Joint("hingeX", f"f{i}") if i % 3 else None,
            geometries=(Geometry(BALL),),
            contact=-2,
        )
        for i in range(1000)
    ]
    C = pw.Config()
    C.add_model(pw.robots.Model(tuple(frames)))
    C.ignore_collisions([f"f{i}" for i in range(300)])
    start = time.perf_counter()
    count = len(C.pairs.indices())
    assert time.perf_counter() - start < 10  # 0.1 s on an idle core
    assert 400_000 < count < 500_000
    start = time.perf_counter()
    assert len(C.pairs.indices()) == count
    assert time.perf_counter() - start < 0.1


# -- robotic ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def theirs(tmp_path_factory) -> dict:
    """Pairs that `robotic` names, in a separate process and folder."""
    run = subprocess.run(
        [sys.executable, (Path(__file__).parents[2] / "helpers" / "robotic_pairs.py")],
        cwd=tmp_path_factory.mktemp("robotic"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "RESULT " in run.stdout, run.stderr[-2000:]
    return json.loads(run.stdout.rpartition("RESULT ")[2])


def fixed_to_each_other(rows) -> np.ndarray:
    """Groups of frames that no active joint moves against each other."""
    body = np.zeros(len(rows), int)
    for i in range(len(rows)):
        k: int | None = i
        while k is not None and (rows[k][1] in (None, "rigid") or not rows[k][3]):
            k = rows[k][0]
        body[i] = -1 if k is None else k
    return body[:, None] == body


@needs_robotic
@pytest.mark.long
def test_random_trees_equal_robotics(theirs):
    for rows, expected in zip(trees(), theirs["trees"], strict=True):
        frames = [
            Frame(
                str(i),
                up,
                joint=kind
                and Joint(kind, str(i), active=active, q=neutral_value(kind)),
                geometries=(Geometry(BALL),),
                contact=contact,
            )
            for i, (up, kind, contact, active) in enumerate(rows)
        ]
        C = pw.Config()
        C.add_model(pw.robots.Model(tuple(frames)))
        still = fixed_to_each_other(rows)
        assert C.pairs.indices().tolist() == [p for p in expected if not still[*p]]
        apart = collision_pairs(frames, range(len(frames))).tolist()
        assert [p for p in expected if p not in apart] == []


@needs_robotic
@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_files_equal_robotics(name, theirs):
    C = ry.Config()
    for file in FILES[name]:
        C.addFile(ry.raiPath(file))
    K, rng = C.C.kinematics(), np.random.default_rng(0)
    poses = [C.C.forward_pass(rng.uniform(-1, 1, C.C.nq)).frames for _ in range(2)]
    names, moving = K.names, []
    for a, b in theirs[name]:
        i, j = names.index(a), names.index(b)
        offsets = [X.R[i].T @ (X.p[j] - X.p[i]) for X in poses]
        rotations = [X.R[i].T @ X.R[j] for X in poses]
        if not (
            np.allclose(*offsets, atol=1e-9) and np.allclose(*rotations, atol=1e-9)
        ):
            moving += [a, b]
    assert C.getCollidablePairs() == moving
    assert len(moving) == 2 * {"panda": 30, "pr2": 57 - 6}[name]


# -- URDF and SRDF ---------------------------------------------------------------------


def urdf(folder: Path, joints: str) -> Path:
    """Links a, b, … with balls; joints as "ab:fixed"."""
    names = sorted({c for joint in joints.split() for c in joint[:2]})
    ball = '<collision><geometry><sphere radius=".1"/></geometry></collision>'
    text = "".join(f'<link name="{n}">{ball}</link>' for n in names)
    for joint in joints.split():
        (a, b), kind = joint.split(":")
        text += f'<joint name="{a}{b}" type="{kind}"><parent link="{a}"/>'
        text += f'<child link="{b}"/><limit lower="0" upper="1"/></joint>'
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{text}</robot>')
    return path


@pytest.mark.parametrize(
    "joints, expected, restored",
    [
        ("ab:revolute bc:revolute cd:prismatic", "ac ad bd", "ab ac ad bc bd cd"),
        ("ab:revolute ac:revolute", "bc", "ab ac bc"),
        ("ab:fixed bc:continuous cd:fixed", "", "ac ad bc bd"),
        ("ab:fixed bc:planar cd:revolute", "ad bd", "ac ad bc bd cd"),
        ("ab:floating bc:revolute", "ab ac", "ab ac bc"),
    ],
)
def test_links_of_a_joint_do_not_count(joints, expected, restored, tmp_path):
    C = pw.Config()
    C.add_file(urdf(tmp_path, joints))
    assert words(C) == expected.split()
    C.restore_collisions(C.frame_names)
    assert words(C) == restored.split()


def test_the_world_is_no_link(tmp_path):
    """rai merges fixed frames into one link; here each frame stays separate."""
    C = pw.Config()
    C.add_frame("world", shape=BALL)
    C.add_frame("a", shape=BALL)
    C.add_frame("b", shape=BALL, contact=-2)
    C.add_frame("c", "b", joint="hingeX", shape=BALL, contact=-2)
    C.add_frame("d", "c", joint="hingeX", shape=BALL, contact=-2)
    C.add_frame("e", "d", joint="hingeX", shape=BALL, contact=-1)
    assert words(C) == "worlde ac ad ae be ce".split()
    path = urdf(tmp_path, "ab:fixed ac:fixed cd:revolute ae:planar")
    path.write_text(path.read_text().replace('"a"', '"world"'))
    C = pw.Config()
    C.add_file(path)
    assert words(C) == "worldd worlde bd be ce de".split()


def test_a_robot_in_the_world():
    """The base on the table stands still; all others meet the table."""
    C = pw.Config()
    C.add_frame("table", shape=BALL)
    links = C.load("ur5e", parent="table", prefix="u")
    solid = [n for n in links if C.frame(n).contact]
    met = [b for a, b in C.pairs.names() if a == "table"]
    assert met == solid[1:] and solid[0] == "ubase_link"
    assert (solid[0], solid[1]) not in C.pairs.names()
    assert (solid[0], solid[2]) in C.pairs.names()


def srdf(folder: Path, inner: str) -> Path:
    path = folder / "robot.srdf"
    path.write_text(f'<robot name="r">{inner}</robot>')
    return path


def test_srdf_rules(tmp_path):
    C = floating()
    C.ignore_collisions("d", "e")
    C.pairs.read_srdf(
        srdf(
            tmp_path,
            """<group name="arm"><link name="x"/></group>
            <disable_collisions link1="b" link2="a" reason="Adjacent"/>
            <disable_collisions link1="c" link2=" e "/>
            <enable_collisions link1="c" link2="e"/>
            <enable_collisions link1="b" link2="c"/>
            <enable_collisions link1="d" link2="e"/>
            <disable_default_collisions link="c"/>""",
        )
    )
    assert ignored(C) == {"ab", "ac", "cd", "ce"}
    C = pw.Config()
    for name in ("a", "b", "xa", "xb"):
        C.add_frame(name, joint="free", shape=BALL)
    rule = '<disable_collisions link1="a" link2="b"/>'
    C.pairs.read_srdf(srdf(tmp_path, rule), prefix="x")
    assert ("xa", "xb") not in C.pairs.names() and len(C.pairs.names()) == 5


@pytest.mark.parametrize(
    "inner, sentence",
    [
        ('<disable_collisions link1="hand"/>', "attribute 'link2' is missing"),
        ("<disable_default_collisions/>", "attribute 'link' is missing"),
        (
            '<group_state name="home" group="arm"><joint name="j" value="a"/>'
            "</group_state>",
            """value='a' has 'a', expected a finite number""",
        ),
    ],
)
def test_broken_srdf_elements_are_left_out(inner, sentence, tmp_path):
    C = hand_and_finger()
    with pytest.warns(UserWarning, match=re.escape(sentence)):
        C.pairs.read_srdf(srdf(tmp_path, inner))
    assert C.pairs.names() == [("hand", "finger")]


def test_srdf_errors_change_nothing(tmp_path):
    C = hand_and_finger()
    path = srdf(tmp_path, '<enable_collisions link1="hand" link2="x">')
    with pytest.raises(pw.LoadError, match=re.escape(str(path))) as caught:
        C.pairs.read_srdf(path)
    assert "not well-formed" in str(caught.value)
    assert C.pairs.names() == [("hand", "finger")]


def hand_and_finger() -> pw.Config:
    C = pw.Config()
    for name in ("hand", "finger"):
        C.add_frame(name, joint="free", shape=BALL)
    return C


def test_what_is_no_srdf(tmp_path):
    C = floating()
    path = tmp_path / "a.srdf"
    for text, sentence in (
        ("", "the file is empty"),
        ("<mujoco/>", "expected the root <robot>; this file is no SRDF"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot/>', "DOCTYPE"),
    ):
        path.write_text(text)
        with pytest.raises(pw.LoadError, match=sentence):
            C.pairs.read_srdf(path)
    with pytest.raises(pw.LoadError, match="cannot be read"):
        C.pairs.read_srdf(tmp_path / "none.srdf")
    with pytest.raises(pw.LoadError, match="path is None, expected the path"):
        C.pairs.read_srdf(None)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "folder, robot, file, before, after",
    [
        # links 0-7, hand, two fingers: 55 pairs less 12 adjacent, less link 7 and hand
        ("panda_description", "urdf/panda.urdf", "srdf/panda.srdf", 42, 20),
        # 8 links: 28 pairs less 7 adjacent, less wrist 3 and the tip
        ("ur_description", "urdf/ur5_robot.urdf", "srdf/ur5.srdf", 20, 16),
        ("pr2_description", "urdf/pr2.urdf", "srdf/pr2.srdf", 456, 239),
    ],
)
def test_srdf_of_real_robots(folder, robot, file, before, after):
    if not EXAMPLES.exists():
        pytest.skip("example-robot-data, whose SRDF files are read, is not installed")
    C = pw.Config()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C.add_file(EXAMPLES / folder / robot, prefix="r_")
    old = C.pairs.names()
    C.pairs.read_srdf(EXAMPLES / folder / file, prefix="r_")
    text = (EXAMPLES / folder / file).read_text()
    listed = re.findall(r'<disable_collisions link1="(\w+)" link2="(\w+)"', text)
    disabled = {frozenset(("r_" + a, "r_" + b)) for a, b in listed}
    assert C.pairs.names() == [p for p in old if frozenset(p) not in disabled]
    assert (len(old), len(C.pairs.names())) == (before, after)


# -- MJCF ------------------------------------------------------------------------------


def random_mjcf(seed: int) -> str:
    """Bodies whose balls all overlap; with random joints, masks and exclusions."""
    r = random.Random(seed)
    n = r.randint(2, 8)
    inside: list[list[int]] = [[] for _ in range(n + 1)]
    for b in range(1, n + 1):
        inside[r.choice([0, *range(max(1, b - 3), b)])].append(b)

    def geom() -> str:
        bits = r.choice([(1, 1)] * 4 + [(1, 0), (0, 1), (2, 2), (0, 0)])
        return f'<geom size="1" contype="{bits[0]}" conaffinity="{bits[1]}"/>'

    def body(b: int, top: bool) -> str:
        joints = r.choice(["", "<joint/>", "<joint/>", "<joint/><joint axis='0 1 0'/>"])
        if top and r.random() < 0.3:
            joints = "<freejoint/>"
        geoms = "".join(geom() for _ in range(r.randint(1, 2)))
        below = "".join(body(c, False) for c in inside[b])
        return f'<body name="{b}" pos=".01 .02 .01">{joints}{geoms}{below}</body>'

    bodies = "".join(body(b, True) for b in inside[0])
    floor = geom() if r.random() < 0.7 else ""
    pairs = r.sample(list(combinations(range(1, n + 1), 2)), 1)
    excluded = "".join(f'<exclude body1="{b}" body2="{a}"/>' for a, b in pairs)
    flag = '<option><flag filterparent="disable"/></option>' if r.random() < 0.2 else ""
    return (
        f"<mujoco>{flag}<size memory='10M'/><worldbody>{floor}{bodies}</worldbody>"
        f"<contact>{excluded}</contact></mujoco>"
    )


@pytest.mark.long
def test_random_mjcf_collides_as_in_mujoco(tmp_path):
    """All that touches there, except for a child of a body welded to the world."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    for seed in range(60):
        path.write_text(random_mjcf(seed))
        C = pw.Config()
        C.add_file(path)
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        touching = np.sort(model.geom_bodyid[data.contact.geom], -1)
        keeps_parents = (
            model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
        )
        theirs = {
            (model.body(a).name, model.body(b).name)
            for a, b in touching.tolist()
            if keeps_parents or not (on_base(model, a, b) or on_base(model, b, a))
        }
        assert set(C.pairs.names()) == theirs, path.read_text()


def on_base(model, base: int, body: int) -> bool:
    """Whether a joint connects a body to a fixed one, which is not the world itself."""
    up, weld = model.body_parentid, model.body_weldid

    def root(k: int) -> int:
        while up[k]:
            k = up[k]
        return k

    foot = up[weld[body]]
    fixed = weld[body] and base and foot and weld[base] == weld[foot] == 0
    return bool(fixed and root(base) == root(foot))


def test_mjcf_by_hand(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    ball, ghost = '<geom size=".1"/>', '<geom size=".1" contype="0" conaffinity="0"/>'
    path.write_text(
        f"""<mujoco><worldbody><geom name="f" type="plane" size="1 1 1"/>
        <body name="m">{ball}<freejoint/></body><body name="g">{ghost}<joint/></body>
        <body name="a">{ball}<body name="b"><joint/><joint axis="1 0 0"/>
        <geom name="x" size=".1"/><body name="c">{ball}<joint/></body></body></body>
        </worldbody><contact><exclude body1="m" body2="c"/>
        <pair geom1="f" geom2="x"/></contact></mujoco>"""
    )
    C = pw.Config()
    C.add_file(path, prefix="x")
    names = [(a[1:], b[1:]) for a, b in C.pairs.names()]
    floor = [("world", name) for name in "mbc"]
    assert names == [*floor, ("m", "a"), ("m", "b"), ("a", "c")]
    C.remove("xg")
    assert len(C.pairs.names()) == 6
    C.restore_collisions("xm", "xc")
    assert ("xm", "xc") in C.pairs.names()


# -- order of frames -------------------------------------------------------------------


def test_an_order_of_frames_keeps_what_may_touch():
    C = pw.Config()
    for name in ("a", "b", "c"):
        C.add_frame(name, joint="transX", shape=pw.Sphere(0.1))
    C.ignore_collisions("a", "b")
    C.pairs.reserve([(0, 2)])
    C.reorder(["c", "b", "a"])
    assert {*map(frozenset, C.pairs.names())} == {frozenset("ac"), frozenset("bc")}
    places, _ = C.pairs.places()
    assert (0, 2) in {*map(tuple, places.tolist())}

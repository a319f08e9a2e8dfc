"""Exclusions by default, what a hand holds, SRDF files with named states."""

import itertools
import re
import warnings

import numpy as np
import pytest
from helpers.reference_kinematics import EXAMPLES

import posewise as pw
from posewise.robots.contact.ignored_pairs import IgnoredPair

BALL = pw.Sphere(0.1)


def pairs_with(C: pw.Config, name: str) -> set[str]:
    """The frames that can collide with one."""
    pairs = (set(p) for p in C.pairs.names())
    return set().union(*(p for p in pairs if name in p)) - {name}


# -- by default ------------------------------------------------------------------------


def arm(lengths=(0.5, 0.5, 0.5), radius=0.1) -> pw.Config:
    """A planar arm of capsules, of which neighbours overlap."""
    C = pw.Config()
    C.add_frame("l0", shape=pw.Sphere(radius))
    for k, length in enumerate(lengths, 1):
        C.add_frame(
            f"l{k}",
            f"l{k - 1}",
            position=[0.5 * (k > 1), 0, 0],
            joint="hingeZ",
            limits=[[-2.5], [2.5]],
        )
        C.replace_frame(f"l{k}", geometries=(link_geometry(length, radius),), contact=1)
    return C


def link_geometry(length, radius):
    from posewise.robots.world.frame import Geometry

    half = np.sqrt(0.5)
    pose = np.array([length / 2, 0, 0, half, 0, half, 0])
    return Geometry(pw.Capsule(length, radius), pose)


@pytest.mark.long
def test_reasons_equal_brute_force():
    C = arm((0.5, 0.5, 0.5, 0.2))
    C.add_frame("tip", "l2", position=[0.1, 0.08, 0], joint="transX", shape=BALL)
    C.joints.set_limits("tip", [[0.0], [0.02]])
    C.add_frame("far", "l1", position=[0, 0, 3], joint="hingeX", shape=BALL)
    names = [f for f in C.frame_names if C.frame(f).contact]
    before = C.copy()
    reasons = {(p.a, p.b): p.reason for p in C.pairs.ignore_default(samples=1000)}
    neighbours = {("l2", "tip"), ("l1", "far")}
    neighbours |= {(f"l{k}", f"l{k + 1}") for k in range(4)}
    rng = np.random.default_rng(7)
    limits = np.where(np.isfinite(before.limits), before.limits, [[-np.pi], [np.pi]])
    hits = np.zeros((300, len(names), len(names)), bool)
    for hit in hits:
        before.q = rng.uniform(*limits)
        for a, b, _ in before.collisions():
            hit[names.index(a), names.index(b)] = True
    before.q = before.home
    at_home = {(a, b) for a, b, _ in before.collisions()}
    for i, j in itertools.combinations(range(len(names)), 2):
        pair = (names[i], names[j])
        share = hits[:, i, j].mean()
        if pair in neighbours:
            assert reasons[pair] == "Adjacent"
        elif pair in at_home:
            assert reasons[pair] == "Default"
        elif share == 0:
            # A rare contact may be seen in the larger sample.
            assert reasons.get(pair, "rare") in ("Never", "rare")
        else:
            assert pair not in reasons
    assert reasons["l3", "far"] == "Never" and ("l0", "l4") not in reasons
    assert set(C.pairs.names()) == set(before.pairs.names()) - reasons.keys()


def test_what_touches_nearly_always():
    """A ball that leaves a long wall only at home, the end of its rail."""
    C = pw.Config()
    C.add_frame("wall", shape=pw.Box([10.0, 0.2, 0.2]))
    C.add_frame("cart", "wall", joint="transX", limits=[[0.0], [5.2]], q=[5.2])
    C.add_frame("rod", "cart", joint="transY", limits=[[0.0], [0.001]])
    C.set_shape("cart", BALL)
    C.set_contact("cart", 1)
    C.add_frame("ball", "rod", shape=BALL)
    reasons = {(p.a, p.b): p.reason for p in C.pairs.ignore_default(samples=300)}
    assert reasons == {
        ("wall", "cart"): "Adjacent",
        ("cart", "ball"): "Adjacent",
        ("wall", "ball"): "Always",
    }


def test_the_margin_and_the_seed_count():
    def excluded(**options) -> dict[tuple[str, str], str]:
        C = pw.Config()
        C.add_frame("base", shape=pw.Sphere(0.01))
        C.add_frame("a", "base", joint="hingeZ", shape=pw.Sphere(0.01))
        C.add_frame("b", "a", position=[0.3, 0, 0], joint="hingeZ")
        C.add_frame("c", "b", shape=BALL, contact=1)
        C.add_frame("d", "c", position=[0.3, 0, 0], joint="hingeZ", shape=BALL)
        C.joints.set_limits("d", [[-0.1], [0.1]])
        C.joints.set_limits("b", [[-0.1], [0.1]])
        ignored = C.pairs.ignore_default(samples=300, **options)
        return {(p.a, p.b): p.reason for p in ignored}

    # They are 0.49 to 0.5 m apart: margins above that make the home touch.
    assert excluded()["a", "d"] == excluded(margin=0.4)["a", "d"] == "Never"
    assert excluded(margin=0.6)["a", "d"] == "Default"
    assert excluded(seed=3) == excluded(seed=3)


def test_only_links_of_one_robot_are_tested():
    C = arm()
    C.add_frame("table", position=[9, 9, 0], shape=BALL)
    C.add_frame("mug", position=[9, 0, 0], joint="free", shape=BALL)
    C.add_object("box", parts=[(BALL, None)], parent="l3")
    ignored = C.pairs.ignore_default(samples=300)
    assert not {"table", "mug", "box"} & {n for p in ignored for n in (p.a, p.b)}
    assert {"l0", "l3", "mug"} <= pairs_with(C, "table") | {"l0"}
    assert C.pairs.ignore_default(samples=300) == []


def test_a_pair_reads_as_a_line():
    assert str(IgnoredPair("a", "b", "Never")) == "a and b: Never"
    C = arm()
    C.ignore_collisions("l0", "l2")
    assert C.pairs.ignored() == [IgnoredPair("l0", "l2", "User")]


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"samples": 0}, "samples is 0, expected states >= 1"),
        ({"seed": -1}, "seed is -1, expected an integer >= 0"),
        ({"margin": np.nan}, "margin is nan, expected one number"),
    ],
)
def test_arguments(options, sentence):
    with pytest.raises(pw.ConfigError, match=re.escape(sentence)):
        arm().pairs.ignore_default(**options)


def test_exclusions_of_the_panda_are_moveits():
    """MoveIt's SRDF of this robot was made by its assistant."""
    if not EXAMPLES.exists():
        pytest.skip("example-robot-data, whose SRDF is read, is not installed")
    folder = EXAMPLES / "panda_description"
    C = pw.load("panda")
    theirs = pw.Config()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.add_file(folder / "urdf/panda.urdf")
    theirs.pairs.read_srdf(folder / "srdf/panda.srdf")
    C.pairs.ignore_default(samples=2000)
    ours, expected = set(C.pairs.names()), set(theirs.pairs.names())
    assert len(ours) > 15 and len(expected - ours) <= 3


# -- what no joint changes -------------------------------------------------------------


def test_joints_without_a_range_move_nothing():
    C = pw.Config()
    C.add_frame("a", shape=BALL)
    C.add_frame("b", "a", joint="hingeX", limits=[[0.2], [0.2]], shape=BALL)
    C.add_frame("c", "b", joint="hingeX", shape=BALL)
    C.add_frame("d", "c", joint="hingeX", mimic="c", multiplier=0.0, shape=BALL)
    C.add_frame("e", "d", joint="transXYPhi", shape=BALL)
    C.joints.set_limits("e", [[0, 0, 1], [0, 0, 1]])
    assert [a + b for a, b in C.pairs.names()] == "ac ad ae bc bd be".split()
    C.joints.set_limits("e", [[0, 0, 1], [0, 0, 2]])
    assert "ce" in [a + b for a, b in C.pairs.names()]


# -- hands -----------------------------------------------------------------------------


def holding_panda() -> pw.Config:
    C = pw.load("panda")
    C.unlock("panda_finger_joint1")
    C.add_frame("table", position=[0.5, 0, 0], shape=BALL)
    C.add_frame("mug", joint="free", shape=BALL)
    C.set_pose("mug", [0, 0, 0.1, 1, 0, 0, 0], "panda_hand")
    C.add_frame("lid", "mug", joint="hingeX", shape=BALL)
    return C


HAND = {"panda_link7", "panda_hand", "panda_leftfinger", "panda_rightfinger"}


def test_what_a_hand_holds_may_touch_hand_and_fingers():
    C = holding_panda()
    everything = pairs_with(C, "mug"), pairs_with(C, "lid")
    assert everything[0] >= HAND
    C.attach("panda_hand", "mug")
    assert pairs_with(C, "mug") - {"lid"} == everything[0] - {"lid"} - HAND
    assert pairs_with(C, "lid") == everything[1] - HAND
    assert C.copy().pairs.names() == C.pairs.names()
    assert C.pairs.ignored() == holding_panda().pairs.ignored()
    C.restore_collisions("lid", "panda_hand")
    assert "panda_hand" in pairs_with(C, "lid")
    C.detach("mug")
    assert (pairs_with(C, "mug"), pairs_with(C, "lid")) == everything
    C.attach("panda_hand", "mug")
    C.attach("table", "mug")
    assert HAND <= pairs_with(C, "mug") and HAND <= pairs_with(C, "lid")


def test_a_finger_of_a_gripper_holds_for_the_hand():
    C = holding_panda()
    before = pairs_with(C, "mug")
    C.attach("panda_leftfinger", "mug")
    assert before - pairs_with(C, "mug") == HAND


def test_a_mug_on_a_tray():
    C = holding_panda()
    C.add_frame("tray", joint="free", shape=BALL)
    C.attach("tray", "mug")
    C.attach("panda_hand", "tray")
    assert not HAND & (pairs_with(C, "mug") | pairs_with(C, "tray"))
    C.detach("mug")
    assert HAND <= pairs_with(C, "mug") and not HAND & pairs_with(C, "tray")
    C.attach("tray", "mug")
    C.remove("tray")
    assert "mug" not in C.frame_names
    assert C.collision_filter.attached == {}


def test_an_object_on_a_hand_is_held():
    C = pw.load("panda")
    C.unlock("panda_finger_joint1")
    C.add_object("mug", parts=[(BALL, None)], parent="panda_hand")
    assert not HAND & pairs_with(C, "mug")


def tree(*rows: tuple[str, str, str | None]) -> pw.Config:
    C = pw.Config()
    for name, parent, joint in rows:
        C.add_frame(name, parent, joint=joint, shape=BALL)
    C.add_frame("mug", joint="free", shape=BALL)
    return C


ARM = [(f"a{k + 1}", f"a{k}" if k else "base", "hingeX") for k in range(6)]


@pytest.mark.parametrize(
    "rows, parent, touched",
    [
        # a cupboard with a door; a robot on a table; a movable box with a lid
        ([("base", "world", None), ("door", "base", "hingeZ")], "base", ""),
        ([("base", "world", None), *ARM], "base", ""),
        ([("base", "world", "free"), ("lid", "base", "hingeZ")], "base", ""),
        # a drawer; an arm on a mobile base; a hand without fingers
        ([("base", "world", None), ("slide", "base", "transX")], "slide", ""),
        ([("base", "world", "transXYPhi"), *ARM], "base", ""),
        ([("base", "world", None), *ARM], "a6", "a6"),
        # fingers of three joints, on a hand of one joint
        (
            [
                ("base", "world", None),
                ("palm", "base", "hingeX"),
                ("f1", "palm", "hingeX"),
                ("f2", "f1", "hingeX"),
                ("f3", "f2", "hingeX"),
                ("cap", "palm", None),
            ],
            "palm",
            "palm f1 f2 f3 cap",
        ),
    ],
)
def test_which_links_are_hands(rows, parent, touched):
    C = tree(*rows)
    before = pairs_with(C, "mug")
    C.attach(parent, "mug")
    C.joints.set_type("mug", "transX")
    assert before - pairs_with(C, "mug") == set(touched.split())


def test_declared_hands_have_the_declared_fingers():
    rows = [("base", "world", None), ("f1", "base", "hingeX"), ("f2", "base", "hingeX")]
    for hands, touched in (("base", "base f1 f2"), ({"base": ["f1"]}, "base f1")):
        C = tree(*rows)
        C.annotations.add_agent("robot", "base", hands=hands)
        C.attach("base", "mug")
        C.joints.set_type("mug", "transX")
        assert pairs_with(C, "mug") == {"base", "f1", "f2"} - {*touched.split()}


def test_held_in_the_slices_of_a_mode_switch():
    C = holding_panda()
    komo = pw.KOMO(C, phases=3, slices_per_phase=2, k_order=1)
    komo.add_mode_switch([1.0, 2.0], "stable", ["panda_hand", "mug"])
    komo.add_mode_switch([2.0, -1.0], "stable", ["table", "mug"])
    from posewise.objectives.chain.modes import build_modes

    modes = build_modes(C, komo.spec.switches)
    touching = []
    for mode in modes.modes:
        others = pairs_with(mode.config, mode.active_frame("mug"))
        touching.append(HAND & others)
        assert "panda_link4" in others
    assert touching == [HAND, set(), HAND]


# -- SRDF ------------------------------------------------------------------------------

SRDF = """<robot name="r">
<virtual_joint name="v" type="fixed" parent_frame="world" child_link="b"/>
<group name="arm"><joint name="j1"/></group>
<group_state name="home" group="arm"><joint name="j1" value="0.2"/></group_state>
<group_state name="up" group="arm"><joint name="j1" value="-.1"/>
<joint name="j2" value="5"/><joint name="no" value="1"/></group_state>
<group_state name="home" group="base"><joint name="f" value="1 2 3 0 0 1 0"/>
</group_state>
<disable_collisions link1="b" link2="nothere" reason="Never"/>
<disable_collisions link1="b" link2="m" reason="Never"/>
<disable_collisions link1="nothere" link2="neither"/>
</robot>"""


def named_world(prefix="") -> pw.Config:
    C = pw.Config()
    C.add_frame(prefix + "b", joint="floating", shape=BALL)
    C.replace_frame(prefix + "b", joint=renamed(C.frame(prefix + "b"), prefix + "f"))
    C.add_frame(prefix + "l", prefix + "b", joint="hingeX", shape=BALL)
    C.replace_frame(prefix + "l", joint=renamed(C.frame(prefix + "l"), prefix + "j1"))
    C.add_frame(
        prefix + "m", prefix + "l", joint="hingeX", mimic=prefix + "j1", shape=BALL
    )
    C.replace_frame(prefix + "m", joint=renamed(C.frame(prefix + "m"), prefix + "j2"))
    return C


def renamed(frame, name):
    from dataclasses import replace

    return replace(frame.joint, name=name)


@pytest.mark.parametrize("prefix", ["", "r_"])
def test_states_and_one_warning(prefix, tmp_path):
    path = tmp_path / "r.srdf"
    path.write_text(SRDF)
    C = named_world(prefix)
    with pytest.warns(UserWarning) as caught:
        C.pairs.read_srdf(path, prefix)
    (warning,) = caught
    for part in (
        f"link '{prefix}nothere' (line 9)",
        f"link '{prefix}neither' (line 11)",
        f"joint '{prefix}no' of state 'up' (line 6)",
        "The rest applies.",
    ):
        assert part in str(warning.message)
    arm, base = f"{prefix}arm/home", f"{prefix}base/home"
    assert list(C.joints.named_states) == [arm, "up", base]
    assert C.joints.named_states[arm] == {prefix + "j1": 0.2}
    C.joints.set_named_state(base)
    assert C.pose(prefix + "b").tolist() == [1, 2, 3, 0, 0, 0, 1]
    C.joints.set_named_state("up")
    assert C.joints.value(prefix + "j2").tolist() == [-0.1]
    with pytest.raises(pw.ConfigError, match=f"say {arm!r} or {base!r}"):
        C.joints.set_named_state("home")
    # Round trip, into a world with another prefix.
    C.pairs.write_srdf(tmp_path / "w.srdf", prefix)
    D = named_world("x")
    D.pairs.read_srdf(tmp_path / "w.srdf", "x")
    as_x = [
        IgnoredPair("x" + p.a[len(prefix) :], "x" + p.b[len(prefix) :], p.reason)
        for p in C.pairs.ignored()
    ]
    assert D.pairs.ignored() == as_x and as_x[0].reason == "Never"
    D.joints.set_named_state("xbase/home")
    assert D.pose("xb").tolist() == [1, 2, 3, 0, 0, 0, 1]
    assert list(D.joints.named_states) == ["xarm/home", "up", "xbase/home"]
    D.remove("xl")
    assert list(D.joints.named_states) == ["home"]


def test_a_wrong_prefix_says_so(tmp_path):
    (tmp_path / "r.srdf").write_text(SRDF)
    with pytest.warns(UserWarning, match="give the prefix that the model has"):
        named_world("r_").pairs.read_srdf(tmp_path / "r.srdf")


def test_restored_neighbours_are_written(tmp_path):
    C = pw.load("panda")
    fresh = C.copy()
    C.restore_collisions("panda_link2", "panda_link3")
    C.ignore_collisions("panda_link0", "panda_link7")
    C.pairs.write_srdf(tmp_path / "p.srdf")
    fresh.pairs.read_srdf(tmp_path / "p.srdf")
    assert fresh.pairs.names() == C.pairs.names()
    assert fresh.pairs.ignored() == C.pairs.ignored()


def test_what_is_held_is_no_neighbour_of_links(tmp_path):
    C = pw.load("panda")
    C.add_frame("mug", joint="free", shape=BALL)
    C.attach("panda_hand", "mug")
    C.pairs.write_srdf(tmp_path / "p.srdf")
    assert "mug" not in (tmp_path / "p.srdf").read_text()


def test_limits_copied_to_a_mirrored_finger_do_not_stop_the_gripper():
    """The fingers of rai's Panda and the PR2's grippers are written like this."""
    C = pw.Config()
    C.add_frame("palm", shape=BALL)
    for name, options in (
        ("left", {}),
        ("right", {"mimic": "left", "multiplier": -1.0}),
    ):
        limits = [[0.0], [0.04]]
        C.add_frame(name, "palm", joint="transX", shape=BALL, limits=limits, **options)
    assert C.limits.T.tolist() == [[0.0, 0.04]] and len(C.pairs.names()) == 3


BROKEN_SRDF = """<robot name="r">
<group_state name="far" group="arm"><joint name="j1" value="5"/></group_state>
<group_state name="word" group="arm"><joint name="j1" value="abc"/></group_state>
<group_state name="ungrouped"><joint name="j1" value="0.1"/></group_state>
<disable_collisions link1="b"/>
<disable_collisions link1="b" link2="m" reason="Never"/>
</robot>"""


def test_srdf_states_end_at_limits_and_broken_elements_are_left_out(tmp_path):
    C = named_world()
    C.joints.set_limits("j1", [-2, 2])
    (tmp_path / "r.srdf").write_text(BROKEN_SRDF)
    with pytest.warns(UserWarning) as records:
        C.pairs.read_srdf(tmp_path / "r.srdf")
    (warning,) = records
    for part in ("'abc'", "link2", "outside of its limits (5, now 2)"):
        assert part in str(warning.message)
    assert [str(pair.reason) for pair in C.pairs.ignored() if pair.a == "b"] == [
        "Never"
    ]
    assert set(C.joints.named_states) == {"far", "ungrouped"}
    C.joints.set_named_state("far")
    assert C.joints.value("j1") == 2

"""Geometric predicates: meanings, reasons, invariances, our models, bad input."""

from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest
import trimesh

import posewise as pw
from posewise import logic
from posewise.logic import (
    InContactWith,
    InFoVOfAgent,
    InHandOfAgent,
    InReachOfAgent,
    InSameRoomAsAgent,
    InsideOf,
    NextTo,
    OnFloor,
    OnTopOf,
    Open,
    Under,
)
from posewise.robots.transforms import axis_angle, pose_multiply

UP = np.array([0.0, 0, 1])


def built_once(make):
    """Building is slow under type checks: later calls return copies."""
    first = cache(make)
    return lambda: first().copy()


def at(x=0.0, y=0.0, z=0.0, yaw=0.0) -> np.ndarray:
    return np.array([x, y, z, *axis_angle(UP, yaw)])


def crate(width, depth, height, wall=0.01) -> list:
    """An open box that stands on z = 0 of its frame."""
    side, front = (width - wall) / 2, (depth - wall) / 2
    return [
        (pw.Box([width, depth, wall]), at(z=wall / 2)),
        *((pw.Box([wall, depth, height]), at(s * side, z=height / 2)) for s in (-1, 1)),
        *(
            (pw.Box([width, wall, height]), at(0, s * front, height / 2))
            for s in (-1, 1)
        ),
    ]


@built_once
def scene() -> pw.Config:
    """A table with a crate and a mug on it, all of primitives; a floor of two rooms."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    table = [(pw.Box([1.0, 0.6, 0.04]), at(z=0.68))]
    table += [
        (pw.Box([0.04, 0.04, 0.66]), at(x, y, 0.33))
        for x in (-0.45, 0.45)
        for y in (-0.25, 0.25)
    ]
    C.add_object("table", table)
    C.add_object("crate", crate(0.4, 0.3, 0.2), pose=at(0.2, z=0.7), joint="free")
    can = pw.Cylinder(0.1, 0.04)
    C.add_object("mug", [(can, None)], pose=at(-0.2, z=0.75), joint="free")
    C.add_object("ball", [(pw.Sphere(0.03), None)], pose=at(0.2, 0, 0.74), joint="free")
    C.rooms = pw.RoomMap(
        [
            pw.Room("kitchen_0", cells=[0, 0, 50, 100]),
            pw.Room("hall", cells=[50, 0, 100, 100]),
        ],
        size=100,
    )
    C.add_frame("robot", pose=at(-1.0))
    C.add_camera("eyes", "robot", position=[0, 0, 1.0])
    C.add_agent("robot", base="robot", camera="eyes")
    return C


TRUTHS = {
    InsideOf("ball", "crate"): True,
    InsideOf("mug", "crate"): False,
    InsideOf("ball", "table"): False,
    OnTopOf("mug", "table"): True,
    OnTopOf("ball", "crate"): True,
    OnTopOf("ball", "table"): False,
    OnTopOf("table", "ground"): True,
    OnTopOf("table", "mug"): False,
    Under("table", "mug"): False,
    Under("ball", "crate"): False,
    NextTo("mug", "crate"): False,
    NextTo("ball", "crate"): True,
    InContactWith("crate", "table"): True,
    InContactWith("ball", "mug"): False,
    InContactWith("mug", "ground"): False,
    OnFloor("table", "ground"): True,
    OnFloor("mug", "ground"): False,
    OnFloor("table", "hall"): True,
    OnFloor("table", "kitchen_0"): False,
    InReachOfAgent("mug", "robot"): True,
    InReachOfAgent("mug", "robot", reach=0.5): False,
    InSameRoomAsAgent("mug", "robot"): True,
    InSameRoomAsAgent("ball", "robot"): False,
    InFoVOfAgent("mug", "robot"): True,
    InFoVOfAgent("ball", "robot"): False,
    Open("table"): False,
}  # fmt: skip


@pytest.mark.parametrize("p", TRUTHS, ids=str)
def test_a_scene(p):
    C = scene()
    before = C.q
    assert p.holds(C) is TRUTHS[p]
    assert p.explain(C).endswith(".")
    assert np.array_equal(C.q, before) and p.holds(C.copy()) is TRUTHS[p]


SENTENCES = [
    (
        InContactWith("mug", "table"),
        at(0, 0, 0.782),
        "mug is 3.2 cm above table: not in contact.",
    ),
    (
        InContactWith("table", "mug"),
        at(0, 0, 0.782),
        "table is 3.2 cm below mug: not in contact.",
    ),
    (
        InContactWith("mug", "table"),
        at(0.66, 0, 0.7),
        "mug is 12.0 cm from table: not in contact.",
    ),
    (
        InContactWith("mug", "table"),
        at(0, 0, 0.75005),
        "mug touches table, with a gap of 0.05 mm.",
    ),
    (
        InContactWith("mug", "ground"),
        at(2, 0, 0.03),
        "mug touches ground, overlapping by at most 2.0 cm.",
    ),
    (
        OnTopOf("mug", "table"),
        at(0, 0, 0.782),
        "mug is 3.2 cm above table: not in contact.",
    ),
    (
        OnTopOf("mug", "table"),
        at(0, 0, 0.75005),
        "table is 5.0 cm below mug's centre of mass and not above it; "
        "mug touches table, with a gap of 0.05 mm.",
    ),
    (
        OnTopOf("mug", "table"),
        at(0.52, 0, 0.75),
        "mug's centre of mass lies 2.0 cm beside table in x.",
    ),
    (
        OnTopOf("mug", "table"),
        at(0.3, 0, 0.5),
        "table is 16.0 cm above mug's centre of mass and not below it.",
    ),
    (
        Under("mug", "table"),
        at(0.3, 0, 0.5),
        "table is 16.0 cm above mug's centre of mass and not below it.",
    ),
    (
        Under("mug", "crate"),
        at(0.2, 0, 0.9),
        "crate is 19.0 cm below mug's centre of mass and not above it.",
    ),
    (
        InsideOf("mug", "crate"),
        at(0.421, 0, 0.8),
        "mug's centre of mass lies 2.1 cm outside crate's bounding box in x.",
    ),
    (
        InsideOf("mug", "crate"),
        at(0.2, 0, 0.8),
        "crate is on both sides of mug's centre of mass along two axes "
        "across z, within 20.6 cm.",
    ),
    (
        InsideOf("mug", "table"),
        at(0.3, 0, 0.5),
        "table is on both sides of mug's centre of mass along 0 of 9 "
        "axes, not along two orthogonal axes.",
    ),
    (
        NextTo("mug", "crate"),
        at(-0.2, 0, 0.75),
        "mug is 16.0 cm from crate; the threshold for their sizes is 6.4 cm.",
    ),
    (
        NextTo("mug", "crate"),
        at(-0.08, 0, 0.75),
        "mug is 4.0 cm from crate; the threshold for their sizes is 6.4 "
        "cm, and one is at the other's height.",
    ),
    (
        NextTo("mug", "crate"),
        at(0.395, 0, 0.97),
        "mug is 2.0 cm above crate; the threshold for their sizes is "
        "6.4 cm, but neither is at the other's height (7.0 cm off).",
    ),
    (
        OnFloor("mug", "hall"),
        at(-2, 1, 0.05),
        "mug is at (-2.00, 1.00) m, in kitchen_0, not hall.",
    ),
    (
        OnFloor("mug", "hall"),
        at(2, 1, 0.082),
        "In hall: mug is 3.2 cm above ground: not in contact.",
    ),
    (
        OnFloor("mug", "hall"),
        at(2, 9, 0.05),
        "mug is at (2.00, 9.00) m, in no room, not hall.",
    ),
    (
        OnFloor("mug", "ground"),
        at(2, 9, 0.05005),
        "mug touches ground, with a gap of 0.05 mm.",
    ),
    (
        InReachOfAgent("mug", "robot"),
        at(0.2, 0, 0.5),
        "mug's centre of mass is 1.300 m from robot, within 2.00 m.",
    ),
    (
        InReachOfAgent("mug", "robot"),
        at(2, 4, 0),
        "mug's centre of mass is 5.000 m from robot, not within 2.00 m.",
    ),
    (
        InSameRoomAsAgent("mug", "robot"),
        at(2, 0, 0),
        "mug is in hall, robot in kitchen_0.",
    ),
    (
        InSameRoomAsAgent("mug", "robot", semantics="igibson"),
        at(-2),
        "mug is in kitchen_0, robot in kitchen_0: 'kitchen_0' is not "
        "among ['kitchen'].",
    ),
    (
        InFoVOfAgent("mug", "robot"),
        at(-2, 0, 1),
        "0 of 16384 pixels of eyes show mug: it is out of view or too small.",
    ),
    (
        InFoVOfAgent("ball", "robot"),
        at(0.02, 0, 0.75),
        "0 of 16384 pixels of eyes show ball: all 8 are hidden.",
    ),
    (
        InFoVOfAgent("mug", "robot"),
        at(0, 0, 1.0),
        "36 of 16384 pixels of eyes show mug; 0 more would, unhidden.",
    ),
    (Open("mug"), at(), "mug has no joint that opens it."),
]


@pytest.mark.parametrize(("p", "pose", "sentence"), SENTENCES)
def test_reasons_have_the_decisive_number(p, pose, sentence):
    C = scene()
    C.set_pose("mug", pose)
    assert p.explain(C) == sentence


def everything() -> list[logic.Predicate]:
    names = ("table", "crate", "mug", "ball", "ground")
    pairs = [
        kind(a, b)
        for a, b in permutations(names, 2)
        if a != "ground"
        for kind in (InsideOf, OnTopOf, Under, InContactWith)
    ]
    near = [NextTo(a, b) for a, b in permutations(names[:4], 2)]
    seen = [InFoVOfAgent(a, "robot") for a in names[2:4]]
    reached = [InReachOfAgent(a, "robot") for a in names]
    return [*pairs, *near, *seen, *reached]


def test_turning_and_moving_the_scene_changes_nothing():
    C = scene()
    expected = [p.holds(C) for p in everything()]
    move = at(0.7, -0.2, 1.3, yaw=0.3)
    for frame in C.frames:
        if frame.parent is None:
            C.set_pose(frame.name, pose_multiply(move, C.pose(frame.name)))
    assert [p.holds(C) for p in everything()] == expected


def test_names_and_order_change_nothing():
    C, other = scene(), pw.Config()
    for name in reversed(["table", "crate", "mug", "ball"]):
        parts = [(g.shape, g.pose) for g in C.frame(name).geometries]
        other.add_object(f"x {name}", parts[::-1], pose=C.pose(name))
    other.add_frame("x ground", shape=pw.Plane())
    for p in everything():
        if isinstance(p, InFoVOfAgent | InReachOfAgent):
            continue
        assert replace(p, a=f"x {p.a}", b=f"x {p.b}").holds(other) is p.holds(C)


def test_symmetric_predicates_are_symmetric():
    C = scene()
    for a, b in permutations(("table", "crate", "mug", "ball"), 2):
        for kind in (NextTo, InContactWith):
            for semantics in ("posewise", "igibson"):
                p, q = kind(a, b, semantics=semantics), kind(b, a, semantics=semantics)
                assert p.holds(C) is q.holds(C)


def big_crate(yaw=0.0) -> pw.Config:
    """A ball in the middle of a crate that is 2.6 m wide."""
    C = pw.Config()
    C.add_object("crate", crate(2.6, 2.6, 0.5), pose=at(yaw=yaw))
    C.add_object("ball", [(pw.Sphere(0.05), None)], pose=at(z=0.06))
    return C


def mesh_crate() -> pw.Config:
    """The same wide crate, its walls as convex meshes."""
    C = big_crate()
    parts = []
    for g in C.frame("crate").geometries:
        parts.append((pw.Mesh(trimesh.creation.box(g.shape.size)), g.pose))
    made = pw.Config()
    made.add_object("crate", parts)
    made.add_object("ball", [(pw.Sphere(0.05), None)], pose=at(z=0.06))
    return made


def upturned() -> pw.Config:
    C = big_crate()
    C.set_pose("crate", [0, 0, 0.5, 0, 1, 0, 0])
    return C


def high_table() -> pw.Config:
    """Thin boards 6 m above and below each other, a ball between."""
    C = pw.Config()
    for name, z in (("roof", 3.0), ("deck", -3.0)):
        C.add_object(name, [(pw.Box([1, 1, 0.1]), None)], pose=at(z=6 * np.sign(z)))
    C.add_object("ball", [(pw.Sphere(0.05), None)])
    return C


def rods() -> pw.Config:
    """Two parallel rods at 45 degrees, 18 cm apart: their boxes overlap."""
    C = pw.Config()
    for name, y in (("a", 0.0), ("b", 0.2 * np.sqrt(2))):
        rod = [(pw.Box([1.0, 0.02, 0.02]), None)]
        C.add_object(name, rod, pose=at(0, y, yaw=np.pi / 4))
    return C


DIFFERENCES = [
    # predicate, world, posewise, igibson, document
    (InsideOf("ball", "crate"), big_crate, True, False, True),
    (InsideOf("ball", "crate"), mesh_crate, True, False, True),
    (InsideOf("ball", "crate"), upturned, True, False, True),
    (Under("ball", "roof"), high_table, True, False, False),
    (OnTopOf("mug", "table"), scene, True, True, False),
    (NextTo("a", "b"), rods, False, True, False),
    (InSameRoomAsAgent("mug", "robot"), scene, True, False, True),
    (OnFloor("table", "kitchen_0"), scene, False, False, True),
]


@pytest.mark.parametrize(("p", "make", "posewise", "igibson", "document"), DIFFERENCES)
def test_where_semantics_differ(p, make, posewise, igibson, document):
    C = make()
    truths = dict(posewise=posewise, igibson=igibson, document=document)
    for semantics, truth in truths.items():
        made = replace(p, semantics=semantics)
        assert made.holds(C) is truth, (semantics, made.explain(C))


@built_once
def kitchen() -> pw.Config:
    """Our own models, each with something small about it."""
    C = pw.Config()
    for k, name in enumerate(("shelf", "cupboard", "tray", "my_microwave", "mug")):
        *prefix, model = name.rpartition("my_")
        C.load(model, prefix="".join(prefix), pose=at(0, 3 * k))
    C.load("table", pose=at(3))
    C.add_object("cube", [(pw.Box([0.03, 0.03, 0.03]), None)], joint="free")
    return C


OURS = [
    # where the cube is, predicate, truth
    (at(-0.02, 6, 0.028), InsideOf("cube", "tray"), True),
    (at(-0.02, 6, 0.20), InsideOf("cube", "tray"), False),
    (at(0, 3, 0.2), InsideOf("cube", "cupboard"), True),
    (at(0, 3, 0.5), InsideOf("cube", "cupboard"), True),
    (at(0, 3, 0.9), InsideOf("cube", "cupboard"), False),
    (at(0, 3, 0.865), OnTopOf("cube", "cupboard"), True),
    (at(0, 3, 0.065), OnTopOf("cube", "cupboard"), False),
    (at(0, 9.06, 0.1), InsideOf("cube", "my_microwave"), True),
    (at(0, 9.06, 0.305), OnTopOf("cube", "my_microwave"), True),
    (at(0.4, 9.06, 0.1), InsideOf("cube", "my_microwave"), False),
    (at(0, 12, 0.05), InsideOf("cube", "mug"), True),
    (at(0, 12, 0.12), InsideOf("cube", "mug"), False),
    (at(3, 0, 0.755), OnTopOf("cube", "table"), True),
    (at(3, 0, 0.3), Under("cube", "table"), True),
    (at(0, 0, 0.3), InsideOf("cube", "shelf"), True),
    (at(0, 0, 2.3), InsideOf("cube", "shelf"), False),
]


@pytest.mark.parametrize(("pose", "p", "truth"), OURS, ids=str)
def test_our_models(pose, p, truth):
    C = kitchen()
    C.set_pose("cube", pose)
    assert p.holds(C) is truth, p.explain(C)


def test_a_door_makes_no_difference_to_what_is_inside():
    C = kitchen()
    C.set_pose("cube", at(0, 9.06, 0.1))
    for angle in (0.0, 0.8, 1.7):
        C.set_joint("my_door_joint", angle)
        assert InsideOf("cube", "my_microwave").holds(C)
    C.set_pose("cube", at(0.4, 9.2, 0.1))
    assert not InsideOf("cube", "my_microwave").holds(C)


@pytest.mark.parametrize("prefix", ["", "left_"])
def test_our_models_open(prefix):
    for name in ("cupboard", "microwave"):
        C = pw.Config()
        C.load("planar3")
        C.load(name, prefix=prefix)
        p = Open(f"{prefix}{name}")
        assert not p.holds(C) and p.explain(C).endswith(
            "0.0 % open, not more than 5 %."
        )
        for joint in C.objects[p.a].abilities["openable"]["joints"]:
            assert joint.startswith(prefix)
            low, high = C.limits[:, C.coordinates(joint)[0]]
            for share, truth in ((0.04, False), (0.06, True), (1.0, True), (1.2, True)):
                C.set_joint(joint, low + share * (high - low))
                assert p.holds(C) is truth
                assert Open(p.a, semantics="igibson").holds(C) is truth
                assert f"{joint!r} is {100 * share:.1f} % open" in p.explain(C)
            C.set_joint(joint, low)


def door(openable=None, q=1.0, limits=((0.0,), (2.0,))) -> pw.Config:
    C = pw.Config()
    abilities = {} if openable is None else {"openable": openable}
    C.add_object("safe", [(pw.Box([1, 1, 1]), None)], abilities=abilities)
    C.add_frame("door", "safe", joint="revolute", axis=[0, 0, 1], limits=limits, q=[q])
    C.add_frame("dial", "safe", joint="continuous", axis=[0, 0, 1], q=[0.4])
    return C


OPENINGS = [
    # annotation, q, posewise, igibson, document
    (None, 1.0, True, False, True),
    (None, 0.05, False, False, False),
    ({}, 1.0, True, False, True),
    ({"joints": []}, 1.0, False, False, False),
    ({"joints": "door"}, 1.0, True, True, True),
    ({"joints": ["door"]}, 0.09, False, False, False),
    ({"joints": {"door": -1}}, 1.0, True, True, True),
    ({"joints": {"door": -1}}, 1.95, False, False, True),
    ({"joints": {"door": -1}}, -0.5, True, True, False),
    ({"joints": ["door"], "both_sides": True}, 1.0, True, True, True),
    ({"joints": ["door"], "both_sides": True}, 1.95, False, False, True),
]


@pytest.mark.parametrize(("openable", "q", *"pid"), OPENINGS)
def test_annotations_of_open(openable, q, p, i, d):
    C = door(openable, q)
    found = [
        Open("safe", semantics=s).holds(C) for s in ("posewise", "igibson", "document")
    ]
    assert found == [p, i, d]


def test_masses_place_the_centre():
    """A long rod on a table's edge, first by volumes, then by a heavy end, then com."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]), position=[0, 0, -0.05])
    C.add_object("rod", pose=at(0.55, 0, 0.05))
    for name, x in (("near", -0.2), ("far", 0.3)):
        C.add_frame(name, "rod", position=[x, 0, 0], shape=pw.Box([0.1, 0.1, 0.1]))
    p = OnTopOf("rod", "table")
    assert not p.holds(C)
    for name, mass, truth in (("far", 1.0, False), ("near", 3.0, True)):
        C.set_mass(name, mass)
        assert p.holds(C) is truth, p.explain(C)
    made = pw.Config()
    made.add_frame("table", shape=pw.Box([1, 1, 0.1]), position=[0, 0, -0.05])
    rod = [(pw.Box([0.6, 0.1, 0.1]), None)]
    made.add_object("rod", rod, pose=at(0.55, 0, 0.05), com=[-0.2, 0, 0])
    assert OnTopOf("rod", "table").holds(made)


def test_what_stands_on_an_object_is_no_part_of_it():
    """Mugs attached to a tray, as objects and as frames, and the tray's own handle."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]), position=[0, 0, -0.05])
    C.add_object("tray", [(pw.Box([0.4, 0.3, 0.02]), None)], pose=at(z=0.01))
    cup = pw.Cylinder(0.1, 0.04)
    C.add_object(
        "mug", [(cup, None)], parent="tray", pose=at(0.1, z=0.06), joint="free"
    )
    C.add_frame("can", "tray", shape=cup, pose=at(-0.1, z=0.06))
    C.add_frame("handle", "tray", shape=pw.Sphere(0.01), pose=at(0.2, z=0.02))
    for name in ("mug", "can"):
        assert OnTopOf(name, "tray").holds(C) and InContactWith("tray", name).holds(C)
        assert not OnTopOf("tray", name).holds(C)
    assert OnTopOf("tray", "table").holds(C) and not InContactWith(
        "mug", "table"
    ).holds(C)
    assert InContactWith("tray", "handle").holds(C)


def test_points_and_planes():
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    C.add_frame("tip", shape=pw.Marker(), position=[0, 0, 0.5])
    C.add_frame(
        "dust", shape=pw.PointCloud([[0, 0, 0], [1, 0, 0]]), position=[0, 0, 0.2]
    )
    C.add_frame("peas", shape=pw.PointCloud([[0, 0, 0.01]], radius=0.01))
    C.add_object("crate", crate(0.4, 0.4, 0.4), pose=at(z=0.4))
    assert InContactWith("peas", "floor").holds(C) and OnTopOf("peas", "floor").holds(C)
    assert not InContactWith("dust", "floor").holds(C)
    assert InsideOf("tip", "crate").holds(C) and not InContactWith(
        "tip", "crate"
    ).holds(C)
    assert InContactWith("tip", "floor").explain(C) == (
        "tip is 50.0 cm above floor: not in contact."
    )
    assert Under("tip", "crate").holds(C) is False
    C.set_pose("floor", [0, 0, 1, 0, 1, 0, 0])
    assert Under("peas", "floor").holds(C) and not OnTopOf("peas", "floor").holds(C)


@built_once
def panda() -> pw.Config:
    """A panda whose fingers close on a small box, 4 cm wide."""
    C = pw.load("panda")
    C.add_agent("robot", base="panda_link0", hands=["panda_hand"])
    tool = C.pose("panda_hand_tcp")
    C.add_object("box", [(pw.Box([0.02, 0.04, 0.02]), None)], pose=tool, joint="free")
    return C


def test_held_between_fingers():
    C = panda()
    p = InHandOfAgent("box", "robot")
    assert p.holds(C), p.explain(C)
    assert p.explain(C) == (
        "box is between panda_leftfinger and panda_rightfinger, which touch it from"
        " sides 180 degrees apart."
    )
    assert not InHandOfAgent("box", "robot", semantics="igibson").holds(C)
    C.set_pose("box", pose_multiply(C.pose("box"), at(0, 0.005)))
    assert not p.holds(C)
    assert p.explain(C).endswith(
        "of panda_hand touch box; panda_rightfinger is 5.00 mm from it."
    )
    C.set_pose("box", at(1, 1))
    assert not p.holds(C) and p.explain(C).startswith("0 of 2 fingers")


@pytest.mark.parametrize("semantics", ["posewise", "igibson", "document"])
def test_attached_to_a_hand(semantics):
    C = panda()
    C.set_pose("box", at(0.3, 0.3, 0.3))
    p = InHandOfAgent("box", "robot", semantics=semantics)
    assert not p.holds(C)
    for frame in ("panda_hand", "panda_hand_tcp", "panda_leftfinger"):
        made = C.copy()
        made.attach(frame, "box")
        assert p.holds(made), p.explain(made)
    C.attach("panda_link0", "box")
    assert not p.holds(C)


def test_fingers_may_be_named():
    C = panda()
    both = ["panda_leftfinger", "panda_rightfinger"]
    C.add_agent("other", base="panda_link0", hands={"panda_hand": both})
    C.add_agent("thumb", base="panda_link0", hands={"panda_hand": both[:1]})
    assert InHandOfAgent("box", "other").holds(C) and not InHandOfAgent(
        "box", "thumb"
    ).holds(C)


def test_the_camera_sees_past_the_part_it_is_in():
    """And not through its own nose; nothing nearer than near hides."""
    C = scene()
    C.add_frame("head", "eyes", shape=pw.Sphere(0.1))
    p = InFoVOfAgent("mug", "robot")
    assert p.holds(C)
    C.add_frame("nose", "eyes", position=[0.15, 0, 0], shape=pw.Box([0.01, 1, 1]))
    assert not p.holds(C) and "are hidden" in p.explain(C)
    C.set_pose("nose", at(0.05), relative_to="eyes")
    assert p.holds(C) and InFoVOfAgent("mug", "eyes").holds(C)


def test_depth_bounds_what_is_seen():
    for near, far, truth in (
        (0.1, 100, True),
        (0.6, 100, True),
        (2, 100, False),
        (0.1, 0.5, False),
    ):
        C = pw.Config()
        C.add_frame("wall", shape=pw.Box([0.1, 2, 2]), position=[1.0, 0, 0])
        C.add_camera("eyes", near=near, far=far)
        assert InFoVOfAgent("wall", "eyes").holds(C) is truth


def test_pixels():
    camera = pw.Camera("c", vertical_fov=np.pi / 2, width=4, height=2)
    rays = camera.pixel_rays().reshape(2, 4, 3)
    assert np.all(rays[..., 0] == 1)
    np.testing.assert_allclose(rays[0, :, 1], [1.5, 0.5, -0.5, -1.5])
    np.testing.assert_allclose(rays[:, 0, 2], [0.5, -0.5])


def test_cells_of_rooms():
    rooms = [
        pw.Room("kitchen_0", cells=[0, 0, 2, 4]),
        pw.Room("den", "lounge", [[2, 0, 4, 1]]),
    ]
    made = pw.RoomMap(rooms, size=4, resolution=0.5)
    name = lambda *xy, **k: getattr(made.room_at(xy, **k), "name", None)
    assert [r.type for r in made.rooms] == ["kitchen", "lounge"]
    assert name(-0.9, 0.9) == "kitchen_0" and name(0.1, -0.9) == "den"
    assert name(0.1, 0.1) is None and name(1.1, 0) is None
    assert name(-1.1, 0) is None and name(-1.1, 0, truncate=True) == "kitchen_0"
    mask = np.zeros((4, 4), bool)
    mask[:2] = True
    same = pw.RoomMap([pw.Room("kitchen_0", cells=mask)], size=(4, 4), resolution=0.5)
    assert (same.labels == np.where(made.labels == 0, 0, -1)).all()


def test_a_rooms_own_floor():
    C = pw.load("apartment")
    C.add_object(
        "cube", [(pw.Box([0.1, 0.1, 0.1]), None)], pose=at(-2, 0, 0.05), joint="free"
    )
    C.rooms = pw.RoomMap(
        [
            pw.Room("living_room_0", cells=[0, 0, 41, 42], floor="living_room_floor"),
            pw.Room("kitchen_0", cells=[41, 0, 82, 42], floor="kitchen_floor"),
        ],
        size=(82, 42),
    )
    assert OnFloor("cube", "living_room_0").holds(C)
    assert not OnFloor("cube", "kitchen_0").holds(C)
    assert OnFloor("cube", "apartment").holds(C)
    assert not OnFloor("cube", "kitchen_floor").holds(C)


def test_copies_and_removals_keep_what_they_should():
    C = scene()
    C.add_agent("crew", base="table", camera="eyes", hands=["robot"])
    D = C.copy()
    assert D.rooms is C.rooms and D.cameras == C.cameras and D.agents == C.agents
    D.remove("robot")
    assert not D.cameras and list(D.agents) == ["crew"]
    assert D.agents["crew"].camera is None and not D.agents["crew"].hands
    assert list(C.agents) == ["robot", "crew"]


BAD = [
    (lambda C: InsideOf("mugg", "crate").holds(C), "did you mean 'mug'"),
    (lambda C: OnTopOf("mug", "tabel").holds(C), "did you mean 'table'"),
    (lambda C: InReachOfAgent("mug", "robo").holds(C), "did you mean 'robot'"),
    (lambda C: OnFloor("mug", "kitchen").holds(C), "did you mean 'kitchen_0'"),
    (lambda C: InContactWith("mug", "world").holds(C), "'world' is the origin"),
    (lambda C: InsideOf("mug", "mug"), "a and b are both 'mug'"),
    (lambda C: NextTo("mug", 3), "b is 3, expected a name"),
    (lambda C: Open(""), "a is '', expected a name"),
    (lambda C: InsideOf("mug", "crate", semantics="igibsen"), "did you mean 'igibson'"),
    (lambda C: InContactWith("mug", "crate", tolerance=-1), "expected >= 0"),
    (lambda C: OnTopOf("mug", "crate", tolerance=np.nan), "expected >= 0"),
    (lambda C: InReachOfAgent("mug", "robot", reach=0), "expected > 0"),
    (lambda C: InsideOf("mug", "robot").holds(C), "'robot' has no shape"),
    (lambda C: InContactWith("robot", "mug").holds(C), "'robot' has no shape"),
    (lambda C: NextTo("robot", "mug").holds(C), "'robot' has no shape"),
    (lambda C: InFoVOfAgent("robot", "robot").holds(C), "both 'robot'"),
    (lambda C: InFoVOfAgent("eyes", "robot").holds(C), "'eyes' has no shape"),
    (lambda C: NextTo("mug", "ground").holds(C), "unbounded and has no size"),
    (lambda C: InHandOfAgent("mug", "robot").holds(C), "has no hands"),
    (lambda C: InFoVOfAgent("mug", "table").holds(C), "has no camera"),
    (lambda C: InsideOf("mug", "crate").holds(pw.Config()), "there is none at all"),
    (
        lambda C: InSameRoomAsAgent("mug", "robot").holds(without_rooms(C)),
        "has no rooms",
    ),
    (
        lambda C: OnFloor("mug", "hall").holds(without_rooms(C)),
        "No room, object or frame",
    ),
    (
        lambda C: OnFloor("mug", "hall").holds(no_ground(C)),
        "Nothing is known to be the floor",
    ),
    (lambda C: Open("safe").holds(door({"joints": ["dor"]})), "did you mean 'door'"),
    (
        lambda C: Open("safe").holds(door({"joints": ["dial"]})),
        "no two different limits",
    ),
    (
        lambda C: Open("safe").holds(door({"joints": {"door": 2}})),
        "the directions in which they open",
    ),
    (lambda C: Open("safe").holds(door("door")), "expected a dictionary"),
    (lambda C: C.add_camera("c", vertical_fov=90), "in radians"),
    (lambda C: C.add_camera("c", width=0), "pixels > 0"),
    (lambda C: C.add_camera("c", near=2, far=1), "more than near"),
    (lambda C: C.add_camera("mug"), "exists already"),
    (lambda C: C.add_agent("a", base="robo"), "did you mean 'robot'"),
    (lambda C: C.add_agent("a", base="robot", camera="eye"), "did you mean 'eyes'"),
    (lambda C: C.add_agent("a", base="robot", hands=["hnad"]), "No frame 'hnad'"),
    (lambda C: C.add_agent("a", base="robot", hands=3), "expected frames"),
    (lambda C: C.add_agent("robot", base="robot"), "is taken"),
    (lambda C: setattr(C, "rooms", "kitchen"), "expected a RoomMap"),
    (lambda C: pw.Room(3), "expected a string"),
    (lambda C: pw.RoomMap(["kitchen"], size=3), "expected Room"),
    (lambda C: pw.RoomMap([], size=0), "size is 0"),
    (lambda C: pw.RoomMap([], size=3, resolution=-1), "resolution is -1"),
    (
        lambda C: pw.RoomMap([pw.Room("a", cells=[0, 0, 4, 1])], size=3),
        "expected rectangles",
    ),
    (
        lambda C: pw.RoomMap([pw.Room("a", cells=[0, 0, 1])], size=3),
        "expected rectangles",
    ),
    (
        lambda C: pw.RoomMap([pw.Room("a", cells=np.ones((2, 2), bool))], size=3),
        "the map's size",
    ),
    (
        lambda C: pw.RoomMap([pw.Room(n, cells=[0, 0, 1, 1]) for n in "ab"], size=3),
        "overlap",
    ),
    (lambda C: pw.RoomMap([pw.Room("a"), pw.Room("a")], size=3), "two rooms"),
]


def without_rooms(C):
    C.rooms = None
    return C


def no_ground(C):
    C.remove("ground")
    C.set_pose("mug", at(2, 0, 0))
    return C


@pytest.mark.parametrize(("ask", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(ask, message):
    with pytest.raises(pw.PosewiseError, match=message):
        ask(scene())

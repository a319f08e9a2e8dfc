"""Geometric predicates: meanings, invariances, our models."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import trimesh
from helpers.predicate_scenes import at, built_once, crate, scene

import posewise as pw
from posewise import logic
from posewise.logic import (
    InContactWith,
    InFoVOfAgent,
    InReachOfAgent,
    InSameRoomAsAgent,
    InsideOf,
    NextTo,
    OnFloor,
    OnTopOf,
    Open,
    Under,
)
from posewise.logic.exact.containment import contains_points
from posewise.logic.geometry.frame_groups import bounding_box, find_object
from posewise.robots.kinematics.transforms import pose_multiply

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


def everything() -> list[logic.Predicate]:
    names = ("table", "crate", "mug", "ball", "ground")
    pairs = [
        kind(a, b)
        for a, b in permutations(names, 2)
        if a != "ground"
        for kind in (InsideOf, OnTopOf, Under, InContactWith)
    ]
    near = [NextTo(a, b) for a, b in permutations(names[:4], 2)]
    in_view = [InFoVOfAgent(a, "robot") for a in names[2:4]]
    reached = [InReachOfAgent(a, "robot") for a in names]
    return [*pairs, *near, *in_view, *reached]


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
    meshed = pw.Config()
    meshed.add_object("crate", parts)
    meshed.add_object("ball", [(pw.Sphere(0.05), None)], pose=at(z=0.06))
    return meshed


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
        statement = replace(p, semantics=semantics)
        assert statement.holds(C) is truth, (semantics, statement.explain(C))


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


def test_many_centres_at_once_are_judged_as_one_by_one():
    C, rng = kitchen(), np.random.default_rng(0)
    for name in ("my_microwave", "cupboard", "tray"):
        low, high = bounding_box(find_object(C, name))
        centres = rng.uniform(low - 0.02, high + 0.02, (25, 3))
        truths = contains_points(find_object(C, name), centres)
        p = InsideOf("cube", name, semantics="igibson")
        for centre, truth in zip(centres, truths, strict=True):
            C.set_pose("cube", at(*centre))
            assert p.holds(C) == truth
        assert 0 < truths.sum() < 25


def test_a_door_makes_no_difference_to_what_is_inside():
    C = kitchen()
    C.set_pose("cube", at(0, 9.06, 0.1))
    for angle in (0.0, 0.8, 1.7):
        C.set_joint("my_door_joint", angle)
        assert InsideOf("cube", "my_microwave").holds(C)
    C.set_pose("cube", at(0.4, 9.2, 0.1))
    assert not InsideOf("cube", "my_microwave").holds(C)


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
    D = pw.Config()
    D.add_frame("table", shape=pw.Box([1, 1, 0.1]), position=[0, 0, -0.05])
    rod = [(pw.Box([0.6, 0.1, 0.1]), None)]
    D.add_object("rod", rod, pose=at(0.55, 0, 0.05), com=[-0.2, 0, 0])
    assert OnTopOf("rod", "table").holds(D)


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

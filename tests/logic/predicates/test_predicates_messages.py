"""Geometric predicates: reasons with the decisive number, errors that help."""

import re
from functools import partial

import numpy as np
import pytest
from helpers.mesh_cases import open_cube
from helpers.predicate_scenes import at, door, scene

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
from posewise.objectives.checks.doubts import impediments
from posewise.robots.errors import ProblemWarning

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
    (lambda C: C.annotations.add_camera("c", vertical_fov=90), "in radians"),
    (lambda C: C.annotations.add_camera("c", width=0), "pixels > 0"),
    (lambda C: C.annotations.add_camera("c", near=2, far=1), "more than near"),
    (lambda C: C.annotations.add_camera("mug"), "exists already"),
    (lambda C: C.annotations.add_agent("a", base="robo"), "did you mean 'robot'"),
    (
        lambda C: C.annotations.add_agent("a", base="robot", camera="eye"),
        "did you mean 'eyes'",
    ),
    (
        lambda C: C.annotations.add_agent("a", base="robot", hands=["hnad"]),
        "No frame 'hnad'",
    ),
    (lambda C: C.annotations.add_agent("a", base="robot", hands=3), "expected frames"),
    (lambda C: C.annotations.add_agent("robot", base="robot"), "is taken"),
    (lambda C: setattr(C.annotations, "rooms", "kitchen"), "expected a RoomMap"),
    (lambda C: pw.Room(3), "expected a string"),
    (lambda C: pw.RoomMap(["kitchen"], size=3), "expected Room"),
    (lambda C: pw.RoomMap([], size=0), "size is 0"),
    (lambda C: pw.RoomMap([], size=10**400), "at most 50000000"),
    (lambda C: pw.RoomMap([], size=10**6), "1000000000000 cells"),
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
        lambda C: pw.RoomMap([pw.Room("a", cells=[0, [[1]], 2, 2])], size=3),
        "expected rectangles",
    ),
    (
        lambda C: pw.RoomMap([pw.Room("a", cells=["a", "b", "c", "d"])], size=3),
        "expected rectangles",
    ),
    (
        lambda C: pw.RoomMap([pw.Room("a", cells=None)], size=3),
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
    C.annotations.rooms = None
    return C


def no_ground(C):
    C.remove("ground")
    C.set_pose("mug", at(2, 0, 0))
    return C


@pytest.mark.parametrize(("ask", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(ask, message):
    with pytest.raises(pw.PosewiseError, match=message):
        ask(scene())


def pail_in_urdf(C: pw.Config, folder) -> None:
    open_cube().export(folder / "pail.stl")
    mesh = f'<geometry><mesh filename="{folder / "pail.stl"}"/></geometry>'
    link = f'<link name="pail"><collision>{mesh}</collision></link>'
    (folder / "pail.urdf").write_text(f'<robot name="pail">{link}</robot>')
    C.add_file(folder / "pail.urdf")


def pail_in_mjcf(C: pw.Config, folder) -> None:
    pytest.importorskip("mujoco", reason="needs the extra `mujoco`")
    open_cube().export(folder / "pail.stl")
    (folder / "pail.xml").write_text(
        '<mujoco><asset><mesh name="m" file="pail.stl"/></asset><worldbody>'
        '<body name="pail"><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    C.add_file(folder / "pail.xml")


def fitted_pail(C: pw.Config, folder, kind="hulls", **options) -> None:
    C.add_frame("pail", shape=pw.Mesh(open_cube(), "convex"))
    C.fit_collisions(kind, links=["pail"], **options)


def pail_of_cylinder(C: pw.Config, folder) -> None:
    """Add a pail that is drawn as its mesh, and is a cylinder for collisions."""
    open_cube().export(folder / "pail.stl")
    mesh = f'<geometry><mesh filename="{folder / "pail.stl"}"/></geometry>'
    solid = '<geometry><cylinder length="0.2" radius="0.15"/></geometry>'
    shapes = (
        f'<visual>{mesh}</visual><collision><origin xyz="0 0 0.1"/>{solid}</collision>'
    )
    text = f'<robot name="pail"><link name="pail">{shapes}</link></robot>'
    (folder / "pail.urdf").write_text(text)
    C.add_file(folder / "pail.urdf")


PAILS = {
    "URDF": pail_in_urdf,
    "MJCF": pail_in_mjcf,
    "object": lambda C, _: C.add_object("pail", [pw.Mesh(open_cube(), "convex")]),
    "fitted": fitted_pail,
    "boxes": partial(fitted_pail, kind="boxes"),
    # One capsule: rounding decides whether several leave the hollow open.
    "capsules": partial(fitted_pail, kind="capsules", tolerance=0.1),
    "cylinder": pail_of_cylinder,
}
PREDICATE_CALLS = {
    "holds": lambda p, C: p.holds(C),
    "rows": lambda p, C: p.relaxed(C),  # of its violation
    "in a formula": lambda p, C: (p & logic.OnTopOf("ball", "pail")).holds(C),
    "KOMO": lambda p, C: pw.KOMO(C).add(p),
}


@pytest.mark.parametrize("kind", PAILS)
def test_a_hollow_that_a_hull_fills_is_told(kind, tmp_path):
    C, inside = pw.Config(), logic.InsideOf("ball", "pail")
    PAILS[kind](C, tmp_path)
    C.add_object("ball", [pw.Sphere(0.02)], pose=[0, 0, 0.1, 1, 0, 0, 0], joint="free")
    pattern = "mesh of 'pail' stands for its (convex hull|collision shapes), which"
    pattern += " fills? its hollow.*mode='decompose'"
    for call in PREDICATE_CALLS.values():
        with pytest.warns(ProblemWarning, match=pattern):
            call(inside, C)
    with pytest.warns(ProblemWarning, match=pattern):
        assert re.search(pattern, inside.explain(C))
    # A placement that fails tells them in its message.
    (text,) = impediments([inside & logic.OnTopOf("ball", "pail")], C)
    assert re.search(pattern, text)
    C.set_shape("pail", pw.Mesh(open_cube(), "decompose"))
    assert inside.holds(C) and not impediments([inside], C)


def test_hulls_that_leave_the_hollow_open_are_not_told():
    C, inside = pw.Config(), logic.InsideOf("ball", "pail")
    fitted_pail(C, None, tolerance=0.005)
    C.add_object("ball", [pw.Sphere(0.02)], pose=[0, 0, 0.1, 1, 0, 0, 0], joint="free")
    assert inside.holds(C) and not impediments([inside], C)


@pytest.mark.slow  # compiles
@pytest.mark.parametrize("collisions", [True, False])
def test_a_placement_into_a_filled_hollow_tells_it(collisions):
    C, inside = pw.Config(), logic.InsideOf("ball", "pail")
    PAILS["object"](C, None)
    C.add_object("ball", [pw.Sphere(0.02)], pose=[0, 0, 0.1, 1, 0, 0, 0], joint="free")
    with pytest.warns(ProblemWarning, match="convex hull"):
        best, *_ = pw.solve_placement(
            C, [inside], ["ball"], starts=2, progress=False, collisions=collisions
        )
    assert not best.feasible and "hollow" in best.message and "hollow" in best.report()


@pytest.mark.parametrize("shape", [pw.Box([0.2] * 3), "mesh"])
def test_a_convex_container_has_no_hollow(shape):
    trimesh = pytest.importorskip("trimesh", reason="needs the extra `meshes`")
    C = pw.Config()
    solid = pw.Mesh(trimesh.creation.box([0.2] * 3), "convex")
    C.add_object("pail", [solid if shape == "mesh" else shape])
    C.add_object("ball", [pw.Sphere(0.02)], joint="free")
    assert not logic.InsideOf("ball", "pail").holds(C)


def test_shapes_of_attached_frames_are_no_shapes_of_an_object():
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]))
    C.add_frame("rack", position=[0, 0, 1])
    C.add_frame("rail", "rack", shape=pw.Box([0.1, 0.1, 0.1]))
    with pytest.raises(pw.ConfigError, match="'rack' has no shape.*'rail'.*add_object"):
        logic.OnTopOf("rack", "table").holds(C)

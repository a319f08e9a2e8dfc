"""Problems of BDDL solved: scenes for them, :init, goals, and what cannot be."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from helpers.predicate_scenes import at

import posewise as pw
from posewise import logic
from posewise.logic import bddl
from posewise.logic.bddl import rest_doubts
from posewise.logic.bddl.object_placement import optimize_placement, place_object
from posewise.logic.geometry.frame_groups import (
    bounding_box,
    closest_separation,
    find_object,
)
from posewise.robots.errors import ProblemWarning

TIDYING = """
(define (problem tidying) (:domain igibson)
    (:objects
        apple.n.01_1 apple.n.01_2 - apple.n.01
        carton.n.02_1 carton.n.02_2 - carton.n.02
        envelope.n.01_1 envelope.n.01_2 envelope.n.01_3 - envelope.n.01
        table.n.02_1 - table.n.02
        cabinet.n.01_1 - cabinet.n.01
        rag.n.01_1 - rag.n.01
        jar.n.01_1 - jar.n.01
        floor.n.01_1 floor.n.01_2 - floor.n.01
        agent.n.01_1 - agent.n.01
    )
    (:init
        (ontop apple.n.01_1 table.n.02_1)
        (ontop apple.n.01_2 table.n.02_1)
        (inside rag.n.01_1 cabinet.n.01_1)
        (under envelope.n.01_1 table.n.02_1)
        (onfloor carton.n.02_1 floor.n.01_2)
        (onfloor carton.n.02_2 floor.n.01_1)
        (ontop jar.n.01_1 carton.n.02_1)
        (stained table.n.02_1)
        (open jar.n.01_1)
        (not (soaked rag.n.01_1))
        (inroom table.n.02_1 kitchen)
        (inroom cabinet.n.01_1 kitchen)
        (inroom floor.n.01_1 kitchen)
        (inroom floor.n.01_2 garage)
        (onfloor agent.n.01_1 floor.n.01_1)
    )
    (:goal (and
        (forpairs (?a - apple.n.01) (?c - carton.n.02) (inside ?a ?c))
        (forall (?e - envelope.n.01) (or
            (touching ?e ?envelope.n.01_1) (touching ?e ?envelope.n.01_2)))
        (nextto carton.n.02_1 table.n.02_1)
        (or (inside rag.n.01_1 cabinet.n.01_1) (ontop rag.n.01_1 table.n.02_1))
        (soaked rag.n.01_1)
        (cooked apple.n.01_2)
        (forall (?j - jar.n.01) (not (open ?j)))
        (not (stained table.n.02_1))
        (not (inside jar.n.01_1 carton.n.02_2))
    )))
"""


def never(*arguments: object, **options: object) -> bool:
    """Find no placement."""
    return False


@cache
def tidying() -> bddl.Problem:
    return bddl.parse(TIDYING)


@cache
def begun(seed: int = 0) -> bddl.ActivitySolution:
    return bddl.solve_init(bddl.make_scene(tidying(), seed), tidying(), seed=seed)


def box(C: pw.Config, name: str) -> np.ndarray:
    return np.array(bounding_box(find_object(C, name)))


def meeting(C: pw.Config) -> list[tuple[str, str]]:
    """Pairs of objects that share more than a surface, of boxes and upright cans."""
    overlapping = []
    for a, b in combinations(C.objects, 2):
        apart = closest_separation(find_object(C, a), find_object(C, b)).distance
        (low_a, high_a), (low_b, high_b) = box(C, a), box(C, b)
        shared = np.minimum(high_a, high_b) - np.maximum(low_a, low_b)
        if apart == 0 and shared.min() > 1e-6:
            overlapping.append((a, b))
    return overlapping


def test_scenes_have_what_the_problem_speaks_of():
    p = tidying()
    C = bddl.make_scene(p)
    assert set(C.objects) == set(p.instances)
    assert all(C.objects[i].category == c for c, v in p.objects.items() for i in v)
    assert bddl.bind(p, C).names == {i: i for i in p.instances}
    assert [(r.type, r.floor) for r in C.annotations.rooms.rooms] == [
        ("kitchen", "floor.n.01_1"),
        ("garage", "floor.n.01_2"),
    ]
    for name, room in (("table.n.02_1", "kitchen"), ("floor.n.01_2", "garage")):
        assert logic.InRoom(name, room).holds(C)
    assert meeting(C) == []
    loose = {n for n in C.objects if C.frame(n).joint is not None}
    fixed = {"table.n.02_1", "cabinet.n.01_1", "floor.n.01_1", "floor.n.01_2"}
    assert loose == set(p.instances) - fixed
    for name in loose:
        np.testing.assert_allclose(box(C, name)[0, 2], 0.0, atol=1e-12)
    jar, rag = C.objects["jar.n.01_1"], C.objects["rag.n.01_1"]
    assert "soakable" in rag.abilities and logic.Open("jar.n.01_1").joints(C)
    assert jar.abilities["openable"]["joints"] == {"jar.n.01_1 flap": -1}
    assert not logic.Open("jar.n.01_1").holds(C)


def test_things_are_as_large_as_what_they_are_to_hold():
    text = """(define (problem p) (:domain d)
        (:objects book.n.02_1 book.n.02_2 book.n.02_3 - book.n.02
            dish.n.01_1 - dish.n.01 wibble.n.01_1 - wibble.n.01)
        (:init (ontop dish.n.01_1 wibble.n.01_1))
        (:goal (forall (?b - book.n.02) (inside ?b dish.n.01_1))))"""
    with pytest.warns(ProblemWarning, match=r"wibble.n.01, now a box"):
        C = bddl.make_scene(bddl.parse(text))
    size = {n.partition(".")[0]: np.ptp(box(C, n), axis=0) for n in C.objects}
    inner = size["dish"] - [0.02, 0.02, 0.01]
    assert (inner > size["book"]).all()
    assert np.prod(inner[:2]) > 3 * np.prod(size["book"][:2])
    assert (size["wibble"][:2] >= size["dish"][:2].min()).all()
    assert [room.type for room in C.annotations.rooms.rooms] == ["room"]


def test_scenes_are_the_same_for_the_same_seed():
    poses = lambda C: np.array([C.pose(name) for name in C.objects])
    one, same, other = (poses(bddl.make_scene(tidying(), s)) for s in (3, 3, 4))
    assert (one == same).all() and (one != other).any()
    with pytest.raises(pw.ConfigError, match="seed is -1, expected an integer >= 0"):
        bddl.make_scene(tidying(), -1)


def test_init_is_made_true():
    scene = bddl.make_scene(tidying())
    before = scene.q.copy()
    solved = begun()
    C, p = solved.config, tidying()
    assert solved.holds and solved.branches_tried == 1 and bddl.bind(p, C).init.holds(C)
    assert len(solved.report.satisfied) == len(p.init)
    assert (scene.q == before).all() and not logic.Stained("table.n.02_1").holds(scene)
    assert meeting(C) == []
    low, high = box(C, "table.n.02_1")
    for apple in p.objects["apple.n.01"]:
        np.testing.assert_allclose(box(C, apple)[0, 2], high[2], atol=1e-4)
        assert (low[:2] < C.pose(apple)[:2]).all() and (
            C.pose(apple)[:2] < high[:2]
        ).all()
    assert box(C, "envelope.n.01_1")[1, 2] < 0.1
    garage = C.annotations.rooms.room("garage_1")
    assert C.annotations.rooms.room_at(C.pose("carton.n.02_1")[:2]) is garage


def test_goals_are_made_true_from_there():
    start = begun().config
    before = start.q.copy()
    solved = bddl.solve_goal(start, tidying())
    C = solved.config
    assert solved.holds and bddl.bind(tidying(), C).goal.holds(C), str(solved)
    assert (start.q == before).all() and meeting(C) == []
    assert not solved.report.unsatisfied and str(solved).startswith("solved, 1 tried")
    # the alternative that held already was taken
    assert "InsideOf('rag.n.01_1', 'cabinet.n.01_1')" in solved.branch
    assert (C.pose("rag.n.01_1") == start.pose("rag.n.01_1")).all()
    # what stands on the carton came along
    shift = C.pose("carton.n.02_1")[:3] - start.pose("carton.n.02_1")[:3]
    assert np.linalg.norm(shift) > 0.5
    gap = closest_separation(
        find_object(C, "jar.n.01_1"), find_object(C, "carton.n.02_1")
    )
    assert gap.distance < 1e-4
    within = {}
    for apple in tidying().objects["apple.n.01"]:
        for carton in tidying().objects["carton.n.02"]:
            low, high = box(C, carton)
            p = C.pose(apple)[:3] + [0, 0, 0.035]
            within[apple, carton] = bool(((low < p) & (p < high)).all())
    assert sum(within.values()) == 2
    assert {c for (_, c), w in within.items() if w} == set(
        tidying().objects["carton.n.02"]
    )


def test_the_same_seed_gives_the_same_world():
    again = bddl.solve_init(bddl.make_scene(tidying()), tidying())
    assert (again.config.q == begun().config.q).all()
    assert (begun(1).config.q != begun().config.q).any() and begun(1).holds


FEW = (
    "cup.n.01_1 - cup.n.01 table.n.02_1 table.n.02_2 - table.n.02"
    " floor.n.01_1 - floor.n.01"
)


@pytest.mark.parametrize(
    "goal, words",
    [
        ("(ontop floor.n.01_1 cup.n.01_1)", "None of floor.n.01_1 and cup.n.01_1"),
        pytest.param(
            "(and (nextto cup.n.01_1 table.n.02_1) (ontop cup.n.01_1 table.n.02_1) "
            "(ontop cup.n.01_1 table.n.02_2))",
            "No free place was found for cup.n.01_1.",
            marks=pytest.mark.slow),
        ("(or)", "No change of the world can make it true"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(goal, words, monkeypatch):
    monkeypatch.setattr(bddl.literal_solver, "optimize_placement", never)
    rooms = (
        "(inroom table.n.02_1 hall) (inroom table.n.02_2 hall)"
        " (inroom floor.n.01_1 hall)"
    )
    text = (
        f"(define (problem p) (:domain d) (:objects {FEW}) (:init {rooms})"
        f" (:goal {goal}))"
    )
    p = bddl.parse(text)
    C = bddl.make_scene(p)
    solved = bddl.solve_goal(C, p, limit=2)
    assert not solved.holds and str(solved).startswith("not solved")
    assert any(words in f.reason for f in solved.report.unsatisfied), str(solved)


def test_things_are_let_down_onto_what_is_not_flat():
    C = pw.Config()
    can = [(pw.Cylinder(0.1, 0.03), None)]
    C.add_object("can", can, pose=at(1, 1, 0.05), joint="free")
    C.add_object("hill", [(pw.Sphere(0.5), None)])
    on_it = logic.OnTopOf("can", "hill")
    is_placed = place_object(C, "can", [on_it])
    assert is_placed and on_it.holds(C) and meeting(C) == []


def test_worlds_of_ones_own():
    """A crate on a mesh-free plane; names differ from the problem's."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_object("desk", [(pw.Box([1, 1, 0.7]), at(z=0.35))], category="table.n.02")
    C.add_object("desk2", [(pw.Box([1, 1, 0.7]), at(3, z=0.35))], category="table.n.02")
    can = [(pw.Cylinder(0.1, 0.03), None)]
    C.add_object("can", can, pose=at(1, 1, 0.05), joint="free", category="cup.n.01")
    goal = "(ontop cup.n.01_1 table.n.02_2)"
    objects = FEW.removesuffix(" floor.n.01_1 - floor.n.01")
    text = (
        f"(define (problem p) (:domain d) (:objects {objects}) (:init) (:goal {goal}))"
    )
    p = bddl.parse(text)
    names = {"table.n.02_1": "desk2"}
    solved = bddl.solve_goal(C, p, names=names)
    assert solved.holds and logic.OnTopOf("can", "desk").holds(solved.config)
    assert C.pose("can")[0] == 1
    for options, word in ((dict(seed=-1), "seed is -1"), (dict(limit=0), "limit is 0")):
        with pytest.raises(logic.PredicateError, match=word):
            bddl.solve_goal(C, p, names=names, **options)
    with pytest.raises(pw.ConfigError, match="names"):
        bddl.solve_goal(C, p, names={"cup": "can"})


@pytest.mark.slow
def test_what_fits_in_no_quarter_turn_is_placed_by_optimization():
    """A stick that stands is too long for a low shelf, in which it may lie."""
    board = lambda size, *position: (pw.Box(size), [*position, 1, 0, 0, 0])
    sides = [board([0.02, 0.4, 0.3], x, 0, 0.15) for x in (-0.4, 0.4)]
    levels = [board([0.8, 0.4, 0.02], 0, 0, z) for z in (0.01, 0.29)]
    C = pw.Config()
    C.add_object("shelf", [*levels, *sides])
    stands = [1.2, 0, 0.25, 1, 0, 0, 0]
    stick = [(pw.Box([0.05, 0.05, 0.5]), None)]
    C.add_object("stick", stick, joint="free", pose=stands)
    inside = logic.InsideOf("stick", "shelf")
    assert not place_object(C, "stick", [inside])
    np.testing.assert_array_equal(C.pose("stick"), stands)
    assert optimize_placement(C, "stick", [inside])
    assert inside.holds(C) and not C.collisions(margin=-1e-4)


FRUIT = """
(define (problem fruit) (:domain igibson)
    (:objects apple.n.01_1 apple.n.01_2 - apple.n.01 bowl.n.01_1 - bowl.n.01
        table.n.02_1 - table.n.02 floor.n.01_1 - floor.n.01)
    (:init (ontop apple.n.01_1 table.n.02_1) (ontop apple.n.01_2 table.n.02_1)
        (ontop bowl.n.01_1 table.n.02_1) (onfloor table.n.02_1 floor.n.01_1)
        (inroom floor.n.01_1 kitchen))
    (:goal (GOAL)))
"""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("goal", "falls"),
    [
        ("ontop apple.n.01_1 table.n.02_1", ()),
        # One apple fills the bowl, so that the other one is on top of it, in the air.
        ("forall (?a - apple.n.01) (inside ?a bowl.n.01_1)", ("_1", "_2")),
    ],
)
def test_what_falls_is_told(goal, falls):
    pytest.importorskip("mujoco", reason="needs MuJoCo")
    problem = bddl.parse(FRUIT.replace("GOAL", goal))
    begin = bddl.solve_init(bddl.make_scene(problem), problem)
    end = bddl.solve_goal(begin.config, problem)
    assert begin.holds and end.holds and begin.doubts == ()
    assert len(end.doubts) == len(falls)
    for doubt, k in zip(end.doubts, falls, strict=True):
        apple = f"apple.n.01{k}"
        assert f"InsideOf('{apple}', 'bowl.n.01_1') holds, but '{apple}' does" in doubt
        assert "not stable" in doubt and f"! {doubt}" in str(end)
        assert not logic.Stable(apple).holds(end.config)


def test_without_mujoco_nothing_falls(monkeypatch):
    def missing(*_):
        raise ImportError("mujoco is missing")

    monkeypatch.setattr(rest_doubts, "Twin", missing)
    begin = bddl.solve_init(
        bddl.make_scene(problem := bddl.parse(FRUIT.replace("GOAL", "and"))), problem
    )
    assert begin.holds and begin.doubts == ()

"""Problems of BDDL: read, bound to worlds, evaluated; and what is said of mistakes."""

import builtins
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.bddl_texts import PACKING, definitions, problem
from helpers.bddl_worlds import kitchen, move

import posewise as pw
from posewise import logic
from posewise.logic import bddl


def test_reading_a_problem():
    p = bddl.load(PACKING)
    assert (p.name, p.domain) == ("packing_0", "igibson")
    assert p.objects == {
        "apple.n.01": ("apple.n.01_1", "apple.n.01_2"),
        "box.n.01": ("box.n.01_1", "box.n.01_2"),
        "table.n.02": ("table.n.02_1",),
    }
    assert [str(x) for x in p.init] == [
        "(ontop apple.n.01_1 table.n.02_1)",
        "(not (inside apple.n.01_2 box.n.01_1))",
        "(not (cooked apple.n.01_2))",
    ]
    assert [x[0] for x in p.goal] == ["forall", "forpairs", "forn", "imply"]
    assert p.predicates == {"inside", "ontop", "cooked"}
    assert p == bddl.load(PACKING) and hash(p) == hash(bddl.load(PACKING))


def test_goal_and_init_of_a_world():
    C, p = kitchen(), bddl.load(PACKING)
    task = bddl.bind(p, C)
    assert task.names == {
        "apple.n.01_1": "apple0",
        "apple.n.01_2": "apple1",
        "box.n.01_1": "crate0",
        "box.n.01_2": "crate1",
        "table.n.02_1": "desk",
    }
    assert bddl.bind(p, C).init.holds(C) and not bddl.bind(p, C).goal.holds(C)
    report = bddl.bind(p, C).goal_report(C)
    assert [f.holds for f in report.results] == [False, False, False, True]
    assert report.results[0].condition == (
        "(forall (?a - apple.n.01) (exists (?b - box.n.01) (inside ?a ?b)))"
    )
    assert "apple0: 2 of 2 cases do not hold" in report.results[0].reason
    assert "crate0 and apple0: apple0's centre" in report.results[1].reason
    assert str(report).startswith("1 of 4 conditions hold.\n- (forall")
    move(C, "apple0", -0.5)
    move(C, "apple1", -0.4)
    logic.Cooked("apple1").set(C)
    truths = [f.holds for f in task.goal_report(C).results]
    assert truths == [True, False, True, True]
    assert not bddl.bind(p, C).init.holds(C)
    assert [f.condition for f in bddl.bind(p, C).init_report(C).unsatisfied] == [
        "(ontop apple.n.01_1 table.n.02_1)",
        "(not (inside apple.n.01_2 box.n.01_1))",
        "(not (cooked apple.n.01_2))",
    ]
    move(C, "apple1", 0.5)
    assert task.goal.holds(C) and bddl.bind(p, C).goal.holds(C)
    kinds = {type(leaf) for leaf in logic.leaves(task.goal.ground(C))}
    assert kinds == {logic.InsideOf, logic.OnTopOf, logic.Cooked}
    swapped = bddl.bind(p, C, {"apple.n.01_1": "apple1"})
    assert swapped.names["apple.n.01_2"] == "apple0"
    assert swapped.goal.holds(C)


def test_bound_formulas_compare_and_read_well():
    C = kitchen()
    task = bddl.bind(bddl.load(PACKING), C)
    assert task.goal == task.goal and hash(task.goal) == hash(task.goal)
    assert repr(task.formula(task.problem.goal[0])) == (
        "ForAll(('apple0', 'apple1'), lambda a: Exists(('crate0', 'crate1'), lambda b:"
        " InsideOf(a, b)))"
    )
    assert task.formula(task.problem.goal[0]) == task.goal.parts[0]


# -- truth of conditions, with predicates of our own -------------------------------


@dataclass(frozen=True)
class On(logic.Predicate):
    """True of the pairs, or names, that are chosen."""

    terms: tuple[str, ...]
    chosen: frozenset

    def holds(self, C: pw.Config) -> bool:
        return self.terms in self.chosen

    def explain(self, C: pw.Config) -> str:
        return f"{self.terms} is {self.holds(C)}."


EMPTY = pw.Config()


def truth(goal: str, *chosen: tuple[str, ...]) -> bool:
    """Return the truth of a goal in which p, q and r hold for the chosen names."""
    p = bddl.parse(problem(goal))
    true_tuples = frozenset(chosen)
    table = {
        "p": lambda a: On((a,), true_tuples),
        "r": lambda a, b: On((a, b), true_tuples),
    }
    names = {i: i for i in p.instances}
    return bddl.Task(p, names, table).goal.holds(EMPTY)


A1, A2, A3, B1, B2 = ("a1",), ("a2",), ("a3",), ("b1",), ("b2",)


@pytest.mark.parametrize(
    "goal, chosen, expected",
    [
        ("(p a1)", [A1], True),
        ("(p ?a1)", [A2], False),
        ("(not (p a1))", [A2], True),
        ("(and (p a1) (p a2))", [A1], False),
        ("(and)", [], True),
        ("(or (p a1) (p a2))", [A2], True),
        ("(or)", [], False),
        ("(imply (p a1) (p a2))", [A1], False),
        ("(imply (p a1) (p a2))", [], True),
        ("(forall (?x - a) (p ?x))", [A1, A2, A3], True),
        ("(forall (?x - a) (p ?x))", [A1, A2], False),
        ("(exists (?x - a) (p ?x))", [A3], True),
        ("(exists (?x - a) (p ?x))", [B1], False),
        ("(forn (2) (?x - a) (p ?x))", [A1, A3], True),
        ("(forn (2) (?x - a) (p ?x))", [A1, A2, A3], False),
        ("(forn (0) (?x - a) (p ?x))", [], True),
        ("(forn (7) (?x - a) (p ?x))", [A1, A2, A3], False),
        ("(forpairs (?x - a) (?y - b) (r ?x ?y))", [("a1", "b1")], False),
        (
            "(forpairs (?x - a) (?y - b) (r ?x ?y))",
            [("a1", "b1"), ("a3", "b2")],
            True,
        ),
        (
            "(forpairs (?x - a) (?y - b) (r ?x ?y))",
            [("a1", "b1"), ("a2", "b1"), ("a3", "b1")],
            False,
        ),
        # the same category twice: places among the others are columns
        (
            "(forpairs (?x - b) (?y - b) (r ?x ?y))",
            [("b1", "b2"), ("b2", "b1")],
            True,
        ),
        ("(forpairs (?x - b) (?y - b) (r ?x ?y))", [("b2", "b1")], True),
        ("(fornpairs (1) (?x - a) (?y - b) (r ?x ?y))", [("a1", "b2")], True),
        ("(fornpairs (3) (?x - a) (?y - b) (r ?x ?y))", [("a1", "b2")], False),
        # nothing is in a relation to itself
        ("(exists (?x - a) (exists (?y - a) (r ?x ?y)))", [("a1", "a1")], False),
        ("(exists (?x - a) (exists (?y - a) (r ?x ?y)))", [("a1", "a2")], True),
        # a variable hides what is called the same
        ("(forall (?a1 - b) (p ?a1))", [B1, B2], True),
        ("(exists (?x - a) (forall (?x - b) (p ?x)))", [B1, B2], True),
        ("(forall (?x - a) (exists (?y - b) (r ?x ?y)))", [("a1", "b1")], False),
        (
            "(forall (?x - a) (exists (?y - b) (r ?x ?y)))",
            [("a1", "b1"), ("a2", "b2"), ("a3", "b1")],
            True,
        ),
    ],
)
def test_truth_of_conditions(goal, chosen, expected):
    assert truth(goal, *chosen) is expected


def test_objects_of_all_kinds_of_lists():
    p = bddl.parse(problem("(p x)", objects="x y\n; z\n u u - cat v - cat2 w - cat q"))
    assert p.objects == {
        "cat": ("x", "y", "u", "w"),
        "cat2": ("v",),
        "object": ("q",),
    }
    assert bddl.parse(problem("(and)", objects="- cat")).objects == {"cat": ()}


def test_what_does_not_count_is_warned_of():
    with pytest.warns(UserWarning, match=r"line 4, column 15: this does not count"):
        p = bddl.parse(problem("(p a1) (p a2)"))
    assert [str(x) for x in p.goal] == ["(p a1)"]
    with pytest.warns(UserWarning, match=r"line 4, column 16: '\\\\' is no section"):
        bddl.parse(problem("(p a1)").replace("(p a1))", "(p a1)) \\"))


@pytest.mark.parametrize(
    "text, words",
    [
        ("", ["text, line 1, column 1", "nothing"]),
        ("define", ["line 1, column 1", "1 expressions"]),
        ("(define", ["line 1, column 1", "'(' is never closed"]),
        ("(define\n  (problem", ["line 2, column 3", "never closed"]),
        ("(define))", ["line 1, column 9", "closes nothing"]),
        ("(define) (define)", ["line 1, column 10", "2 expressions"]),
        ("(domain x)", ["column 1", "(define"]),
        ("()", ["(define"]),
        ("(define (problem p))", ["no section (:domain ...)"]),
        ("(define (problem a b) (:domain d))", ["no section"]),
        ("(define (problem p) (:gaol (p)))", ["column 21", "':gaol'", "':goal'"]),
        ("(define (problem p) (problem p))", ["column 21", "two sections"]),
        (problem("(p a1)").replace("p)", "p q)", 1), ["is not (problem NAME)"]),
        (problem("(p a1)", objects="(a1)"), ["line 2", "expected a name"]),
        (problem("(p a1)", objects="a1 -"), ["line 2", "no category"]),
        (problem("(p a1)", objects="a1 - a a1 - b"), ["'a1'", "two categories"]),
        (problem(""), ["line 4", "the goal is empty"]),
        (problem("a1"), ["'a1' is no condition"]),
        (problem("()"), ["is no condition"]),
        (problem("((p a1))"), ["begins with (p a1)", "forall"]),
        (problem("(p a9)"), ["line 4, column 11", "'a9'", "'a1'"]),
        (problem("(p (q a1))"), ["p has the term (q a1)"]),
        (problem("(not (p a1) (p a2))"), ["not has 2 conditions, expected 1"]),
        (problem("(imply (p a1))"), ["imply has 1 conditions, expected 2"]),
        (problem("(forall (?x - aa) (p ?x))"), ["'aa'", "'a'", "category"]),
        (problem("(forall (?x - a))"), ["(forall (?a - category) (...))"]),
        (problem("(forall (?x a) (p ?x))"), ["(forall (?a - category) (...))"]),
        (problem("(forall ?x (p ?x))"), ["is not of the form"]),
        (problem("(forall (?x - a) (p ?y))"), ["'y'", "object or variable"]),
        (problem("(forn (many) (?x - a) (p ?x))"), ["(forn (2) (?a - category)"]),
        (problem("(forn (1 2) (?x - a) (p ?x))"), ["is not of the form"]),
        (problem("(forpairs (?x - a) (r ?x a1))"), ["(forpairs (?a - category) (?a"]),
        (problem("(and)", init="(or (p a1))"), ["line 3", "in :init"]),
        (problem("(and)", init="(not (not (p a1)))"), ["in :init"]),
        (problem("(and)", init="(p c1)"), ["'c1'"]),
        (problem("(and)", init="(inroom a1 hall) (inroom hall a1)"), ["'hall'"]),
    ],
)
def test_mistakes_in_texts_are_told(text, words):
    with pytest.raises(pw.LoadError) as error:
        bddl.parse(text)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_files(tmp_path):
    file = tmp_path / "packing.bddl"
    file.write_text(PACKING)
    assert bddl.load(file) == bddl.load(str(file)) == bddl.load(PACKING)
    file.write_text(PACKING.replace("(cooked ?a)", "(cooked ?c)"))
    with pytest.raises(pw.LoadError, match=r"packing\.bddl, line 20, column 49"):
        bddl.load(file)
    for source, words in (
        (tmp_path / "none.bddl", "none.bddl cannot be read"),
        ("none.bddl", "none.bddl cannot be read"),
        (tmp_path, "cannot be read"),
        ("", "source is ''"),
        (3, "source is 3"),
    ):
        with pytest.raises(pw.LoadError, match=words):
            bddl.load(source)
    file.write_bytes(b"\xff\xfe(")
    with pytest.raises(pw.LoadError, match="cannot be read as a text"):
        bddl.load(file)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("posewise.logic.bddl.definitions.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"posewise\[bddl\]"):
        bddl.load("packing")
    real = builtins.__import__

    def missing(name, *args):
        if name.split(".")[0] == "bddl" and not args[-1]:
            raise ImportError(name)
        return real(name, *args)

    for name in [n for n in sys.modules if n.split(".")[0] == "bddl"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"posewise\[bddl\]"):
        bddl.backend(EMPTY)


# -- binding -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "names, words",
    [
        ({"apple.n.01_9": "apple0"}, ["'apple.n.01_9'", "'apple.n.01_1'"]),
        ({"apple.n.01_1": "aple0"}, ["'apple.n.01_1'", "'aple0'", "'apple0'"]),
        ({"apple.n.01_1": "desk", "table.n.02_1": "desk"}, ["both 'desk'"]),
        ({"apple.n.01_1": None}, ["None"]),
        (["apple0"], ["['apple0']", "dictionary"]),
    ],
)
def test_wrong_names_are_told(names, words):
    with pytest.raises(pw.ConfigError) as error:
        bddl.bind(bddl.load(PACKING), kitchen(), names)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_missing_objects_are_told():
    C = kitchen()
    C.annotations.mark_object("apple1", "aple.n.01", {"cookable": {}})
    C.annotations.mark_object("desk")
    with pytest.raises(pw.ConfigError) as error:
        bddl.bind(bddl.load(PACKING), C)
    assert str(error.value) == (
        "No object for apple.n.01_2: of 1 apple.n.01 in the world 0 are left. No object"
        " for table.n.02_1: No object of category 'table.n.02'; did you mean"
        " 'aple.n.01', 'apple.n.01', 'box.n.01'? Add objects with that category, or"
        " name them: bind(problem, C, {'apple.n.01_2': 'name'})."
    )
    named = {"apple.n.01_2": "apple1", "TABLE.n.02_1": "desk"}
    assert bddl.bind(bddl.load(PACKING), C, named).init.holds(C)


def test_unknown_predicates_are_told():
    text = PACKING.replace("(cooked ?a)", "(cookd ?a)")
    task = bddl.bind(bddl.load(text), kitchen())
    assert task.init.parts
    with pytest.raises(pw.ConfigError, match="mean 'cooked'.*There are: attached, "):
        _ = task.goal
    wrong = bddl.load(PACKING.replace("(cooked ?a)", "(cooked ?a ?a)"))
    for use in (
        lambda: bddl.bind(wrong, kitchen()).goal,
        lambda: bddl.make_scene(wrong),
    ):
        with pytest.raises(
            pw.ConfigError, match="line 20, column 41: cooked has 2 terms, expected 1"
        ):
            use()


def test_an_instance_of_the_same_name_comes_first():
    C = kitchen()
    C.add_object("box.n.01_2", [(pw.Sphere(0.1), None)], category="other")
    names = bddl.bind(bddl.load(PACKING), C).names
    assert names["box.n.01_2"] == "box.n.01_2" and names["box.n.01_1"] == "crate0"
    names = bddl.bind(bddl.load(PACKING), C, {"box.n.01_1": "box.n.01_2"}).names
    assert names["box.n.01_1"] == "box.n.01_2" and names["box.n.01_2"] == "crate0"


HOUSE = """
(define (problem house) (:domain igibson)
    (:objects
        floor.n.01_1 floor.n.01_2 - floor.n.01
        cabinet.n.01_1 cabinet.n.01_2 - cabinet.n.01
        mug.n.04_1 - mug.n.04
        agent.n.01_1 - agent.n.01)
    (:init
        (inroom floor.n.01_1 kitchen) (inroom floor.n.01_2 hall)
        (inroom cabinet.n.01_2 kitchen)
        (onfloor mug.n.04_1 floor.n.01_2)
        (not (inroom mug.n.04_1 kitchen)))
    (:goal (onfloor ?mug.n.04_1 ?floor.n.01_1)))
"""


def house() -> pw.Config:
    """A kitchen at x < 0, a hall at x > 0, on one ground."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    for name, category, x in (
        ("dresser", "cabinet.n.01", 1.0),
        ("buffet", "cabinet.n.01", -1.0),
        ("cup", "mug.n.04", 1.5),
    ):
        C.add_object(
            name,
            [(pw.Box([0.1, 0.1, 0.1]), None)],
            pose=[x, 0, 0.05, 1, 0, 0, 0],
            joint="free",
            category=category,
        )
    C.add_frame("base")
    C.annotations.add_agent("robot", base="base")
    C.annotations.rooms = pw.RoomMap(
        [
            pw.Room("kitchen_0", cells=[0, 0, 20, 40]),
            pw.Room("hall_0", cells=[20, 0, 40, 40]),
        ],
        size=40,
        floor="ground",
    )
    return C


def test_rooms():
    C, p = house(), bddl.parse(HOUSE)
    task = bddl.bind(p, C)
    assert task.names == {
        "floor.n.01_1": "kitchen_0",
        "floor.n.01_2": "hall_0",
        "cabinet.n.01_1": "dresser",
        "cabinet.n.01_2": "buffet",
        "mug.n.04_1": "cup",
        "agent.n.01_1": "base",
    }
    assert task.init.holds(C) and not task.goal.holds(C)
    C.set_pose("cup", [-1.5, 0, 0.05, 1, 0, 0, 0])
    assert task.goal.holds(C) and not task.init.holds(C)
    assert task.init_report(C).unsatisfied[-1].reason == (
        "InRoom('cup', 'kitchen') holds and should not: cup is in kitchen_0."
    )
    C.set_pose("buffet", [1.3, 0, 0.05, 1, 0, 0, 0])
    with pytest.raises(pw.ConfigError, match="No object in kitchen for cabinet.n.01_2"):
        bddl.bind(p, C)


@pytest.mark.parametrize(
    "a, room, semantics, expected",
    [
        ("cup", "hall", "posewise", True),
        ("cup", "hall_0", "posewise", True),
        ("cup", "kitchen", "posewise", False),
        ("ground", "kitchen", "posewise", True),
        ("ground", "hall", "document", True),
        ("hall_0", "hall", "posewise", True),
        ("hall_0", "kitchen", "posewise", False),
        ("door", "kitchen", "posewise", False),
        ("door", "kitchen", "igibson", True),
        ("plane", "kitchen", "posewise", False),
        ("far", "hall", "posewise", False),
    ],
)
def test_in_room(a, room, semantics, expected):
    C = house()
    small = pw.Box([0.1, 0.1, 0.1])
    C.add_frame("door", shape=small, position=[0.1, 0, 0], in_rooms=["kitchen"])
    C.add_frame("plane", shape=pw.Plane())
    C.add_frame("far", shape=small, position=[9, 0, 0])
    p = logic.InRoom(a, room, semantics=semantics)
    assert p.holds(C) is expected
    assert p.explain(C).startswith(f"{a} is in ")
    with pytest.raises(pw.ConfigError, match="'kichen'.*'kitchen'"):
        logic.InRoom(a, "kichen").holds(C)
    C.annotations.rooms = None
    with pytest.raises(pw.ConfigError, match="RoomMap"):
        p.holds(C)


# -- all definitions at hand -------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*does not count|.*is no section")
def test_definitions_evaluate_on_a_world():
    """Bound, grounded and evaluated among boxes at random, of some definitions."""
    shape = [(pw.Box([0.3, 0.3, 0.3]), None)]
    abilities = (
        "burnable cookable dustyable freezable sliceable soakable stainable toggleable"
        " breakable fillable flammable heatable"
    )
    known = set(bddl.PREDICATES)
    goals = [replace(p, init=()) for p in definitions()]
    goals = [p for p in goals if p.predicates <= known and len(p.instances) < 12]
    for p in goals[:: max(len(goals) // 4, 1)]:
        rng = np.random.default_rng(len(p.instances))
        C = pw.Config()
        for category, instances in p.objects.items():
            for name in instances:
                C.add_object(
                    name,
                    shape,
                    pose=[*rng.uniform(-0.3, 0.3, 2), 0, 1, 0, 0, 0],
                    category=category,
                    abilities=dict.fromkeys(abilities.split(), {})
                    | {"fillable": {"capacity": 20}}
                    | {"openable": {"joints": [f"{name} door"]}},
                )
                limits = [[0.0], [1.0]]
                C.add_frame(f"{name} door", name, joint="hingeZ", limits=limits)
        task = bddl.bind(p, C)
        is_met = task.goal.holds(C)
        assert (not task.goal_report(C).unsatisfied) is is_met
        assert task.goal.ground(C).nnf().holds(C) is is_met

"""Logic-geometric programs: rules, plans by brute force, and a blocked tray."""

from itertools import product

import pytest

import posewise as pw
from posewise.logic.lgp.files import read_program
from posewise.logic.lgp.plans import plans
from posewise.logic.lgp.program import LogicGeometricProgram, facts_of
from posewise.logic.lgp.rules import Literal, parse_facts, parse_rules

RULES = """
## predicates, which need no declaration
on
DecisionRule pick_touch {
  Obj, From, Hand,
  pre: { (is_gripper Hand) (is_object Obj) (on From Obj) (busy Hand)! }
  eff: { (on From Obj)! (on Hand Obj) (busy Hand) }   # deletes, then adds
}
DecisionRule place_straightOn {
  Obj, Hand, To,
  { (is_gripper Hand) (is_object Obj) (is_place To) (on Hand Obj) }
  { (busy Hand)! (on Hand Obj)! (on To Obj) }
}
Rule carried {
  A, B,
  { (is_object A) (is_place B) (on B A) }
  { (placed A) }
}
"""
FACTS = parse_facts(
    "(is_gripper hand) (is_object red) (is_object blue) (is_place table)"
    "(is_place tray) (on table red) (on tray blue)"
)
GOAL = parse_facts("(on tray red)")


def state():
    return frozenset(literal.fact for literal in FACTS)


def test_rules_are_read():
    pick, place, carried = parse_rules(RULES)
    assert (pick.name, pick.variables) == ("pick_touch", ("Obj", "From", "Hand"))
    assert Literal(("busy", "Hand"), False) in pick.conditions
    assert place.effects[-1] == Literal(("on", "To", "Obj"))
    assert [r.is_decision for r in (pick, place, carried)] == [True, True, False]


def decisions_by_force(facts):
    """All picks and places of a state, by trying all names."""
    names = ["hand", "red", "blue", "table", "tray"]
    for a, b in product(names, names):
        free = ("busy", "hand") not in facts
        if free and ("is_object", a) in facts and ("on", b, a) in facts:
            after = (facts - {("on", b, a)}) | {("on", "hand", a), ("busy", "hand")}
            yield ("pick_touch", a, b, "hand"), after
        if ("on", "hand", a) in facts and ("is_place", b) in facts:
            after = (facts - {("on", "hand", a), ("busy", "hand")}) | {("on", b, a)}
            yield ("place_straightOn", a, "hand", b), after


def test_plans_are_those_of_a_search_by_force():
    rules = [r for r in parse_rules(RULES) if r.is_decision]
    reached = list(plans(rules, state(), GOAL, 4, lambda plan: True))
    open_plans, by_force = [((), [state()])], []
    for _ in range(4):
        longer = []
        for plan, states in open_plans:
            for decision, after in decisions_by_force(states[-1]):
                if after in states:
                    continue
                grown = ((*plan, decision), [*states, after])
                (by_force if ("on", "tray", "red") in after else longer).append(grown)
        open_plans = longer
    assert sorted(reached) == sorted(plan for plan, _ in by_force)
    assert [len(p) for p in reached] == sorted(len(p) for p in reached)


def test_closed_plans_are_not_followed_and_rules_apply_by_themselves():
    rules, prefixes = parse_rules(RULES), []

    def is_open(plan):
        prefixes.append(plan)
        return plan[0][1] == "blue"

    goal = parse_facts("(on tray red) (placed blue)")
    (first, *_) = plans(rules, state(), goal, 4, is_open)
    assert first[0] == ("pick_touch", "blue", "tray", "hand")
    assert all(p[0][1] == "blue" for p in prefixes if len(p) > 1)
    assert len(prefixes) == len(set(prefixes))


def scene(tray=0.09) -> pw.Config:
    """A flying hand, a tray with room for one block, and a block on the table."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]))
    C.add_frame(
        "tray", "table", position=[0.3, 0, 0.055], shape=pw.Box([tray, 0.09, 0.01])
    )
    block = pw.Box([0.06, 0.06, 0.1])
    C.add_frame("blue", "tray", position=[0, 0, 0.055], shape=block)
    C.add_frame("red", "table", position=[-0.2, 0, 0.1], shape=block)
    C.add_frame("hand", joint="free", position=[0, 0, 0.6], shape=pw.Sphere(0.02))
    for names, kind in (
        (["red", "blue"], ["is_object"]),
        (["table", "tray"], ["is_place"]),
        (["hand"], ["is_gripper"]),
    ):
        for name in names:
            C.set_attributes(name, logical=kind)
    return C


def program(tray=0.09) -> LogicGeometricProgram:
    C = scene(tray)
    return LogicGeometricProgram(
        C, parse_rules(RULES), facts_of(C), GOAL, pairs=[("red", "blue")],
        collisions=False,
    )  # fmt: skip


def test_facts_of_a_world():
    assert set(facts_of(scene())) == state()


@pytest.mark.long
@pytest.mark.slow
def test_a_tray_in_the_way_is_cleared_first():
    solution = next(program().solutions())
    names = [decision[:2] for decision in solution.plan]
    assert names[0] == ("pick_touch", "blue") and len(names) == 4
    assert names[-1] == ("place_straightOn", "red")
    assert solution.waypoints.feasible
    assert solution.num_bounds > solution.num_waypoints
    end = solution.waypoints.world_at(-1)
    assert end.frames[end.frame("red").parent].name == "tray"
    assert end.signed_distance("red", "blue")[0] > -1e-3


@pytest.mark.long
@pytest.mark.slow
def test_a_tray_with_room_is_not_cleared():
    solution = next(program(tray=0.3).solutions())
    assert [d[:2] for d in solution.plan] == [
        ("pick_touch", "red"),
        ("place_straightOn", "red"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "no DecisionRule"),
        ("DecisionRule a { X, { (p X) } }", "not written as"),
        ("DecisionRule", "not written as"),
        ("DecisionRule a { X, { (p X } { (p X) } }", "no last bracket"),
        ("DecisionRule a { X, Y, { (p X) } { (q X Y) } }", "names"),
    ],
)
def test_mistakes_in_rules_are_told(text, says):
    with pytest.raises(pw.LoadError, match=says):
        parse_rules(text)


def test_a_decision_without_an_action_is_told():
    C, rules = scene(), parse_rules(RULES.replace("pick_touch", "pick_tuch"))
    with pytest.raises(pw.ConfigError, match="pick_touch"):
        LogicGeometricProgram(C, rules, facts_of(C), GOAL)


PROBLEM = """
fol: <rules.fol>   # beside this file
terminal: "(on tray red)"
coll: [red hand, red tray]
genericCollisions: true
"""


def test_a_program_is_read_from_files(tmp_path):
    (tmp_path / "rules.fol").write_text(RULES, encoding="utf-8")
    file, C = tmp_path / "task.lgp", pw.Config()
    file.write_text(PROBLEM, encoding="utf-8")
    for name, symbol in (("tray", "is_place"), ("red", "is_object")):
        C.add_frame(name, "tray" if name == "red" else "world")
        C.set_attributes(name, logical={symbol: True})
    file.write_text("mycoll: [a, b, c]" + PROBLEM, encoding="utf-8")
    program = read_program(C, file)
    assert program.rules == parse_rules(RULES) and program.goal == GOAL
    assert set(program.facts) == {
        ("is_place", "tray"),
        ("is_object", "red"),
        ("on", "tray", "red"),
    }
    assert program.pairs == (("red", "hand"), ("red", "tray")) and program.collisions
    file.write_text(PROBLEM.partition("coll")[0], encoding="utf-8")
    assert read_program(C, file).pairs == () and not read_program(C, file).collisions


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("terminal", "goal", "no entry 'terminal'"),
        ("red hand,", "red", "'coll' has 3 names"),
        ("rules.fol", "rulez.fol", "No file .*rulez.fol"),
        ("rules.fol", "text.bin", "text.bin.* cannot be read as text"),
        ("tray]", "tray", "no entry 'coll'"),
        ("true", "1", "no entry 'genericCollisions'"),
        ("(on tray red)", "(on tray red", "no last bracket"),
    ],
)
def test_broken_files_are_told(tmp_path, old, new, message):
    (tmp_path / "rules.fol").write_text(RULES, encoding="utf-8")
    (tmp_path / "text.bin").write_bytes(b"\xff\xfe")
    file = tmp_path / "task.lgp"
    file.write_text(PROBLEM.replace(old, new), encoding="utf-8")
    with pytest.raises(pw.LoadError, match=message):
        read_program(pw.Config(), file)

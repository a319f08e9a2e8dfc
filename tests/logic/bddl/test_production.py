"""Objects and substances that goals want to be real are made by rules."""

import pytest

import posewise as pw
from posewise import logic
from posewise.logic import bddl
from posewise.logic.bddl import taxonomy, transition_rules
from posewise.logic.bddl.production import Production
from posewise.logic.bddl.transition_rules import rules_making, rules_using

KITCHEN = """
(define (problem kitchen) (:domain omnigibson)
  (:objects {objects} floor.n.01_1 - floor.n.01)
  (:init {init} (inroom floor.n.01_1 kitchen))
  (:goal (and {goal})))
"""
APPLES = "apple.n.01_1 apple.n.01_2 - apple.n.01"
HALVES = "half__apple.n.01_1 half__apple.n.01_2 half__apple.n.01_3 - half__apple.n.01"
DICED = "diced__apple.n.01_1 - diced__apple.n.01"
KNIFE = "carving_knife.n.01_1 - carving_knife.n.01"
BOWL = "bowl.n.01_1 - bowl.n.01"
STOVE = "stove.n.01_1 - stove.n.01"
FUTURE = "".join(f"(future half__apple.n.01_{k})" for k in (1, 2, 3))
REAL = [f"(real half__apple.n.01_{k})" for k in (1, 2, 3)]
GONE = [f"(not (real apple.n.01_{k}))" for k in (1, 2)]


@pytest.fixture(params=["data of bddl", "names alone"])
def source(request, monkeypatch):
    """The rules in bddl's data, or only those that names imply."""
    caches = (
        taxonomy.read_data,
        transition_rules._all_rules,
        transition_rules._rules_by_output,
        transition_rules._rules_by_input,
    )
    if request.param == "names alone":
        monkeypatch.setattr(transition_rules, "read_data", lambda name: None)
        monkeypatch.setattr(transition_rules, "is_substance", lambda name: False)
    elif taxonomy.read_data("synsets_to_descriptors.json") is None:
        pytest.skip("bddl 3 is not installed")
    for cached in caches[1:]:
        cached.cache_clear()
    yield request.param
    for cached in caches[1:]:
        cached.cache_clear()


def solved(objects: str, init: str, goal: str) -> bddl.ActivitySolution:
    """The goal's solution, from a world in which :init holds."""
    p = bddl.parse(KITCHEN.format(objects=objects, init=init, goal=goal))
    begin = bddl.solve_init(bddl.make_scene(p), p)
    assert begin.holds, str(begin)
    end = bddl.solve_goal(begin.config, p)
    assert end.holds is bddl.bind(p, end.config).goal.holds(end.config)
    return end


SLICING = [
    ((KNIFE,), REAL[:1], ["apple.n.01_1"], ""),
    ((KNIFE,), REAL[:2], ["apple.n.01_1"], ""),
    ((KNIFE,), REAL[:3], ["apple.n.01_1", "apple.n.01_2"], ""),
    ((KNIFE,), [GONE[1], *REAL[:2]], ["apple.n.01_2"], ""),
    ((), REAL[:1], None, "needs an object with the ability slicer, and there is none"),
    ((KNIFE,), ["(nextto apple.n.01_1 apple.n.01_2)", *REAL[:1]], None,
     "apple.n.01_1, apple.n.01_2 must go on existing"),
]  # fmt: skip


@pytest.mark.parametrize("tools, goal, used, why", SLICING)
def test_slicing_uses_up_as_many_as_it_takes(source, tools, goal, used, why):
    end = solved(f"{APPLES} {HALVES} {' '.join(tools)}", FUTURE, " ".join(goal))
    C = end.config
    if why:
        assert not end.holds and why in str(end.report)
        assert logic.Real("apple.n.01_1").holds(C)
        return
    assert end.holds, str(end)
    assert [
        n for n in C.objects if n[:5] == "apple" and not C.annotations.states[n].real
    ] == used
    halves = [n for n in C.objects if n[:4] == "half" and C.annotations.states[n].real]
    assert len(halves) == sum("(real half" in g and "not" not in g for g in goal)


def test_substances_are_made_from_objects_that_the_problem_does_not_name(source):
    """From apples by halves, which are no objects here."""
    objects, init = f"{APPLES} {DICED} {KNIFE} {BOWL}", "(future diced__apple.n.01_1)"
    goal = "(contains bowl.n.01_1 diced__apple.n.01_1) (real diced__apple.n.01_1)"
    end = solved(objects, init, goal)
    assert end.holds, str(end)
    assert end.config.annotations.states["bowl.n.01_1"].contained["diced__apple"] == 1
    assert [logic.Real(f"apple.n.01_{k}").holds(end.config) for k in (1, 2)] == [
        False,
        True,
    ]


def test_what_is_made_goes_somewhere(source):
    objects, init = f"{APPLES} {DICED} {KNIFE}", "(future diced__apple.n.01_1)"
    end = solved(objects, init, "(real diced__apple.n.01_1)")
    assert end.holds and logic.Real("diced__apple").holds(end.config)


def test_heat_cooks_substances(source):
    objects = f"rice.n.01_1 - rice.n.01 cooked__rice.n.01_1 - cooked__rice.n.01 {BOWL}"
    init = "(filled bowl.n.01_1 rice.n.01_1) (future cooked__rice.n.01_1)"
    goal = "(filled bowl.n.01_1 cooked__rice.n.01_1)"
    end = solved(objects, init, goal)
    assert not end.holds
    assert "Cooking for cooked__rice needs an object with the ability heatSource" in (
        str(end.report)
    )
    # Without the package stoves are among the known heat sources, too.
    assert solved(f"{objects} {STOVE}", init, goal).holds


def test_substances_are_there_or_not():
    """Without a rule they are only moved from where they are."""
    objects = f"{BOWL} jar.n.01_1 - jar.n.01 oil.n.01_1 - oil.n.01"
    goal = "(contains bowl.n.01_1 oil.n.01_1) (not (contains jar.n.01_1 oil.n.01_1))"
    end = solved(objects, "", goal)
    assert not end.holds and "No rule makes oil." in str(end.report)
    end = solved(objects, "(filled jar.n.01_1 oil.n.01_1)", goal)
    assert end.holds, str(end)


def test_what_is_put_somewhere_is_an_object():
    """BEHAVIOR-100 has detergent that stands on floors; -1K fills it into bottles."""
    objects = f"detergent.n.02_1 - detergent.n.02 {BOWL}"
    placed = "(onfloor detergent.n.02_1 floor.n.01_1)"
    end = solved(objects, placed, "(inside detergent.n.02_1 bowl.n.01_1)")
    assert end.holds and "detergent.n.02_1" in end.config.objects
    end = solved(objects, "(filled bowl.n.01_1 detergent.n.02_1)", "(and)")
    assert "detergent.n.02_1" not in end.config.objects


def test_what_is_not_real_is_in_nothings_way():
    """Both halves take the place where the other object does not exist yet."""
    p = bddl.parse(
        KITCHEN.format(
            objects="box.n.01_1 - box.n.01 cup.n.01_1 - cup.n.01",
            init="(future box.n.01_1) (ontop cup.n.01_1 floor.n.01_1)",
            goal="(not (ontop box.n.01_1 floor.n.01_1)) (not (nextto box.n.01_1"
            " cup.n.01_1))",
        )
    )
    C = bddl.solve_init(bddl.make_scene(p), p).config
    C.set_pose("cup.n.01_1", C.pose("box.n.01_1"))
    assert logic.OnTopOf("box.n.01_1", "floor.n.01_1").holds(C)
    assert bddl.bind(p, C).goal.holds(C), "no relation holds of what does not exist"
    end = bddl.solve_goal(C, p)
    assert end.holds and (end.config.pose("cup.n.01_1") == C.pose("cup.n.01_1")).all()
    C.annotations.set_state("box.n.01_1", real=True)
    assert not bddl.bind(p, C).goal.holds(C)


def test_cloth_is_told():
    p = bddl.parse(
        KITCHEN.format(
            objects="rag.n.01_1 - rag.n.01", init="", goal="(folded rag.n.01_1)"
        )
    )
    with pytest.raises(pw.ConfigError, match="'folded' is about the shape of cloth"):
        _ = bddl.bind(p, bddl.make_scene(p)).goal


def test_rules_of_the_data():
    if taxonomy.read_data("synsets_to_descriptors.json") is None:
        pytest.skip("bddl 3 is not installed")
    (slicing,) = rules_making("half__apple.n.01")
    assert slicing.inputs == {"apple.n.01": 1}
    assert slicing.outputs == {"half__apple.n.01": 2} and slicing.ability == "slicer"
    assert slicing in rules_using("apple.n.01")
    cookies = rules_making("sugar_cookie.n.01")[0]
    assert cookies.outputs == {"sugar_cookie.n.01": 6}
    assert cookies.equipment == ("cookie_sheet.n.01", "oven.n.01")
    assert cookies.cooked == {"sugar_cookie_dough.n.01": False}
    assert rules_making("wibble.n.01") == () == rules_using("wibble.n.01")


def test_halves_of_cooked_apples_are_cooked():
    """A rule that wants cooked inputs takes raw ones only where there is heat."""
    if taxonomy.read_data("synsets_to_descriptors.json") is None:
        pytest.skip("bddl 3 is not installed")
    C = pw.Config()
    for name, category, abilities in (
        ("apple", "apple.n.01", {"cookable": {}}),
        ("knife", "carving_knife.n.01", {"slicer": {}}),
    ):
        C.add_object(name, [(pw.Box([0.1] * 3), None)], category=category,
                     abilities=abilities)  # fmt: skip
    why = Production(C.copy(), (), ()).supply("cooked__diced__apple")
    assert "nothing can cook it" in why
    C.add_object("stove", abilities={"heatSource": {}}, category="stove.n.01")
    production = Production(C, (), ())
    assert production.supply("cooked__diced__apple") == ""
    assert not logic.Real("apple").holds(C) and production.use_up("apple") == ""
    assert production.use_up("knife") == "No rule uses carving_knife up."

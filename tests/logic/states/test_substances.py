"""Predicates of substances by name, of existence and of attachment."""

import numpy as np
import pytest

import posewise as pw
from posewise import ConfigError, Particles, logic
from posewise.robots.annotations.object_states import parse_state

UNIT = [1.0, 0, 0, 0]
ABILITIES = {"fillable": {"capacity": 10}, "soakable": {"w_soaked": 2}, "breakable": {}}


def world() -> pw.Config:
    """A jar and a rag, 30 cm apart along x, 10 cm wide each."""
    C = pw.Config()
    for k, name in enumerate(("jar", "rag")):
        shape = [(pw.Box([0.1, 0.1, 0.1]), None)]
        pose = [0.4 * k, 0, 0.05, *UNIT]
        C.add_object(name, shape, pose=pose, joint="free", abilities=ABILITIES)
    return C


def specks(active: int, count: int = 25) -> Particles:
    return Particles(np.zeros((count, 3)), np.arange(count) < active)


COVERED = {
    ("mud", 5): True,
    ("mud", 4): False,
    ("spray_paint", 5): True,
    ("milk", 20): True,
    ("milk", 19): False,
    ("flour", 5): False,
}
"""OmniGibson: 5 particles of what sticks, 20 of what lies there."""
CASES = [
    *((logic.Covered("jar", s), {"covering": {s: specks(n)}}, truth,
       f"{n} of 25 {s} particles") for (s, n), truth in COVERED.items()),
    (logic.Covered("jar", "mud"), {"covering": {"dirt": specks(25)}}, False,
     "never had any mud"),
    (logic.Contains("jar", "flour"), {"contained": {"flour": 1}}, True,
     "jar holds 1 droplet of flour, and contains some with 1 or more."),
    (logic.Contains("jar", "flour"), {"contained": {"water": 9}}, False, "0 droplets"),
    (logic.Contains("jar", "water"), {"contents": 1}, True, "1 droplet of water"),
    (logic.Filled("jar", "milk"), {"contained": {"milk": 4}}, True, "4 or more of 10"),
    (logic.Filled("jar", "milk"), {"contained": {"milk": 3, "water": 9}}, False,
     "3 droplets of milk"),
    (logic.Saturated("jar", "soap"), {"absorbed": {"soap": 2}}, True,
     "jar has absorbed 2 droplets of soap, and is saturated with 2 or more."),
    (logic.Saturated("jar", "soap"), {"absorbed": {"soap": 1}, "wetness": 8}, False,
     "1 droplet of soap"),
    (logic.Saturated("jar", "water"), {"wetness": 2}, True, "2 droplets of water"),
    (logic.SourceOf("jar", "salt"), {"supply": {"salt": True}}, True,
     "jar is a source of salt."),
    (logic.SourceOf("jar", "salt"), {"contained": {"salt": 9}}, False, "is not a"),
    (logic.Broken("jar"), {"broken": True}, True, "jar is broken."),
    (logic.Broken("jar"), {}, False, "jar is whole."),
    (logic.Real("jar"), {}, True, "jar exists."),
    (logic.Real("jar"), {"real": False}, False, "jar does not exist."),
    (logic.Real("oil"), {}, False, "There is no oil"),
    (logic.Real("oil"), {"contained": {"oil": 1}}, True, "jar has some"),
    (logic.Real("oil"), {"absorbed": {"oil": 1}}, True, "jar has some"),
    (logic.Real("oil"), {"supply": {"oil": True}}, True, "jar has some"),
    (logic.Real("oil"), {"covering": {"oil": specks(1)}}, True, "jar has some"),
    (logic.Real("oil"), {"covering": {"oil": specks(0)}}, False, "no oil"),
    (logic.Real("oil"), {"contained": {"oil": 1}, "real": False}, False, "no oil"),
]  # fmt: skip


@pytest.mark.parametrize("predicate, state, truth, sentence", CASES)
def test_truth_and_reason(predicate, state, truth, sentence):
    C = world()
    C.annotations.set_state("jar", **state)
    assert predicate.holds(C) is truth
    assert sentence in predicate.explain(C)


@pytest.mark.parametrize("predicate", dict.fromkeys(p for p, *_ in CASES))
def test_what_is_set_holds(predicate):
    if predicate == logic.Real("oil"):
        return
    C = world()
    for value in (True, True, False, False, True):
        predicate.set(C, value)
        assert predicate.holds(C) is value
    with pytest.raises(ConfigError, match="value is 1, expected True or"):
        predicate.set(C, 1)


def test_a_substance_is_real_where_some_of_it_is():
    C, oil = world(), logic.Real("oil")
    with pytest.raises(ConfigError, match="'oil' is no object; if it is a substance"):
        oil.set(C)
    for place in (logic.Contains, logic.Covered, logic.Saturated, logic.SourceOf):
        place("rag", "oil").set(C)
    assert "rag has some" in oil.explain(C)
    oil.set(C, False)
    assert not oil.holds(C) and not logic.Covered("rag", "oil").holds(C)


def test_taps_are_sources_of_water():
    C = pw.Config()
    C.add_object("tap", abilities={"waterSource": {}})
    source = logic.SourceOf("tap", "water")
    assert source.holds(C) and logic.Real("water").holds(C)
    with pytest.raises(ConfigError, match="'tap' is a water source by its ability"):
        source.set(C, False)


def test_entries_of_a_state_are_set_one_by_one():
    C = world()
    C.annotations.set_state("jar", contained={"flour": 3})
    C.annotations.set_state("jar", contained={"salt": 1}, contents=2, wetness=5)
    state = C.annotations.states["jar"]
    assert state.contained == {"water": 2, "flour": 3, "salt": 1}
    assert (state.contents, state.wetness, state.absorbed) == (2, 5, {"water": 5})
    assert not len(state.particles("mud").active)
    again = parse_state("jar", pw.ObjectState(), vars(state))
    assert again.contained == state.contained


@pytest.mark.parametrize(
    "values, message",
    [
        ({"contained": 3}, "contained of 'jar' is 3, expected a dictionary"),
        ({"contained": {"salt": -1}}, "salt in contained of 'jar' is -1"),
        ({"covering": {"mud": 3}}, "mud in covering of 'jar' is 3, expected Particles"),
        ({"supply": {"salt": 1}}, "salt in supply of 'jar' is 1, expected True or"),
        ({"contaned": {}}, "did you mean 'contained'"),
        ({"real": 0}, "real of 'jar' is 0, expected True or False"),
    ],
)
def test_values_that_do_not_fit(values, message):
    with pytest.raises(ConfigError, match=message):
        world().annotations.set_state("jar", **values)


WIPED = {
    ("dust", 0): True,
    ("debris", 0): True,
    ("mud", 0): False,
    ("mud", 1): True,
    ("milk", 1): True,
    ("rust", 1): False,
}
"""By substance and wetness of the tool: whether the tool removes it."""


def wiping() -> pw.Config:
    """A pad that lies on a board with one speck below it."""
    C = pw.Config()
    board = [(pw.Box([0.4, 0.4, 0.02]), None)]
    C.add_object("board", board, abilities={"dustyable": {}})
    pad = [(pw.Box([0.1, 0.1, 0.02]), None)]
    pose = [0, 0, 0.02, *UNIT]
    tool = {"cleaningTool": {}, "soakable": {}}
    C.add_object("pad", pad, joint="transX", pose=pose, abilities=tool)
    return C


@pytest.mark.parametrize("case", WIPED, ids=str)
def test_what_a_tool_removes(case):
    (substance, wetness), C = case, wiping()
    speck = Particles(np.array([[0, 0, 0.01]]), np.ones(1, bool))
    C.annotations.set_state("board", covering={substance: speck})
    C.annotations.set_state("pad", wetness=wetness)
    history = logic.rollout(C, np.zeros((2, 1)))
    active = history["board"].covering[substance].active
    assert active.tolist() == [[not WIPED[case]]] * 2
    # What covers a tool is not wiped off by itself.
    assert history["pad"].covering.keys() == {"dust", "stain"}


def test_states_that_no_motion_changes_have_plans_only_where_they_hold():
    C = world()
    komo = pw.KOMO(C, slices_per_phase=2, duration_per_phase=1.0, k_order=1)
    komo.add(~logic.Broken("jar") & logic.Real("rag") & ~logic.Contains("jar", "oil"))
    with pytest.raises(logic.PredicateError, match="jar is whole. No motion changes"):
        komo.add(logic.Broken("jar"))
    with pytest.raises(logic.PredicateError, match="0 droplets of oil"):
        komo.add(logic.Contains("jar", "oil"))


GAPS = {0.0: True, 0.049: True, 0.051: False, 0.3: False}


@pytest.mark.parametrize("gap", GAPS)
def test_attached_is_joined_and_near(gap):
    C, attached = world(), logic.Attached("jar", "rag")
    C.set_pose("rag", [0.1 + gap, 0, 0.05, *UNIT])
    assert attached.explain(C) == "jar is not joined to rag."
    attached.set(C)
    assert attached.holds(C) is GAPS[gap]
    assert not logic.Attached("rag", "jar").holds(C)
    side = "at most" if GAPS[gap] else "more than"
    assert f"away from it, {side} 5.0 cm" in attached.explain(C)
    attached.set(C, False)
    assert not attached.holds(C)


def test_frames_below_an_object_are_attached_to_it():
    C = world()
    C.set_pose("rag", [0.12, 0, 0.05, *UNIT])
    C.attach("jar", "rag")
    assert logic.Attached("rag", "jar").holds(C)
    assert not logic.Attached("jar", "rag").holds(C)


@pytest.mark.long
def test_rows_of_attached_are_sound():
    C, rng = world(), np.random.default_rng(0)
    with pytest.raises(logic.PredicateError, match="logic.Attached\\('jar', 'rag'"):
        pw.solve_placement(C, [logic.Attached("jar", "rag")], ["rag"])
    logic.Attached("jar", "rag").set(C)
    claimed = {True: 0, False: 0}
    for _ in range(60):
        q = rng.normal(size=4)
        place = [*rng.uniform([-0.25, -0.25, -0.2], 0.25, 3), *q / np.linalg.norm(q)]
        C.set_pose("rag", place)
        holds = logic.Attached("jar", "rag").holds(C)
        for truth, literal in (
            (True, logic.Attached("jar", "rag")),
            (False, ~logic.Attached("jar", "rag")),
        ):
            if literal.violation(C) <= 0:
                assert holds is truth
                claimed[truth] += 1
    assert min(claimed.values()) >= 10


def test_names_are_checked():
    with pytest.raises(logic.PredicateError, match="a is '', expected a name"):
        logic.Attached("", "rag")
    with pytest.raises(logic.PredicateError, match="name two different objects"):
        logic.Attached("rag", "rag")
    with pytest.raises(logic.PredicateError, match="bound is -1, expected"):
        logic.Attached("jar", "rag", bound=-1)

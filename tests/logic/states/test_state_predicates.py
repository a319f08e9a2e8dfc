"""Predicates of extended states: truth, reasons, setters, errors."""

from functools import partial

import numpy as np
import pytest

import posewise as pw
from posewise import ConfigError, Particles, logic

UNIT = [1.0, 0, 0, 0]
ABILITIES = {
    "cookable": {"cook_temperature": 70},
    "burnable": {"burn_temperature": 120},
    "freezable": {"freeze_temperature": -2},
    "heatable": {"heat_temperature": 45},
    "flammable": {"ignition_temperature": 260},
    "soakable": {"w_soaked": 3},
    "dustyable": {},
    "stainable": {"s_stained": 0.2},
    "toggleable": {},
    "sliceable": {"slice_force": 15},
    "fillable": {"capacity": 10},
}


def world(**options) -> pw.Config:
    """One object that can be anything, a box on the floor."""
    C = pw.Config()
    shape = [(pw.Box([0.2, 0.3, 0.1]), None)]
    C.add_object("thing", shape, abilities=ABILITIES, **options)
    return C


def dirt(active, count=20) -> Particles:
    return Particles(np.zeros((count, 3)), np.arange(count) < active)


DUST, STAIN = (partial(logic.Covered, substance=s) for s in ("dust", "stain"))
CONTAINS, FILLED = (
    partial(kind, liquid="water") for kind in (logic.Contains, logic.Filled)
)
IGIBSON, DOCUMENT = dict(semantics="igibson"), dict(semantics="document")
CASES = [
    (logic.Cooked, {}, dict(max_temperature=64.2), False,
     "thing reached 64.2 °C at most, below its cook temperature of 70 °C."),
    (logic.Cooked, {}, {}, False, "no temperatures yet"),
    (logic.Cooked, {}, dict(max_temperature=70), True, "at or above its cook"),
    (logic.Cooked, {}, dict(max_temperature=69.999, temperature=80), False, "cook"),
    (logic.Cooked, {}, dict(max_temperature=500), True, "500.0 °C"),
    (logic.Cooked, DOCUMENT, dict(max_temperature=119.9), True, "at or above its cook"),
    (logic.Cooked, DOCUMENT, dict(max_temperature=120), False,
     "at or above its burn temperature of 120 °C"),
    (logic.Burnt, {}, dict(max_temperature=119.9), False, "below its burn temperature"),
    (logic.Burnt, {}, dict(max_temperature=120), True, "120.0 °C"),
    (logic.Frozen, {}, {}, False,
     "thing is at 23.0 °C, above its freezing temperature of -2 °C."),
    (logic.Frozen, {}, dict(temperature=-2), True, "at or below"),
    (logic.Frozen, {}, dict(temperature=-1.99), False, "above"),
    (logic.Heated, {}, {}, False,
     "thing is at 23.0 °C, below its heat temperature of 45 °C."),
    (logic.Heated, {}, dict(temperature=45, max_temperature=46), True, "at or above"),
    (logic.Heated, {}, dict(temperature=44.99, max_temperature=99), False, "below"),
    (logic.OnFire, {}, dict(max_temperature=259.9, temperature=300), False,
     "below its ignition temperature of 260 °C"),
    (logic.OnFire, {}, dict(max_temperature=260, temperature=20), True, "at or above"),
    (DUST, {}, dict(dust=dirt(4), stain=dirt(20)), False,
     "thing has 4 of 20 dust particles left (20%), and is covered with 5 or more."),
    (DUST, {}, dict(dust=dirt(5)), True, "5 of 20 dust"),
    (STAIN, {}, dict(stain=dirt(5)), True, "5 of 20 stain"),
    (STAIN, {}, {}, False, "never had any stain"),
    (logic.Soaked, {}, dict(wetness=2), False,
     "thing has absorbed 2 droplets, and is soaked with 3 or more."),
    (logic.Soaked, {}, dict(wetness=3), True, "3 droplets"),
    (logic.Soaked, IGIBSON, dict(wetness=1), True, "1 droplet, and"),
    (logic.Soaked, IGIBSON, {}, False, "0 droplets"),
    (CONTAINS, {}, dict(wetness=9), False,
     "thing holds 0 droplets of water, and contains some with 1 or more."),
    (CONTAINS, {}, dict(contents=1), True, "holds 1 droplet of water, and"),
    (FILLED, {}, dict(contents=3), False,
     "thing holds 3 droplets of water, and is filled with 4 or more of 10."),
    (FILLED, {}, dict(contents=4), True, "4 droplets"),
    (logic.Dusty, {}, {}, False, "thing never had any dust particles."),
    (logic.Dusty, {}, dict(dust=dirt(11)), True,
     "thing has 11 of 20 dust particles left (55%), and is dusty above 50%."),
    (logic.Dusty, {}, dict(dust=dirt(10), stain=dirt(20)), False, "(50%)"),
    (logic.Stained, {}, dict(stain=dirt(5)), True, "stained above 20%"),
    (logic.Stained, {}, dict(stain=dirt(4)), False, "4 of 20 stain particles"),
    (logic.ToggledOn, {}, {}, False, "thing is switched off."),
    (logic.ToggledOn, {}, dict(toggled_on=True), True, "thing is switched on."),
    (logic.Sliced, {}, {}, False, "no blade pressed it with more than 15 N"),
    (logic.Sliced, {}, dict(sliced=True), True, "has been sliced"),
]  # fmt: skip
KINDS = list(dict.fromkeys(kind for kind, *_ in CASES))


@pytest.mark.parametrize("kind, options, state, truth, sentence", CASES)
def test_truth_and_reason(kind, options, state, truth, sentence):
    C = world()
    C.annotations.set_state("thing", **state)
    predicate = kind("thing", **options)
    assert predicate.holds(C) is truth
    assert sentence in predicate.explain(C)


@pytest.mark.parametrize("semantics, most", [("igibson", 15), ("document", 10)])
@pytest.mark.parametrize("kind, field", [(logic.Dusty, "dust")])
def test_floors_are_dusty_above_three_quarters(kind, field, semantics, most):
    C = world(category="floor.n.01")
    for count, truth in ((most, False), (most + 1, True)):
        C.annotations.set_state("thing", **{field: dirt(count)})
        assert kind("thing", semantics=semantics).holds(C) is truth


@pytest.mark.parametrize(
    "predicate",
    [
        *(kind("thing") for kind in KINDS),
        logic.Cooked("thing", **DOCUMENT),
        logic.Soaked("thing", **IGIBSON),
        logic.Dusty("thing", **DOCUMENT),
    ],
)
def test_setters(predicate):
    C = world()
    if isinstance(predicate, logic.Sliced):
        predicate.set(C, False)
        predicate.set(C)
        with pytest.raises(ConfigError, match="cannot be undone"):
            predicate.set(C, False)
        return
    for value in (True, True, False, False, True):
        predicate.set(C, value)
        assert predicate.holds(C) is value
    with pytest.raises(ConfigError, match="value is 'yes', expected True or False"):
        predicate.set(C, "yes")


def test_setters_have_the_numbers_of_igibson():
    C = world()
    highest = lambda: C.annotations.states["thing"].max_temperature
    C.annotations.set_state("thing", max_temperature=90)
    logic.Cooked("thing").set(C, True)
    assert highest() == 90
    logic.Burnt("thing").set(C)
    assert highest() == 120
    logic.Burnt("thing").set(C, False)
    assert highest() == 119
    logic.Cooked("thing").set(C, False)
    assert highest() == 69
    logic.Frozen("thing").set(C)
    cold = C.annotations.states["thing"].temperature
    assert -52 <= cold <= -12
    logic.Frozen("thing").set(C, seed=1)
    assert C.annotations.states["thing"].temperature != cold
    logic.Frozen("thing").set(C, False)
    assert C.annotations.states["thing"].temperature == -1


def test_what_burns_before_it_cooks_is_never_cooked_by_the_document():
    C = pw.Config()
    bad = {"cookable": {}, "burnable": {"burn_temperature": 60}}
    C.add_object("thing", abilities=bad)
    with pytest.raises(ConfigError, match="cannot be cooked and not burnt"):
        logic.Cooked("thing", **DOCUMENT).set(C)
    logic.Cooked("thing").set(C)
    assert logic.Burnt("thing").holds(C)


def test_particles_lie_on_the_surface_that_does_not_look_down():
    C = pw.Config()
    legs = [(pw.Box([0.05, 0.05, 0.7]), [x, 0.4, 0.35, *UNIT]) for x in (-0.5, 0.5)]
    top = (pw.Box([1.2, 1.0, 0.04]), [0, 0, 0.72, *UNIT])
    pose = [1, 2, 0, np.cos(0.3), 0, 0, np.sin(0.3)]
    C.add_object("table", [top, *legs], pose=pose, abilities={"dustyable": {}})
    C.add_frame("lamp", "table", joint="hingeZ", shape=pw.Box([0.3] * 3))
    logic.Dusty("table").set(C, count=200)
    p = C.annotations.states["table"].dust.positions
    on_top = (np.abs(p[:, :2]) <= [0.6, 0.5]).all(-1) & (np.abs(p[:, 2] - 0.74) < 1e-9)
    sides = (np.abs(np.abs(p[:, :2]) - [0.6, 0.5]) < 1e-9).any(-1)
    on_leg = p[:, 2] < 0.7
    assert (on_top | sides | on_leg).all() and on_top.sum() > 120
    again = world()
    logic.Dusty("thing").set(again, seed=3)
    first = again.annotations.states["thing"].dust.positions
    logic.Dusty("thing").set(again, seed=3)
    np.testing.assert_array_equal(
        again.annotations.states["thing"].dust.positions, first
    )
    assert len(first) == 20 and (np.abs(first) < [0.1001, 0.1501, 0.0501]).all()
    logic.Dusty("thing").set(again, False)
    assert len(again.annotations.states["thing"].dust.positions) == 20


def test_no_place_for_particles():
    C = pw.Config()
    C.add_object("ghost", abilities={"dustyable": {}})
    with pytest.raises(ConfigError, match="'ghost' has no place for 20 particles"):
        logic.Dusty("ghost").set(C)
    with pytest.raises(ConfigError, match="count is 0"):
        logic.Dusty("ghost").set(C, count=0)


@pytest.mark.parametrize("kind", KINDS)
def test_objects_without_the_ability(kind):
    C = pw.Config()
    C.add_object("rock", abilities={"liquid": {}})
    ability = kind("rock").ability
    message = rf"'rock' is not {ability}; annotate it: abilities={{'{ability}': {{}}}}"
    for ask in (kind("rock").holds, kind("rock").explain, kind("rock").set):
        with pytest.raises(ConfigError, match=message):
            ask(C)
    with pytest.raises(ConfigError, match="No object 'rok'; did you mean 'rock'"):
        kind("rok").holds(C)


@pytest.mark.parametrize(
    "kind", [logic.Cooked, logic.Soaked, logic.Dusty, logic.Stained]
)
def test_unknown_semantics(kind):
    with pytest.raises(ConfigError, match="semantics is 'code', expected 'igibson'"):
        kind("thing", semantics="code")


@pytest.mark.parametrize(
    "kind",
    [logic.Contains, logic.Filled, logic.Covered, logic.Saturated, logic.SourceOf],
)
def test_substances_are_names(kind):
    with pytest.raises(ConfigError, match="is 3, expected the name of a substance"):
        kind("thing", 3)


@pytest.mark.parametrize("capacity, least", [(1, 1), (3, 1), (4, 2), (10, 4), (70, 22)])
def test_filled_is_more_than_30_percent(capacity, least):
    C = pw.Config()
    C.add_object("pot", abilities={"fillable": {"capacity": capacity}})
    logic.Filled("pot", "water").set(C)
    assert C.annotations.states["pot"].contents == least


def test_a_capacity_is_that_of_the_cavities():
    """Balls 2 cm wide: 238.7 of them have the volume of 1 dm³."""
    C = pw.Config()
    C.add_object("pot", abilities={"fillable": {}})
    filled = logic.Filled("pot", "water")
    with pytest.raises(ConfigError, match="The capacity of 'pot' is not known"):
        filled.holds(C)
    logic.Contains("pot", "water").set(C)
    C.annotations.add_region("pot", "left", size=[0.1, 0.1, 0.05])
    C.annotations.add_region(
        "pot", "right", size=[0.1, 0.1, 0.05], pose=[0.2, 0, 0, *UNIT]
    )
    C.annotations.add_region("pot", "rim", "support", size=[1, 1])
    assert "1 droplet of water, and is filled with 72 or more of 238." in (
        filled.explain(C)
    )
    C.add_object("thimble", abilities={"fillable": {}})
    C.annotations.add_region("thimble", "in", size=[0.01, 0.01, 0.01])
    assert not logic.Filled("thimble", "water").holds(C)
    logic.Filled("thimble", "water").set(C)
    assert C.annotations.states["thimble"].contents == 1


def test_predicates_are_values():
    assert logic.Cooked("a") == logic.Cooked("a") != logic.Cooked("b")
    assert logic.Cooked("a") != logic.Cooked("a", **DOCUMENT)
    assert len({logic.Frozen("a"), logic.Frozen("a"), logic.Burnt("a")}) == 2
    assert isinstance(logic.Sliced("a"), logic.Predicate)


def test_a_history_of_another_world():
    C = world()
    with pytest.raises(ConfigError, match="history has no object 'thing'"):
        logic.Cooked("thing").holds_along(C, {})


def test_inside_and_open():
    C = pw.load("cupboard")
    C.load("tray", joint="free", pose=[0, 0, 3, *UNIT])
    opened, inside = (
        logic.Open("cupboard"),
        logic.InsideOf("tray", "cupboard", **IGIBSON),
    )
    assert not opened.holds(C)
    assert not inside.holds(C)
    lower, upper = C.frame("door").joint.limits[:, 0]
    for share, truth in ((0.049, False), (0.051, True)):
        C.set_joint("door_joint", lower + share * (upper - lower))
        assert opened.holds(C) is truth
    only = {"openable": {"joints": ["drawer_joint"]}}
    C.annotations.mark_object("cupboard", abilities=only)
    assert not opened.holds(C)
    C.annotations.mark_object(
        "cupboard", abilities={"openable": {"joints": {"door_joint": -1}}}
    )
    assert opened.holds(C)
    C.set_joint("door_joint", upper)
    assert not opened.holds(C)
    C.annotations.mark_object(
        "cupboard", abilities={"openable": {"joints": ["dor_joint"]}}
    )
    with pytest.raises(ConfigError, match="did you mean 'door_joint'"):
        opened.holds(C)


@pytest.mark.parametrize(
    "position, truth",
    [
        ([0, 0, 0.1], True),
        ([0.19, 0, 0.1], True),
        ([0, 0, 0.21], False),
        ([0.3, 0, 0.1], False),
        ([0, 0, 0.005], True),
    ],
)
def test_inside_an_open_box(position, truth):
    C = pw.Config()
    walls = [
        (pw.Box([0.4, 0.4, 0.01]), [0, 0, 0.005, *UNIT]),
        (pw.Box([0.01, 0.4, 0.2]), [-0.2, 0, 0.1, *UNIT]),
        (pw.Box([0.01, 0.4, 0.2]), [0.2, 0, 0.1, *UNIT]),
        (pw.Box([0.4, 0.01, 0.2]), [0, -0.2, 0.1, *UNIT]),
        (pw.Box([0.4, 0.01, 0.2]), [0, 0.2, 0.1, *UNIT]),
    ]
    C.add_object("box", walls)
    C.add_object("ball", [(pw.Sphere(0.02), None)], pose=[*position, *UNIT])
    assert logic.InsideOf("ball", "box", **IGIBSON).holds(C) is truth

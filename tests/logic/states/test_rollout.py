"""Roll-outs of whole worlds by hand-computed courses, and what they ask of geometry."""

import numpy as np
import pytest
from helpers.predicate_scenes import built_once

import posewise as pw
from posewise import ConfigError, ObjectState, Particles, logic
from posewise.logic.geometry.frame_groups import (
    bounding_box,
    find_object,
    first_hits,
    subtree_group,
)
from posewise.robots.annotations.object_states import Stream

UNIT = [1.0, 0, 0, 0]
FOOD = {"cookable": {}, "burnable": {"burn_temperature": 150}, "freezable": {}}
STOVE = {"heatSource": {"temperature": 500, "heating_rate": 0.02}}


def kitchen(abilities=STOVE, food=FOOD) -> pw.Config:
    """A steak that flies freely, and a stove in the origin."""
    C = pw.Config()
    C.add_object("stove", [(pw.Box([0.5, 0.5, 0.02]), None)], abilities=abilities)
    C.add_object(
        "steak",
        [(pw.Box([0.1, 0.1, 0.02]), None)],
        pose=[0, 0, 1, *UNIT],
        joint="free",
        abilities=food,
    )
    return C


def flight(*places) -> np.ndarray:
    """Configurations of one free body at positions, unturned."""
    return np.array([[*p, *UNIT] for p in places])


def heated(T, source, rate, steps, dt=1 / 30) -> np.ndarray:
    """Closed form of a temperature near one source."""
    k = np.arange(1, steps + 1)
    return source - (source - T) * (1 - rate * dt) ** k


def test_near_far_and_back():
    C = kitchen()
    far, near, dt = (0, 0, 1.0), (0, 0, 0.1), 0.2
    history = logic.rollout(C, flight(*[near] * 20, *[far] * 10, *[near] * 60), dt)
    T = history["steak"].temperature
    expected = heated(23.0, 500, 0.02, 20, dt)
    expected = np.append(expected, heated(expected[-1], 23, 0.02, 10, dt))
    expected = np.append(expected, heated(expected[-1], 500, 0.02, 60, dt))
    np.testing.assert_allclose(T, expected, rtol=1e-12)
    highest = np.maximum.accumulate(expected)
    np.testing.assert_allclose(history["steak"].max_temperature, highest)
    cooked = logic.Cooked("steak").holds_along(C, history)
    assert cooked.tolist() == (highest >= 70).tolist()
    document = logic.Cooked("steak", semantics="document").holds_along(C, history)
    assert document.tolist() == ((highest >= 70) & (highest < 150)).tolist()
    assert document.any()
    assert (history["stove"].temperature == 23).all()
    assert C.annotations.states["steak"].temperature == 23


def test_a_path_in_pieces_is_one_path():
    abilities = {"waterSource": {}, "toggleable": {}, **STOVE}
    food = {**FOOD, "soakable": {}}
    C = kitchen(abilities, food)
    C.add_frame("finger", joint="transX")
    rng = np.random.default_rng(0)
    path = np.concatenate(
        [flight(*rng.normal(0, 0.15, (90, 3))), rng.uniform(0, 0.2, (90, 1))], 1
    )
    path[20:26, -1] = 0.0
    options = dict(fingers="finger", droplets="straight down")
    whole = logic.rollout(C, path, **options)
    for part in (path[:23], path[23:24], path[24:]):
        last = logic.rollout(C, part, **options)
        C.annotations.states = logic.states_at(last, -1)
    for name, state in logic.states_at(whole, -1).items():
        assert repr(state) == repr(logic.states_at(last, -1)[name])
    assert whole["stove"].toggled_on[-1]


def test_several_sources_sum():
    C = kitchen({"heatSource": {}, "coldSource": {"distance_threshold": 0.5}})
    history = logic.rollout(C, flight((0, 0, 0.3), (0, 0, 0.1)), dt=0.1)
    T = 23 + 0.1 * 0.02 * (-18 - 23)
    assert history["steak"].temperature[0] == pytest.approx(T)
    T += 0.1 * (0.02 * (-18 - T) + 0.04 * (200 - T))
    assert history["steak"].temperature[1] == pytest.approx(T)


def test_ambient_and_decay():
    C = kitchen({})
    T = logic.rollout(C, flight((0, 0, 1), (0, 0, 1)), 0.5, ambient=3, decay=0.1)
    np.testing.assert_allclose(T["steak"].temperature, [22, 21.05])


def test_distance_is_that_of_the_centre_of_mass_to_the_link():
    C = kitchen({"heatSource": {"link": "burner"}})
    C.add_frame("burner", "stove", position=[0.2, 0, 0.1])
    C.add_object(
        "pot",
        [(pw.Box([0.1, 0.1, 0.1]), None)],
        pose=[0.2, 0, 0.31, *UNIT],
        com=[0, 0, -0.05],
        abilities={"cookable": {}},
    )
    T = logic.rollout(C, flight((0, 0, 0.1), (-0.001, 0, 0.1)))
    assert T["pot"].temperature[0] > 23
    assert (T["steak"].temperature > 23).tolist() == [True, True]
    C.set_pose("pot", [0.2, 0, 0.36, *UNIT])
    assert logic.rollout(C, C.q[None])["pot"].temperature[0] == 23


@built_once
def oven() -> pw.Config:
    """Our microwave with a free steak in it; door shut, off."""
    C = pw.load("microwave")
    C.add_object(
        "steak",
        [(pw.Box([0.1, 0.1, 0.02]), None)],
        pose=[0, 0.06, 0.05, *UNIT],
        joint="free",
        abilities={"cookable": {}},
    )
    C.add_frame("finger", joint="free", pose=[1, 0, 0, *UNIT])
    return C


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("door", [0.0, 0.08, 0.09, 1.5])
@pytest.mark.parametrize("inside", [False, True])
def test_microwave_heats_when_on_shut_and_inside(on, door, inside):
    C = oven()
    logic.ToggledOn("microwave").set(C, on)
    if not inside:
        C.set_pose("steak", [0, 0.06, 0.35, *UNIT])
    C.set_joint("door_joint", door)
    T = logic.rollout(C, C.q[None])["steak"].temperature[0]
    assert (T > 23) == (on and door <= 0.05 * 1.7 and inside)
    assert T in (23.0, pytest.approx(23 + 977 * 0.04 / 30))


def test_our_microwave_cooks():
    """iGibson's microwave: 1000 °C, 0.04/s; 37 steps at 30 Hz from 23 to 70 °C."""
    C = oven()
    steps = 37
    logic.ToggledOn("microwave").set(C)
    history = logic.rollout(C, np.tile(C.q, (steps + 3, 1)))
    T = history["steak"].temperature
    np.testing.assert_allclose(T, heated(23.0, 1000, 0.04, steps + 3), rtol=1e-12)
    cooked = logic.Cooked("steak").holds_along(C, history)
    assert cooked.tolist() == [False] * 36 + [True] * 4
    C.set_joint("door_joint", 1.5)
    history = logic.rollout(C, np.tile(C.q, (steps + 3, 1)))
    assert (history["steak"].temperature == 23).all()
    assert not logic.Cooked("steak").holds_along(C, history).any()


def test_an_oven_is_not_inside_itself_and_holds_what_hangs_on_it():
    C = pw.Config()
    source = {"heatSource": {"requires_inside": True}, "burnable": {}}
    C.load("microwave")
    C.annotations.mark_object("microwave", abilities=source)
    C.add_object(
        "egg",
        [(pw.Sphere(0.02), None)],
        parent="microwave",
        pose=[0, 0.06, 0.05, *UNIT],
        abilities={"cookable": {}},
    )
    history = logic.rollout(C, C.q[None])
    assert history["egg"].temperature[0] > 23 == history["microwave"].temperature[0]
    C = pw.Config()
    C.add_object("idea", abilities=source)
    C.add_object("egg", abilities={"cookable": {}})
    with pytest.raises(ConfigError, match="'idea' has no shape"):
        logic.rollout(C, np.zeros((1, 0)))


def test_a_finger_switches_the_microwave_on():
    C = oven()
    button = C.pose("button")[:3]
    columns, away = C.joints.coordinates("finger")[:3], np.array([0.11, 0, 0])
    path = np.tile(C.q, (40, 1))
    path[:, columns] = button + away
    path[5:12, columns] = button + 0.9 * away
    path[20:25, columns] = button
    history = logic.rollout(C, path, fingers=["finger"])
    on = history["microwave"].toggled_on
    assert on.tolist() == [9 <= k < 24 for k in range(40)]
    assert (np.diff(history["steak"].temperature) > 0).tolist() == [
        9 <= k + 1 < 24 for k in range(39)
    ]
    assert not logic.rollout(C, path)["microwave"].toggled_on.any()


def bathroom(sponge_ability={"soakable": {"w_soaked": 2}}) -> pw.Config:  # noqa: B006
    """A tap 0.5 m above a free sponge, beside a separate sink."""
    C = pw.Config()
    basin = (pw.Box([0.1, 0.1, 0.02]), [0.3, 0, -0.6, *UNIT])
    C.add_object("tap", [basin], abilities={"waterSource": {"link": "spout"}})
    C.set_pose("tap", [0, 0, 1, *UNIT])
    C.add_frame("spout", "tap", joint="transX", limits=[[0], [0.5]])
    C.add_object(
        "sponge",
        [(pw.Box([0.1, 0.1, 0.04]), None)],
        pose=[0, 0, 0.5, *UNIT],
        joint="free",
        abilities=sponge_ability,
    )
    return C


def test_droplets_fall_into_the_first_shape_below():
    C = bathroom()
    path = np.tile(C.q, (60, 1))
    history = logic.rollout(C, path, droplets="straight down")
    drops = [0] + [min(1 + (k - 1) // 4, 10) for k in range(1, 60)]
    assert history["sponge"].wetness.tolist() == drops
    assert history["tap"].stream.left[-1] == 0
    document, igibson = (
        logic.Soaked("sponge", semantics=s).holds_along(C, history).tolist()
        for s in ("document", "igibson")
    )
    assert document == [d >= 2 for d in drops]
    assert igibson == [d >= 1 for d in drops]
    C.add_frame("lid", pose=[0, 0, 0.7, *UNIT], shape=pw.Box([0.02, 0.02, 0.01]))
    history = logic.rollout(C, path, droplets="straight down")
    assert history["sponge"].wetness.max() == 0 and history["tap"].stream.left[-1] == 0


def test_droplets_into_the_sources_own_shape_come_back():
    C = bathroom()
    C.set_joint("spout", 0.3)
    history = logic.rollout(C, np.tile(C.q, (60, 1)), droplets="straight down")
    assert history["tap"].stream.left.tolist() == [10] * 60
    assert history["sponge"].wetness.max() == 0


def test_recorded_droplets_count():
    C = bathroom()
    drops = {"sponge": [0, 2, 0, 1]}
    history = logic.rollout(C, np.tile(C.q, (4, 1)), droplets=drops)
    assert history["sponge"].wetness.tolist() == [0, 2, 2, 3]


def test_a_tap_switched_off_gives_no_droplets():
    C = bathroom()
    C.annotations.mark_object(
        "tap", abilities={"waterSource": {"link": "spout"}, "toggleable": {}}
    )
    history = logic.rollout(C, np.tile(C.q, (9, 1)))
    assert history["sponge"].wetness.max() == 0
    logic.ToggledOn("tap").set(C)
    with pytest.raises(ConfigError, match="droplets is not given; say droplets='str"):
        logic.rollout(C, np.tile(C.q, (9, 1)))


def table(kind="dustyable", height=0.03) -> pw.Config:
    """A table with particles in a row along x, and a cloth that moves over it."""
    C = pw.Config()
    top = (pw.Box([0.5, 0.3, 0.02]), [0, 0, -0.01, *UNIT])
    C.add_object("table", [top], pose=[0.4, 0.2, 0.7, *UNIT], abilities={kind: {}})
    C.add_object(
        "cloth",
        [(pw.Box([0.04, 0.3, height]), None)],
        joint="free",
        abilities={"cleaningTool": {}, "soakable": {}},
    )
    row = np.stack([np.linspace(-0.19, 0.19, 20), np.zeros(20), np.zeros(20)], -1)
    field = {"dustyable": "dust", "stainable": "stain"}[kind]
    C.annotations.set_state("table", **{field: Particles(row, np.ones(20, bool))})
    return C


def swipe(steps=40, above=0.015) -> np.ndarray:
    """The cloth's way along the table, its middle so far above."""
    x = np.linspace(-0.25, 0.25, steps)
    return flight(*[(0.4 + s, 0.2, 0.7 + above) for s in x])


def test_a_cloth_wipes_dust_from_below_it():
    C = table()
    path = swipe()
    history = logic.rollout(C, path)
    row = np.linspace(-0.19, 0.19, 20)
    wiped = [(np.abs(path[: k + 1, :1] - 0.4 - row) <= 0.02).any(0) for k in range(40)]
    assert history["table"].dust.active.tolist() == (~np.array(wiped)).tolist()
    dusty = logic.Dusty("table").holds_along(C, history)
    assert dusty.tolist() == [20 - g.sum() > 10 for g in wiped]
    assert not dusty[-1] and dusty[0]


def test_a_cloth_that_does_not_touch_wipes_nothing():
    C = table(height=0.05)
    C.add_frame("pad", "cloth", position=[0, 0, 0.0], shape=pw.Box([0.01] * 3))
    C.annotations.mark_object("cloth", abilities={"cleaningTool": {"link": "pad"}})
    C.annotations.set_state(
        "table", dust=Particles(np.array([[0, 0, 0.004]]), np.ones(1, bool))
    )
    low, high = flight((0.4, 0.2, 0.7 + 0.00505)), flight((0.4, 0.2, 0.7 + 0.0052))
    assert logic.rollout(C, high)["table"].dust.active.all()
    assert not logic.rollout(C, low)["table"].dust.active.any()


def test_stains_need_a_soaked_cloth():
    C = table("stainable")
    assert logic.rollout(C, swipe())["table"].stain.active.all()
    logic.Soaked("cloth").set(C)
    assert not logic.rollout(C, swipe())["table"].stain.active[-1].any()
    assert logic.Stained("table").holds(C)


def board(**options) -> tuple[pw.Config, np.ndarray]:
    """A knife that comes down on an apple, with a handle that does not cut."""
    C = pw.Config()
    apple = {"sliceable": options}
    C.add_object("apple", [(pw.Sphere(0.04), None)], abilities=apple)
    C.add_object("knife", joint="free", abilities={"slicer": {"link": "blade"}})
    C.add_frame("blade", "knife", shape=pw.Box([0.2, 0.002, 0.03]))
    C.add_frame("handle", "knife", position=[0.2, 0, 0], shape=pw.Box([0.2] * 3))
    return C, flight((0, 0, 0.1), (0, 0, 0.054), (0, 0, 0.056), (-0.2, 0, 0.1))


def test_slicing_by_forces():
    C, path = board()
    pair = ("knife", "apple")
    sliced = lambda forces: logic.rollout(C, path, forces=forces)["apple"].sliced
    assert sliced({pair: [0, 10, 11, 0]}).tolist() == [False, False, True, True]
    assert sliced(10.0).tolist() == [False] * 4
    assert sliced(10.1).tolist() == [False, True, True, True]
    assert sliced({}).tolist() == [False] * 4
    with pytest.raises(ConfigError, match="touches 'apple' at step 1, and forces is"):
        logic.rollout(C, path)
    handle = flight((-0.2, 0, 0.0))
    assert not logic.rollout(C, handle)["apple"].sliced.any()
    hard, path = board(slice_force=20)
    assert not logic.rollout(hard, path, forces=20)["apple"].sliced.any()


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(path=np.zeros((3, 5))), r"path has shape \(3, 5\)"),
        (dict(path=np.zeros((0, 7))), "T >= 1"),
        (dict(path="there"), "path is 'there'"),
        (dict(path=np.full((2, 7), np.nan)), "NaN or infinite entry at step 0"),
        (dict(dt=0), "dt is 0"),
        (dict(ambient="warm"), "ambient"),
        (dict(decay=-1), "decay"),
        (dict(fingers=["fingre"]), "did you mean 'finger'"),
        (dict(forces=-1.0), "forces is -1.0"),
        (dict(forces={"knife": [1]}), r"expected a pair \(slicer, object\)"),
        (dict(forces={("steak", "stove"): [1]}), "'steak' is not slicer"),
        (dict(droplets="up"), "droplets is 'up'"),
        (dict(droplets={"steka": [1]}), "did you mean 'steak'"),
        (dict(droplets={"steak": [1, 2]}), r"has shape \(2,\), expected \(1,\)"),
        (dict(droplets={"steak": [0.5]}), "whole numbers"),
        (dict(droplets={"steak": [-1]}), "numbers >= 0"),
        (dict(droplets={"stove": [1]}), "'stove' is not soakable"),
    ],
)
def test_arguments_that_do_not_fit(options, message):
    C = kitchen(food={"soakable": {}})
    C.add_frame("finger")
    path = options.pop("path", flight((0, 0, 1)))
    with pytest.raises(ConfigError, match=message):
        logic.rollout(C, path, **options)


def test_a_link_that_is_not_there():
    C = kitchen({"heatSource": {"link": "burnre"}})
    C.add_frame("burner", "stove")
    with pytest.raises(ConfigError, match="No part of 'stove' 'burnre'; did you mean"):
        logic.rollout(C, flight((0, 0, 1)))


@pytest.mark.parametrize(
    "shape, half",
    [
        (pw.Box([0.2, 0.4, 0.6]), [0.1, 0.2, 0.3]),
        (pw.Box([0.2, 0.4, 0.6], rounding=0.05), [0.1, 0.2, 0.3]),
        (pw.Sphere(0.3), [0.3, 0.3, 0.3]),
        (pw.Capsule(0.4, 0.1), [0.1, 0.1, 0.3]),
        (pw.Cylinder(0.4, 0.1), [0.1, 0.1, 0.2]),
        (pw.Ellipsoid([0.1, 0.2, 0.3]), [0.1, 0.2, 0.3]),
        (pw.Convex([[0.1, 0, 0], [-0.1, 0, 0], [0, 0.2, 0.3], [0, -0.2, -0.3]]),
         [0.1, 0.2, 0.3]),
    ],
)  # fmt: skip
def test_boxes_around_shapes(shape, half):
    C = pw.Config()
    C.add_frame("a", pose=[1, 2, 3, *UNIT])
    C.add_frame("b", "a", shape=shape)
    low, high = bounding_box(subtree_group(C, "a"))
    np.testing.assert_allclose(low, [1, 2, 3] - np.array(half), atol=1e-12)
    np.testing.assert_allclose(high, [1, 2, 3] + np.array(half), atol=1e-12)
    turn = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    C.set_pose("a", [1, 2, 3, *turn])
    low, high = bounding_box(subtree_group(C, "a"))
    np.testing.assert_allclose(high - low, 2 * np.array(half)[[1, 0, 2]], atol=1e-12)


def test_rays_enter_only_from_outside():
    C = pw.Config()
    C.add_frame("wall", shape=pw.Box([0.2, 2, 2]))
    hit = lambda x, d: first_hits(
        find_object(C, "wall"),
        np.array([[x, 0.0, 0.0]]),
        np.array([[d, 0.0, 0.0], [0, 0, 1]]),
    ).tolist()
    assert hit(-0.5, 1.0) == pytest.approx([0.4, np.inf])
    assert hit(-0.5, -1.0) == [np.inf, np.inf]
    assert hit(0.0, 1.0) == [np.inf, np.inf]


def test_states_are_kept_and_copied():
    C = kitchen()
    C.annotations.set_state("steak", temperature=80, sliced=True)
    D = C.copy()
    D.annotations.set_state("steak", temperature=-5.0)
    assert (
        C.annotations.states["steak"].temperature,
        D.annotations.states["steak"].temperature,
    ) == (80, -5)
    assert (
        C.annotations.states["steak"].sliced
        and C.annotations.states["stove"].temperature == 23
    )
    C.annotations.mark_object("steak", abilities={})
    assert C.annotations.states["steak"].temperature == 80
    C.remove("steak")
    assert list(C.annotations.states) == ["stove"]


@pytest.mark.parametrize(
    "name, values, message",
    [
        ("staek", dict(temperature=1), "No object 'staek'; did you mean 'steak'"),
        ("steak", dict(temprature=1), "did you mean 'temperature'"),
        ("steak", dict(temperature=np.nan), "temperature of 'steak' is nan"),
        ("steak", dict(temperature="hot"), "expected a temperature"),
        ("steak", dict(max_temperature=np.inf), "max_temperature"),
        ("steak", dict(wetness=-1), "wetness"),
        ("steak", dict(wetness=1.5), "an integer >= 0"),
        ("steak", dict(contents=-1), "contents of 'steak'"),
        ("steak", dict(toggled_on=1), "expected True or False"),
        ("steak", dict(dust=3), "expected Particles"),
        ("steak", dict(dust=Particles(np.zeros((2, 3)), np.ones(3, bool))), "n truth"),
        ("steak", dict(stream=Stream(left=-1)), "left of stream"),
        ("steak", dict(stream=1), "expected Stream"),
        (["steak"], dict(), "No object"),
    ],
)
def test_states_that_do_not_fit(name, values, message):
    C = kitchen()
    with pytest.raises(ConfigError, match=message):
        C.annotations.set_state(name, **values)
    with pytest.raises(ConfigError, match="No object 'pan'"):
        C.annotations.states = {"pan": ObjectState()}


@pytest.mark.parametrize(
    "abilities, message",
    [
        ({"cokable": {}}, "No ability 'cokable'; did you mean 'cookable'"),
        ({"cookable": {"temperature": 3}}, "No parameter 'temperature'; did you mean"),
        ({"cookable": 70}, "cookable of 'pan' is 70, expected a dictionary"),
        ({"cookable": {"cook_temperature": "hot"}}, "expected a temperature"),
        ({"soakable": {"w_soaked": 0}}, "an integer >= 1"),
        ({"fillable": {"capacity": 0}}, "capacity of fillable of 'pan' is 0"),
        ({"dustyable": {"d_dusty": 1.5}}, "from 0 to 1"),
        ({"heatSource": {"heating_rate": -1}}, "heating_rate of heatSource of 'pan'"),
        ({"heatSource": {"requires_inside": 1}}, "expected True or False"),
        ({"heatSource": {"link": 3}}, "expected the name of a frame"),
        ({"openable": {"joints": 3}}, "expected a list of names of joints"),
        ({"heatSource": {"requires_toggled_on": True}}, "add 'toggleable'"),
        ({"coldSource": {"requires_closed": True}}, "add 'openable'"),
        (["cookable"], "expected a dictionary"),
        ({"liquid": {"volume": 1}}, "there is none at all"),
    ],
)
def test_abilities_that_do_not_fit(abilities, message):
    C = pw.Config()
    with pytest.raises(ConfigError, match=message):
        C.add_object("pan", abilities=abilities)
    assert not C.frames and not C.annotations.states


def test_abilities_have_the_defaults_of_igibson():
    C = pw.Config()
    names = ["heatSource", "coldSource", "cookable", "burnable", "freezable"]
    a = C.add_object("pan", abilities={n: {} for n in names}).abilities
    heat = a["heatSource"]
    numbers = [heat[k] for k in ("temperature", "heating_rate", "distance_threshold")]
    assert numbers == [200, 0.04, 0.2]
    assert not any(heat[k] for k in heat if k.startswith("requires"))
    assert (a["coldSource"]["temperature"], a["coldSource"]["heating_rate"]) == (
        -18,
        0.02,
    )
    assert a["cookable"]["cook_temperature"] == 70
    assert a["burnable"]["burn_temperature"] == 200
    assert a["freezable"]["freeze_temperature"] == 0
    D = pw.Config()
    D.load("microwave", prefix="m_")
    assert D.object("m_microwave").link("heatSource") == "m_heat_source"

"""Rules of the extended states, step by step, against the reference time series."""

import numpy as np
import pytest
from helpers.oracle import reference
from helpers.state_histories import emission, temperature_history, toggle_history

import posewise as pw
from posewise import logic
from posewise.logic.states.dirt_rules import dirt_level, is_dirty, wipe_step
from posewise.logic.states.thermal_rules import is_source_active, temperature_step
from posewise.logic.states.toggle_slice_rules import slice_step
from posewise.logic.states.water_rules import is_soaked

STEP = 1 / 30


def series(kind: str) -> list:
    """Reference cases of a kind; none where the data is absent."""
    try:
        cases = reference("predicates/cases.json")["time_series"]
    except pytest.skip.Exception:
        return []
    return [pytest.param(c, id=c["id"]) for c in cases if c["kind"] == kind]


def linear(points, t) -> np.ndarray:
    """A piecewise linear path [[t, [x, y, z]], …] at times t."""
    knots, places = zip(*points, strict=True)
    places = np.array(places, float)
    return np.stack([np.interp(t, knots, places[:, i]) for i in range(3)], -1)


def constant(points, t) -> np.ndarray:
    """A piecewise constant signal [[t, bool], …]: each value from its time on."""
    value = np.zeros(len(t), bool)
    for since, on in points or []:
        value[t >= since - 1e-9] = on
    return value


def in_range(case, t) -> np.ndarray:
    """Return which sources of a case are active and in range (T, sources)."""
    p = linear(case["object_position"], t)
    in_range_of = np.zeros((len(t), len(case["sources"])), bool)
    for s, source in enumerate(case["sources"]):
        active = is_source_active(
            constant(source.get("toggled"), t),
            constant(source.get("open"), t),
            np.array([source.get("requires_toggled_on", False)]),
            np.array([source.get("requires_closed", False)]),
        )
        if source.get("requires_inside"):
            near = constant(source.get("inside"), t)
        else:
            away = np.linalg.norm(p - linear(source["position"], t), axis=-1)
            near = away <= source.get("distance_threshold", 0.2)
        in_range_of[:, s] = active & near
    return in_range_of


@pytest.mark.parametrize("case", series("temperature"))
def test_temperature(case):
    t = np.arange(1, case["steps"] + 1) * case["dt"]
    temperatures, rates = (
        np.array([s[k] for s in case["sources"]])
        for k in ("temperature", "heating_rate")
    )
    T = temperature_history(
        case["T0"],
        in_range(case, t),
        temperatures,
        rates,
        case["dt"],
        ambient=case["ambient"],
        decay=case["decay_rate"],
    )
    start = -np.inf if case["Tmax0"] is None else case["Tmax0"]
    highest = np.maximum(np.maximum.accumulate(T), start)
    for row in case["expected"]:
        k = row["step"] - 1
        assert T[k] == pytest.approx(row["T"], abs=1e-8)
        assert highest[k] == pytest.approx(row["Tmax"], abs=1e-8)
        cooked = highest[k] >= case["cook_temperature"]
        burnt = highest[k] >= case["burn_temperature"]
        assert (cooked, burnt) == (row["cooked"], row["burnt"])
        assert (cooked and not burnt) == row["cooked_doc"]
        assert (T[k] <= case["freeze_temperature"]) == row["frozen"]


@pytest.mark.parametrize("case", series("toggle"))
def test_toggle(case):
    toggled = toggle_history(
        np.array(case["min_finger_distance"]),
        threshold=case["threshold"],
        steps=case["steps_needed"],
    )
    assert toggled.tolist() == case["expected"]


@pytest.mark.parametrize("case", series("soaked"))
def test_soaked(case):
    C, counts = pw.Config(), case["new_droplet_contacts"]
    C.add_object("sponge", abilities={"soakable": {"w_soaked": case["w_soaked"]}})
    path = np.zeros((len(counts), 0))
    history = logic.rollout(C, path, droplets={"sponge": counts})
    level = history["sponge"].wetness
    assert level.tolist() == case["wetness_doc"]
    assert is_soaked(level).tolist() == case["expected_code"]
    for semantics in ("code", "doc"):
        name = {"code": "igibson", "doc": "document"}[semantics]
        soaked = logic.Soaked("sponge", semantics=name)
        truth = soaked.holds_along(C, history)
        assert truth.tolist() == case[f"expected_{semantics}"]


@pytest.mark.parametrize("case", series("dirt"))
def test_dirt(case):
    t = np.arange(1, case["steps"] + 1) / case["steps"]
    center, half = (
        linear(case["tool_path_unit_time"], t),
        np.array(case["tool_half_extents"]),
    )
    particles = np.array(case["particles"])
    active, dirty = np.ones(len(particles), bool), []
    for k in range(case["steps"]):
        wet = case["dirt"] == "dusty" or case["tool_soaked"][k]
        box = center[k] - half, center[k] + half
        active = wipe_step(active, particles, *box, case["touching"][k] and wet)
        dirty.append(bool(is_dirty(active, 0.75 if case["floor"] else 0.5)))
    assert dirty == case["expected"]
    assert active.sum() == case["remaining_final"]


@pytest.mark.parametrize("case", series("sliced"))
def test_sliced(case):
    force, blade = (
        np.array(case["normal_force"], float),
        np.array(case["blade_link_contact"]),
    )
    sliced, states = False, []
    for f, b in zip(force, blade, strict=True):
        sliced = slice_step(sliced, np.array([f]), np.array([b]), case["slice_force"])
        states.append(sliced)
    assert states == case["expected"]


@pytest.mark.parametrize("case", series("water_stream"))
def test_water_stream(case):
    steps = case["expected_emission_steps"][-1] + 20
    running = np.arange(steps) >= 1
    let_go = emission(running, case["dt"], case["period"], case["max_drops"])
    assert np.flatnonzero(let_go).tolist() == case["expected_emission_steps"]


def test_by_hand():
    sources = np.array([500.0, -18.0]), np.array([0.02, 0.1])
    step = lambda T, reached, **more: float(
        temperature_step(np.array(T), np.array(reached), *sources, 0.1, **more)
    )
    assert step(50.0, [True, True]) == pytest.approx(50 + 0.1 * (9.0 - 6.8))
    assert step(50.0, [True, False]) == pytest.approx(50.9)
    assert step(50.0, [False, False]) == pytest.approx(50 - 0.1 * 0.02 * 27)
    assert step(5.0, [False, False], ambient=5.0) == 5.0
    assert step(50.0, [False, False], ambient=0.0, decay=0.5) == pytest.approx(47.5)
    many = temperature_step(
        np.array([0.0, 100.0]), np.array([[True, True], [False, False]]), *sources, 0.1
    )
    np.testing.assert_allclose(many, [0.1 * (10 - 1.8), 100 - 0.1 * 0.02 * 77])


@pytest.mark.parametrize("toggled", [False, True])
@pytest.mark.parametrize("opened", [False, True])
def test_requirements_of_a_source(toggled, opened):
    needs = np.array([[a, b] for a in (False, True) for b in (False, True)])
    expected = [
        (toggled or not needs_on) and not (opened and needs_shut)
        for needs_on, needs_shut in needs
    ]
    shape = np.ones(4, bool)
    active = is_source_active(shape & toggled, shape & opened, needs[:, 0], needs[:, 1])
    assert active.tolist() == expected


@pytest.mark.parametrize(
    "source, rate, start, target, steps",
    [
        (200.0, 0.04, 23.0, 70.0, 232),
        (1000.0, 0.04, 23.0, 70.0, 37),
        (-18.0, 0.02, 23.0, 0.0, 1235),
        (200.0, 0.04, 23.0, 22.8, 0),
        (-18.0, 0.02, -3.0, 0.0, 0),
    ],
)
def test_steps_in_range_of_the_specification(source, rate, start, target, steps):
    """N = ⌈ln((T_s - T_0) / (T_s - T)) / -ln(1 - r·dt)⌉ steps reach T."""
    reach = np.ones((steps + 1, 1), bool)
    after = temperature_history(start, reach, np.array([source]), np.array([rate]))
    side = np.sign(source - start)
    reached = side * np.array([start, *after]) >= side * target
    assert reached.tolist() == [False] * steps + [True] * 2


def test_droplets_by_rate_of_the_states():
    on = np.ones(40, bool)
    gap = lambda dt: int(np.diff(np.flatnonzero(emission(on, dt, drops=3)))[0])
    assert [gap(1 / 30), gap(0.05), gap(0.1), gap(1.0)] == [4, 3, 2, 2]
    off = on.copy()
    off[2:10] = False
    assert np.flatnonzero(emission(off, 1 / 30, drops=2)).tolist() == [0, 12]


def test_dirt_by_hand():
    active = np.array([[1, 1, 1], [1, 0, 1], [1, 0, 0]], bool)
    assert is_dirty(active).tolist() == [True, True, False]
    np.testing.assert_allclose(dirt_level(active), [1, 2 / 3, 1 / 3])
    assert not is_dirty(np.zeros(0, bool)) and dirt_level(np.zeros(0, bool)) == 0
    half = np.arange(20) < 10
    assert not is_dirty(half) and is_dirty(np.arange(20) < 11)
    assert not is_dirty(np.arange(20) < 15, 0.75) and is_dirty(np.arange(20) < 16, 0.75)
    corner = np.array([[0.0, 0, 0], [1.0, 1, 1], [1.0, 1, 1.001]])
    box = np.zeros(3), np.ones(3)
    remaining = wipe_step(np.ones(3, bool), corner, *box, True)
    assert remaining.tolist() == [False, False, True]


def test_a_blade_needs_more_than_the_force():
    force = np.array([10.0, 10.1, 30.0])
    assert not slice_step(False, force, np.array([True, False, False]))
    assert slice_step(False, force, np.array([False, True, False]))
    assert slice_step(True, force, np.zeros(3, bool))
    assert not slice_step(False, np.zeros(0), np.zeros(0, bool))

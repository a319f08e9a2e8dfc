"""Ways to bring states about: on whatever path all rows hold, the roll-out agrees.

Paths are random; the truth is that of the exact roll-out, with slices as its steps and
with finer ones.
"""

from functools import partial

import jax
import numpy as np
import pytest
from helpers.plan_rows import satisfied, ways

import posewise as pw
from posewise import Particles, PosewiseError, logic

UNIT = [1.0, 0, 0, 0]
HOT = {"temperature": 500, "heating_rate": 0.05}
COLD = {"temperature": -40, "heating_rate": 0.08, "distance_threshold": 0.3}
WARM = {"temperature": 60, "heating_rate": 0.1}


def kitchen() -> pw.Config:
    """Three sources along x, and a steak that is carried along it."""
    C = pw.Config()
    for name, x, ability, values in (
        ("stove", 0.0, "heatSource", HOT),
        ("fridge", 1.0, "coldSource", COLD),
        ("lamp", 2.0, "heatSource", WARM),
    ):
        box = [(pw.Box([0.2, 0.2, 0.02]), None)]
        C.add_object(name, box, pose=[x, 0, 0, *UNIT], abilities={ability: values})
    C.add_frame("hand", joint="trans3", position=[0, 0, 0.5])
    food = {
        "cookable": {},
        "burnable": {"burn_temperature": 200},
        "freezable": {"freeze_temperature": 5},
        "heatable": {"heat_temperature": 60},
        "flammable": {"ignition_temperature": 90},
    }
    steak = [(pw.Box([0.1, 0.1, 0.02]), None)]
    C.add_object("steak", steak, parent="hand", abilities=food)
    C.q = [0, 0.6, 0]
    return C


def dwelling(n: int, T: int) -> np.ndarray:
    """Stays of random lengths near the sources and away from them."""
    rng = np.random.default_rng(0)
    x = np.zeros((n, T, 3))
    x[..., 1] = 0.6
    for path in x:
        k = 0
        while k < T:
            stay = int(rng.integers(1, T + 1))
            path[k : k + stay, 0] = rng.choice([0.0, 1.0, 2.0])
            if rng.random() < 0.7:
                path[k : k + stay, 1:] = 0.0, -0.5
            k += stay
    return x + rng.uniform(-0.13, 0.13, x.shape)


def rolled(C: pw.Config, path: np.ndarray, tau: float, n: int, **options):
    """States after each slice, by steps of one slice and by n in each."""
    yield logic.rollout(C, path, tau, **options)
    finer, step = logic.resample(C, path, tau, tau / n)
    assert len(finer) == n * len(path)
    history = logic.rollout(C, finer, step, **options)
    yield {k: jax.tree.map(lambda x: x[n - 1 :: n], s) for k, s in history.items()}


def check(C, statement, paths, tau, holds, least, many, **options) -> None:
    """Sound on paths that meet the rows of some way; `least` of them do.

    `holds(history)` is the truth at the end, from states after each slice.
    """
    met = satisfied(C, ways(C, statement, paths.shape[1], tau), paths).any(0)
    assert met.sum() >= max(least, 1), met.sum()
    chosen = np.flatnonzero(met)
    count, n = (20, 5) if many else (3, 3)
    for path in paths[chosen[:: -(-len(chosen) // count)]]:
        for history in rolled(C, path, tau, n, **options):
            assert holds(history)


def cases(every, fast):
    """All on many paths, and a few on few of them, which is fast."""
    many = [pytest.param(case, True, marks=pytest.mark.slow) for case in every]
    return [(case, False) for case in fast] + many


THERMAL = {
    "cooked": (logic.Cooked("steak"), 10),
    "not cooked": (~logic.Cooked("steak"), 10),
    "cooked, not burnt": (logic.Cooked("steak", semantics="document"), 5),
    "not (cooked and not burnt)": (~logic.Cooked("steak", semantics="document"), 5),
    "burnt": (logic.Burnt("steak"), 5),
    "not burnt": (~logic.Burnt("steak"), 10),
    "both": (logic.Cooked("steak") & ~logic.Burnt("steak"), 5),
    "frozen": (logic.Frozen("steak"), 3),
    "not frozen": (~logic.Frozen("steak"), 10),
    "heated": (logic.Heated("steak"), 3),
    "not heated": (~logic.Heated("steak"), 10),
    "on fire": (logic.OnFire("steak"), 3),
    "not on fire": (~logic.OnFire("steak"), 10),
    "cooked or frozen": (logic.Cooked("steak") | logic.Frozen("steak"), 20),
}
KITCHEN, STAYS = kitchen(), dwelling(1000, 14)


def at_end(C, statement):
    """Its truth after the last step of a history."""

    def holds(history):
        W = C.copy()
        W.annotations.states = logic.states_at(history, -1)
        return statement.holds(W)

    return holds


@pytest.mark.sampled
@pytest.mark.parametrize("case, many", cases(THERMAL, ["both", "frozen", "heated"]))
def test_temperatures(case, many):
    statement, least = THERMAL[case]
    holds = at_end(KITCHEN, statement)
    check(KITCHEN, statement, STAYS, 1.2, holds, least, many)


def test_what_is_hot_cools():
    C = without(KITCHEN, steak={"temperature": 70.0})
    statement = ~logic.Heated("steak")
    check(C, statement, STAYS, 1.2, at_end(C, statement), 100, False)


TEMPORAL = [
    (logic.Eventually(logic.Cooked("steak"), [1, 9]), 5),
    (logic.Always(logic.Frozen("steak"), [12, 14]), 3),
    (logic.Until(~logic.Cooked("steak"), logic.Frozen("steak")), 3),
]


@pytest.mark.parametrize("case, many", cases(range(3), [0]))
def test_temperatures_along_paths(case, many):
    formula, least = TEMPORAL[case]
    times = np.arange(1, 15)

    def holds(history):
        return formula.holds_along(KITCHEN, np.zeros((14, 3)), times, history)

    check(KITCHEN, formula, STAYS, 1.2, holds, least, many)


def bench() -> pw.Config:
    """A tap with a button, a dirty table, a loaf; a hand with a sponge and a finger."""
    C = pw.Config()
    C.add_object(
        "table",
        [(pw.Box([0.4, 0.4, 0.04]), None)],
        pose=[0, 0, -0.02, *UNIT],
        abilities={"stainable": {}, "dustyable": {}},
    )
    tap = [(pw.Box([0.04, 0.04, 0.04]), None)]
    abilities = {"waterSource": {}, "toggleable": {"link": "button"}}
    C.add_object("tap", tap, pose=[1, 0, 0.5, *UNIT], abilities=abilities)
    C.add_frame("button", "tap", position=[0, 0, 0.3])
    loaf = [(pw.Box([0.1, 0.1, 0.1]), None)]
    C.add_object("loaf", loaf, pose=[-1, 0, 0, *UNIT], abilities={"sliceable": {}})
    C.add_frame("hand", joint="trans3")
    box = [(pw.Box([0.2, 0.12, 0.04]), None)]
    tool = {"cleaningTool": {}, "soakable": {"w_soaked": 2}, "slicer": {}}
    C.add_object("sponge", box, parent="hand", abilities=tool)
    C.add_frame("arm", joint="trans3", shape=pw.Marker())
    C.add_frame("finger", "arm", shape=pw.Sphere(0.01))
    C.annotations.add_agent("robot", base="world", hands={"arm": ["finger"]})
    rng = np.random.default_rng(1)
    spots = np.concatenate([rng.uniform(-0.18, 0.18, (8, 2)), np.full((8, 1), 0.02)], 1)
    dust = Particles(spots, np.ones(8, bool))
    C.annotations.set_state("table", stain=dust, dust=dust)
    C.q = [0.5, 0, 0.5, 1.0, 1.0, 0.8]
    return C


BENCH = bench()


def visits(n: int, T: int, hand, finger) -> np.ndarray:
    """The hand and the finger are at places of theirs for a while, or twice."""
    rng = np.random.default_rng(2)
    x = np.tile([*AWAY, *FAR], (n, T, 1))
    for path in x:
        for part, place, longest in ((slice(0, 3), hand, T), (slice(3, 6), finger, 7)):
            for _ in range(rng.integers(3)):
                start, stay = rng.integers(T), rng.integers(1, longest + 1)
                path[start : start + stay, part] = place
    return x


AWAY, BELOW, LOAF = [0.5, 0, 0.5], [1.02, -0.02, 0.2], [-0.86, 0, 0]
FAR, NEAR = [1.0, 1.0, 0.8], [1.0, 0.03, 0.82]
GIVEN = {"fingers": ["finger"], "droplets": "straight down", "forces": 11.0}
HANDLED = {
    "on": (logic.ToggledOn("tap"), AWAY, NEAR, 10),
    "off": (~logic.ToggledOn("tap"), AWAY, NEAR, 10),
    "soaked": (logic.Soaked("sponge"), BELOW, NEAR, 2),
    "sliced": (logic.Sliced("loaf"), LOAF, FAR, 20),
    "whole": (~logic.Sliced("loaf"), LOAF, FAR, 20),
}


@pytest.mark.parametrize("case, many", cases(HANDLED, ["on"]))
def test_switches_water_and_blades(case, many):
    statement, hand, finger, least = HANDLED[case]
    paths = visits(1000, 16, hand, finger)
    holds = at_end(BENCH, statement)
    check(BENCH, statement, paths, 0.2, holds, least, many, **GIVEN)


STAINS = partial(logic.Covered, substance="stain")


@pytest.mark.parametrize("kind, many", cases([logic.Dusty, logic.Stained, STAINS], []))
def test_wiping(kind, many):
    C = BENCH.copy()
    C.annotations.set_state("sponge", wetness=1)
    spots = C.annotations.states["table"].stain.positions
    rng = np.random.default_rng(0)
    paths = np.tile(C.q, (300, 9, 1))
    paths[..., 2] = 0.0199
    for path in paths:
        for k in range(9):
            near = spots[rng.choice(8, rng.integers(1, 4), replace=False), :2]
            path[k, :2] = (near.min(0) + near.max(0)) / 2
    holds = at_end(C, ~kind("table"))
    check(C, ~kind("table"), paths, 0.2, holds, 3, many, **GIVEN)
    wiped = satisfied(C, ways(C, kind("table"), 9, 0.2), paths[:10])
    assert not wiped.any()
    paths[..., 2] += 0.01
    assert satisfied(C, ways(C, kind("table"), 9, 0.2), paths[:10]).all()


def oven_world() -> pw.Config:
    C = pw.load("microwave")
    food = {"cookable": {}, "freezable": {}}
    C.add_object("pie", [(pw.Sphere(0.02), None)], joint="free", abilities=food)
    return C


def dusty_oven() -> pw.Config:
    C = oven_world()
    logic.Dusty("microwave").set(C)
    return C


def without(C: pw.Config, **states) -> pw.Config:
    W = C.copy()
    for name, values in states.items():
        W.annotations.set_state(name, **values)
    return W


WRONG = [
    (lambda: ways(BENCH, logic.Cooked("loaf"), 9, 1.0), ["cookable"]),
    (lambda: ways(BENCH, logic.Cooked("lof"), 9, 1.0), ["lof", "loaf"]),
    (lambda: ways(oven_world(), logic.Cooked("pie"), 9, 1.0), ["Nothing", "heats"]),
    (lambda: ways(oven_world(), logic.Frozen("pie"), 9, 1.0), ["cools", "coldSource"]),
    (lambda: ways(KITCHEN, logic.Cooked("steak"), 3, 0.1), ["slices of 0.1 s", "3;"]),
    (lambda: ways(KITCHEN, logic.Cooked("steak"), 3, 9.0), ["expected less than 1"]),
    (
        lambda: ways(KITCHEN, ~logic.Burnt("steak") & logic.Burnt("steak"), 9, 1.2),
        ["exclude each other", "steak"],
    ),
    (
        lambda: ways(
            without(KITCHEN, steak={"temperature": 300.0}),
            ~logic.Burnt("steak"),
            9,
            1.0,
        ),
        ["cannot be kept", "300"],
    ),
    (
        lambda: ways(
            without(KITCHEN, steak={"temperature": -9.0}), ~logic.Frozen("steak"), 9, 1
        ),
        ["-9", "more or longer slices"],
    ),
    (
        lambda: ways(
            without(KITCHEN, steak={"temperature": 90.0}), ~logic.Heated("steak"), 9, 1
        ),
        ["90", "not below 60", "more or longer slices"],
    ),
    (lambda: ways(oven_world(), logic.ToggledOn("microwave"), 9, 1.0), ["finger"]),
    (lambda: ways(BENCH, logic.ToggledOn("tap"), 4, 1.0), ["5 slices", "there are 4"]),
    (lambda: ways(BENCH, logic.Soaked("sponge"), 6, 0.2), ["2 droplets", "slices"]),
    (lambda: ways(BENCH, ~logic.Soaked("sponge"), 9, 0.2), ["only be checked"]),
    (
        lambda: ways(
            without(BENCH, loaf={"sliced": True}), ~logic.Sliced("loaf"), 9, 1
        ),
        ["undone"],
    ),
    (lambda: ways(BENCH, ~logic.Stained("table"), 1, 0.2), ["Soaking", "droplets"]),
    (lambda: ways(dusty_oven(), ~logic.Dusty("microwave"), 9, 1.0), ["cleaningTool"]),
    (
        lambda: pw.KOMO(KITCHEN, phases=2, duration_per_phase=[1, 2]).add(
            logic.Cooked("steak")
        ),
        ["1 to 2 s apart"],
    ),
    (lambda: logic.resample(KITCHEN, np.zeros((4, 2)), 1.0), ["(4, 2)", "(T, 3)"]),
    (lambda: logic.resample(KITCHEN, np.zeros((4, 3)), -1.0), ["duration", "-1"]),
    (lambda: logic.resample(KITCHEN, np.zeros((4, 3)), 1.0, 0), ["dt"]),
]


@pytest.mark.parametrize("make, words", WRONG)
def test_what_cannot_be_is_told(make, words):
    with pytest.raises(PosewiseError) as error:
        make()
    assert all(word in str(error.value) for word in words), str(error.value)


def test_what_is_so_already_needs_no_rows():
    done = {"max_temperature": 90.0, "temperature": 30.0}
    W = without(KITCHEN, steak=done)
    assert [w.objectives for w in ways(W, logic.Cooked("steak"), 3, 0.1)] == [()]
    W = without(BENCH, sponge={"wetness": 2}, loaf={"sliced": True})
    for statement in (logic.Soaked("sponge"), logic.Sliced("loaf")):
        assert [w.objectives for w in ways(W, statement, 3, 0.1)] == [()]


def test_resampled_paths_pass_through_slices():
    C = pw.Config()
    C.add_frame("body", joint="free")
    C.add_frame("slide", joint="transX")
    turn = [np.cos(0.8), 0, 0, np.sin(0.8)]
    path = np.array([[1, 0, 0, *np.negative(turn), 3], [1, 2, 0, *turn, 0]])
    finer, dt = logic.resample(C, path, 1.0, 0.3)
    assert finer.shape == (8, 8) and dt == 0.25
    np.testing.assert_allclose(finer[3::4, [0, 1, 7]], path[:, [0, 1, 7]])
    np.testing.assert_allclose(np.abs(finer[3::4, 3:7] @ turn), 1)
    np.testing.assert_allclose(np.linalg.norm(finer[:, 3:7], axis=1), 1)
    assert (np.sum(finer[1:, 3:7] * finer[:-1, 3:7], -1) > 0.9).all()
    np.testing.assert_allclose(finer[:4, 7], [0.75, 1.5, 2.25, 3])

"""Containers below water sources: what droplets stay in, and paths that fill them."""

from functools import partial

import numpy as np
import pytest
from helpers.plan_rows import satisfied, ways

import posewise as pw
from posewise import ConfigError, logic
from posewise.logic import PredicateError

UNIT = [1.0, 0, 0, 0]
WIDE, HIGH, WALL = 0.1, 0.1, 0.01
FILLED, CONTAINS = (
    partial(kind, liquid="water") for kind in (logic.Filled, logic.Contains)
)
FALLING = {"droplets": "straight down"}


def walls() -> list:
    """A box 10 cm wide, open at the top; its bottom stands on z = 0."""
    side, off = [WALL, WIDE, HIGH], (WIDE - WALL) / 2
    turned = [side[1], side[0], side[2]]
    sides = [(pw.Box(side), [s * off, 0, HIGH / 2, *UNIT]) for s in (-1, 1)]
    sides += [(pw.Box(turned), [0, s * off, HIGH / 2, *UNIT]) for s in (-1, 1)]
    return [(pw.Box([WIDE, WIDE, WALL]), [0, 0, WALL / 2, *UNIT]), *sides]


def add_cup(C: pw.Config, capacity=4, **options) -> None:
    abilities = {"fillable": {"capacity": capacity}, "soakable": {}}
    C.add_object("cup", walls(), abilities=abilities, **options)
    inner = [WIDE - 2 * WALL, WIDE - 2 * WALL, HIGH - WALL]
    C.annotations.add_region(
        "cup", "inner", size=inner, pose=[0, 0, (HIGH + WALL) / 2, *UNIT]
    )


def stand(capacity=4) -> pw.Config:
    """A tap whose droplets begin at (0, 0, 0.5), and a cup that flies freely."""
    C = pw.Config()
    C.add_object("tap", pose=[0, 0, 0.55, *UNIT], abilities={"waterSource": {}})
    add_cup(C, capacity, joint="free")
    return C


def turned(axis: int, degrees: float) -> list:
    half = np.radians(degrees) / 2
    return [np.cos(half), *(np.sin(half) * np.eye(3)[axis])]


def caught(C: pw.Config, pose, steps=50) -> tuple[int, int]:
    """Droplets in the cup, and absorbed by it, after it was at a pose for a while."""
    C.set_pose("cup", pose)
    last = logic.states_at(logic.rollout(C, np.tile(C.q, (steps, 1)), **FALLING), -1)
    return last["cup"].contents, last["cup"].wetness


@pytest.mark.parametrize(
    "pose, stays",
    [
        ([0, 0, 0, *UNIT], True),
        ([0.039, -0.039, 0, *UNIT], True),
        ([0.041, 0, 0, *UNIT], False),
        ([0.06, 0, 0, *UNIT], None),
        ([0, 0, 0.45, *UNIT], True),
        ([0, 0, 0.47, *UNIT], True),
        ([0, 0, 0.4951, *UNIT], None),
        ([0, 0, 0.6, *UNIT], None),
        ([0, 0, 0.1, *turned(0, 180)], False),
        ([0, 0, 0.1, *turned(1, 30)], False),
        ([-0.03, 0, 0.1, *turned(1, 30)], True),
        ([-0.05, 0, 0.1, *turned(1, 44)], True),
        ([-0.05, 0, 0.1, *turned(1, 46)], False),
        ([-0.05, 0, 0.1, *turned(1, 90)], False),
    ],
)
def test_what_stays_in_a_cup(pose, stays):
    """All of 10 droplets stay (True), or fall onto it (False), or beside (None)."""
    expected = {True: (10, 10), False: (0, 10), None: (0, 0)}[stays]
    assert caught(stand(capacity=20), pose) == expected


def test_levels_over_time():
    """One droplet every 4 steps from the second on; no more than it can hold."""
    C = stand()
    C.set_pose("cup", [0, 0, 0, *UNIT])
    history = logic.rollout(C, np.tile(C.q, (30, 1)), **FALLING)
    drops = np.array([0] + [1 + (k - 1) // 4 for k in range(1, 30)])
    assert history["cup"].contents.tolist() == np.minimum(drops, 4).tolist()
    assert history["cup"].wetness.tolist() == drops.tolist()
    for kind, least in ((CONTAINS, 1), (FILLED, 2)):
        true = kind("cup").holds_along(C, history)
        assert true.tolist() == (drops >= least).tolist()
    assert C.annotations.states["cup"].contents == 0


def test_what_is_over_the_cup_or_in_it_keeps_droplets_out():
    for name, z in (("lid", 0.12), ("stone", 0.03)):
        C = stand()
        C.add_frame(name, pose=[0, 0, z, *UNIT], shape=pw.Box([0.02] * 3))
        assert caught(C, [0, 0, 0, *UNIT]) == (0, 0)


def test_without_a_bottom_or_a_cavity_nothing_stays():
    C = stand()
    C.add_object("ring", walls()[1:], abilities={"fillable": {"capacity": 4}})
    C.annotations.add_region("ring", "hole", size=[0.08] * 3, pose=[0, 0, 0.05, *UNIT])
    C.add_object("block", walls()[:1], abilities={"fillable": {"capacity": 4}})
    history = logic.rollout(C, np.tile(C.q, (20, 1)), **FALLING)
    assert history["ring"].contents.max() == history["block"].contents.max() == 0


def test_a_basin_below_its_own_tap_fills():
    C = pw.Config()
    basin = {"waterSource": {"link": "spout"}, "fillable": {"capacity": 20}}
    C.add_object("sink", walls(), abilities=basin)
    C.add_frame("spout", "sink", position=[0, 0, 0.3])
    C.annotations.add_region(
        "sink", "bowl", size=[0.08, 0.08, 0.08], pose=[0, 0, 0.06, *UNIT]
    )
    last = logic.states_at(logic.rollout(C, np.zeros((99, 0)), **FALLING), -1)
    assert last["sink"].contents == 20 and last["sink"].stream.left == 10


def test_recorded_droplets_count():
    C = stand()
    C.annotations.set_state("cup", contents=1)
    drops = {"cup": [0, 2, 0, 7]}
    history = logic.rollout(C, np.tile(C.q, (4, 1)), droplets=drops)
    assert history["cup"].contents.tolist() == [1, 3, 3, 4]
    C.annotations.set_state("cup", contents=9)
    history = logic.rollout(C, np.tile(C.q, (4, 1)), droplets=drops)
    assert history["cup"].contents.tolist() == [9] * 4


def test_where_droplets_fall_must_be_said():
    C = stand()
    C.annotations.mark_object("cup", abilities={"fillable": {}})
    with pytest.raises(ConfigError, match="each soakable or fillable object"):
        logic.rollout(C, np.tile(C.q, (9, 1)))


def test_our_mug_can_be_filled():
    C = pw.Config()
    C.add_object("tap", pose=[0, 0, 0.5, *UNIT], abilities={"waterSource": {}})
    C.annotations.set_state("tap", stream=pw.Stream(left=40))
    C.load("mug")
    C.annotations.states = logic.states_at(
        logic.rollout(C, np.zeros((200, 0)), **FALLING), -1
    )
    assert C.annotations.states["mug"].contents == 40 and FILLED("mug").holds(C)
    C.add_frame("pea", pose=[0.03, 0, 0.05, *UNIT], shape=pw.Sphere(0.004))
    inside = logic.InsideOf("pea", "mug")
    assert inside.holds(C) and inside.violation(C) < 0


# -- paths -----------------------------------------------------------------------------


def washstand(capacity=4) -> pw.Config:
    """A tap with a button, a hand with a cup, and a finger."""
    C = pw.Config()
    tap = [(pw.Box([0.04, 0.04, 0.04]), None)]
    abilities = {"waterSource": {}, "toggleable": {"link": "button"}}
    C.add_object("tap", tap, pose=[1, 0, 0.5, *UNIT], abilities=abilities)
    C.add_frame("button", "tap", position=[0, 0, 0.3])
    C.add_frame("hand", joint="trans3")
    C.add_frame("wrist", "hand", joint="hingeY")
    add_cup(C, capacity, parent="wrist")
    C.add_frame("arm", joint="trans3", shape=pw.Marker())
    C.add_frame("finger", "arm", shape=pw.Sphere(0.01))
    C.annotations.add_agent("robot", base="world", hands={"arm": ["finger"]})
    C.q = [*AWAY, *FAR]
    return C


AWAY, BELOW, TILTED = [0.5, 0, 0.2, 0], [1.02, -0.02, 0.2, 0], [0.96, 0, 0.2, 0.5]
FAR, NEAR = [1.0, 1.0, 0.8], [1.0, 0.03, 0.82]
GIVEN = {"fingers": ["finger"], **FALLING}
OFF = washstand()
ON = washstand()
# Two droplets fill the cup of the first two worlds, seven that of the last one.
ROOMY = washstand(20)
for stand_on in (ON, ROOMY):
    logic.ToggledOn("tap").set(stand_on)
A_LITTLE = CONTAINS("cup") & ~FILLED("cup")


def visits(n: int, T: int, press: bool) -> np.ndarray:
    """The cup is at the tap for a while or twice, upright or not, or near it."""
    rng = np.random.default_rng(2)
    x = np.tile([*AWAY, *FAR], (n, T, 1))
    for path in x:
        for _ in range(rng.integers(3)):
            start, stay = rng.integers(T), rng.integers(1, T + 1)
            pose = np.add(BELOW if rng.random() < 0.7 else TILTED, 0.0)
            pose[:2] += rng.uniform(-0.1, 0.1, 2) * (rng.random() < 0.5)
            path[start : start + stay, :4] = pose
        if press and rng.random() < 0.7:
            start, stay = rng.integers(T), rng.integers(4, 8)
            path[start : start + stay, 4:] = NEAR
    return x


PLANS = {
    "filled": (ON, FILLED("cup"), 20),
    "contains": (ON, CONTAINS("cup"), 20),
    "not filled": (ON, ~FILLED("cup"), 20),
    "switched on and filled": (OFF, FILLED("cup"), 2),
    "not filled, off or away": (OFF, ~CONTAINS("cup"), 20),
    "a little": (ROOMY, A_LITTLE, 5),
}


def holds_at_end(C, statement, history) -> bool:
    if isinstance(statement, logic.And):
        return all(holds_at_end(C, part, history) for part in statement.parts)
    if isinstance(statement, logic.Not):
        return not holds_at_end(C, statement.part, history)
    return bool(statement.holds_along(C, history)[-1])


@pytest.mark.slow
@pytest.mark.parametrize("case", PLANS)
def test_what_rows_say_is_so(case):
    """On paths that meet them, by steps of slices and of a third of those."""
    C, statement, least = PLANS[case]
    paths, tau = visits(600, 16, press=C is OFF), 0.2
    met = satisfied(C, ways(C, statement, 16, tau), paths).any(0)
    assert met.sum() >= least
    for path in paths[np.flatnonzero(met)][:: max(met.sum() // 15, 1)]:
        for steps in ((path, tau), logic.resample(C, path, tau, tau / 3)):
            history = logic.rollout(C, *steps, **GIVEN)
            assert holds_at_end(C, statement, history)


def test_a_last_droplet_falls_from_a_tap_that_was_just_switched_off():
    C = OFF.copy()
    C.annotations.set_state("tap", stream=pw.Stream(running=True))
    paths = np.tile([*BELOW, *FAR], (1, 5, 1))
    assert logic.rollout(C, paths[0], 0.2, **GIVEN)["cup"].contents[-1] == 1
    assert not satisfied(C, ways(C, ~CONTAINS("cup"), 5, 0.2), paths).any()
    assert satisfied(OFF, ways(OFF, ~CONTAINS("cup"), 5, 0.2), paths).any()


def full(contents: int) -> pw.Config:
    C = ON.copy()
    C.annotations.set_state("cup", contents=contents)
    return C


def bare() -> pw.Config:
    C = pw.Config()
    C.add_object("cup", walls(), abilities={"fillable": {"capacity": 3}})
    return C


@pytest.mark.parametrize(
    "C, statement, slices, words",
    [
        (OFF, FILLED("cup"), 6, ["Filling 'cup'", "2 droplets", "longer slices"]),
        (washstand(99), FILLED("cup"), 9, ["30 droplets", "'tap' has 10 left"]),
        (full(2), ~FILLED("cup"), 9, ["'cup' holds 2", "takes any out"]),
        (
            bare(),
            FILLED("cup"),
            9,
            ["Nothing can fill 'cup'", "C.annotations.add_region"],
        ),
    ],
)
def test_what_cannot_be_is_told(C, statement, slices, words):
    with pytest.raises(PredicateError) as error:
        ways(C, statement, slices, 0.2)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    "C, statement", [(full(2), FILLED("cup")), (bare(), ~FILLED("cup"))]
)
def test_what_is_so_already_needs_no_rows(C, statement):
    assert [w.objectives for w in ways(C, statement, 3, 0.1)] == [()]


@pytest.mark.slow
def test_a_cup_is_filled_at_a_tap_and_put_back():
    """From beside the tap, tilted, with the wall of the cup in between."""
    komo = pw.KOMO(ON, phases=2, slices_per_phase=8, k_order=1, duration_per_phase=1.6)
    komo.add_control_objective(order=1, scale=0.1)
    komo.add(FILLED("cup"))
    back = dict(target=[0.5, 0, 0.2, 0.3], scale=10)
    komo.add_objective([2.0], pw.FS.qItself, ["hand", "wrist"], pw.OT.eq, **back)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    assert "cup below tap" in solution.alternatives[0]
    tau = float(solution.tau[0])
    for steps in ((solution.path, tau), logic.resample(ON, solution.path, tau)):
        history = logic.rollout(ON, *steps, **GIVEN)
        filled = FILLED("cup").holds_along(ON, history)
        assert filled[-1] and not filled[0]


@pytest.mark.slow
def test_a_path_fills_a_little():
    komo = pw.KOMO(
        ROOMY, phases=2, slices_per_phase=8, k_order=1, duration_per_phase=1.6
    )
    komo.add_control_objective(order=1, scale=0.1)
    komo.add(A_LITTLE)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    tau = float(solution.tau[0])
    for steps in ((solution.path, tau), logic.resample(ROOMY, solution.path, tau)):
        history = logic.rollout(ROOMY, *steps, **GIVEN)
        assert holds_at_end(ROOMY, A_LITTLE, history)


def test_what_cannot_be_filled_a_little():
    """Two droplets fill the cup, and more than one may fall within a slice."""
    with pytest.raises(PredicateError, match="exclude each other|too many"):
        ways(ON, A_LITTLE, 16, 0.2)

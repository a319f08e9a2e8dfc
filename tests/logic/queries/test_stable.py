"""Stable, Touching, Supporting: against mechanics, PyCRAM's tests, each other."""

import re
import time

import jax
import numpy as np
import pytest
from helpers.stable_scenes import X, boxes, cup, placed, slope, table, turned, world

import posewise as pw
from posewise import logic
from posewise.objectives.checks.doubts import doubts_of, solution_doubts_of
from posewise.objectives.placement.hints import admits_poses

pytest.importorskip("mujoco")

EDGE = 0.3
"""Distance of the table's edge from its middle [m]."""


def over_edge(margin: float) -> pw.Config:
    """A cube whose centre is that far inside the table's edge [m]."""
    C = boxes(1)
    C.set_pose("b0", [EDGE - margin, 0, 0.75, 1, 0, 0, 0])
    return C


def ball_in_cup(shift: float = 0.0) -> pw.Config:
    C = table()
    C.add_object("cup", cup(), pose=[shift, 0, 0.7, 1, 0, 0, 0], joint="free")
    C.add_frame("ball", joint="free", position=[shift, 0, 0.726], shape=pw.Sphere(0.02))
    return C


def alone(shape, height, quaternion=(1, 0, 0, 0)) -> pw.Config:
    C = table()
    C.add_frame("b0", joint="free", shape=shape, mass=0.3)
    C.set_pose("b0", [0.05, 0.02, 0.7 + height, *quaternion])
    return C


TRUTH = [
    ("on the table", lambda: boxes(1), "b0", True),
    ("3 boxes", lambda: boxes(3), "b2", True),
    ("5 boxes", lambda: boxes(5), "b4", True),
    ("10 boxes", lambda: boxes(10), "b9", True),
    ("10 boxes, 4 mm each", lambda: boxes(10, 0.004), "b9", True),
    ("5 boxes, 25 mm each", lambda: boxes(5, 0.025), "b4", False),
    ("30 mm inside the edge", lambda: over_edge(0.03), "b0", True),
    ("0.5 mm inside", lambda: over_edge(5e-4), "b0", True),
    ("0.5 mm outside", lambda: over_edge(-5e-4), "b0", False),
    ("10 mm outside", lambda: over_edge(-0.01), "b0", False),
    ("slope of 5°", lambda: slope(5), "b0", True),
    ("slope of 20°", lambda: slope(20), "b0", True),
    ("slope of 26°", lambda: slope(26), "b0", True),
    ("slope of 26.5°", lambda: slope(26.5), "b0", True),
    ("slope of 27°", lambda: slope(27), "b0", False),
    ("rougher slope of 27°", lambda: slope(27, 0.6), "b0", True),
    ("ball in a cup", ball_in_cup, "ball", True),
    ("its cup", ball_in_cup, "cup", True),
    ("cup 3 mm over the edge", lambda: ball_in_cup(EDGE + 0.003), "cup", False),
    ("ball on the table", lambda: alone(pw.Sphere(0.05), 0.05), "b0", True),
    ("can", lambda: alone(pw.Cylinder(0.1, 0.04), 0.05), "b0", True),
    ("rounded box", lambda: alone(pw.Box([0.1] * 3, 0.01), 0.05), "b0", True),
    ("on one edge", lambda: alone(pw.Box([0.1] * 3), 0.0707, turned(0, 0.8, X)), "b0",
     False),
    ("2 mm too high", lambda: alone(pw.Box([0.1] * 3), 0.052), "b0", False),
    ("5 mm too deep", lambda: alone(pw.Box([0.1] * 3), 0.045), "b0", False),
    ("no free joint", lambda: boxes(1), "table", True),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "truth"), [t[1:] for t in TRUTH],
                         ids=[t[0] for t in TRUTH])  # fmt: skip
def test_stable(make, name, truth):
    C = make()
    before = C.q
    assert logic.Stable(name).holds(C) is truth, logic.Stable(name).explain(C)
    np.testing.assert_array_equal(C.q, before)


def test_the_rule_of_rounding():
    """PyCRAM's: 0.4 mm within a cell is no motion, any motion across its edge is."""
    low, high = boxes(1), boxes(1)
    low.set_pose("b0", [0, 0, 0.7504, 1, 0, 0, 0])
    high.set_pose("b0", [0, 0, 0.7506, 1, 0, 0, 0])
    assert logic.stable(low, "b0", legacy=True)
    assert not logic.stable(high, "b0", legacy=True)
    assert logic.stable(high, "b0")


@pytest.mark.parametrize(
    ("statement", "make", "sentence"),
    [
        (logic.Stable("table"), lambda: boxes(1), "no free joint: stable"),
        (logic.Stable("b0"), lambda: over_edge(-0.01), "cm.*not stable"),
        (logic.Stable("b0", legacy=True), lambda: boxes(1), "^b0 moves by 0.00 mm"),
        (logic.Supporting("table", "b1"), lambda: boxes(2), "not in contact"),
        (logic.Supporting("b1", "b0"), lambda: boxes(2), "Without b1, b0 moves by 0"),
        (
            logic.Supporting("b1", "b0", legacy=True),
            lambda: boxes(2),
            "its origin is not above b1's",
        ),
    ],
)
def test_reasons(statement, make, sentence):
    assert re.search(sentence, statement.explain(make()))


def cubes(*positions) -> pw.Config:
    """Unit cubes, free to move."""
    C = pw.Config()
    for i, p in enumerate(positions):
        C.add_frame(f"c{i}", joint="free", position=p, shape=pw.Box([1, 1, 1]))
    return C


def kitchen() -> pw.Config:
    """PyCRAM's scene: a kitchen with a counter of 0.8 m, milk and cereal."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_object(
        "kitchen", [(pw.Box([1, 3, 0.8]), None)], pose=[1.3, 0, 0.4, 1, 0, 0, 0]
    )
    placing = lambda y, h: dict(pose=[1.3, y, 0.8 + h / 2, 1, 0, 0, 0], joint="free")
    C.add_object("milk", [(pw.Box([0.07, 0.07, 0.2]), None)], **placing(0, 0.2))
    C.add_object("cereal", [(pw.Box([0.06, 0.2, 0.3]), None)], **placing(0.7, 0.3))
    return C


def test_contact_as_pycram_tests_it():
    C = cubes([0, 0, 0], [0.9, 0, 0], [1.8, 0, 0])
    assert logic.contact(C, "c0", "c1") and logic.contact(C, "c1", "c2")
    assert not logic.contact(C, "c0", "c2")
    K = kitchen()
    assert not logic.contact(K, "milk", "cereal")
    for name in ("milk", "cereal"):
        K.set_pose(name, [1, 1, 1, 1, 0, 0, 0])
    assert logic.contact(K, "milk", "cereal")
    links = logic.contact(ball_in_cup(), "ball", "cup", return_links=True)
    assert links == (True, [("ball", "cup")])
    assert logic.contact(K, "milk", "ground", return_links=True) == (False, [])


@pytest.mark.parametrize(("gap", "truth"), [(9e-4, True), (1.1e-3, False)])
def test_contact_is_within_a_millimetre(gap, truth):
    C = cubes([0, 0, 0], [0, 0, 1 + gap])
    assert logic.contact(C, "c0", "c1") is truth
    assert logic.contact(C, "c0", "c1", tolerance=0.0) is False


def test_supporting_as_pycram_tests_it():
    K = kitchen()
    for legacy in (True, False):
        assert logic.supporting(K, "kitchen", "milk", legacy=legacy)
        assert not logic.supporting(K, "milk", "kitchen", legacy=legacy)
        assert not logic.supporting(K, "kitchen", "ground", legacy=legacy)
    C = cubes([0, 0, 0], [0, 0, 3])
    assert not logic.supporting(C, "c0", "c1", legacy=True)
    C.set_pose("c1", [0, 0, 1, 1, 0, 0, 0])
    assert logic.supporting(C, "c0", "c1", legacy=True)
    assert not logic.supporting(C, "c1", "c0", legacy=True)


def test_two_supports_of_which_one_is_enough():
    """A board on two posts, its centre above one of them: the other is not needed."""
    C = pw.Config()
    post = pw.Box([0.1, 0.1, 0.5])
    C.add_frame("near", position=[0, 0, 0.25], shape=post)
    C.add_frame("far", position=[0.3, 0, 0.25], shape=post)
    C.add_frame("b", joint="free", position=[0.02, 0, 0.51],
                shape=pw.Box([0.8, 0.2, 0.02]), mass=1.0)  # fmt: skip
    assert logic.supporting(C, "near", "b")
    assert not logic.supporting(C, "far", "b")
    assert logic.supporting(C, "far", "b", legacy=True)


# -- rows --------------------------------------------------------------------------


def check_sound(name: str, count: int) -> tuple[int, int]:
    """Numbers of stable scenes, and of those that the rows accept: none wrongly."""
    rng, stable, accepted = np.random.default_rng(0), 0, 0
    thing = logic.Stable("b0" if name == "slope" else "a")
    for _ in range(count):
        C = placed(name, rng)
        truth, is_accepted = thing.holds(C), thing.violation(C) <= 0
        assert truth or not is_accepted, thing.explain(C)
        stable, accepted = stable + truth, accepted + is_accepted
    return stable, accepted


@pytest.mark.slow
def test_rows_are_sound():
    stable, accepted = check_sound("box", 25)
    assert 0 < accepted <= stable < 25


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["box", "slope", "tower", "can", "rim", "crate", "rounded"]
)
def test_rows_are_sound_in_many_scenes(name):
    stable, accepted = check_sound(name, 150)
    assert accepted > 0.2 * stable


@pytest.mark.long
def test_a_tower_is_told_and_stated_once():
    C = boxes(10, 0.004)
    assert logic.Stable("b0").violation(C) <= 0
    komo = pw.KOMO(C)
    first = komo.add(logic.Stable("b0"))
    assert komo.add(logic.Stable("b9") & logic.Stable("b1")) == first
    # Beside the rows that keep the boxes apart.
    assert komo.objectives[1:] == first
    assert len(komo.add(logic.Stable("b0", shift=2e-3))) == 1
    C.set_pose("b9", [0.092, 0, 1.65, 1, 0, 0, 0])
    assert logic.Stable("b0").violation(C) > 0


@pytest.mark.long
def test_a_tower_that_falls_is_refused():
    """A solver found it at the edges of all boxes, with weaker rows."""
    C = pw.Config()
    C.add_object("tray", [pw.Box([0.5, 0.4, 0.02])], pose=[0, 0, 0.01, 1, 0, 0, 0])
    places = [
        [-0.00259, 0.17898, 0.04512, 1.0, 0.00112, 0.00021, 0.00087],
        [0.04736, 0.1453, 0.09503, 0.70691, 0.00066, 0.00096, -0.7073],
        [0.02119, 0.1795, 0.14513, 0.70706, 0.00091, -0.00059, 0.70715],
        [0.03625, 0.19203, 0.19523, 0.0, -0.00039, 0.00042, -1.0],
        [-0.00373, 0.19022, 0.24536, 4e-05, 0.70711, -0.70711, 0.00075],
    ]
    for k, place in enumerate(places):
        shape = pw.Box([0.1 - 0.01 * (k % 3), 0.08, 0.05])
        C.add_object(f"b{k}", [shape], pose=place, joint="free")
    assert not logic.stable(C, "b4")
    assert logic.Stable("b4").violation(C) > 0


@pytest.mark.parametrize(
    ("shape", "quaternion", "expected"),
    [
        (pw.Box([0.1, 0.1, 0.1]), (1, 0, 0, 0), True),
        (pw.Box([0.1, 0.1, 0.1]), turned(0, 0.1, X), False),
        (pw.Box([0.1, 0.006, 0.1]), (1, 0, 0, 0), False),
        (pw.Box([0.1, 0.1, 0.1], 0.01), turned(0, np.pi / 2, X), True),
        (pw.Cylinder(0.1, 0.04), turned(0.3, 0, X), True),
        (pw.Cylinder(0.1, 0.04), turned(0.3, np.pi / 2, X), False),
        (pw.Sphere(0.05), (1, 0, 0, 0), False),
        (pw.Capsule(0.1, 0.03), (1, 0, 0, 0), False),
    ],
    ids=lambda x: type(x).__name__,
)
def test_starts_are_on_faces(shape, quaternion, expected):
    """By geometry: a face below the centre of mass, 4 mm inside of its rim."""
    C = alone(shape, 0.3)
    C.add_frame("below", "b0", position=[0, 0, 0.001], shape=pw.Marker(0.1))
    poses = np.array([[0, 0, 1.5, *quaternion], [0.1, 0, 2, *quaternion]])
    got = admits_poses(logic.Stable("b0"), C, "b0", poses)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_many_different_objects_find_stable_places_in_a_tray():
    C = pw.Config()
    C.add_object("tray", [pw.Box([0.5, 0.4, 0.02])], pose=[0, 0, 0.01, 1, 0, 0, 0])
    sizes = {"can": (0.1, 0.03), "bottle": (0.15, 0.025), "dish": (0.02, 0.05)}
    shapes = {name: pw.Cylinder(*size) for name, size in sizes.items()}
    sizes = {"carton": (0.06, 0.05, 0.1), "bar": (0.08, 0.04, 0.04), "die": (0.05,) * 3}
    shapes |= {name: pw.Box(size) for name, size in sizes.items()}
    for name, shape in shapes.items():
        C.add_object(name, [shape], pose=[0, 0, 0.5, 1, 0, 0, 0], joint="free")
    statements = [logic.OnTopOf(a, "tray") & logic.Stable(a) for a in shapes]
    placements = pw.solve_placement(C, statements, [*shapes], starts=4, count=1)
    assert placements[0].feasible, placements[0].message
    placements[0].apply(C)
    assert all(logic.stable(C, name) for name in shapes)


@pytest.mark.long
def test_rows_tell_how_far_the_edge_is():
    """Accepted 4 mm inside; beyond, rows and their gradient grow with the overhang."""
    C, rows = world("box").copy(), []
    statement = logic.Stable("a")
    for margin in (0.02, 0.004, 0.0, -0.005, -0.01, -0.02):
        C.set_pose("a", [EDGE - margin, 0.01, 0.73, 1, 0, 0, 0])
        rows.append(statement.violation(C))
    assert max(rows[:2]) <= 0 and min(rows[2:]) > 0
    assert (np.diff(rows[2:]) > 0).all()


@pytest.mark.long
def test_derivatives():
    C = world("box").copy()
    feature = logic.Stable("a").relaxed(C).feature
    quat = turned(0.4, 2e-3)
    for x in (0.29, 0.303, 0.32):
        C.set_pose("a", [x, 0.013, 0.7301, *quat])
        y, J = feature.eval(C)
        assert np.isfinite(y).all() and np.isfinite(J).all()
        step = np.array([1e-7, 2e-7, 1e-8, 0, 0, 0, 1e-7])
        ends = [feature.eval(C, C.q + s * step)[0] for s in (-1, 1)]
        change = (ends[1] - ends[0]) / 2
        np.testing.assert_allclose(J @ step, change, rtol=2e-2, atol=2e-9)


def test_what_cannot_be_told():
    C = boxes(1)
    with pytest.raises(logic.PredicateError, match="The negation of Stable"):
        (~logic.Stable("b0")).violation(C)
    with pytest.raises(logic.PredicateError, match="shift is -1"):
        logic.Stable("b0", shift=-1)
    with pytest.raises(pw.ConfigError, match="did you mean 'b0'"):
        logic.stable(C, "b")
    assert logic.Stable("table").violation(C) == -np.inf
    C.ignore_collisions("b0", ["table", "ground"])
    with pytest.raises(logic.PredicateError, match="nothing to rest on"):
        logic.Stable("b0").violation(C)


@pytest.mark.long
def test_supporting_in_rows():
    C = world("box").copy()
    statement = logic.Supporting("table", "a")
    C.set_pose("a", [0.2, 0, 0.73, 1, 0, 0, 0])
    assert statement.violation(C) <= 0 and statement.holds(C)
    C.set_pose("a", [0.31, 0, 0.73, 1, 0, 0, 0])
    assert statement.violation(C) > 0
    legacy = logic.Supporting("table", "a", legacy=True)
    assert legacy.violation(C) <= 0 and legacy.holds(C)


@pytest.mark.slow
def test_what_is_found_stays():
    """From random starts the solver finds a placement, and what it finds stays."""
    C = world("box").copy()
    statements = [logic.OnTopOf("a", "table"), logic.Stable("a")]
    placements = pw.solve_placement(C, statements, ["a"], starts=16, progress=False)
    good = [s for s in placements if s.feasible]
    assert good
    for placement in good:
        D = C.copy()
        placement.apply(D)
        assert logic.stable(D, "a")


@pytest.mark.slow
def test_rows_are_quick():
    """Value and gradient within 5 ms on an idle core."""
    C = world("box").copy()
    rows = logic.Stable("a").relaxed(C).feature.function(C)
    program = jax.jit(jax.value_and_grad(lambda q: rows(q).max()))
    jax.block_until_ready(program(C.q))
    times = []
    for _ in range(50):
        start = time.perf_counter()
        jax.block_until_ready(program(C.q))
        times.append(time.perf_counter() - start)
    assert min(times) < 5e-3


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("tilt", [0.0, 0.004, 0.008, 0.0123, 0.02])
def test_rows_count_how_far_a_tilted_cup_tips(tilt):
    """Lifted and tilted, it moves by the gap of its farthest contact, not the least."""
    accepted = []
    for lift in (0.0, 2e-4, 4e-4, 6e-4, 8.4e-4):
        C = table()
        half = tilt / 2
        height = 0.7 + 0.035 * np.sin(tilt) + lift
        pose = [0.05, 0.02, height, np.cos(half), np.sin(half), 0, 0]
        C.add_object("cup", cup(), pose=pose, joint="free", mass=0.3)
        stable = logic.Stable("cup")
        accepted.append(stable.violation(C) <= 0)
        assert stable.holds(C) or not accepted[-1], (lift, stable.explain(C))
    assert accepted[0] == (tilt < 0.02) and accepted == sorted(accepted, reverse=True)


BALL = logic.Stable("ball")
DEMANDED = {
    "itself": (BALL, 1),
    "a conjunction": (BALL & logic.OnTopOf("ball", "table"), 1),
    "of a conjunction": (logic.ForAll(["cup"], lambda name: BALL & BALL), 2),
    "one of one": (logic.AtLeast(1, BALL), 1),
    "a negation": (~BALL, 0),
    "alternatives": (BALL | logic.OnTopOf("ball", "table"), 0),
    "an implication": (logic.Implies(BALL, BALL), 0),
    "a negation in a conjunction": (BALL & ~BALL, 1),
}


@pytest.mark.parametrize("name", DEMANDED)
def test_doubts_are_of_what_is_demanded_for_certain(name):
    """A ball could roll, which is no doubt where it need not be stable."""
    statement, count = DEMANDED[name]
    C = ball_in_cup()
    assert len([*doubts_of(statement, C)]) == count
    assert [*solution_doubts_of(statement, C)] == []

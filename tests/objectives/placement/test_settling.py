"""Objects that constraints want on something stand on faces, above what carries them.

The truth is geometry: a tilt of zero, a centre of mass above its support.
"""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic
from posewise.objectives.placement import search
from posewise.objectives.placement.resting import resting_state
from posewise.objectives.placement.settling import cycle_of_supports, settled_state

HALF = 0.2
"""Half the length of the table's edges [m]."""


def world(**objects: tuple[pw.Box | pw.Cylinder, list[float], float]) -> pw.Config:
    """A table with its top at z = 0, and objects that are tilted about x."""
    C = pw.Config()
    C.add_frame(
        "table", position=[0, 0, -0.02], shape=pw.Box([2 * HALF, 2 * HALF, 0.04])
    )
    for name, (shape, position, tilt) in objects.items():
        turn = [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
        C.add_frame(name, joint="free", pose=[*position, *turn], shape=shape)
    return C


def settled(C: pw.Config, supports: dict[str, str]) -> pw.Config:
    after = C.copy()
    after.q = settled_state(C, C.q, supports, supports)
    return after


def up(C: pw.Config, name: str) -> np.ndarray:
    """The world's vertical in an object's frame."""
    return np.asarray(pw.Feature(FS.vectorZ, [name]).eval(C)[0])


CUP = pw.Cylinder(0.1, 0.04)
PLATE = pw.Cylinder(0.02, 0.1)


@pytest.mark.parametrize(
    ("shape", "height"), [(CUP, 0.05), (PLATE, 0.01), (pw.Box([0.1, 0.06, 0.04]), 0.02)]
)
def test_tilted_objects_are_turned_onto_their_faces(shape, height) -> None:
    C = world(x=(shape, [0.05, -0.03, height + 0.003], 0.09))
    after = settled(C, {"x": "table"})
    np.testing.assert_allclose(up(after, "x"), [0, 0, 1], atol=1e-9)
    # The lowest point stays as high, and the centre where it is.

    assert after.pose("x")[2] <= C.pose("x")[2] + 1e-9
    assert after.pose("x")[2] - height < 0.004
    np.testing.assert_allclose(after.pose("x")[:2], [0.05, -0.03], atol=1e-9)


def test_balls_only_come_down() -> None:
    C = world(x=(pw.Sphere(0.05), [0, 0, 0.3], 0.6))
    down = [0, 0, 0.05, *C.pose("x")[3:]]
    np.testing.assert_allclose(settled(C, {"x": "table"}).q, down, atol=2e-3)


@pytest.mark.parametrize("x", [[0.25, 0.0], [0.0, -0.22], [0.24, 0.24], [0.0, 0.0]])
def test_centres_beyond_an_edge_come_back_by_the_least_way(x) -> None:
    C = world(x=(PLATE, [*x, 0.01], 0.0))
    moved = settled(C, {"x": "table"}).pose("x")[:2]
    # The columns through an object are some millimetres apart.
    assert (np.abs(moved) < HALF).all()
    np.testing.assert_allclose(moved, np.clip(x, -HALF, HALF), atol=0.02)


def test_narrow_objects_within_an_edge_stay() -> None:
    C = world(x=(pw.Box([0.01, 0.2, 0.006]), [0.15, 0, 0.003], 0.0))
    np.testing.assert_allclose(settled(C, {"x": "table"}).q, C.q, atol=1e-9)


def test_what_is_above_nothing_stays_where_it_is() -> None:
    C = world(x=(CUP, [1, 1, 0.3], 0.0))
    np.testing.assert_allclose(settled(C, {"x": "table"}).q, C.q, atol=1e-9)


def test_stacks_are_moved_by_what_they_weigh_together() -> None:
    C = world(
        lower=(PLATE, [0.19, 0, 0.01], 0.0),
        upper=(PLATE, [0.27, 0, 0.03], 0.0),
    )
    after = settled(C, {"lower": "table", "upper": "lower"})
    shift = after.pose("lower")[0] - 0.19
    assert after.pose("upper")[0] - 0.27 == pytest.approx(shift)
    middle = (after.pose("lower")[0] + after.pose("upper")[0]) / 2
    assert HALF - 0.02 < middle < HALF


@pytest.mark.long
def test_placements_stand_but_costs_come_first() -> None:
    C = world(cup=(CUP, [0.1, 0, 0.3], 1.0))
    stands = [logic.OnTopOf("cup", "table"), logic.Upright("cup")]
    for count in (1, None):
        (best, *_) = pw.solve_placement(
            C, stands, ["cup"], starts=4, count=count, progress=False
        )
        assert best.feasible
        best.apply(C)
        assert up(C, "cup")[2] > 1 - 1e-5
        assert np.abs(C.pose("cup")[:2]).max() < HALF
    # A cost that wants it tilted is obeyed, as far as the constraints let it.
    tilted = (pw.Feature(FS.vectorZ, ["cup"], target=[0, 0.06, 0.998]), OT.sos)
    (best, *_) = pw.solve_placement(
        C, [*stands, tilted], ["cup"], starts=4, count=1, progress=False
    )
    best.apply(C)
    assert up(C, "cup")[1] == pytest.approx(0.06, abs=5e-3)


@pytest.mark.parametrize("x", [0.0, 0.05])
def test_what_is_in_something_comes_down_onto_what_is_below(x) -> None:
    C = world(
        lower=(CUP, [0, 0, 0.08], 0.02),
        upper=(pw.Box([0.06, 0.06, 0.04]), [x, 0, 0.25], 0.0),
        lid=(PLATE, [0.12, 0.12, 0.3], 0.0),
    )
    # narrower than the columns through the lid are apart
    C.add_frame("rib", position=[0.12, 0.12, 0.1], shape=pw.Box([0.004, 0.3, 0.2]))
    after = settled(C, {"upper": "table", "lower": "table", "lid": "table"})
    heights = [after.pose(name)[2] for name in ("lower", "upper", "lid")]
    # beyond the rim of the cup it is moved onto it
    np.testing.assert_allclose(heights, [0.05, 0.12, 0.21], atol=1e-4)
    assert np.linalg.norm(after.pose("upper")[:2]) < 0.04


def open_box() -> list[tuple[pw.Box, list[float]]]:
    walls = [
        (pw.Box([0.02, 0.3, 0.2]), [sign * 0.14, 0, 0.1, 1, 0, 0, 0])
        for sign in (-1, 1)
    ]
    walls += [
        (pw.Box([0.3, 0.02, 0.2]), [0, sign * 0.14, 0.1, 1, 0, 0, 0])
        for sign in (-1, 1)
    ]
    return [(pw.Box([0.3, 0.3, 0.02]), [0, 0, -0.01, 1, 0, 0, 0]), *walls]


def test_contents_come_to_rest_and_others_are_held() -> None:
    C = pw.Config()
    C.add_object("box", open_box())
    start = {"ball": [0.02, 0, 0.1], "roll": [0, 0.05, 0.05], "lamp": [0.3, 0.3, 0.4]}
    shapes = pw.Sphere(0.04), pw.Cylinder(0.1, 0.03), pw.Box([0.1, 0.1, 0.1])
    for (name, position), shape in zip(start.items(), shapes, strict=True):
        turn = [0.5**0.5, 0, 0.5**0.5, 0]
        C.add_frame(name, joint="free", pose=[*position, *turn], shape=shape)
    after = C.copy()
    after.q = resting_state(C, C.q, ["ball", "roll"])
    np.testing.assert_allclose(after.pose("lamp"), C.pose("lamp"), atol=1e-12)
    heights = [after.pose(x)[2] for x in ("ball", "roll")]
    np.testing.assert_allclose(heights, [0.04, 0.03], atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    "is_installed", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_contents_rest_on_each_other_and_on_walls(is_installed, monkeypatch) -> None:
    C = pw.Config()
    C.add_object("box", open_box())
    names = ["x", "y", "z"]
    for k, name in enumerate(names):
        shape = pw.Box([0.12, 0.14, 0.05]) if k else pw.Cylinder(0.2, 0.04)
        C.add_frame(name, joint="free", pose=[k, 1, 1, 1, 0, 0, 0], shape=shape)
    if not is_installed:

        def missing(world: pw.Config) -> pw.Twin:
            raise ImportError

        monkeypatch.setattr("posewise.objectives.placement.resting.Twin", missing)
    inside = [logic.InsideOf(name, "box") for name in names]
    (best, *_) = pw.solve_placement(C, inside, names, count=1, progress=False)
    best.apply(C)
    after = pw.Twin(C).simulate(1.0).world_at()
    for name in names if is_installed else ():
        moved = np.linalg.norm(after.pose(name)[:3] - C.pose(name)[:3])
        assert moved < 2e-3, name
    assert best.feasible and all(p.holds(C) for p in inside)


@pytest.mark.slow
def test_what_is_on_something_stands_where_others_are_contents() -> None:
    """In a simulation alone it falls from where it leans, or is beyond an edge."""
    C = world()
    C.add_object("box", open_box(), pose=[0.5, 0, 0.02, 1, 0, 0, 0])
    for k, (name, edge) in enumerate({"x": 0.06, "low": 0.06, "top": 0.04}.items()):
        pose = [k, 1, 1, 1, 0, 0, 0]
        C.add_frame(name, joint="free", pose=pose, shape=pw.Box([edge] * 3))
    predicates = [logic.InsideOf("x", "box")]
    predicates += [logic.OnTopOf("low", "table"), logic.OnTopOf("top", "low")]
    names, moves = ["x", "low", "top"], []
    for placement in pw.solve_placement(
        C, predicates, names, starts=16, progress=False
    ):
        if placement.feasible:
            placement.apply(C)
            after = pw.Twin(C).simulate(1.0).world_at()
            shifts = [after.pose(n)[:3] - C.pose(n)[:3] for n in names]
            moves.append(np.abs(shifts).max(1))
    stays = np.array(moves) < 5e-3
    assert stays[:, 0].all() and stays.all(1).mean() > 0.5


@pytest.mark.slow
def test_all_stand_though_some_have_to_be_moved_aside() -> None:
    """On a crowded table what leans on others has no room at first to stand."""
    for seed in (13, 14):
        C, names, rng = world(), list[str](), np.random.default_rng(seed)
        for k in range(8):
            shape = pw.Box([0.02, 0.2, 0.01]) if k % 2 else pw.Cylinder(0.02, 0.08)
            turn = rng.normal(size=4)
            position = [*rng.uniform(-1, 1, 2), rng.uniform(0.1, 1)]
            pose = [*position, *turn / np.linalg.norm(turn)]
            C.add_frame(f"object{k}", joint="free", pose=pose, shape=shape)
            names.append(f"object{k}")
        predicates = [
            rule
            for x in names
            for rule in (logic.OnTopOf(x, "table"), logic.Upright(x))
        ]
        placement = pw.solve_placement(
            C, predicates, names, starts=8, count=1, seed=seed, progress=False
        )[0]
        assert placement.feasible
        placement.apply(C)
        tilts = np.arccos([min(up(C, x)[2], 1.0) for x in names])
        assert tilts.max() < 0.01
        places = np.abs([C.pose(x)[:2] for x in names])
        assert places.max() < HALF - 0.004


@pytest.mark.slow
def test_as_many_placements_as_wanted_are_left() -> None:
    C = world(x=(pw.Box([0.09, 0.09, 0.05]), [0, 0, 0.4], 0.0))
    wall = pw.Box([0.1, 0.004, 0.4])
    turns = [[np.cos(a), 0, 0, np.sin(a)] for a in np.pi / 4 * np.arange(4)]
    sides = [[0, 0.05], [-0.05, 0], [0, -0.05], [0.05, 0]]
    walls = [(wall, [*s, 0.2, *r]) for s, r in zip(sides, turns, strict=True)]
    C.add_object("tube", [*walls, (pw.Box([0.1, 0.1, 0.002]), None)])
    placements = pw.solve_placement(
        C, [logic.InsideOf("x", "tube"), logic.Upright("x")], ["x"], starts=16,
        count=2, min_separation=(0.02, 4.0), progress=False,
    )  # fmt: skip
    heights = [p.poses["x"][2] for p in placements if p.feasible]
    assert len(heights) == 2
    assert min(heights) == pytest.approx(0.026, abs=2e-3)


@pytest.mark.long
@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_towers_that_are_to_stand_are_found(count) -> None:
    rng = np.random.default_rng(2)
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane())
    names = [f"b{k}" for k in range(count)]
    for name in names:
        size = rng.uniform([0.06, 0.06, 0.03], [0.1, 0.1, 0.06])
        pose = [*rng.uniform(-0.5, 0.5, 2), 0.5, *rng.normal(size=4)]
        C.add_frame(name, joint="free", pose=pose, shape=pw.Box(size), mass=0.2)
    pairs = zip(names[1:], names[:-1], strict=True)
    goals = [*(logic.OnTopOf(*pair) for pair in pairs), logic.Stable(names[-1])]
    best = pw.solve_placement(
        C, goals, names, starts=16, count=1, max_time=60, progress=False
    )[0]
    assert best.feasible, best.message
    best.apply(C)
    assert all(goal.holds(C) for goal in goals)
    assert not C.collisions(margin=-1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("count", [None, 1])
def test_starts_are_solved_though_nothing_settled_stands(count) -> None:
    """Each object is on the next one, but both together are beyond the lowest edge."""
    C, shape = world(), pw.Box([0.1, 0.1, 0.05])
    goals: list = [logic.OnTopOf("a", "table"), logic.OnTopOf("b", "a")]
    goals.append(logic.Stable("b"))
    for name, x in (("a", HALF - 0.01), ("b", HALF + 0.03)):
        C.add_frame(name, joint="free", pose=[0, 0, 0.5, 1, 0, 0, 0], shape=shape)
        at_x = pw.Feature(FS.position, [name], scale=[[1, 0, 0]], target=[x, 0, 0])
        goals.append((at_x, OT.eq))
    placements = pw.solve_placement(
        C, goals, ["a", "b"], starts=3, count=count, max_iterations=8,
        min_separation=(0.0, 0.0), progress=False,
    )  # fmt: skip
    assert not placements[0].feasible
    assert {p.solution.start for p in placements} >= {0, 1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("is_stable", [False, True])
def test_a_short_time_ends_with_placements_that_say_so(is_stable) -> None:
    C = world(a=(PLATE, [0, 0, 0.5], 0.5), b=(CUP, [0, 0.1, 0.5], 0.5))
    goals: list = [logic.OnTopOf("a", "table"), logic.OnTopOf("b", "a")]
    goals += [logic.Stable("b")] * is_stable
    placements = pw.solve_placement(
        C, goals, ["a", "b"], starts=4, count=3, max_time=1e-3, progress=False
    )
    assert placements and all("Time limit" in p.message for p in placements)


@pytest.mark.slow
def test_what_has_been_settled_stays_when_the_rest_is_interrupted(monkeypatch) -> None:
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return settled_state(*args)

    monkeypatch.setattr(search, "settled_state", interrupted)
    C = world(x=(CUP, [0, 0, 0.3], 0.2))
    best, *_ = pw.solve_placement(
        C, [logic.OnTopOf("x", "table")], ["x"], starts={"x": C.q[None]}, count=1,
        progress=False,
    )  # fmt: skip
    assert best.solution.stopped and len(calls) == 2
    np.testing.assert_allclose(best.poses["x"][2], 0.05, atol=1e-4)


@pytest.mark.parametrize(
    ("supports", "expected"),
    [
        ({"a": "b", "b": "table"}, []),
        ({"a": "b", "b": "a"}, ["It is asked for 'a' on or in 'b', 'b' on or in 'a'"]),
        ({"a": "b", "b": "c", "c": "b"}, ["It is asked for 'b' on or in 'c'"]),
        ({"a": "a"}, ["It is asked for 'a' on or in 'a'"]),
    ],
)
def test_objects_that_are_to_carry_each_other_are_told(supports, expected) -> None:
    sentences = list(cycle_of_supports(supports))
    assert len(sentences) == len(expected)
    assert all(s.startswith(e) for s, e in zip(sentences, expected, strict=True))

"""Room on supports: areas in closed form, and what reports say of too many objects."""

import re

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import posewise as pw
from posewise import FS, OT, logic
from posewise.objectives.checks.doubts import solution_doubts_of
from posewise.objectives.placement.room import inner_area, lacks_of_room, least_shadow
from posewise.objectives.placement.units import movables_in_millimetres

LENGTH, WIDTH, WALL = 0.15, 0.12, 0.01


def tray(count: int, height: float = 0.05) -> pw.Config:
    """Return boxes above a tray of 15 x 12 cm inside, with walls of 1 cm."""
    x, y, z = LENGTH, WIDTH, height / 2 - WALL / 2
    along = [x + 2 * WALL, WALL, height]
    walls = [(along, [0, s * (y + WALL) / 2, z]) for s in (-1, 1)]
    walls += [([WALL, y, height], [s * (x + WALL) / 2, 0, z]) for s in (-1, 1)]
    parts = [(pw.Box(edges), [*place, 1, 0, 0, 0]) for edges, place in walls]
    C = pw.Config()
    C.add_object("tray", [pw.Box([x + 2 * WALL, y + 2 * WALL, WALL]), *parts])
    for name in boxes(count):
        C.add_frame(name, joint="free", position=[0, 0, 1], shape=pw.Box([0.1] * 3))
    return C


def boxes(count: int) -> list[str]:
    return [f"box{k}" for k in range(count)]


def on_tray(count: int, predicate=logic.OnTopOf) -> list[logic.Predicate]:
    return [predicate(name, "tray") & logic.Upright(name) for name in boxes(count)]


def test_areas_are_those_within_walls():
    np.testing.assert_allclose(inner_area(tray(0), "tray"), LENGTH * WIDTH, rtol=0.03)
    C = pw.Config()
    C.add_frame("table", quaternion=[1, 0, 0, 0.4], shape=pw.Box([0.6, 0.4, 0.1]))
    np.testing.assert_allclose(inner_area(C, "table"), 0.24, rtol=0.02)
    C.add_frame("pole", shape=pw.Cylinder(0.3, 0.2))
    np.testing.assert_allclose(inner_area(C, "pole"), np.pi * 0.04, rtol=0.02)


@pytest.mark.parametrize(
    "shape", [pw.Box([0.1, 0.3, 0.2]), pw.Cylinder(0.3, 0.05), pw.Cylinder(0.04, 0.2)]
)
def test_no_projection_is_smaller_than_the_least(shape):
    """Projections of points of the shape's surface, along random directions."""
    C, rng = pw.Config(), np.random.default_rng(0)
    C.add_frame("thing", shape=shape)
    if isinstance(shape, pw.Box):
        corners = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
        points = corners * np.asarray(shape.size)
    else:
        angle = np.linspace(0, 2 * np.pi, 100)
        ring = shape.radius * np.stack([np.cos(angle), np.sin(angle)], -1)
        ends = [np.full((100, 1), s * shape.length / 2) for s in (-1, 1)]
        points = np.concatenate([np.hstack([ring, z]) for z in ends])
    areas = []
    for direction in [*rng.normal(size=(200, 3)), *np.eye(3)]:
        plane = np.linalg.svd(direction[None])[2][1:]
        areas.append(ConvexHull(points @ plane.T).volume)
    np.testing.assert_allclose(min(areas), least_shadow(C, "thing"), rtol=0.01)


CASES = {
    "one": (1, 0.05, on_tray(1), False),
    "two": (2, 0.05, on_tray(2), True),
    "two in a tray": (2, 0.05, on_tray(2, logic.InsideOf), True),
    "two above each other": (2, 0.3, on_tray(2, logic.InsideOf), False),
    "one or the other": (2, 0.05, [on_tray(2)[0] | on_tray(2)[1]], False),
    "not on it": (2, 0.05, [~p for p in on_tray(2)], False),
    "features": (2, 0.05, [(pw.Feature(FS.position, ["box0"]), OT.sos)], False),
}


@pytest.mark.parametrize("case", CASES)
def test_lacks_of_room_are_certain(case):
    count, height, constraints, is_told = CASES[case]
    world, names = tray(count, height), boxes(count)
    findings = list(lacks_of_room(world, constraints, names))
    assert bool(findings) is is_told
    assert list(lacks_of_room(world, constraints, [*names, "tray"])) == []


@pytest.mark.slow
def test_a_placement_without_room_says_so():
    C, names = tray(2, 0.08), boxes(2)
    placement = pw.solve_placement(C, on_tray(2, logic.InsideOf), names, starts=2)[0]
    says = "2 objects do not fit within the edges of 'tray'.* 200 cm².* 178 cm²"
    for text in (placement.message, placement.report()):
        assert re.search(says, text), text
    assert "Use more starts" not in placement.message
    assert "Violated: no collisions" in placement.message
    alone = pw.solve_placement(C, on_tray(1), ["box0"], starts=4)[0]
    assert alone.feasible and "overlap by up to the tolerance, 1 mm" in alone.report()


HUGE = {
    "metres": (pw.Box([0.8, 0.8, 0.04]), pw.Box([0.1] * 3), ()),
    "millimetres": (pw.Box([800, 800, 40]), pw.Box([100] * 3), ("table", "box")),
    "a table in millimetres": (pw.Box([800, 800, 40]), pw.Box([0.1] * 3), ("table",)),
    "a thin box in millimetres": (pw.Box([0.8] * 3), pw.Box([200, 100, 20]), ("box",)),
    "a hall": (pw.Box([80, 80, 0.2]), pw.Box([0.1] * 3), ()),
    "ships": (pw.Box([400, 400, 9]), pw.Box([60, 9, 9]), ()),
}


@pytest.mark.parametrize("case", HUGE)
def test_sizes_in_millimetres_are_told_once(case):
    table, box, named = HUGE[case]
    C = pw.Config()
    C.add_frame("table", shape=table)
    C.add_frame("box", joint="free", shape=box)
    findings = list(movables_in_millimetres(C, ["box"]))
    assert len(findings) == bool(named)
    assert all(repr(name) in findings[0] for name in named)
    unnamed = {"table", "box"} - {*named}
    assert not any(repr(name) in text for name in unnamed for text in findings)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("height", "says"),
    [
        (0.05, ()),
        # In the air beside a wall that it touches: it is on the tray, but falls.
        (
            0.07,
            ("'box0' does not stay there: box0 settles by 2", "Ask for Stable('box0')"),
        ),
    ],
)
def test_what_is_on_something_but_falls_is_told(height, says):
    pytest.importorskip("mujoco", reason="needs MuJoCo")
    C = tray(1, height=0.2)
    touching = (LENGTH - 0.1) / 2
    place = pw.Feature(FS.position, ["box0"], target=[touching, 0, height + WALL / 2])
    constraints = [*on_tray(1), (place, OT.eq)]
    (best, *_) = pw.solve_placement(C, constraints, ["box0"], starts=4, progress=False)
    assert best.feasible and len(best.doubts) == bool(says)
    assert all(text in best.report() for text in says)
    every = logic.ForAll(["box0"], lambda o: logic.OnTopOf(o, "tray"))
    world = best.solution.world_at(-1)
    assert len([*solution_doubts_of(every, world)]) == bool(says)

"""Objects placed one by one for BDDL: candidate poses and their order."""

import numpy as np
import pytest
from helpers.predicate_scenes import at

import posewise as pw
from posewise import logic
from posewise.logic import bddl
from posewise.logic.bddl.literal_solver import LiteralSolver
from posewise.logic.bddl.object_placement import carried_objects, place_object
from posewise.logic.bddl.placement_candidates import PlacementCandidates
from posewise.logic.bddl.solving import is_loose
from posewise.logic.geometry.frame_groups import closest_separation, find_object
from posewise.robots.kinematics.transforms import quat_to_matrix


def block(C: pw.Config, name: str, size: list[float], *place: float) -> None:
    """A loose box; the place is that of the middle of its lower side."""
    part = (pw.Box(size), at(z=size[2] / 2))
    C.add_object(name, [part], pose=at(*place), joint="free")


def room() -> pw.Config:
    """Return a floor, and on it a table and two objects."""
    C = pw.Config()
    C.add_object("floor", [(pw.Box([4, 4, 0.1]), at(z=-0.05))])
    C.add_object("table", [(pw.Box([1, 0.8, 0.6]), at(z=0.3))])
    block(C, "tray", [0.4, 0.3, 0.02], 1.5, 0, 0)
    block(C, "cup", [0.06, 0.06, 0.1], 1.5, 1, 0)
    return C


def spots(C: pw.Config, name: str, *literals: logic.Predicate, riders=()) -> list:
    """Return all candidate poses; the object is moved to each in turn."""
    poses = []
    rng = np.random.default_rng(0)
    for pose in PlacementCandidates(C, name, tuple(riders), ()).poses(
        literals, rng, False
    ):
        C.set_pose(name, pose)
        poses.append(pose)
    return poses


def test_each_quarter_turn_is_tried():
    poses = spots(room(), "tray", logic.OnTopOf("tray", "table"))
    along = np.array([quat_to_matrix(pose[3:])[:2, 0] for pose in poses])
    ways, counts = np.unique(np.round(along), axis=0, return_counts=True)
    assert len(ways) == 4 and counts.min() > 0.5 * counts.max()


@pytest.mark.sampled
@pytest.mark.parametrize("semantics", ["posewise", "igibson", "document"])
def test_what_is_to_be_next_to_another_is_tried_at_its_height(semantics):
    C = room()
    C.set_pose("cup", at(0, 0, 0.6 + 1e-5))
    block(C, "flat", [0.2, 0.2, 0.01], 0.3, 0.2, 0.6 + 1e-5)
    beside = logic.NextTo("flat", "cup", semantics=semantics)
    poses = spots(C, "flat", beside)
    assert poses
    for pose in poses:
        C.set_pose("flat", pose)
        np.testing.assert_allclose(pose[2], 0.6, atol=1e-4)
        assert "height (" not in beside.explain(C)


def test_tops_of_different_heights_do_not_carry_one_thing():
    C = room()
    supports = logic.OnTopOf("cup", "table"), logic.OnFloor("cup", "floor")
    assert spots(C, "cup", *supports) == []
    assert spots(
        C, "tray", *(logic.InContactWith("tray", x) for x in ("table", "step"))
    )


def test_a_thing_may_be_next_to_what_it_carries():
    C = room()
    parts = [
        (pw.Box([0.4, 0.3, 0.02]), at(z=0.01)),
        (pw.Box([0.02, 0.3, 0.3]), at(-0.19)),
    ]
    C.add_object("stand", parts, pose=at(1.5, -1, 0.15), joint="free")
    C.set_pose("cup", at(1.5, -0.9, 0.17 + 1e-5))
    beside = logic.NextTo("stand", "cup")
    goals = [logic.OnTopOf("stand", "table"), beside]
    assert beside.holds(C) and carried_objects(C, "stand") == ["cup"]
    assert place_object(C, "stand", goals)
    assert all(p.holds(C) for p in (*goals, logic.OnTopOf("cup", "stand")))


def test_what_was_placed_where_a_thing_still_stood_is_not_carried_off():
    """The tray was absent when the cup was placed, and they overlap."""
    C = room()
    C.set_pose("cup", at(1.5, 0, 0.01))
    before = C.pose("cup")
    beside = logic.NextTo("tray", "cup")
    assert place_object(C, "tray", [beside], staying=["cup"])
    np.testing.assert_array_equal(C.pose("cup"), before)
    assert (
        beside.holds(C)
        and closest_separation(find_object(C, "tray"), find_object(C, "cup")).distance
        > 0
    )


@pytest.mark.long
def test_room_is_left_for_what_comes_next():
    """A cup is to be beside the tray, on a table with room for both at a side only."""
    C = room()
    block(C, "plant", [0.5, 0.78, 0.5], 0.24, 0, 0.6 + 1e-5)
    on = [logic.OnTopOf(name, "table") for name in ("tray", "cup")]
    later = [on[1], logic.NextTo("cup", "tray")]
    for seed in range(3):
        C.set_pose("tray", at(1.5))
        after = {"cup": later}
        assert place_object(
            C, "tray", on[:1], ["cup"], pending_literals=after, seed=seed
        )
        assert place_object(C, "cup", later, seed=seed)
    after = {"cup": [on[1], logic.InsideOf("cup", "tray"), logic.Under("cup", "floor")]}
    assert place_object(C, "tray", on[:1], ["cup"], pending_literals=after)
    assert on[0].holds(C)


def test_what_has_a_place_comes_before_what_is_beside_it(monkeypatch):
    C = room()
    block(C, "cake", [0.35, 0.35, 0.3], 1.5, -1, 0)
    beside = [logic.NextTo("cake", "tray"), logic.NextTo("cup", "tray")]
    literals = (logic.OnTopOf("tray", "table"), *beside)
    order = []

    def place(C, name, *args, **options):
        order.append(name)
        return place_object(C, name, *args, **options)

    monkeypatch.setattr(bddl.literal_solver, "place_object", place)
    assert LiteralSolver(C, literals, is_loose).solve() and order == [
        "tray",
        "cake",
        "cup",
    ]


@pytest.mark.slow
def test_room_that_helps_nobody_is_left_once(monkeypatch):
    C = room()
    on_floor = [logic.OnFloor(name, "floor") for name in ("tray", "cup")]
    pending = []

    def place(*args, pending_literals, **options):
        pending.append(list(pending_literals))
        options["pending_literals"] = pending_literals
        return place_object(*args, **options)

    monkeypatch.setattr(bddl.literal_solver, "place_object", place)
    literals = (*on_floor, logic.OnTopOf("cup", "tray"))
    assert not LiteralSolver(C, literals, is_loose).solve()
    assert pending.count(["cup"]) == 1 and pending.count([]) > 1


BETWEEN = """
(define (problem between) (:domain igibson)
    (:objects
        gym_shoe.n.01_1 - gym_shoe.n.01
        table.n.02_1 - table.n.02
        floor.n.01_1 floor.n.01_2 - floor.n.01
    )
    (:init
        (under gym_shoe.n.01_1 table.n.02_1)
        (onfloor gym_shoe.n.01_1 floor.n.01_2)
        (inroom table.n.02_1 living_room)
        (inroom floor.n.01_1 living_room)
        (inroom floor.n.01_2 dining_room)
    )
    (:goal (ontop gym_shoe.n.01_1 table.n.02_1)))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))]
)
def test_a_table_stands_astride_two_rooms_if_that_is_what_it_takes(seed, monkeypatch):
    monkeypatch.setattr(
        bddl.literal_solver, "optimize_placement", lambda *a, **k: False
    )
    problem = bddl.parse(BETWEEN)
    solved = bddl.solve_init(bddl.make_scene(problem, seed), problem, seed=seed)
    assert solved.holds, str(solved)

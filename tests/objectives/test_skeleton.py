"""Skeletons: waypoints, paths, the last waypoint; modes with a pose in each slice."""

import math

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic, presets

GRAVITY = 9.81


def world() -> pw.Config:
    """Two flying hands, a block on a table, and a shelf."""
    C = pw.Config()
    C.add_frame("table", position=[0, 0, 0], shape=pw.Box([2, 2, 0.1]))
    C.add_frame("shelf", position=[0.5, 0.5, 0.5], shape=pw.Box([0.4, 0.4, 0.04]))
    C.add_frame(
        "block", position=[0.2, 0, 0.1], shape=pw.Box([0.1, 0.1, 0.1]), mass=0.1
    )
    for name, x in (("left", -0.3), ("right", 0.3)):
        C.add_frame(name, joint="free", position=[x, -0.3, 0.6], shape=pw.Sphere(0.02))
    return C


def handover() -> pw.Skeleton:
    return pw.Skeleton(
        [
            ([1.0], presets.touch("left", "block")),
            ([1.0, 2.0], "stable", ["left", "block"]),
            ([2.0], presets.touch("right", "block")),
            ([2.0, 3.0], "stable", ["right", "block"]),
            ([3.0], "stableOn", ["shelf", "block"]),
            ([1.9, 2.1], presets.down_up("right")),
        ]
    )


def carriers(solution) -> list[str]:
    names = []
    for t in range(len(solution.x)):
        W = solution.world_at(t)
        parent = W.frame("block").parent
        names.append("world" if parent is None else W.frames[parent].name)
    return names


@pytest.mark.long
def test_waypoints_of_a_handover():
    skeleton = handover()
    assert skeleton.phases == 3
    komo = skeleton.waypoints(world(), collisions=False)
    assert (komo.T, komo.k_order) == (3, 1)
    assert not any("down_up" in o.name for o in komo.objectives)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    assert carriers(solution) == ["left", "right", "shelf"]
    for t, hand in ((0, "left"), (1, "right")):
        W = solution.world_at(t)
        assert abs(W.signed_distance(hand, "block")[0]) < 1e-3
    still = [solution.world_at(t).pose("block") for t in (0, 1)]
    assert np.linalg.norm(still[0][:3] - [0.2, 0, 0.1]) < 1e-3


@pytest.mark.slow
def test_a_path_of_a_handover():
    komo = handover().path(world(), 8, collisions=False)
    assert (komo.T, komo.k_order) == (24, 2)
    assert any("down_up" in o.name for o in komo.objectives)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    assert carriers(solution) == ["world"] * 7 + ["left"] * 8 + ["right"] * 8 + [
        "shelf"
    ]


@pytest.mark.long
def test_the_last_waypoint_bounds_the_others():
    """The way of the block into the hand is ignored, not where the hand can put it."""
    C = world()
    assert handover().final(C, collisions=False).solve(progress=False).feasible
    far = pw.Skeleton(
        [
            ([1.0], "stable", ["left", "block"]),
            ([2.0], presets.same_position("block", "shelf")),
            ([2.0], presets.same_position("block", "table")),
        ]
    )
    final = far.final(C, collisions=False)
    assert not final.solve(progress=False).feasible


@pytest.mark.long
def test_predicates_are_symbols_too():
    C = world()
    skeleton = pw.Skeleton(
        [
            ([1.0], presets.touch("left", "block")),
            ([1.0, math.inf], "stable", ["left", "block"]),
            ([2.0], logic.NextTo("block", "shelf")),
        ]
    )
    solution = skeleton.waypoints(C, collisions=False).solve(progress=False)
    assert solution.feasible, solution.report()
    assert logic.NextTo("block", "shelf").holds(solution.world_at(1))


@pytest.mark.long
def test_a_free_object_falls():
    """Free fall by implicit Euler: steps of velocity g tau."""
    C = pw.Config()
    C.add_frame("block", position=[0, 0, 1], shape=pw.Box([0.1] * 3), mass=0.1)
    C.add_frame("slide", joint="transX")
    komo = pw.KOMO(C, 1, 5, 2, 0.5)
    komo.add_control_objective(2, 1.0)
    skeleton = pw.Skeleton(
        [
            ([0.2], "free", ["world", "block"]),
            ([0.2, 1.0], presets.dynamics("block")),
        ]
    )
    skeleton.add_to(komo)
    solution = komo.solve(progress=False)
    heights = [solution.world_at(t).pose("block")[2] for t in range(5)]
    drops = np.diff([1.0, *heights])
    np.testing.assert_allclose(np.diff(drops)[1:], -GRAVITY * 0.1**2, atol=1e-3)


def test_a_block_slides_on_the_table_in_each_slice():
    C = world()
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_mode_switch([0.25], "slidingOn", ["table", "block"])
    flat = np.eye(3)[:2]
    for t, x in ((0.5, 0.1), (1.0, -0.3)):
        komo.add_objective(
            [t], FS.position, ["block"], OT.eq, scale=flat, target=[x, 0.2, 0]
        )
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.report()
    places = [solution.world_at(t).pose("block")[:3] for t in (1, 3)]
    np.testing.assert_allclose(places, [[0.1, 0.2, 0.1], [-0.3, 0.2, 0.1]], atol=2e-3)


BAD = {
    "is no entry": [("touch", "a")],
    "expected (times, mode": [([1.0], "stable")],
    "'stabel'": [([1.0], "stabel", ["left", "block"])],
    "expected two frames": [([1.0], "stable", ["left"])],
    "needs a time": [([], "stable", ["left", "block"])],
    "phases >= 0": [([-1.0], presets.touch("left", "block"))],
    "has no objectives()": [([1.0], 3)],
}


@pytest.mark.parametrize("says", BAD)
def test_mistakes_are_told(says):
    with pytest.raises(pw.ObjectiveError) as error:
        pw.Skeleton(BAD[says])
    assert says in str(error.value)

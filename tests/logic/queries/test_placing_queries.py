"""Placements that queries ask for: witnesses, what holds what, and honest failures."""

import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.planar_arm import planar
from helpers.predicate_scenes import at

import posewise as pw
from posewise import logic
from posewise.objectives.placement.hints import add_witnesses, improve_starts

REACH, CLEAR = (
    logic.Reachable("cup", "world", "tip"),
    ~logic.Blocking("cup", "world", "tip"),
)
ARM = ["arm0", "arm1", "arm2"]


def with_cup(x: float = 3.0) -> pw.Config:
    """Three links, a post, and a cup."""
    C = planar()
    cup = [(pw.Box([0.05, 0.05, 0.05]), None)]
    C.add_object("cup", cup, pose=at(x), joint="free")
    return C


def locked(C: pw.Config, name: str) -> pw.Config:
    """The world as it is for a solver that places that object."""
    world = C.copy()
    world.joints.select([name])
    return world


def test_the_shadow_reaches_and_the_arm_stays():
    """Rows at a shadow are those at the arm; nothing else has changed."""
    C = with_cup(0.7)
    world = locked(C, "cup")
    (joints,) = add_witnesses(REACH & CLEAR, C, world).values()
    assert list(joints) == ARM and add_witnesses(REACH, C, world)
    assert world.nq == 7 + 3 and world.pairs.names() == [
        pair for pair in C.pairs.names() if "cup" in pair
    ]
    for start in ([0.5, 0.5, 0.5], [-0.5, 1.9, 0.3]):
        for joint, value in zip(ARM, start, strict=True):
            C.set_joint(joint, value)
            world.set_joint(joints[joint], value)
        for claim in (REACH, CLEAR):
            np.testing.assert_allclose(claim.violation(world), claim.violation(C))
    q = improve_starts(REACH & CLEAR, world, world.q[None])[0]
    np.testing.assert_array_equal(q[:7], world.q[:7])
    world.q = q
    assert REACH.violation(world) <= 0
    for joint, twin in joints.items():
        C.set_joint(joint, world.joints.value(twin))
    assert REACH.violation(C) <= 0


def test_without_a_shadow_a_locked_arm_cannot_reach():
    world = locked(with_cup(), "cup")
    for claim in (REACH, CLEAR):
        with pytest.raises(pw.ConfigError, match="No joint moves between"):
            claim.violation(world)


@pytest.mark.slow
def test_one_call_finds_a_place_and_a_way():
    C = with_cup()
    before = C.q
    placements = pw.solve_placement(
        C, [REACH, CLEAR], ["cup"], starts=4, region=[[-1, -1, 0], [1, 1, 0]],
        progress=False,
    )  # fmt: skip
    good = [p for p in placements if p.feasible]
    assert good
    np.testing.assert_array_equal(C.q, before)
    for placement in good:
        D = C.copy()
        placement.apply(D)
        assert REACH.holds(D) and CLEAR.holds(D)
        (witness,) = placement.witnesses.values()
        for joint, value in witness.items():
            D.set_joint(joint, value)
        assert max(REACH.violation(D), CLEAR.violation(D)) <= 0
    far = [[1.5, -1, 0], [2, 1, 0]]
    options = dict(starts=4, region=far, progress=False)
    placements = pw.solve_placement(C, [REACH, CLEAR], ["cup"], **options)
    assert not any(p.feasible for p in placements)
    assert "Reachable" in placements[0].message and "conflict" in placements[0].message


# -- what holds what -------------------------------------------------------------------

BOX = pw.Box([0.1, 0.1, 0.1])
STABLE = logic.Stable("a")
PLACES = [
    ("on the table", [0, 0, 0.75], True),
    ("on the loose box", [0.2, 0, 0.85], False),
    ("on the robot", [-0.2, 0, 0.85], False),
    ("touching the loose box", [0.1001, 0, 0.75], True),
    ("deep in the loose box", [0.11, 0, 0.75], False),
    ("deep in the robot", [-0.11, 0, 0.75], False),
]  # fmt: skip


def crowded() -> pw.Config:
    """A loose box and a robot of one link, both as high, on a table top."""
    C = pw.Config()
    C.add_frame("ground", position=[0, 0, -0.1], shape=pw.Box([2, 2, 0.2]))
    C.add_frame("table", position=[0, 0, 0.69], shape=pw.Box([0.6, 0.6, 0.02]))
    C.add_frame("loose", joint="free", position=[0.2, 0, 0.75], shape=BOX, mass=0.3)
    C.add_frame("robot", joint="hingeZ", position=[-0.2, 0, 0.75], shape=BOX)
    C.ignore_collisions("robot", "table")
    C.annotations.add_agent("robot", base="robot")
    C.add_frame("a", joint="free", position=[0, 0, 2], shape=BOX, mass=0.3)
    return C


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(("place", "truth"), [p[1:] for p in PLACES],
                         ids=[p[0] for p in PLACES])  # fmt: skip
def test_what_is_locked_or_a_robot_holds_nothing(place, truth):
    """By the rows; where these say so, the simulation of the free world does."""
    C = crowded()
    C.set_pose("a", [*place, 1, 0, 0, 0])
    assert (STABLE.violation(locked(C, "a")) <= 0) is truth
    assert STABLE.holds(C) or not truth


@pytest.mark.parametrize(
    ("start", "height"),
    [
        ([0, 0, 1.5], 0.75),
        ([0, 0.5, 1.5], 0.05),
        ([0.25, 0, 1.5], 0.75),
        ([0, 0, 0.5], 0.05),
    ],
    ids=["table", "ground", "not on the loose box", "under the table top"],
)
def test_starts_are_lowered(start, height):
    C = crowded()
    world = locked(C, "a")
    q = np.stack([world.q, world.q])
    q[0, :3] = start
    lowered = improve_starts(STABLE, world, q)
    np.testing.assert_allclose(lowered[0, :3], [*start[:2], height], atol=1e-12)
    np.testing.assert_array_equal(lowered[1], world.q)


# -- all four --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    try:
        return pytest.importorskip("placing_queries")
    finally:
        sys.path.pop(0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_mug_among_clutter(bench, seed):
    """Stable, visible, reachable, not blocked: as the exact queries see it."""
    C = bench.scene(seed)
    best = bench.solve(C, 32, seed)[0]
    assert best.feasible, best.message
    assert bench.failures(C, best) == []


@pytest.mark.slow
def test_a_mug_where_the_arm_cannot_get(bench):
    C = bench.scene(0)
    far = [[1.4, -0.5, 0.0], [2.0, 0.5, 0.1]]
    placements = bench.solve(C, 4, 0, region=far)
    assert not any(p.feasible for p in placements)
    assert {p.solution.status.name for p in placements} <= {
        "INFEASIBLE",
        "ITERATION_LIMIT",
    }

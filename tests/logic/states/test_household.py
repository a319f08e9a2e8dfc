"""Whole motions that cook, wipe and put away, each judged by the exact roll-out."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic

UNIT = [1.0, 0, 0, 0]
pytestmark = pytest.mark.slow


def table(C: pw.Config, **abilities) -> None:
    top = [(pw.Box([1.2, 0.6, 0.04]), None)]
    C.add_object("table", top, pose=[0, 0, 0.38, *UNIT], abilities=abilities)


def histories(C, solution, **options):
    """Yield roll-outs with one step for each slice, and with steps of 1/30 s."""
    tau = float(solution.tau[0])
    yield logic.rollout(C, solution.path, tau, **options)
    yield logic.rollout(C, *logic.resample(C, solution.path, tau), **options)


def test_a_steak_is_cooked_and_not_burnt():
    """Picked, held over the stove for as long as it takes, and set down again."""
    C = pw.Config()
    table(C)
    heat = {"heatSource": {"temperature": 500, "heating_rate": 0.1}}
    stove = [(pw.Box([0.3, 0.3, 0.02]), None)]
    C.add_object("stove", stove, pose=[0.4, 0, 0.41, *UNIT], abilities=heat)
    steak = [(pw.Box([0.1, 0.1, 0.02]), None)]
    food = {"cookable": {}, "burnable": {"burn_temperature": 160}}
    raw = [-0.4, 0.1, 0.41, *UNIT]
    C.add_object("steak", steak, pose=raw, joint="free", abilities=food)
    C.add_frame("hand", joint="trans3", position=[0, 0, 0.8])

    komo = pw.KOMO(C, phases=2, slices_per_phase=10, k_order=1, duration_per_phase=5.0)
    komo.add_control_objective(order=1, scale=0.1)
    komo.add_mode_switch([1.0], "stable", ["hand", "steak"])
    grasp = dict(target=[0, 0, 0.05], scale=10)
    komo.add_objective([1.0], FS.positionDiff, ["hand", "steak"], OT.eq, **grasp)
    goal = logic.Cooked("steak") & ~logic.Burnt("steak")
    komo.add(goal)
    served = dict(target=[-0.4, -0.1, 0.41], scale=10)
    komo.add_objective([2.0], FS.position, ["steak"], OT.eq, **served)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    assert "stove" in solution.alternatives[0]
    for history in histories(C, solution):
        at_end = C.copy()
        at_end.annotations.states = logic.states_at(history, -1)
        assert goal.holds(at_end), goal.explain(at_end)
        assert 70 <= history["steak"].max_temperature[-1] < 160


def test_a_stained_table_is_wiped():
    """A wet sponge is taken and goes over it without sinking in."""
    C = pw.Config()
    table(C, stainable={})
    C.add_object(
        "sponge",
        [(pw.Box([0.2, 0.12, 0.04]), None)],
        pose=[0.4, 0.2, 0.42, *UNIT],
        joint="free",
        abilities={"cleaningTool": {}, "soakable": {}},
    )
    C.add_frame("hand", joint="trans3", position=[0, 0, 0.8])
    logic.Stained("table").set(C, seed=3)
    logic.Soaked("sponge").set(C)

    komo = pw.KOMO(C, phases=2, slices_per_phase=8, k_order=1, duration_per_phase=2.0)
    komo.add_control_objective(order=1, scale=0.1)
    komo.add_mode_switch([1.0], "stable", ["hand", "sponge"])
    grasp = dict(target=[0, 0, 0.05], scale=10)
    komo.add_objective([1.0], FS.positionDiff, ["hand", "sponge"], OT.eq, **grasp)
    komo.add(~logic.Stained("table"), times=[1.1, 2.0])
    komo.add_objective([1.0, 2.0], FS.collisionRows, ["sponge", "table"], OT.ineq)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    assert "sponge wipes table" in solution.alternatives[0]
    for history in histories(C, solution):
        stained = logic.Stained("table").holds_along(C, history)
        assert stained[0] and not stained[-1]
        assert history["table"].stain.active[-1].sum() <= 10


def test_a_mug_is_put_into_a_microwave():
    """A hand opens the door by its handle, then takes the mug and puts it inside."""
    C = pw.load("microwave")
    C.add_frame("handle", "door", position=[0.05, -0.36, 0])
    mug = [(pw.Cylinder(0.1, 0.04), None)]
    C.add_object("mug", mug, pose=[0.5, 0.2, 0.07, *UNIT], joint="free")
    C.add_frame("hand", joint="trans3", position=[0.6, 0, 0.4])

    komo = pw.KOMO(C, phases=4, slices_per_phase=6, k_order=1)
    komo.add_control_objective(order=1, scale=0.1)
    reach = dict(scale=10)
    komo.add_objective([1.0, 2.0], FS.positionDiff, ["hand", "handle"], OT.eq, **reach)
    shut = dict(order=1, scale=10)
    for times in ([0.0, 1.0], [2.2, 4.0]):
        komo.add_objective(times, FS.qItself, ["door_joint"], OT.eq, **shut)
    komo.add_mode_switch([3.0], "stable", ["hand", "mug"])
    above = dict(target=[0, 0, 0.05], scale=10)
    komo.add_objective([3.0], FS.positionDiff, ["hand", "mug"], OT.eq, **above)
    opened, inside = logic.Open("microwave"), logic.InsideOf("mug", "microwave")
    story = logic.Always(~opened, [0, 1]) & logic.Always(opened, [2, 4])
    story &= logic.Eventually(inside, [4])
    komo.add(story)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    times = np.arange(1, 25) / 6
    assert story.holds_along(C, solution.path, times)
    whole = story & logic.Until(~inside, opened)
    assert whole.holds_along(C, solution.path, times)
    assert not inside.holds(C) and inside.holds(solution.world_at(-1))

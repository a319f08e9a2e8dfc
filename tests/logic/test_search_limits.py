"""Time limits of searches: worlds of BDDL, motions, activities and branches."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers.gantry import gantry_world
from helpers.interrupts import TickingClock, ctrl_c

import posewise as pw
from posewise import FS, OT, Feature, logic
from posewise.logic import bddl
from posewise.logic.bddl import literal_solver
from posewise.logic.errors import PredicateError
from posewise.logic.motion import Hold, MotionStatus, Pick, planner

LIMIT = "Time limit of 1e-09 s reached"
SHELVING = bddl.parse(
    "(define (problem p) (:domain igibson) (:objects block - block.n.01"
    " low - shelf.n.01 high - shelf.n.02) (:init (ontop block low))"
    " (:goal (ontop block high)))"
)
NAMES = {name: name for name in ("block", "low", "high")}
TABLE = bddl.parse(
    "(define (problem p) (:domain igibson) (:objects apple.n.01_1 apple.n.01_2 -"
    " apple.n.01 table.n.02_1 - table.n.02) (:init (ontop apple.n.01_1 table.n.02_1)"
    " (ontop apple.n.01_2 table.n.02_1)) (:goal (not (ontop apple.n.01_1"
    " table.n.02_1))))"
)


@dataclass(frozen=True)
class Aloft(logic.Predicate):
    """The hand is higher than 0.1 m, or lower than that below the floor."""

    least: float = 0.1

    def holds(self, C):
        return bool(C.pose("hand")[2] / self.least > 1)

    def explain(self, C):
        return "It is seen."

    def objectives(self, C, interval):
        sign, goal = np.sign(self.least), [0, 0, self.least]
        row = Feature(FS.position, ["hand"], scale=[[0, 0, -sign]], target=goal)
        yield row, OT.ineq, interval.slices


STEPS = [Hold(Aloft()), Pick("block")]


def move(**options) -> logic.motion.MotionPlan:
    return logic.plan_motion(gantry_world(), "gantry", STEPS, **options)


def act(**options) -> logic.motion.ActivityPlan:
    return logic.solve_activity(
        gantry_world(), SHELVING, "gantry", names=NAMES, **options
    )


def begin(**options) -> bddl.ActivitySolution:
    return bddl.solve_init(bddl.make_scene(TABLE), TABLE, **options)


def finish(**options) -> bddl.ActivitySolution:
    return bddl.solve_goal(begin().config, TABLE, **options)


def choose(**options) -> logic.BranchPlacement:
    C = pw.Config()
    C.add_frame("hand", joint="free")
    formula = (Aloft() & Aloft(-0.1)) | (Aloft() & Aloft(-0.2))
    return logic.solve_branches(
        C, formula, "hand", starts=2, collisions=False, **options
    )


def test_worlds_of_bddl_end_in_time():
    for solution in (begin(max_time=1e-9), finish(max_time=1e-9)):
        assert not solution.holds
        assert solution.stopped.startswith(f"{LIMIT} in alternative 1 of ")
        assert solution.stopped in str(solution)
        assert len(solution.report.satisfied) < len(solution.literals)
    assert begin().stopped == "" and begin(max_time=1e6).stopped == ""


def test_objects_that_are_placed_in_time_stay(monkeypatch):
    TickingClock(monkeypatch)
    # The clock is looked at before all, and before each object.
    solution = begin(max_time=3)
    assert len(solution.report.satisfied) == 1 and len(solution.literals) == 2
    assert not solution.holds
    assert solution.stopped.startswith("Time limit of 3 s reached in alternative 1")


def test_an_interrupt_keeps_the_world(monkeypatch, accepts_interrupts):
    place = literal_solver.place_object

    def placed(C, name, *arguments, **options):
        if name != "apple.n.01_1":
            ctrl_c()
        return place(C, name, *arguments, **options)

    monkeypatch.setattr(literal_solver, "place_object", placed)
    solution = begin()
    assert solution.stopped.startswith("Interrupted in alternative 1 of ")
    assert np.isfinite(solution.config.q).all() and not solution.holds


def test_plans_end_in_time(monkeypatch):
    plan = move(max_time=1e-9)
    assert plan.status is MotionStatus.TIME_LIMIT and plan.steps == ()
    assert plan.reason == f"{LIMIT} in step 0, {STEPS[0]}."
    assert plan.reason in plan.report() and not plan.solved
    TickingClock(monkeypatch)
    plan = move(max_time=2)
    assert [result.step for result in plan.steps] == STEPS[:1]
    assert plan.status is MotionStatus.TIME_LIMIT and plan.status.is_stopped
    assert plan.reason == f"Time limit of 2 s reached in step 1, {STEPS[1]}."


def test_an_interrupt_keeps_the_steps_that_are_planned(monkeypatch, accepts_interrupts):
    monkeypatch.setattr(planner, "pick", lambda *_: ctrl_c())
    plan = move()
    assert [result.step for result in plan.steps] == STEPS[:1]
    assert plan.status is MotionStatus.INTERRUPTED
    assert plan.reason == f"Interrupted in step 1, {STEPS[1]}."
    with pytest.raises(KeyboardInterrupt):
        logic.plan_motion(gantry_world(), "gantry", STEPS[1:])


def test_activities_end_in_time():
    activity = act(max_time=1e-9)
    assert not activity.holds and not activity.motion.steps
    assert activity.stopped.startswith(f"{LIMIT} in step 0, Pick")
    assert activity.motion.status is MotionStatus.TIME_LIMIT
    assert activity.stopped in str(activity)


@pytest.mark.long
def test_a_search_within_a_search_passes_the_end_on(monkeypatch):
    """The first keyframes are solved for; then the deadline is heard."""
    TickingClock(monkeypatch)
    plan = logic.plan_motion(gantry_world(), "gantry", STEPS[1:], max_time=2)
    assert plan.status is MotionStatus.TIME_LIMIT and plan.steps == ()
    assert plan.reason.startswith("Time limit of 2 s reached in step 0, Pick")


@pytest.mark.long
def test_branches_end_in_time():
    result = choose(max_time=1e-9)
    assert result.stopped == f"{LIMIT} in branch 1."
    assert not result.feasible and result.branches_tried == 1
    assert choose().stopped == ""


ENTRIES = {"motion": move, "activity": act, "init": begin, "branches": choose}


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, "2"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_a_limit_may_be(entry, value):
    with pytest.raises(
        PredicateError, match=r"max_time is .*, expected .* seconds > 0"
    ):
        ENTRIES[entry](max_time=value)

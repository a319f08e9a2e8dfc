"""Live grasps: events as on the recorded trace, forces and slips as statics say."""

import builtins
from functools import cache

import numpy as np
import pytest
from helpers.stable_scenes import boxes

import posewise as pw
from posewise.logic import rostok
from posewise.robots.loaders.mjcf.contact_settings import TIME_STEP

pytest.importorskip("mujoco")

G, FRICTION, MASS, EFFORT = 9.81, 0.5, 0.2, 5.0
BODIES = ["palm", "left", "right"]


@cache
def gripper() -> pw.Config:
    """Two fingers on slides, a block between them on the ground."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_frame("palm", position=[0, 0, 0.21], shape=pw.Box([0.2, 0.04, 0.02]))
    for name, side in (("left", -1), ("right", 1)):
        C.add_frame(
            name, "palm", joint="transX", position=[0.06 * side, 0, -0.11],
            limits=[[-0.06], [0.06]], mass=0.1,
        )  # fmt: skip
        C.add_frame(f"{name}_pad", name, shape=pw.Box([0.01, 0.03, 0.18]))
    size = pw.Box([0.06, 0.06, 0.08])
    C.add_frame("block", joint="free", position=[0, 0, 0.04], shape=size, mass=MASS)
    return C


def closing(effort: float = EFFORT) -> dict[str, pw.Motor]:
    return {
        name: pw.Motor(-side * effort, damping=5)
        for name, side in (("left", -1), ("right", 1))
    }


def container() -> list[rostok.SimulationSingleEvent]:
    contact = rostok.EventContact(take_from_body=True)
    grasp = rostok.EventGrasp(0.12, contact)
    return [
        contact,
        rostok.EventContactTimeOut(0.06, contact),
        rostok.EventFlyingApart(1.0),
        rostok.EventSlipOut(0.02),
        grasp,
        rostok.EventStopExternalForce(grasp, 0.08),
    ]


def grasped(pull: float = 0.0, motors=None):
    """A run whose grasp is tested by a constant force along z of the trace."""
    events = container()
    force = rostok.ClockXZForces(pull, np.pi / 2, 1000)
    force.set_activation_by_event(events[4])
    motors = motors or closing()
    return rostok.simulate_grasp(
        gripper(), "block", BODIES, motors, events, seconds=0.6, force=force
    )


HOLDS = FRICTION * (2 * EFFORT + MASS * G)
"""Most that the fingers and the ground hold [N]."""
RUNS = {
    "held": (0.8 * HOLDS, None, "end of the force test"),
    "pulled out": (2.5 * HOLDS, None, "object slipped out"),
    "not reached": (0.0, closing(-EFFORT), "contact time-out"),
    "one finger": (0.0, closing() | {"right": EFFORT}, "grasp time-out"),
}


@pytest.fixture(scope="module")
def runs() -> dict[str, rostok.SimulationResult]:
    return {name: grasped(pull, motors) for name, (pull, motors, _) in RUNS.items()}


def loads(trace: rostok.Trace, body: str, k: int) -> np.ndarray:
    """Force of a body on the object after a step [N], y up."""
    forces = [
        c.f if c.b == "obj" else -c.f
        for c in trace.contacts
        if c.k == k and {c.a, c.b} == {body, "obj"}
    ]
    return np.sum([np.zeros(3), *forces], 0)


@pytest.mark.sampled
@pytest.mark.parametrize("name", RUNS)
def test_a_run_ends_as_statics_says(runs, name):
    assert runs[name].outcome == RUNS[name][2]


@pytest.mark.parametrize("name", RUNS)
def test_live_is_what_the_trace_says(runs, name):
    live = runs[name]
    assert live.trace.n_steps == live.n_steps
    again = rostok.run_events(live.trace, container())
    assert again.commands == live.commands and again.n_steps == live.n_steps
    for a, b in zip(live.events, again.events, strict=True):
        assert (type(a), a.state, a.step_n) == (type(b), b.state, b.step_n)
    reward = rostok.SimulationReward()
    for kind in (rostok.InstantForceCriterion, rostok.InstantContactingLinkCriterion):
        reward.add_criterion(kind(live.events[4]), 1)
    assert reward.calculate_reward(live) == reward.calculate_reward(again)


def test_forces_are_those_of_statics(runs):
    """Fingers press with their effort; with the ground they carry weight and pull."""
    result = runs["held"]
    trace, grasp = result.trace, result.events[4]
    for k, pull in ((grasp.step_n + 1, 0.0), (trace.n_steps, RUNS["held"][0])):
        left, right, floor = (loads(trace, b, k) for b in ("left", "right", "floor"))
        assert left[0] == pytest.approx(EFFORT, rel=0.03)
        assert right[0] == pytest.approx(-EFFORT, rel=0.03)
        total = [0, MASS * G, -pull]
        np.testing.assert_allclose(left + right + floor, total, atol=0.03)
    np.testing.assert_allclose(trace.robot_pos["palm"][-1], [0, 0.21, 0], atol=1e-6)
    np.testing.assert_allclose(trace.obj_pos[0], [0, 0.04, 0], atol=1e-9)
    inner = trace.robot_pos["right"][-1, 0] - trace.robot_pos["left"][-1, 0] - 0.01
    assert inner == pytest.approx(0.06, abs=2e-4)


@pytest.mark.parametrize("name", ["held", "pulled out"])
def test_momentum_changes_by_the_forces_of_each_step(runs, name):
    """So that the pull acts from the step after the grasp on, and forces have signs."""
    trace, grasp = runs[name].trace, runs[name].events[4]
    gain = MASS * np.diff(trace.obj_vel, axis=0) / TIME_STEP
    for k in range(1, trace.n_steps + 1):
        total = sum(loads(trace, b, k) for b in ("left", "right", "floor"))
        pull = RUNS[name][0] if k > grasp.step_n + 1 else 0.0
        expected = total + [0, -MASS * G, pull]
        np.testing.assert_allclose(gain[k - 1], expected, atol=1e-3)


def test_builders_and_a_single_body_do():
    C = boxes(1)
    builders = [rostok.EventContactInInitialPositionBuilder()]
    result = rostok.simulate_grasp(C, "b0", "table", {}, builders, seconds=0.1)
    assert result.outcome == "contact in the initial position"
    free = rostok.simulate_grasp(C, "b0", ["table"], {}, [], seconds=0.01)
    assert free.outcome == "end of the trace" and free.n_steps == 5
    np.testing.assert_allclose(loads(free.trace, "table", 5)[1], 0.3 * G, rtol=0.05)


def test_steps_are_those_of_simulate():
    C = boxes(1)
    C.set_pose("b0", [0, 0, 0.76, 1, 0, 0, 0])
    twin = pw.Twin(C)
    run, push = twin.start_run(), [1.0, 0, 0, 0, 0, 0.01]
    for _ in range(40):
        run.step({"b0": push})
    motion = twin.simulate(0.08, forces={"b0": push})
    np.testing.assert_allclose(run.q, motion.q[-1], atol=1e-9)
    assert run.time == pytest.approx(0.08)


def test_motors_drive_to_targets():
    """A slide with a spring and a damper, and one that follows it the other way."""
    C = pw.Config()
    C.add_frame("a", joint="transX", mass=0.5)
    C.add_frame("b", joint="transX", mimic="a", multiplier=-2.0)
    run = pw.Twin(C, movable_joints=["a"]).start_run(
        motors={"a": pw.Motor(2.0, target=0.1, stiffness=200, damping=20)}
    )
    for _ in range(500):
        run.step()
    assert run.q[0] == pytest.approx(0.1 + 2.0 / 200, abs=1e-4)
    assert run.position("b")[0] == pytest.approx(-2 * run.q[0], abs=1e-3)


def foreign() -> rostok.YaxisSin:
    force = rostok.YaxisSin()
    force.set_activation_by_event(rostok.EventContact())
    return force


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(obj="blok"), "did you mean 'block'"),
        (dict(obj="palm"), "'palm' has no free joint"),
        (dict(robot=["palm", "lef"]), "did you mean 'left'"),
        (dict(robot=["block"]), "one of the robot's bodies"),
        (dict(robot=[]), "robot_ids is \\[\\], expected one or more"),
        (dict(motors={"lft": 1.0}), "did you mean 'left'"),
        (dict(motors={"block": 1.0}), "has not one coordinate"),
        (dict(motors={"left": "much"}), "Motor: effort is 'much'"),
        (dict(motors=["left"]), "expected a mapping"),
        (dict(seconds=0), "seconds is 0, expected > 0"),
        (dict(q=[0.0]), "q has shape \\(1,\\)"),
        (dict(events=[3]), "events holds 3"),
        (dict(force=3), "force is 3, expected a force law"),
        (dict(force=foreign()), "not among the events"),
        (dict(force=rostok.ExternalForces([foreign()])), "not among the events"),
    ],
)
def test_errors_say_what_to_do(changes, message):
    arguments = dict(
        C=gripper(), obj="block", robot=BODIES, motors=closing(), events=container(),
        seconds=0.01,
    )  # fmt: skip
    with pytest.raises(pw.PosewiseError, match=message):
        rostok.simulate_grasp(**{**arguments, **changes})


def test_motors_and_wrenches_that_do_not_fit():
    with pytest.raises(pw.PosewiseError, match="damping is -1, expected >= 0"):
        pw.Motor(damping=-1)
    twin = pw.Twin(gripper())
    with pytest.raises(pw.PosewiseError, match="'left' is held"):
        twin.start_run(motors={"left": 1.0})
    with pytest.raises(pw.PosewiseError, match="expected 6 finite numbers"):
        twin.start_run().step({"block": [0, 0, np.nan]})
    with pytest.raises(pw.PosewiseError, match="unstable"):
        run = twin.start_run()
        for _ in range(50):
            run.step({"block": [1e15, 0, 0, 0, 1e15, 0]})


def test_without_mujoco_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"posewise\[mujoco\]"):
        grasped()

"""rostok's criteria as costs of paths: against the exact ones on the paths' traces."""

from functools import cache

import jax
import numpy as np
import pytest
from helpers.predicate_scenes import at

import posewise as pw
from posewise import PosewiseError
from posewise.logic import rostok

SLICES = 16
DT = 0.1
ROBOT = ("palm", "left", "right")
CONTACT = rostok.EventContactBuilder()
GRASP = rostok.EventGraspBuilder(grasp_limit_time=5.0, event_contact_builder=CONTACT)
TIMEOUT = rostok.EventContactTimeOutBuilder(5.0, CONTACT)
SLIP = rostok.EventSlipOutBuilder(5.0)
CRITERIA = {
    "final position": rostok.FinalPositionCriterion(0.3, GRASP, SLIP),
    "force": rostok.ForceCriterion(TIMEOUT),
    "centre": rostok.InstantObjectCOGCriterion(GRASP),
    "links": rostok.InstantContactingLinkCriterion(GRASP),
    "time": rostok.TimeCriterion(5.0, TIMEOUT, GRASP),
    "grasp time": rostok.GraspTimeCriterion(GRASP, 32),
}
GAIN = ("final position", "force")


@cache
def gripper() -> pw.Config:
    """A gripper on two slides that holds a box by two fingers."""
    C = pw.Config()
    C.add_frame("x", joint="transX", limits=[[-2.0], [2.0]])
    C.add_frame("palm", "x", joint="transZ", limits=[[-2.0], [2.0]],
                shape=pw.Box([0.02, 0.1, 0.02]))  # fmt: skip
    for s, name in ((1, "left"), (-1, "right")):
        finger = pw.Box([0.02, 0.01, 0.06])
        C.add_frame(name, "palm", position=[0, 0.0455 * s, -0.05], shape=finger)
    box = [(pw.Box([0.04, 0.08, 0.04]), None)]
    C.add_object("box", box, pose=at(0, 0, -0.06), mass=0.2, joint="rigid")
    C.attach("palm", "box")
    return C


def komo_with(*criteria) -> pw.KOMO:
    """At rest for a phase, then off to the side and up, as far as it is worth it."""
    komo = pw.KOMO(gripper(), 2, SLICES, 2, SLICES * DT)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([0.0, 1.0], pw.FS.qItself, type=pw.OT.eq, order=1)
    goal = dict(type=pw.OT.sos, scale=1.0, target=[0.25, 0, 0.1])
    komo.add_objective([2.0], pw.FS.position, ["palm"], **goal)
    for criterion in criteria:
        komo.add(rostok.CriterionObjective(criterion, "box", ROBOT, grasp_time=1.0))
    return komo


def exact(path: np.ndarray) -> rostok.SimulationResult:
    trace = rostok.path_trace(gripper(), path, DT, "box", ROBOT)
    contact = rostok.EventContact()
    grasp = rostok.EventGrasp(5.0, contact)
    events = [contact, grasp, rostok.EventContactTimeOut(5.0, contact)]
    return rostok.run_events(trace, [*events, rostok.EventSlipOut(5.0)])


def reward_of(weights: dict[str, float]) -> rostok.SimulationReward:
    reward = rostok.SimulationReward()
    for name, weight in weights.items():
        reward.add_criterion(CRITERIA[name], weight)
    return reward


@cache
def rows_of(name: str):
    """The rows of a criterion as a function of a path that begins at rest."""
    C = gripper()
    objective = rostok.CriterionObjective(CRITERIA[name], "box", ROBOT, grasp_time=1.0)
    interval = pw.objectives.terms.interval.select_interval(
        None, SLICES, np.full(2 * SLICES, DT), "test"
    )
    parts = []
    for feature, kind, slices in objective.objectives(C, interval):
        assert kind is pw.OT.sos
        fn, k = feature.function(C, tau=DT), feature.order
        windows = np.array(slices)[:, None] - (np.arange(k, -1, -1) if k else 0)
        windows = windows if k else windows[:, 0]
        parts.append((jax.jit(jax.vmap(fn)), windows))

    def rows(path: np.ndarray) -> np.ndarray:
        values = [np.ravel(fn(path[windows])) for fn, windows in parts]
        return np.concatenate([np.zeros(0), *values])

    return rows


def test_rows_bound_the_exact_rewards():
    """The bound holds for any path that is at rest for a phase."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        path = np.zeros((2 * SLICES, 2))
        path[SLICES:] = np.cumsum(rng.normal(scale=[3e-3, 2e-3], size=(SLICES, 2)), 0)
        result = exact(path)
        assert result.events[1].state and result.events[1].step_n < SLICES
        for name, criterion in CRITERIA.items():
            norm = float(np.linalg.norm(rows_of(name)(path)))
            lost = 1 - criterion.calculate_reward(result)
            if name == "links":  # the palm is 3 cm from the box, fingers 0.5 mm
                assert lost == pytest.approx(1 / 3)
                assert norm**2 == pytest.approx((3**2 + 2 * 0.05**2) / 3)
            elif name == "centre":  # contacts at the same places on both sides
                assert norm > 1e-3 and lost == pytest.approx(norm / (1 + norm))
            elif name in GAIN:
                assert 0 < lost <= norm + 1e-9
            else:
                assert norm == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", GAIN)
def test_the_exact_reward_rises(name):
    """Solved with a criterion among the costs, the exact one is higher than without."""
    rewards = []
    for criteria in ((), (reward_of({name: 3.0, "time": 1.0, "links": 0.0}),)):
        solution = komo_with(*criteria).solve(progress=False)
        assert solution.feasible
        rewards.append(CRITERIA[name].calculate_reward(exact(solution.path)))
    assert rewards[1] > rewards[0] + 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: rostok.CriterionObjective(
                rostok.InstantForceCriterion(GRASP), "box", ROBOT, 1.0
            ),
            "forces of single contacts, which a path does not determine; leave it out",
        ),
        (
            lambda: rostok.CriterionObjective("time", "box", ROBOT, 1.0),
            "criterion is 'time', expected one with rows",
        ),
        (
            lambda: rostok.CriterionObjective(
                reward_of({"force": -1}), "box", ROBOT, 1
            ),
            "weight -1",
        ),
        (
            lambda: rostok.CriterionObjective(CRITERIA["force"], "box", ROBOT, 0.0),
            "grasp_time is 0",
        ),
        (
            lambda: komo_with().add(
                rostok.CriterionObjective(CRITERIA["force"], "box", ROBOT, 2.0)
            ),
            "grasp within these slices",
        ),
        (
            lambda: komo_with().add(
                rostok.CriterionObjective(CRITERIA["force"], "bx", ROBOT, 1.0)
            ),
            "did you mean 'box'",
        ),
        (
            lambda: rostok.path_trace(gripper(), [[0.0]], DT, "box", ROBOT),
            r"path has shape \(1, 1\), expected \(T, 2\)",
        ),
        (
            lambda: rostok.path_trace(gripper(), np.zeros((3, 2)), 0, "box", ROBOT),
            "dt is 0",
        ),
    ],
)
def test_what_cannot_be(make, message):
    with pytest.raises(PosewiseError, match=message):
        make()

"""Smooth events and criteria: limits, derivatives, and soundness on random traces."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.rostok_cases import (
    MAX_CONTACTS,
    PARAMS,
    criteria_of,
    events_of,
    hand_trace,
    padded,
    random_trace,
    reward_of,
    squeeze,
    touches,
)

from posewise import PosewiseError
from posewise.logic import rostok

RANDOM = {
    **PARAMS,
    "timeout_ref": 0.35,
    "max_distance": 1.5,
    "slip_ref": 0.0999,
    "grasp_limit": 0.6,
    "force_test_time": 0.12,
    "time_T": 0.7,
    "total_steps": 40,
}
ORDERS = [
    list(PARAMS["order"]),
    ["grasp", "stop_force", "slipout", "timeout", "contact", "flying_apart"],
    [*PARAMS["order"], "body_too_low", "initial_contact"],
]


GO_ON = (rostok.EventContact, rostok.EventGrasp)


@cache
def traces(number: int, near: bool = False) -> list:
    """Random traces, and their arrays."""
    recorded = [rostok.Trace(**random_trace(s, near=near)) for s in range(number)]
    return [(t, padded(t)) for t in recorded]


@pytest.mark.sampled
@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_as_the_temperature_falls_all_is_exact(order):
    params = {**RANDOM, "order": ORDERS[order], "take_from_body": order == 1}
    outcomes = set()
    for trace, arrays in traces(12):
        events = events_of(params)
        exact = rostok.run_events(trace, events.values())
        smooth = rostok.smooth_events(arrays, events.values(), 1e-3)
        outcomes.add(exact.outcome)
        for row, event in zip(smooth.first_step, exact.events, strict=True):
            want = np.zeros(trace.n_steps)
            if event.state:
                want[event.step_n] = 1
            np.testing.assert_allclose(row, want, atol=1e-9, err_msg=str(event))
        stopped = np.arange(trace.n_steps) == exact.n_steps - 1
        np.testing.assert_allclose(smooth.last_step, stopped, atol=1e-9)
        timed_out = float(exact.outcome == "grasp time-out")
        assert smooth.grasp_limit.sum() == pytest.approx(timed_out, abs=1e-9)
        for name, criterion in criteria_of(params, legacy=False).items():
            got, want = criterion.smooth(smooth), criterion.calculate_reward(exact)
            assert got == pytest.approx(want, abs=1e-8), name
        reward = reward_of(params, legacy=False)
        want = reward.calculate_reward(exact)
        assert reward.smooth(smooth) == pytest.approx(want, abs=1e-7)
        parts = reward.calculate_reward(exact, partial=True)
        np.testing.assert_allclose(
            reward.smooth(smooth, partial=True), parts, atol=1e-8
        )
    assert len(outcomes) >= 4, outcomes


def test_chances_are_chances():
    """At any temperature: in [0, 1], and the run ends exactly once."""
    for _, arrays in traces(12)[:6]:
        for tau in (0.03, 0.3, 3.0):
            run = rostok.smooth_events(arrays, events_of(RANDOM).values(), tau)
            assert (run.first_step >= -1e-12).all() and (
                run.first_step.sum(1) <= 1 + 1e-12
            ).all()
            assert (np.diff(run.alive) <= 1e-12).all()
            assert run.last_step.sum() == pytest.approx(1, abs=1e-12)
            stops = [k for k in map(type, events_of(RANDOM).values()) if k not in GO_ON]
            ended = run.grasp_limit + sum(run.first_step_of(k) for k in stops)
            np.testing.assert_allclose(ended, run.executed - run.alive, atol=1e-12)
            rewards = reward_of(RANDOM, legacy=False).smooth(run, partial=True)
            assert (rewards >= -1e-12).all()


FIELDS = ("obj_pos", "obj_vel", "robot_pos", "points", "forces")


def soft(arrays, tau):
    """Reward and residuals of all criteria, as one number each."""
    run = rostok.smooth_events(arrays, events_of(RANDOM).values(), tau)
    reward = reward_of(RANDOM, legacy=False)
    return jnp.array([reward.smooth(run), jnp.sum(reward.residual(run) ** 2)])


def moved(arrays, x: dict, tau):
    """Return one number that depends on all that may be traced."""
    return soft(replace(arrays, **x), tau).sum()


value_and_gradient = jax.jit(jax.value_and_grad(moved, (1, 2)))


def value(arrays, x: dict, tau):
    return value_and_gradient(arrays, x, tau)[0]


def gradient(arrays, x: dict, tau):
    return value_and_gradient(arrays, x, tau)[1]


def leaves(arrays) -> dict:
    return {n: jnp.asarray(getattr(arrays, n)) for n in FIELDS}


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_finite_differences(seed):
    _, arrays = traces(TRACES, near=True)[seed]
    rng, tau, h = np.random.default_rng(seed), jnp.array(0.5), 1e-5
    base = leaves(arrays)
    scales = dict(obj_pos=1, obj_vel=0.01, robot_pos=1, points=1, forces=0.001)
    along = {n: s * rng.normal(size=base[n].shape) for n, s in scales.items()}

    def step(s: int):
        point = {n: base[n] + s * h * along[n] for n in FIELDS}
        return value(arrays, point, tau + 0.3 * s * h)

    slopes, by_tau = gradient(arrays, base, tau)
    got = sum(np.vdot(slopes[n], along[n]) for n in FIELDS) + 0.3 * by_tau
    want = (step(1) - step(-1)) / (2 * h)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("tau", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("still", ["no force", "no speed", "one place"])
def test_derivatives_are_finite_where_norms_vanish(still, tau):
    _, arrays = traces(12)[3]
    zero = {
        "no force": ("forces",),
        "no speed": ("obj_vel",),
        "one place": ("obj_pos", "robot_pos", "points", "forces", "obj_vel"),
    }[still]
    leaf_arrays = {n: x * (n not in zero) for n, x in leaves(arrays).items()}
    for leaf in jax.tree.leaves(gradient(arrays, leaf_arrays, jnp.array(tau))):
        assert np.isfinite(leaf).all()


def test_without_any_contact_all_is_finite():
    arrays = rostok.trace_arrays(rostok.Trace(**hand_trace(steps=40, dt=0.02)))
    assert arrays.forces.shape == (41, 0, 3)
    assert np.isfinite(jax.jit(moved)(arrays, leaves(arrays), jnp.array(0.5)))


@pytest.mark.long
def test_batches_and_single_runs_agree():
    singles = [a for _, a in traces(12)[:3]]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *singles)
    together = jax.jit(jax.vmap(soft, (0, None)))(batch, 0.2)
    alone = [value(a, leaves(a), jnp.array(0.2)) for a in singles]
    np.testing.assert_allclose(together.sum(1), alone, rtol=1e-10)


def test_gradients_lead_to_a_grasp():
    """Forces of two fingers, nothing at first: following the gradient they squeeze."""
    fields = hand_trace(steps=20, contacts=squeeze(range(2, 21), 2e-4))
    arrays = rostok.trace_arrays(rostok.Trace(**fields))
    events = events_of({**PARAMS, "order": ["contact", "grasp"]})

    def row(forces):
        return events["grasp"].robustness(replace(arrays, forces=forces), 0.02)[0]

    f = jax.jit(jax.value_and_grad(row))
    forces = jnp.asarray(arrays.forces)
    assert f(forces)[0] > 0
    for _ in range(200):
        forces = forces - 1e-6 * f(forces)[1]
    assert f(forces)[0] <= 0


SOUND = {
    # event: parameters and the events that it needs
    "contact": ["contact"],
    "timeout": ["contact", "timeout"],
    "flying_apart": ["flying_apart"],
    "slipout": ["slipout"],
    "grasp": ["contact", "grasp"],
    "stop_force": ["contact", "grasp", "stop_force"],
    "body_too_low": ["body_too_low"],
    "initial_contact": ["initial_contact"],
}
TRACES = 16
NEAR = {
    **RANDOM,
    "timeout_ref": 0.25,
    "max_distance": 0.58,
    "ref_height": -0.22,
    "force_test_time": 0.1,
    "grasp_limit": 0.7,
}


BY_BODY = [(n, True) for n in ("contact", "timeout", "grasp", "stop_force")]


@pytest.mark.parametrize(
    ("name", "from_body"), [*((n, False) for n in SOUND), *BY_BODY]
)
def test_rows_are_sound(name, from_body):
    """Rows <= 0 on a random trace: the exact event is as they say, in either order."""
    satisfied = {"robustness": 0, "avoidance": 0}
    true = 0
    params = {**NEAR, "take_from_body": from_body, "order": SOUND[name]}
    for trace, arrays in traces(TRACES, near=True):
        events = events_of(params)
        states = set()
        for order in (1, -1)[: len(params["order"])]:
            container = list(events.values())[::order]
            rostok.run_events(trace, container)
            states.add(events[name].state)
        true += states == {True}
        for tau in (0.003, 0.3):
            for side, wrong in (("robustness", False), ("avoidance", True)):
                if side == "avoidance" and name in ("grasp", "stop_force"):
                    continue
                rows = getattr(events[name], side)(arrays, tau)
                if (rows <= 0).all():
                    satisfied[side] += tau == 0.003
                    assert wrong not in states, (side, tau)
    if name in ("grasp", "stop_force"):
        assert 0 < satisfied["robustness"] <= true < TRACES
    else:
        # at a low temperature the rows say nearly all that is true
        assert satisfied["robustness"] >= 0.8 * true - 1, (satisfied, true)
        assert satisfied["avoidance"] >= 0.8 * (TRACES - true) - 2, (satisfied, true)


def test_rows_are_near_the_exact_margins():
    """One contact of 1.5 times the weakest force: -0.5, at most tau log n above."""
    contacts = touches(range(5, 8), "left", (0.0015, 0, 0))
    trace = rostok.Trace(**hand_trace(steps=20, contacts=contacts))
    contact = rostok.EventContact()
    for tau in (1e-3, 1e-2, 0.1):
        row = contact.robustness(trace, tau)[0]
        assert -0.5 <= row <= -0.5 + tau * np.log(20) + 1e-8
        avoided = contact.avoidance(trace, tau)
        assert avoided.max() == pytest.approx(0.5, abs=1e-8)
    apart = rostok.EventFlyingApart(0.25)
    assert apart.robustness(trace, 1e-3)[0] == pytest.approx(5.0, abs=0.01)
    assert apart.avoidance(trace, 1e-3).max() == pytest.approx(-5.0, abs=1e-8)


NEVER = {
    "a time after the trace": lambda: rostok.EventContactTimeOut(
        9.0, rostok.EventContact()
    ),
    "no time at all": lambda: rostok.EventContactTimeOut(
        float("inf"), rostok.EventContact()
    ),
    "an infinite distance": lambda: rostok.EventFlyingApart(float("inf")),
    "a wait longer than the trace": lambda: rostok.EventSlipOut(9.0),
    "an infinite wait": lambda: rostok.EventSlipOut(float("inf")),
}


@pytest.mark.parametrize("name", NEVER)
def test_what_can_never_happen(name):
    event = NEVER[name]()
    trace = traces(12)[0][1]
    assert (event.robustness(trace, 0.1) > 0).all()
    assert (event.avoidance(trace, 0.1) <= 0).all()
    slope = jax.grad(
        lambda a: event.robustness(a, 0.1).sum() + event.avoidance(a, 0.1).sum(),
        allow_int=True,
    )(trace)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


def test_distances_stand_for_forces():
    """Signed distances decide who touches: the same events as by forces."""
    trace = rostok.Trace(**hand_trace(contacts=squeeze(range(8, 61))))
    by_force = rostok.trace_arrays(trace)
    touches = by_force.incidence.max(1, initial=0.0)
    by_distance = replace(by_force, distances=np.where(touches > 0, -0.004, 0.03))
    params = {**PARAMS, "force_test_time": 0.05}
    events = events_of(params)
    runs = [
        rostok.smooth_events(a, events.values(), 0.01) for a in (by_force, by_distance)
    ]
    np.testing.assert_allclose(runs[0].first_step, runs[1].first_step, atol=1e-9)
    for a in (by_force, by_distance):
        assert events["grasp"].robustness(a, 0.01)[0] < 0
        assert events["stop_force"].robustness(a, 0.01)[0] < 0
        assert events["timeout"].avoidance(a, 0.01)[0] < 0


RESIDUALS = {
    # criterion: residual by hand, for forces 3 and 1 N at x = -0.1 and 0.1
    "InstantObjectCOGCriterion": [-0.05, 0, 0],
    "InstantForceCriterion": [1 / np.sqrt(2), -1 / np.sqrt(2)],
    "FinalPositionCriterion": [0.1, 0, 0],
    "TimeCriterion": [0],
    "InstantContactingLinkCriterion": [np.sqrt(1 / 3)],
    "GraspTimeCriterion": [np.sqrt(13 / 90)],
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals(name):
    contacts = touches(range(5, 61), "left", (3.0, 0, 0), (-0.1, 0, 0)) + touches(
        range(5, 61), "right", (-1.0, 0, 0), (0.1, 0, 0)
    )
    fields = hand_trace(contacts=contacts)
    fields["obj_pos"][30:, 0] = 0.03
    run = rostok.smooth_events(rostok.Trace(**fields), events_of(PARAMS).values(), 1e-3)
    got = criteria_of(PARAMS, legacy=False)[name].residual(run)
    np.testing.assert_allclose(got, RESIDUALS[name], atol=2e-3)


def test_the_residual_of_forces_has_their_mean_square():
    contacts = [touches(range(5, 61), b, (0, 1.5, 2)) for b in ("left", "right")]
    fields = hand_trace(contacts=sum(contacts, []))
    run = rostok.smooth_events(rostok.Trace(**fields), events_of(PARAMS).values(), 1e-3)
    got = np.asarray(criteria_of(PARAMS, legacy=False)["ForceCriterion"].residual(run))
    assert got @ got == pytest.approx(25)


def test_residuals_of_a_sum_are_stacked():
    run = rostok.smooth_events(traces(12)[1][1], events_of(RANDOM).values(), 0.1)
    parts = criteria_of(RANDOM, legacy=False)
    rows = [np.sqrt(w) * parts[n].residual(run) for n, w in RANDOM["weights"].items()]
    got = reward_of(RANDOM, legacy=False).residual(run)
    np.testing.assert_allclose(got, np.concatenate(rows))


class Bell(rostok.SimulationSingleEvent):
    def event_check(self, current_time, step_n, robot_data, env_data):
        return rostok.EventCommands.CONTINUE


class Fond(rostok.Criterion):
    def calculate_reward(self, simulation_output):
        return 1.0


def negative():
    reward = rostok.SimulationReward()
    reward.add_criterion(criteria_of(RANDOM, False)["ForceCriterion"], -1)
    run = rostok.smooth_events(traces(12)[0][1], events_of(RANDOM).values(), 1)
    return reward.residual(run)


def gap():
    fields = hand_trace()
    fields["obj_vel"][7] = np.nan
    return rostok.smooth_events(rostok.Trace(**fields), [rostok.EventContact()], 1)


def smooth(trace=None, events=(), tau=1.0):
    trace = rostok.Trace(**hand_trace(steps=5)) if trace is None else trace
    return rostok.smooth_events(trace, events, tau)


BAD = {
    "tau": (lambda: smooth(tau=0), "tau is 0, expected > 0"),
    "trace": (lambda: smooth(trace=3), "trace is int, expected a Trace or TraceArrays"),
    "gap": (gap, "obj_vel has a NaN at instant 7"),
    "own event": (lambda: smooth(events=[Bell()]), "Bell has no smooth form; only"),
    "own criterion": (lambda: Fond().smooth(smooth()), "Fond has no smooth form"),
    "missing event": (
        lambda: criteria_of(PARAMS, False)["ForceCriterion"].smooth(smooth()),
        "no EventContactTimeOut; add it"),
    "negative weight": (negative, r"weights are \[-1.0\]"),
    "grasp avoided": (
        lambda: rostok.EventGrasp(1, rostok.EventContact()).avoidance(
            rostok.Trace(**hand_trace()), 1), "has no avoidance rows"),
    "own event's rows": (lambda: Bell().robustness(None, 1), "Bell has no robustness"),
    "shapes": (
        lambda: smooth(replace(
            traces(12)[0][1], incidence=np.zeros((41, MAX_CONTACTS, 3)))),
        r"incidence has shape \(41, 6, 3\), expected \(41, 6, 5\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_explained(name):
    make, message = BAD[name]
    with pytest.raises(PosewiseError, match=message):
        make()

"""Events and criteria against rostok's own results, and repairs against hand work."""

import re
from functools import partial

import numpy as np
import pytest
from helpers.rostok_cases import (
    PARAMS,
    criteria_of,
    events_of,
    hand_trace,
    recorded_cases,
    reward_of,
    squeeze,
    touches,
    trace_of,
)

from posewise import PosewiseError
from posewise.logic import rostok
from posewise.logic.rostok import EventCommands

IDS = [
    "062_final_pos_slip_zero", "024_finger_from_body", "107_rand_touch",
    "097_rand_slip", "090_rand_grasp", "040_force_cut_100", "052_cog_center",
    "061_final_pos_beyond", "018_nan_velocity_resets_counter", "100_rand_none",
    "047_instant_force_equal", "082_rand_none", "049_instant_force_unequal",
    "003_contact_on_timeout_step", "048_instant_force_far_points", "118_rand_none",
    "132_rand_grasp", "072_reward_zero_floor", "044_force_cancel",
    "029_nine_then_fast", "135_rand_limit", "036_grasp_limit_on_same_step",
    "038_stop_force_boundary", "093_rand_limit", "106_rand_none",
    "064_order_slip_last", "056_robot_floor_contact", "134_rand_fly",
    "066_order_grasp_limit_vs_timeout", "055_self_contact", "092_rand_fly",
    "076_rand_none", "087_rand_limit", "060_final_pos_at_ref", "021_time_T_small",
    "074_reward_negative_weight", "013_fly_apart_boundary_equal", "109_rand_slip",
    "050_instant_force_three", "069_initial_contact", "079_rand_slip",
    "031_contact_gap_resets", "045_force_below_threshold",
    "027_one_finger_two_points", "103_rand_slip",
]  # fmt: skip


@pytest.fixture(scope="module")
def by_id() -> dict:
    return {c["id"]: c for c in recorded_cases()["cases"]}


def test_every_reference_case_is_asked(by_id):
    assert sorted(by_id) == sorted(IDS)


@pytest.mark.parametrize("id", IDS)
def test_legacy_is_rostok(by_id, id):
    case = by_id[id]
    params, want = case["params"], case["expected"]
    events = events_of(params)
    result = rostok.run_events(trace_of(case), events.values(), legacy=True)
    names = {type(e).__name__: n for n, e in events.items()}
    got = [[names[c.event], c.step_n, c.command.name] for c in result.commands]
    assert got == want["commands"]
    assert result.n_steps == want["n_steps_executed"]
    assert result.time == pytest.approx(want["result_time"], abs=1e-12)
    assert len(result.time_vector) == want["stored_len"]
    copies = dict(zip(events, result.events, strict=True))
    for name, fields in want["events"].items():
        for field, value in fields.items():
            assert getattr(events[name], field) == pytest.approx(value, abs=1e-12)
            assert getattr(copies[name], field) == getattr(events[name], field)
    for name, criterion in criteria_of(params, legacy=True).items():
        value = criterion.calculate_reward(result)
        assert value == pytest.approx(want["criteria"][name], abs=1e-9), name
    reward = reward_of(params, legacy=True)
    parts = reward.calculate_reward(result, partial=True)
    assert parts == pytest.approx(want["reward_partial"], abs=1e-9)
    total = reward.calculate_reward(result)
    assert total == pytest.approx(want["reward_total"], abs=1e-9)


@pytest.mark.parametrize("id", IDS[::4])
def test_legacy_series_are_rostoks(by_id, id):
    case = by_id[id]
    want = case["expected"]["sensor"]
    events = events_of(case["params"]).values()
    result = rostok.run_events(trace_of(case), events, legacy=True)
    data = result.environment_final_ds
    assert data.get_data("n_contacts")[0] == want["obj_n_contacts"]
    forces = data.get_data("forces")[0]
    assert [len(f) for f in forces] == want["obj_forces_per_step"]
    centers = data.get_data("force_center")[0]
    for got, center in zip(centers, want["obj_force_center"], strict=True):
        expected = np.nan if center is None else center
        np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_array_equal(data.get_data("COG")[0][-1], want["obj_COG_last"])
    robot = result.robot_final_ds.get_data("n_contacts").values()
    assert list(robot) == want["robot_n_contacts"]


def builders(legacy: bool = False) -> dict:
    contact = rostok.EventContactBuilder()
    grasp = rostok.EventGraspBuilder(
        grasp_limit_time=1.0, event_contact_builder=contact, verbosity=0
    )
    return {
        "contact": contact,
        "timeout": rostok.EventContactTimeOutBuilder(0.3, contact),
        "flying_apart": rostok.EventFlyingApartBuilder(2.0),
        "slipout": rostok.EventSlipOutBuilder(0.1),
        "grasp": grasp,
        "stop_force": rostok.EventStopExternalForceBuilder(
            event_grasp_builder=grasp, force_test_time=0.2
        ),
        "too_low": rostok.EventBodyTooLowBuilder(0.0, legacy=legacy),
        "initial": rostok.EventContactInInitialPositionBuilder(legacy=legacy),
    }


SEQUENCES = {
    "duplicate_contact": ["contact", "contact"],
    "timeout_without_contact": ["timeout"],
    "grasp_without_contact": ["grasp"],
    "stop_without_grasp": ["contact", "stop_force"],
    "full_chain": list(PARAMS["order"]),
    "too_low_after_stop": ["contact", "grasp", "stop_force", "too_low"],
    "initial_contact_twice": ["initial", "initial"],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_builders_follow_rostoks_rules(name):
    known = {c["name"]: c for c in recorded_cases()["builder_cases"]}
    assert set(known) == set(SEQUENCES)
    by_name, container = builders(legacy=True), []
    for key, step in zip(SEQUENCES[name], known[name]["steps"], strict=True):
        if step["ok"]:
            assert by_name[key].build_event(container) is None
        else:
            with pytest.raises(rostok.EventError):
                by_name[key].build_event(container)
    assert [type(e).__name__ for e in container] == known[name]["event_types"]


def test_builders_of_the_extra_events_are_mended():
    by_name, container = builders(), []
    for key in ("contact", "grasp", "stop_force", "too_low", "initial"):
        by_name[key].build_event(container)
    for key in ("too_low", "initial"):
        with pytest.raises(rostok.EventError, match="already"):
            by_name[key].build_event(container)
    assert type(by_name["too_low"].find_event(container)) is rostok.EventBodyTooLow
    assert by_name["slipout"].find_event(container) is None


def test_builders_give_each_run_new_events():
    contact = [builders()["contact"]]
    touched = rostok.Trace(**hand_trace(contacts=touches([5], "left")))
    alone = rostok.Trace(**hand_trace())
    first = rostok.run_events(touched, contact)
    second = rostok.run_events(alone, contact)
    assert first.events[0].state and not second.events[0].state


def test_events_given_are_reset_and_left_as_the_run_left_them():
    events = events_of(PARAMS)
    touched = rostok.Trace(**hand_trace(contacts=squeeze(range(5, 61))))
    first = rostok.run_events(touched, events.values())
    assert events["grasp"].state and events["grasp"].step_n == 13
    second = rostok.run_events(rostok.Trace(**hand_trace()), events.values())
    assert not events["grasp"].state and events["grasp"].grasp_time is None
    assert first.events[4].step_n == 13 and not second.events[4].state
    again = rostok.run_events(touched, events.values())
    assert again.commands == first.commands


@pytest.mark.parametrize("name", PARAMS["order"])
def test_events_are_asked_once(name):
    """Checking again raises, except for the end of the force test, as in rostok."""
    known = recorded_cases()["check_after_occurrence"]
    contacts = {
        "timeout": [],
        "slipout": squeeze(range(5, 9)),
    }.get(name, squeeze(range(5, 61)))
    fields = hand_trace(contacts=contacts)
    if name == "flying_apart":
        fields["robot_pos"]["right"][7:] += 5
    events = events_of(PARAMS)
    result = rostok.run_events(rostok.Trace(**fields), events.values())
    event = events[name]
    assert event.state
    readings = [rostok.SensorReading(s, 50) for s in (result.robot, result.environment)]
    if known[type(event).__name__] == "STOP":
        assert event.event_check(0.5, 49, *readings) is EventCommands.STOP
    else:
        with pytest.raises(rostok.EventError, match="already"):
            event.event_check(0.5, 49, *readings)


def run(fields: dict, legacy: bool = False, **params):
    """Return a run of a hand-made trace with changed parameters, and its criteria."""
    params = {**PARAMS, **params}
    events = events_of(params).values()
    result = rostok.run_events(rostok.Trace(**fields), events, legacy=legacy)
    criteria = criteria_of(params, legacy)
    rewards = {n: partial(c.calculate_reward, result) for n, c in criteria.items()}
    return result, rewards


def shifted(contacts: list, by: float) -> list:
    def move(point: list) -> list:
        return (np.array(point) + by).tolist()

    return [{**c, "pa": move(c["pa"]), "pb": move(c["pb"])} for c in contacts]


UNEQUAL = touches(range(5, 61), "left", (3.0, 0, 0), (-0.1, 0, 0)) + touches(
    range(5, 61), "right", (-1.0, 0, 0), (0.1, 0, 0)
)
REPAIRS = {
    # name: (fields, parameters, criterion, repaired value, rostok's value)
    "forces only": (
        dict(contacts=UNEQUAL), {}, "InstantForceCriterion", 1 / 2,
        1 / (1 + np.std([np.hypot(0.1, 3), np.hypot(0.1, 1)])),
    ),
    "forces only, wherever": (
        dict(contacts=shifted(UNEQUAL, 7.0)), {}, "InstantForceCriterion", 1 / 2,
        1 / (1 + np.std([np.sqrt(6.9**2 + 2 * 7**2 + 9),
                         np.sqrt(7.1**2 + 2 * 7**2 + 1)])),
    ),
    "weighted centre": (
        dict(contacts=UNEQUAL), {}, "InstantObjectCOGCriterion", 1 / 1.05, 1.0,
    ),
    "cap": (
        dict(contacts=touches(range(5, 61), "left")), dict(time_T=0.3),
        "TimeCriterion", 1.0, 4.0,
    ),
    "no cap needed": (
        dict(contacts=touches(range(5, 61), "left")), dict(time_T=1.2),
        "TimeCriterion", 0.25, 0.25,
    ),
    "clip": (
        dict(contacts=squeeze(range(5, 61))), dict(total_steps=10),
        "GraspTimeCriterion", 0.0, -0.3,
    ),
    "action and reaction": (
        dict(contacts=touches(range(5, 61), "left", (2.0, 0, 0))
             + touches(range(5, 61), "obj", (2.0, 0, 0), first="right")), {},
        "ForceCriterion", 1.0, 1 / 5,
    ),
    "links": (
        dict(contacts=squeeze(range(5, 61))), {},
        "InstantContactingLinkCriterion", 2 / 3, 2 / 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs_of_criteria(name):
    changes, params, criterion, repaired, legacy = REPAIRS[name]
    for flag, want in ((False, repaired), (True, legacy)):
        _, rewards = run(hand_trace(**changes), flag, **params)
        assert rewards[criterion]() == pytest.approx(want, abs=1e-12), flag


def test_rewards_are_not_rounded_to_four_decimals_of_positions():
    fields = hand_trace(contacts=squeeze(range(5, 61)))
    fields["obj_pos"][30:, 0] = 0.030049
    for legacy, moved in ((False, 0.030049), (True, 0.03)):
        _, rewards = run(fields, legacy)
        want = 1 - moved / 0.3
        assert rewards["FinalPositionCriterion"]() == pytest.approx(want, abs=1e-12)


def test_a_robot_flown_apart_has_not_kept_the_object():
    fields = hand_trace(contacts=squeeze(range(5, 61)))
    fields["robot_pos"]["right"][25:] += 5
    for legacy, want in ((False, 0.0), (True, 1.0)):
        result, rewards = run(fields, legacy)
        assert result.outcome == "robot flown apart"
        assert rewards["FinalPositionCriterion"]() == want


def test_totals_are_neither_rounded_nor_floored():
    params = {**PARAMS, "weights": {"TimeCriterion": 1.0}}
    trace = rostok.Trace(**hand_trace(contacts=touches(range(5, 61), "left")))
    for T, total, legacy_total in ((0.9, 4 / 9, 0.444), (30.0, 0.0004, 0.02)):
        params["time_T"] = T
        for legacy, want in ((False, total), (True, legacy_total)):
            events = events_of(params).values()
            result = rostok.run_events(trace, events, legacy=legacy)
            got = reward_of(params, legacy).calculate_reward(result)
            assert got == pytest.approx(want, abs=1e-12)
            parts = reward_of(params, legacy).calculate_reward(result, partial=True)
            assert parts == [
                pytest.approx(want if T == 0.9 else round(total, 4 - legacy))
            ]


OUTCOMES = {
    "end of the trace": ([], dict(timeout_ref=9.0), None),
    "contact time-out": ([], {}, 31),
    "grasp time-out": (touches(range(5, 61), "left"), dict(grasp_limit=0.4), 41),
    "object slipped out": (squeeze(range(5, 8)), {}, 17),
    "end of the force test": (squeeze(range(5, 61)), {}, 34),
    "robot too low": ([], dict(order=["body_too_low"], ref_height=0.1), 0),
    "contact in the initial position": (
        squeeze([3]), dict(order=["initial_contact"]), 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcomes(outcome):
    contacts, params, step = OUTCOMES[outcome]
    result, _ = run(hand_trace(contacts=contacts), **params)
    assert result.outcome == outcome
    if step is None:
        assert result.stopped_by is None and result.n_steps == 60
        return
    event = result.stopped_by
    assert result.n_steps == step + 1
    if outcome == "grasp time-out":
        assert not event.state and event.step_n is None
        assert event.limit_step_n == step
    else:
        assert event.state and event.step_n == step


def test_activation_starts_the_disturbance():
    fields = hand_trace(contacts=squeeze(range(5, 61)))
    assert run(fields)[0].activation_time == 0.13
    assert run(fields, legacy=True)[0].activation_time is None
    assert run(hand_trace())[0].activation_time is None


NAN = [np.nan] * 3
GAPS = {
    # what is not measured: (fields, criterion, repaired, legacy)
    "object at the end": (
        "obj_pos", "FinalPositionCriterion", 0.0, 0.0, slice(30, None),
    ),
    "object at the grasp": (
        "obj_pos", "InstantObjectCOGCriterion", 0.0,
        1 / (1 + np.sqrt(3) * 9999), slice(14, 15),
    ),
    "speed": ("obj_vel", "InstantContactingLinkCriterion", 0.0, 0.0, slice(None)),
}  # fmt: skip


@pytest.mark.parametrize("name", GAPS)
def test_what_was_not_measured_earns_nothing(name):
    field, criterion, repaired, legacy, where = GAPS[name]
    fields = hand_trace(contacts=squeeze(range(5, 61)))
    fields[field][where] = np.nan
    for flag, want in ((False, repaired), (True, legacy)):
        _, rewards = run(fields, flag)
        assert rewards[criterion]() == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_body_that_was_not_measured_has_flown_apart(legacy):
    fields = hand_trace()
    fields["robot_pos"]["right"][8, 1] = np.nan
    result, _ = run(fields, legacy)
    assert result.outcome == "robot flown apart" and result.n_steps == 8


@pytest.mark.parametrize("gap", ["f", "pa", "pb"])
def test_a_contact_that_was_not_measured_is_none(gap):
    contacts = [{**c, gap: NAN} for c in touches(range(5, 61), "left")]
    fields = hand_trace(contacts=contacts)
    assert not run(fields)[0].events[0].state
    result, rewards = run(fields, legacy=True)
    assert result.events[0].state and result.events[0].step_n == 4
    assert rewards["ForceCriterion"]() == (1.0 if gap == "f" else 0.5)


def test_ties_are_strict():
    """Weakest force, speed, distances and times on their thresholds."""
    at_speed = hand_trace(contacts=squeeze(range(5, 61), 0.001))
    at_speed["obj_vel"][:, 0] = 0.01
    assert run(at_speed)[0].events[4].step_n == 13
    at_speed["obj_vel"][:, 0] = np.nextafter(0.01, 1)
    assert not run(at_speed)[0].events[4].state
    assert run(at_speed, legacy=True)[0].events[4].step_n == 13
    assert not run(hand_trace(contacts=squeeze([5], 0.000999)))[0].events[0].state
    apart = hand_trace(dt=0.25, steps=8)
    apart["robot_pos"]["right"][:, 0] = 2.0
    result, _ = run(apart, timeout_ref=1.0, grasp_limit=9)
    assert result.outcome == "contact time-out" and result.n_steps == 6


def test_the_order_of_the_container_matters():
    """A contact on the step of the time-out, asked before or after it."""
    fields = hand_trace(dt=0.25, steps=8, contacts=touches([6], "left"))
    order = ["contact", "timeout"]
    assert run(fields, timeout_ref=1.0, order=order)[0].stopped_by is None
    result, _ = run(fields, timeout_ref=1.0, order=order[::-1])
    assert result.outcome == "contact time-out" and not result.events[1].state


@pytest.mark.parametrize(
    ("criterion", "params"),
    [
        ("TimeCriterion", dict(time_T=0)),
        ("GraspTimeCriterion", dict(total_steps=0)),
        ("FinalPositionCriterion", dict(reference_distance=0.0)),
    ],
)
def test_zero_divisors(criterion, params):
    """Refused at once; legacy: where rostok divides by them."""
    with pytest.raises(rostok.EventError, match=f"{criterion}.*0.*expected.*> 0"):
        criteria_of({**PARAMS, **params}, legacy=False)
    grasped = squeeze(range(5, 61))
    contacts = touches([5], "left") if criterion == "TimeCriterion" else grasped
    _, rewards = run(hand_trace(contacts=contacts), legacy=True, **params)
    with pytest.raises(ZeroDivisionError):
        rewards[criterion]()
    if criterion == "TimeCriterion":
        assert run(hand_trace(contacts=grasped), True, **params)[1][criterion]() == 1


def test_a_missing_event_is_named():
    trace = rostok.Trace(**hand_trace())
    contact = rostok.EventContact()
    for legacy, error in ((False, rostok.EventError), (True, AttributeError)):
        result = rostok.run_events(trace, [contact], legacy=legacy)
        for name, criterion in criteria_of(PARAMS, legacy).items():
            with pytest.raises(error, match=f"{name} needs an Event"):
                criterion.calculate_reward(result)


def test_empty_containers_and_own_events():
    class Bell(rostok.SimulationSingleEvent):
        def event_check(self, current_time, step_n, robot_data, env_data):
            self._require_new()
            if current_time < 0.05:
                return EventCommands.CONTINUE
            self._record(step_n)
            return EventCommands.STOP

    trace = rostok.Trace(**hand_trace())
    assert rostok.run_events(trace, []).n_steps == 60
    result = rostok.run_events(trace, [Bell(verbosity=0)])
    assert result.n_steps == 6 and isinstance(result.stopped_by, Bell)


def test_verbosity_prints(capsys):
    contact = rostok.EventContact()
    grasp = rostok.EventGrasp(1.0, contact, verbosity=1)
    trace = rostok.Trace(**hand_trace(contacts=squeeze(range(5, 61))))
    result = rostok.run_events(trace, [contact, grasp])
    reward = rostok.SimulationReward(verbosity=1)
    reward.add_criterion(rostok.InstantForceCriterion(grasp), 1.0)
    reward.calculate_reward(result)
    assert capsys.readouterr().out.split("\n")[0] == "EventGrasp at step 13"


def bad_trace(**changes):
    return lambda: rostok.Trace(**hand_trace(**changes))


CONTACT = touches([5], "left")[0]
BAD = {
    "dt": (bad_trace(dt=0), "dt is 0, expected > 0 s"),
    "dt text": (bad_trace(dt="x"), "dt is 'x'"),
    "one row": (bad_trace(obj_pos=np.zeros((1, 3))), "obj_pos has 1 rows"),
    "columns": (bad_trace(obj_pos=np.zeros((5, 2))), r"expected \(K, 3\)"),
    "rows": (bad_trace(obj_vel=np.zeros((5, 3))), r"obj_vel.*\(5, 3\).*\(61, 3\)"),
    "infinite": (bad_trace(obj_vel=np.full((61, 3), np.inf)), "obj_vel has infinite"),
    "no body": (bad_trace(robot_ids=[]), "robot_ids is \\[\\], expected one or more"),
    "a body twice": (bad_trace(robot_ids=["palm"] * 3), "different names"),
    "a reserved name": (bad_trace(robot_ids=["obj"]), "none of them 'obj'"),
    "text for names": (bad_trace(robot_ids="palm"), "robot_ids is 'palm'"),
    "unknown body": (
        bad_trace(robot_pos={"plam": np.zeros((61, 3))}), "did you mean 'palm'"),
    "missing body": (bad_trace(robot_pos={}), "no positions of \\['palm'"),
    "no mapping": (bad_trace(robot_pos=3), "robot_pos is int, expected a mapping"),
    "contact name": (bad_trace(contacts=touches([5], "lef")), "did you mean 'left'"),
    "contact k": (bad_trace(contacts=touches([61], "left")), "k is 61, expected 0 to"),
    "contact with itself": (bad_trace(contacts=touches([1], "obj")), "with itself"),
    "contact keys": (bad_trace(contacts=[{"k": 1}]), r"contacts\[0\] is .*entries k"),
    "contact force": (
        bad_trace(contacts=[{**CONTACT, "f": [1, 2]}]), "f is .*three numbers"),
    "contacts": (bad_trace(contacts=3), "contacts is 3, expected a list"),
    "no trace": (lambda: rostok.run_events(3, []), "trace is int, expected a Trace"),
    "no events": (
        lambda: rostok.run_events(rostok.Trace(**hand_trace()), 3), "expected events"),
    "events and builders": (
        lambda: rostok.run_events(
            rostok.Trace(**hand_trace()),
            [rostok.EventContact(), rostok.EventContactBuilder()]), "events only, or"),
    "two of a class": (
        lambda: rostok.run_events(
            rostok.Trace(**hand_trace()),
            [rostok.EventContact(), rostok.EventContact()]),
        "2 of EventContact"),
    "lacking": (
        lambda: rostok.run_events(
            rostok.Trace(**hand_trace()),
            [rostok.EventContactTimeOut(1, rostok.EventContact())]),
        "not the EventContact that it was made with"),
    "time": (lambda: rostok.EventSlipOut(-1), "ref_time is -1, expected >= 0"),
    "not a time": (lambda: rostok.EventSlipOut(float("nan")), "ref_time is nan"),
    "height": (lambda: rostok.EventBodyTooLow(None), "ref_height is None"),
    "other event": (
        lambda: rostok.EventContactTimeOut(1, rostok.EventFlyingApart(1)),
        "expected its EventContact"),
    "key": (
        lambda: rostok.EventGrasp(1, rostok.EventContact(), 0, True),
        "simulation_stop"),
    "other builder": (
        lambda: rostok.InstantForceCriterion(rostok.EventContactBuilder()),
        "expected the builder of an EventGrasp"),
    "builder of builder": (
        lambda: rostok.EventGraspBuilder(1.0, 2.0), "expected its EventContactBuilder"),
    "steps": (
        lambda: rostok.GraspTimeCriterion(builders()["grasp"], 1.5), "an integer > 0"),
    "no criterion": (
        lambda: rostok.SimulationReward().add_criterion(3, 1), "expected a Criterion"),
    "weight": (
        lambda: rostok.SimulationReward().add_criterion(
            rostok.InstantForceCriterion(builders()["grasp"]), np.nan),
        "Weight of InstantForceCriterion is nan"),
    "series": (
        lambda: run(hand_trace())[0].robot_final_ds.get_data("COGG"),
        "did you mean 'COG'"),
    "legacy criterion": (
        lambda: criteria_of(PARAMS, True)["ForceCriterion"].calculate_reward(
            run(hand_trace())[0]), "legacy=True"),
    "no result for a sum": (
        lambda: rostok.SimulationReward().calculate_reward(3),
        "expected the result of run_events"),
    "exact result": (
        lambda: criteria_of(PARAMS, False)["ForceCriterion"].smooth(
            run(hand_trace())[0]), "expected the result of smooth_events"),
    "no result": (
        lambda: criteria_of(PARAMS, False)["ForceCriterion"].calculate_reward(3),
        "expected the result of run_events"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_explained(name):
    make, message = BAD[name]
    with pytest.raises(PosewiseError, match=message) as caught:
        make()
    assert re.search(r"\.$|\?$", str(caught.value))


def test_a_trace_keeps_its_own_numbers():
    fields = hand_trace(contacts=[rostok.TraceContact(**CONTACT)])
    trace = rostok.Trace(**fields)
    fields["obj_pos"][:] = 5
    assert not trace.obj_pos.any()
    with pytest.raises(ValueError, match="read-only"):
        trace.obj_pos[0] = 1

"""Reference traces, and random ones, with their events and criteria."""

from oracle import reference

from posewise import logic


def cases() -> list[dict]:
    """Traces with rostok's own results."""
    return reference("criteria/cases.json")["cases"]


def trace_of(case: dict) -> logic.Trace:
    return logic.Trace(dt=case["dt"], **case["trace"])


def events_of(params: dict) -> dict[str, logic.SimulationSingleEvent]:
    """The events of a case by their names, in the container's order."""
    p = params
    contact = logic.EventContact(p["take_from_body"])
    grasp = logic.EventGrasp(p["grasp_limit"], contact)
    made = {
        "contact": contact,
        "grasp": grasp,
        "timeout": logic.EventContactTimeOut(p["timeout_ref"], contact),
        "flying_apart": logic.EventFlyingApart(p["max_distance"]),
        "slipout": logic.EventSlipOut(p["slip_ref"]),
        "stop_force": logic.EventStopExternalForce(grasp, p["force_test_time"]),
        "body_too_low": logic.EventBodyTooLow(p["ref_height"]),
        "initial_contact": logic.EventContactInInitialPosition(),
    }
    return {name: made[name] for name in p["order"]}


def criteria_of(params: dict, legacy: bool) -> dict[str, logic.Criterion]:
    """All criteria of a case by their names."""
    p = params
    contact = logic.EventContactBuilder()
    timeout = logic.EventContactTimeOutBuilder(p["timeout_ref"], contact)
    grasp = logic.EventGraspBuilder(
        grasp_limit_time=p["grasp_limit"], event_contact_builder=contact
    )
    slip = logic.EventSlipOutBuilder(p["slip_ref"])
    made = (
        logic.TimeCriterion(p["time_T"], timeout, grasp, legacy=legacy),
        logic.ForceCriterion(timeout, legacy=legacy),
        logic.InstantObjectCOGCriterion(grasp, legacy=legacy),
        logic.InstantForceCriterion(grasp, legacy=legacy),
        logic.InstantContactingLinkCriterion(grasp, legacy=legacy),
        logic.GraspTimeCriterion(grasp, p["total_steps"], legacy=legacy),
        logic.FinalPositionCriterion(
            p["reference_distance"], grasp, slip, legacy=legacy
        ),
    )
    return {type(c).__name__: c for c in made}


def reward_of(params: dict, legacy: bool) -> logic.SimulationReward:
    """The weighted sum of a case."""
    every = criteria_of(params, legacy)
    reward = logic.SimulationReward()
    for name, weight in params["weights"].items():
        reward.add_criterion(every[name], weight)
    return reward

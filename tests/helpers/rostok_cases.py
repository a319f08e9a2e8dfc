"""Reference traces, and random ones, with their events and criteria."""

from dataclasses import replace
from functools import cache

import numpy as np

from helpers.oracle import reference
from posewise.logic import rostok


@cache
def recorded_cases() -> dict:
    """Return traces with rostok's own results, and cases of its builders."""
    return reference("criteria/cases.json")


def trace_of(case: dict) -> rostok.Trace:
    return rostok.Trace(dt=case["dt"], **case["trace"])


def events_of(params: dict) -> dict[str, rostok.SimulationSingleEvent]:
    """Return the events of a case by name, in the container's order."""
    p = params
    contact = rostok.EventContact(p["take_from_body"])
    grasp = rostok.EventGrasp(p["grasp_limit"], contact)
    by_name = {
        "contact": contact,
        "grasp": grasp,
        "timeout": rostok.EventContactTimeOut(p["timeout_ref"], contact),
        "flying_apart": rostok.EventFlyingApart(p["max_distance"]),
        "slipout": rostok.EventSlipOut(p["slip_ref"]),
        "stop_force": rostok.EventStopExternalForce(grasp, p["force_test_time"]),
        "body_too_low": rostok.EventBodyTooLow(p["ref_height"]),
        "initial_contact": rostok.EventContactInInitialPosition(),
    }
    return {name: by_name[name] for name in p["order"]}


def criteria_of(params: dict, legacy: bool) -> dict[str, rostok.Criterion]:
    """Return all criteria of a case by name."""
    p = params
    contact = rostok.EventContactBuilder()
    timeout = rostok.EventContactTimeOutBuilder(p["timeout_ref"], contact)
    grasp = rostok.EventGraspBuilder(
        grasp_limit_time=p["grasp_limit"], event_contact_builder=contact
    )
    slip = rostok.EventSlipOutBuilder(p["slip_ref"])
    criteria = (
        rostok.TimeCriterion(p["time_T"], timeout, grasp, legacy=legacy),
        rostok.ForceCriterion(timeout, legacy=legacy),
        rostok.InstantObjectCOGCriterion(grasp, legacy=legacy),
        rostok.InstantForceCriterion(grasp, legacy=legacy),
        rostok.InstantContactingLinkCriterion(grasp, legacy=legacy),
        rostok.GraspTimeCriterion(grasp, p["total_steps"], legacy=legacy),
        rostok.FinalPositionCriterion(
            p["reference_distance"], grasp, slip, legacy=legacy
        ),
    )
    return {type(c).__name__: c for c in criteria}


def reward_of(params: dict, legacy: bool) -> rostok.SimulationReward:
    """Return the weighted sum of criteria of a case."""
    criteria = criteria_of(params, legacy)
    reward = rostok.SimulationReward()
    for name, weight in params["weights"].items():
        reward.add_criterion(criteria[name], weight)
    return reward


PARAMS = {
    "order": ["contact", "timeout", "flying_apart", "slipout", "grasp", "stop_force"],
    "take_from_body": False,
    "timeout_ref": 0.3,
    "max_distance": 2.0,
    "slip_ref": 0.1,
    "grasp_limit": 0.9,
    "force_test_time": 0.2,
    "time_T": 0.9,
    "total_steps": 90,
    "reference_distance": 0.3,
    "ref_height": -1.0,
    "weights": {
        "TimeCriterion": 3,
        "ForceCriterion": 0.5,
        "InstantContactingLinkCriterion": 1,
        "InstantForceCriterion": 1,
        "InstantObjectCOGCriterion": 1,
        "GraspTimeCriterion": 1,
        "FinalPositionCriterion": 5,
    },
}
BODIES = ("palm", "left", "right")


def hand_trace(steps: int = 60, dt: float = 0.01, **changes) -> dict:
    """Return fields of a trace without contacts: a still object between two fingers."""
    K = steps + 1
    rows = {b: np.tile([0.1 * j, 0.0, 0.0], (K, 1)) for j, b in enumerate(BODIES)}
    still = np.zeros((K, 3))
    return {
        "dt": dt,
        "robot_ids": BODIES,
        "obj_pos": still.copy(),
        "obj_vel": still.copy(),
        "robot_pos": rows,
        "contacts": [],
        **changes,
    }


def touches(instants, body, force=(0, 1.0, 0), point=(0.1, 0, 0), first="obj") -> list:
    """Return contacts of a body with the object, or another first body, at instants."""
    return [
        dict(k=k, a=first, b=body, pa=list(point), pb=list(point), f=list(force))
        for k in instants
    ]


def squeeze(instants, force: float = 1.0) -> list:
    """Return contacts of both fingers that press the object from opposite sides."""
    presses = touches(instants, "left", (force, 0, 0), (-0.1, 0, 0))
    return presses + touches(instants, "right", (-force, 0, 0), (0.1, 0, 0))


PALM_AND_FINGERS = ("palm", "a", "b", "c")


MAX_CONTACTS = 6
"""Largest number of contacts of a random trace at an instant."""


def padded(trace: rostok.Trace) -> rostok.TraceArrays:
    """Return the arrays of a random trace, padded to the same shapes."""
    arrays = rostok.trace_arrays(trace)

    def fill(a: np.ndarray) -> np.ndarray:
        return np.pad(a, ((0, 0), (0, MAX_CONTACTS - a.shape[1]), (0, 0)))

    names = ("points", "forces", "incidence")
    return replace(arrays, **{n: fill(getattr(arrays, n)) for n in names})


def random_trace(seed: int, steps: int = 40, dt: float = 0.02, near=False) -> dict:
    """Return fields of a random trace: approach, contact, hold, loss, flying apart.

    No number is on a threshold; with `near` many are close to one.
    """
    rng = np.random.default_rng(seed)
    K = steps + 1
    pos = (
        rng.uniform(0, 0.2, (1, 3))
        + rng.uniform(-1, 1, 3) * np.linspace(0, 0.2, K)[:, None]
    )
    slow = np.repeat(rng.random(K // 4 + 1) < 0.8, 4)[:K]
    spread = 0.6 if near else 0.4
    speed = 0.01 * np.exp(np.where(slow, -1, 1) * rng.uniform(0.02, 1 + spread, K))
    direction = rng.normal(size=(K, 3))
    vel = speed[:, None] * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    bodies = {b: rng.uniform(-0.3, 0.3, 3) + rng.normal(0, 0.01, (K, 3))
              for b in PALM_AND_FINGERS}  # fmt: skip
    if rng.random() < 0.25:
        bodies["c"][rng.integers(5, K) :] += 3.0
    pairs = [("obj", "a"), ("b", "obj"), ("obj", "c"), ("obj", "palm"),
             ("obj", "floor"), ("a", "floor")]  # fmt: skip
    contacts = []
    for a, b in pairs:
        start = rng.integers(2, K) if rng.random() < 0.8 else K
        end = rng.integers(start, K + 20) if start < K else K
        if b in ("palm", "floor") and rng.random() < 0.7:
            start = K
        for k in range(1, K):
            on = start <= k < end and rng.random() < 0.97
            size = rng.uniform(0.5, 3)
            if not (on or near):
                continue
            if near:
                size = 0.001 * np.exp((1 if on else -1) * rng.uniform(0.01, 2))
            axis = rng.normal(size=3)
            point = (pos[k] + rng.uniform(-0.05, 0.05, 3)).tolist()
            force = (size * axis / np.linalg.norm(axis)).tolist()
            contacts.append(dict(k=k, a=a, b=b, pa=point, pb=point, f=force))
    return {
        "dt": dt,
        "robot_ids": PALM_AND_FINGERS,
        "obj_pos": pos,
        "obj_vel": vel,
        "robot_pos": bodies,
        "contacts": contacts,
    }

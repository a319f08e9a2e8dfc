"""rostok's contact events: first contact, time-out, initial contact, slip."""

from typing import Any

import numpy as np
from jaxtyping import Float

from . import event_probabilities as probabilities
from . import robustness as rows
from .event import (
    BuiltInEvent,
    EventCommands,
    EventRule,
    RunStep,
    check_kind,
    check_limit,
)
from .step_indices import ends_of_waits, first_past
from .thresholds import MAX_INITIAL_CONTACT_STEPS


def _is_object_touched(step: RunStep) -> bool:
    return step.environment.get_amount_contacts()[0] > 0


def _contact_occurs(event: "EventContact", step: RunStep) -> bool:
    if event.from_body:
        return step.robot.n_fingers > 0
    return _is_object_touched(step)


class EventContact(BuiltInEvent):
    """First contact with the object; the run continues.

    Args:
        take_from_body: whether contacts of the robot's bodies other than the palm with
            anything but the robot count, instead of the contacts of the object.
    """

    rule = EventRule(
        occurs=_contact_occurs,
        probabilities=probabilities.contact,
        robustness=rows.contact_rows,
        avoidance=rows.no_contact_rows,
        command=EventCommands.CONTINUE,
    )

    def __init__(self, take_from_body: bool = False) -> None:
        super().__init__()
        self.from_body = bool(take_from_body)

    def row_parameters(self) -> dict[str, Any]:
        return {"from_body": self.from_body}


def _timeout_occurs(event: "EventContactTimeOut", step: RunStep) -> bool:
    return not event.contact_event.state and step.time > event.reference_time


class EventContactTimeOut(BuiltInEvent):
    """No contact by a given time; stops the run.

    Args:
        ref_time: last time at which the contact may still be missing [s].
        contact_event: the EventContact of the same run.

    Raises:
        EventError: for a negative time, or another kind of event.
    """

    outcome = "contact time-out"
    rule = EventRule(
        occurs=_timeout_occurs,
        probabilities=probabilities.timeout,
        robustness=rows.timeout_rows,
        avoidance=rows.no_timeout_rows,
    )

    def __init__(self, ref_time: float, contact_event: EventContact) -> None:
        super().__init__()
        self.reference_time = check_limit("EventContactTimeOut: ref_time", ref_time)
        self.contact_event = check_kind(self, contact_event, EventContact)
        self.required_event = self.contact_event

    def row_parameters(self) -> dict[str, Any]:
        return {
            "ref_time": self.reference_time,
            "from_body": self.contact_event.from_body,
        }

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        return {"is_timeout_step": first_past(times, self.reference_time)}


def _initial_contact_occurs(
    event: "EventContactInInitialPosition", step: RunStep
) -> bool:
    return step.number < MAX_INITIAL_CONTACT_STEPS and _is_object_touched(step)


class EventContactInInitialPosition(BuiltInEvent):
    """Contact with the object within the first four steps; stops the run.

    Repaired: rostok stops without setting `state` and `step_n`.
    """

    outcome = "contact in the initial position"
    rule = EventRule(
        occurs=_initial_contact_occurs,
        probabilities=probabilities.initial_contact,
        robustness=rows.initial_contact_rows,
        avoidance=rows.no_initial_contact_rows,
        is_recorded_in_legacy=False,
    )


def _slip_out_occurs(event: "EventSlipOut", step: RunStep) -> bool:
    if step.robot.n_fingers > 0:
        event.time_last_contact = step.time
        return False
    last = event.time_last_contact
    return last is not None and step.time - last > event.reference_time


class EventSlipOut(BuiltInEvent):
    """Loss of all finger contacts for longer than a given time; stops the run.

    Fingers are all bodies but the first. The event needs an earlier contact but no
    grasp.

    Args:
        ref_time: longest allowed time without contact [s].

    Raises:
        EventError: for a negative time.
    """

    outcome = "object slipped out"
    rule = EventRule(
        occurs=_slip_out_occurs,
        probabilities=probabilities.slip_out,
        robustness=rows.slip_out_rows,
        avoidance=rows.no_slip_out_rows,
    )

    def __init__(self, ref_time: float) -> None:
        super().__init__()
        self.reference_time = check_limit("EventSlipOut: ref_time", ref_time)
        self.time_last_contact: float | None = None

    def reset(self) -> None:
        super().reset()
        self.time_last_contact = None

    def row_parameters(self) -> dict[str, Any]:
        return {"ref_time": self.reference_time}

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        return {"wait_end": ends_of_waits(times, self.reference_time)}

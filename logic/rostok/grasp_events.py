"""rostok's events of the grasp, and of the force test after it."""

from typing import Any

import numpy as np
from jaxtyping import Float

from . import event_probabilities as probabilities
from . import robustness as rows
from .contact_events import EventContact
from .errors import EventError
from .event import (
    BuiltInEvent,
    EventCommands,
    EventRule,
    RunStep,
    check_kind,
    check_limit,
)
from .sensors import SensorReading
from .step_indices import ends_of_tests, first_past
from .thresholds import MAX_STEADY_SPEED, MIN_GRASPING_FINGERS, MIN_STEADY_STEPS


def _grasp_occurs(event: "EventGrasp", step: RunStep) -> bool:
    if not event.contact_event.state:
        return False
    speed = np.linalg.norm(step.environment.get_velocity()[0])
    is_held = step.robot.n_fingers >= MIN_GRASPING_FINGERS
    is_steady = speed <= MAX_STEADY_SPEED and is_held
    event.grasp_steps = event.grasp_steps + 1 if is_steady else 0
    if event.grasp_steps < MIN_STEADY_STEPS:
        return False
    event.grasp_time = step.time
    return True


class EventGrasp(BuiltInEvent):
    """Steady hold for ten consecutive steps after the contact; activates the force
    test.

    The object is steady if its speed is at most 0.01 m/s while two bodies other than
    the palm touch anything but the robot. After the time limit the run stops without
    the event.

    Repaired: rostok does not record a stop at the limit; here `limit_step_n` and the
    `outcome` of the result do.

    Args:
        grasp_limit_time: last time at which the run still waits for the grasp [s].
        contact_event: the EventContact of the same run.
        verbosity: if above 0, the event prints a line when it occurs.
        simulation_stop: must be False; with True rostok waits for a key, which is
            useless for a recorded trace.

    Raises:
        EventError: for a negative time, another kind of event, or `simulation_stop`.
    """

    outcome = "grasp time-out"
    rule = EventRule(
        occurs=_grasp_occurs,
        probabilities=probabilities.grasp,
        robustness=rows.grasp_rows,
        command=EventCommands.ACTIVATE,
    )

    def __init__(
        self,
        grasp_limit_time: float,
        contact_event: EventContact,
        verbosity: int = 0,
        simulation_stop: bool = False,
    ) -> None:
        super().__init__(verbosity)
        if simulation_stop:
            raise EventError(
                "EventGrasp: simulation_stop is True, expected False because a recorded"
                " trace does not wait for a key."
            )
        label = "EventGrasp: grasp_limit_time"
        self.grasp_limit_time = check_limit(label, grasp_limit_time)
        self.contact_event = check_kind(self, contact_event, EventContact)
        self.required_event = self.contact_event
        self._clear_counters()

    def reset(self) -> None:
        super().reset()
        self._clear_counters()

    def _clear_counters(self) -> None:
        self.grasp_steps = 0
        self.grasp_time: float | None = None
        self.limit_step_n: int | None = None

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        self._require_new()
        if current_time > self.grasp_limit_time:
            self.limit_step_n = step_n
            return EventCommands.STOP
        return super().event_check(current_time, step_n, robot_data, env_data)

    def row_parameters(self) -> dict[str, Any]:
        return {
            "limit_time": self.grasp_limit_time,
            "from_body": self.contact_event.from_body,
        }

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        return {
            "is_in_time": times <= self.grasp_limit_time,
            "is_limit_step": first_past(times, self.grasp_limit_time),
        }


def _force_test_ends(event: "EventStopExternalForce", step: RunStep) -> bool:
    start = event.grasp_event.grasp_time
    return start is not None and step.time > start + event.force_test_time


class EventStopExternalForce(BuiltInEvent):
    """End of the force test that follows the grasp; stops the run.

    As in rostok, this is the only event that may be checked again after it occurred.

    Args:
        grasp_event: the EventGrasp of the same run.
        force_test_time: duration of the test [s].

    Raises:
        EventError: for a negative time, or another kind of event.
    """

    outcome = "end of the force test"
    rule = EventRule(
        occurs=_force_test_ends,
        probabilities=probabilities.end_of_force_test,
        robustness=rows.grasp_rows,
        is_repeatable=True,
    )

    def __init__(self, grasp_event: EventGrasp, force_test_time: float) -> None:
        super().__init__()
        self.grasp_event = check_kind(self, grasp_event, EventGrasp)
        self.required_event = self.grasp_event
        label = "EventStopExternalForce: force_test_time"
        self.force_test_time = check_limit(label, force_test_time)

    def row_parameters(self) -> dict[str, Any]:
        parameters = self.grasp_event.row_parameters()
        return {**parameters, "test_duration": self.force_test_time}

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        return {"test_end": ends_of_tests(times, self.force_test_time)}

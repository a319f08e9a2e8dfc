"""rostok's events of the grasp, and of the test that follows it."""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from . import robustness as rows
from .contact_events import EventContact
from .event import (
    EventCommands,
    EventError,
    SimulationSingleEvent,
    check_kind,
    check_limit,
)
from .sensors import SensorReading
from .thresholds import MAX_STEADY_SPEED, MIN_GRASPING_FINGERS, MIN_STEADY_STEPS
from .trace_arrays import validate_arrays


class EventGrasp(SimulationSingleEvent):
    """The object is steady in two fingers for ten steps in a row after the contact.

    Steady: at most 0.01 m/s, while two bodies but the first touch something that is not
    the robot. Past the time limit the run stops; this is not the event itself.

    Repaired: rostok leaves no trace of a stop at the limit; here it is in
    `limit_step_n` and in the result's `outcome`.

    Args:
        grasp_limit_time: the last time at which a grasp is waited for [s].
        contact_event: the EventContact of the same run.
        verbosity: above 0 a line is printed when it happens.
        simulation_stop: False; in rostok True waits for a key, of which a recorded
            trace has no need.

    Raises:
        EventError: for a negative time, another kind of event, simulation_stop.
    """

    outcome = "grasp time-out"

    def __init__(
        self,
        grasp_limit_time: Any,
        contact_event: Any,
        verbosity: Any = 0,
        simulation_stop: Any = False,
    ) -> None:
        super().__init__(verbosity)
        if simulation_stop:
            raise EventError(
                "EventGrasp: simulation_stop is True, expected False: a recorded trace"
                " does not wait for a key."
            )
        self.grasp_limit_time = check_limit(
            "EventGrasp: grasp_limit_time", grasp_limit_time
        )
        self.contact_event: EventContact = check_kind(self, contact_event, EventContact)
        self.grasp_steps = 0
        self.grasp_time: float | None = None
        self.limit_step_n: int | None = None

    def reset(self) -> None:
        """Forget what happened, for a new run."""
        super().reset()
        self.grasp_steps = 0
        self.grasp_time = None
        self.limit_step_n = None

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP past the limit; ACTIVATE when it happens."""
        self._require_new()
        if current_time > self.grasp_limit_time:
            self.limit_step_n = step_n
            return EventCommands.STOP
        if not self.contact_event.state:
            return EventCommands.CONTINUE
        slow = np.linalg.norm(env_data.get_velocity()[0]) <= MAX_STEADY_SPEED
        held = robot_data.n_fingers >= MIN_GRASPING_FINGERS
        self.grasp_steps = self.grasp_steps + 1 if slow and held else 0
        if self.grasp_steps < MIN_STEADY_STEPS:
            return EventCommands.CONTINUE
        self.grasp_time = current_time
        self._record(step_n)
        return EventCommands.ACTIVATE

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.grasp_rows(
            *validate_arrays(trace, tau),
            (self.grasp_limit_time, self.contact_event.from_body, -math.inf),
        )


class EventStopExternalForce(SimulationSingleEvent):
    """The grasp was tested for long enough.

    The only event that may be asked again after it happened, as in rostok.

    Args:
        grasp_event: the EventGrasp of the same run.
        force_test_time: the duration of the test [s].

    Raises:
        EventError: for a negative time, or another kind of event.
    """

    outcome = "end of the force test"

    def __init__(self, grasp_event: Any, force_test_time: Any) -> None:
        super().__init__()
        self.grasp_event: EventGrasp = check_kind(self, grasp_event, EventGrasp)
        what = "EventStopExternalForce: force_test_time"
        self.force_test_time = check_limit(what, force_test_time)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        start = self.grasp_event.grasp_time
        if start is None or not current_time > start + self.force_test_time:
            return EventCommands.CONTINUE
        self._record(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.grasp_rows(
            *validate_arrays(trace, tau),
            (
                self.grasp_event.grasp_limit_time,
                self.grasp_event.contact_event.from_body,
                self.force_test_time,
            ),
        )

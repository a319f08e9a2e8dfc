"""rostok's events: what may happen once in a run, and what the run does then.

An event is asked at each step, `event_check`, with what the sensors read after it; the
answer is a command. `run_events` asks the events of a recorded trace. Each class says
what rostok does; "Repaired" is where `run_events(..., legacy=False)` differs.
"""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from ...robots.checks import number
from . import robustness as rows
from .event import EventCommands, EventError, SimulationSingleEvent, limit, of_kind
from .sensors import SensorReading
from .thresholds import INITIAL_STEPS, STEADY_FINGERS, STEADY_SPEED, STEADY_STEPS
from .trace_arrays import as_arrays


class EventContact(SimulationSingleEvent):
    """Something touches the object.

    Args:
        take_from_body: count the robot's bodies but the palm that touch anything but
            the robot, instead of the object's contacts.
    """

    def __init__(self, take_from_body: Any = False) -> None:
        super().__init__()
        self.from_body = bool(take_from_body)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """CONTINUE."""
        self._check_new()
        fingers = robot_data.n_fingers
        if (fingers if self.from_body else env_data.get_amount_contacts()[0]) > 0:
            self._happens(step_n)
        return EventCommands.CONTINUE

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.contact(*as_arrays(trace, tau), self.from_body)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_contact(*as_arrays(trace, tau), self.from_body)


class EventContactTimeOut(SimulationSingleEvent):
    """No contact by a time.

    Args:
        ref_time: the last time without contact that is allowed [s].
        contact_event: the EventContact of the same run.

    Raises:
        EventError: for a negative time, or another kind of event.
    """

    outcome = "contact time-out"

    def __init__(self, ref_time: Any, contact_event: Any) -> None:
        super().__init__()
        self.reference_time = limit("EventContactTimeOut: ref_time", ref_time)
        self.contact_event: EventContact = of_kind(self, contact_event, EventContact)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP after that time, unless the contact has happened."""
        self._check_new()
        if self.contact_event.state or not current_time > self.reference_time:
            return EventCommands.CONTINUE
        self._happens(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.time_out(
            *as_arrays(trace, tau), (self.reference_time, self.contact_event.from_body)
        )

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_time_out(
            *as_arrays(trace, tau), (self.reference_time, self.contact_event.from_body)
        )


class EventFlyingApart(SimulationSingleEvent):
    """A body of the robot is far from its first body.

    A body without a measured position counts as far away.

    Args:
        max_distance: of the bodies' positions [m].

    Raises:
        EventError: for a negative distance.
    """

    outcome = "robot flown apart"

    def __init__(self, max_distance: Any) -> None:
        super().__init__()
        self.max_distance = limit("EventFlyingApart: max_distance", max_distance)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        self._check_new()
        base, *others = robot_data.get_body_trajectory_point().values()
        near = (np.linalg.norm(base - p) <= self.max_distance for p in others)
        if np.isfinite(base).all() and all(near):
            return EventCommands.CONTINUE
        self._happens(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.flying_apart(*as_arrays(trace, tau), self.max_distance)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_flying_apart(*as_arrays(trace, tau), self.max_distance)


class EventSlipOut(SimulationSingleEvent):
    """The fingers touched something, and have touched nothing for a time since.

    Fingers are all bodies but the first; it may happen before any grasp.

    Args:
        ref_time: the longest time without contact that is allowed [s].

    Raises:
        EventError: for a negative time.
    """

    outcome = "object slipped out"

    def __init__(self, ref_time: Any) -> None:
        super().__init__()
        self.reference_time = limit("EventSlipOut: ref_time", ref_time)
        self.time_last_contact: float | None = None

    def reset(self) -> None:
        """Forget what happened, for a new run."""
        super().reset()
        self.time_last_contact = None

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        self._check_new()
        if robot_data.n_fingers > 0:
            self.time_last_contact = current_time
            return EventCommands.CONTINUE
        last = self.time_last_contact
        if last is None or not current_time - last > self.reference_time:
            return EventCommands.CONTINUE
        self._happens(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.slip_out(*as_arrays(trace, tau), self.reference_time)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_slip_out(*as_arrays(trace, tau), self.reference_time)


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
        self.grasp_limit_time = limit("EventGrasp: grasp_limit_time", grasp_limit_time)
        self.contact_event: EventContact = of_kind(self, contact_event, EventContact)
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
        self._check_new()
        if current_time > self.grasp_limit_time:
            self.limit_step_n = step_n
            return EventCommands.STOP
        if not self.contact_event.state:
            return EventCommands.CONTINUE
        slow = np.linalg.norm(env_data.get_velocity()[0]) <= STEADY_SPEED
        held = robot_data.n_fingers >= STEADY_FINGERS
        self.grasp_steps = self.grasp_steps + 1 if slow and held else 0
        if self.grasp_steps < STEADY_STEPS:
            return EventCommands.CONTINUE
        self.grasp_time = current_time
        self._happens(step_n)
        return EventCommands.ACTIVATE

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.grasp(
            *as_arrays(trace, tau),
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
        self.grasp_event: EventGrasp = of_kind(self, grasp_event, EventGrasp)
        what = "EventStopExternalForce: force_test_time"
        self.force_test_time = limit(what, force_test_time)

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
        self._happens(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.grasp(
            *as_arrays(trace, tau),
            (
                self.grasp_event.grasp_limit_time,
                self.grasp_event.contact_event.from_body,
                self.force_test_time,
            ),
        )


class EventBodyTooLow(SimulationSingleEvent):
    """The robot's first body is below a height.

    Repaired: rostok stops without `state` and `step_n`.

    Args:
        ref_height: the least y that is allowed [m, world].

    Raises:
        EventError: for no finite height.
    """

    outcome = "robot too low"

    def __init__(self, ref_height: Any) -> None:
        super().__init__()
        what = "EventBodyTooLow: ref_height"
        self.ref_height = number(what, ref_height, error=EventError)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        self._check_new()
        base, *_ = robot_data.get_body_trajectory_point().values()
        if not base[1] < self.ref_height:
            return EventCommands.CONTINUE
        if not robot_data.legacy:
            self._happens(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.too_low(*as_arrays(trace, tau), self.ref_height)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.not_too_low(*as_arrays(trace, tau), self.ref_height)


class EventContactInInitialPosition(SimulationSingleEvent):
    """The object is touched within the first four steps.

    Repaired: rostok stops without `state` and `step_n`.
    """

    outcome = "contact in the initial position"

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP when it happens."""
        self._check_new()
        if step_n >= INITIAL_STEPS or not env_data.get_amount_contacts()[0] > 0:
            return EventCommands.CONTINUE
        if not env_data.legacy:
            self._happens(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.initial_contact(*as_arrays(trace, tau), False)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_initial_contact(*as_arrays(trace, tau), False)

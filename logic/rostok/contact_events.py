"""rostok's events of contact: the first one, too late, too early, and lost."""

from typing import Any

import jax
from jaxtyping import Float

from . import robustness as rows
from .event import EventCommands, SimulationSingleEvent, check_kind, check_limit
from .sensors import SensorReading
from .thresholds import MAX_INITIAL_CONTACT_STEPS
from .trace_arrays import validate_arrays


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
        self._require_new()
        fingers = robot_data.n_fingers
        if (fingers if self.from_body else env_data.get_amount_contacts()[0]) > 0:
            self._record(step_n)
        return EventCommands.CONTINUE

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.contact_rows(*validate_arrays(trace, tau), self.from_body)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_contact_rows(*validate_arrays(trace, tau), self.from_body)


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
        self.reference_time = check_limit("EventContactTimeOut: ref_time", ref_time)
        self.contact_event: EventContact = check_kind(self, contact_event, EventContact)

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """STOP after that time, unless the contact has happened."""
        self._require_new()
        if self.contact_event.state or not current_time > self.reference_time:
            return EventCommands.CONTINUE
        self._record(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.timeout_rows(
            *validate_arrays(trace, tau),
            (self.reference_time, self.contact_event.from_body),
        )

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_timeout_rows(
            *validate_arrays(trace, tau),
            (self.reference_time, self.contact_event.from_body),
        )


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
        self._require_new()
        if (
            step_n >= MAX_INITIAL_CONTACT_STEPS
            or not env_data.get_amount_contacts()[0] > 0
        ):
            return EventCommands.CONTINUE
        if not env_data.legacy:
            self._record(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.initial_contact_rows(*validate_arrays(trace, tau), False)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_initial_contact_rows(*validate_arrays(trace, tau), False)


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
        self.reference_time = check_limit("EventSlipOut: ref_time", ref_time)
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
        self._require_new()
        if robot_data.n_fingers > 0:
            self.time_last_contact = current_time
            return EventCommands.CONTINUE
        last = self.time_last_contact
        if last is None or not current_time - last > self.reference_time:
            return EventCommands.CONTINUE
        self._record(step_n)
        return EventCommands.STOP

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.slip_out_rows(*validate_arrays(trace, tau), self.reference_time)

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """See `SimulationSingleEvent`."""
        return rows.no_slip_out_rows(*validate_arrays(trace, tau), self.reference_time)

"""The walk along a recorded trace, asking events, and what it gives."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .contact_events import EventContactTimeOut
from .event import EventCommands, EventError, SimulationSingleEvent
from .event_builders import EventBuilder
from .grasp_events import EventGrasp, EventStopExternalForce
from .sensors import (
    DataStorage,
    Sensor,
    SensorReading,
    environment_sensor,
    robot_sensor,
)
from .trace import Trace, TraceError


class CommandRecord(NamedTuple):
    """A command other than CONTINUE."""

    event: str
    """The class of the event that gave it."""
    step_n: int
    command: EventCommands


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """What criteria read: a trace up to where its events stopped it."""

    trace: Trace
    legacy: bool
    """Whether everything is as rostok computes it."""
    events: tuple[SimulationSingleEvent, ...]
    """As the run left them, in the container's order."""
    commands: tuple[CommandRecord, ...]
    stopped_by: SimulationSingleEvent | None
    """The one that ended the run, or None at the end of the trace."""
    n_steps: int
    """Steps until the stop. (rostok's own attribute of this name is always 0.)"""
    environment: Sensor
    """What the object's sensor read, over the whole trace."""
    robot: Sensor
    """What the robot's sensor read, over the whole trace."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.n_steps * self.trace.dt

    @property
    def time_vector(self) -> Float[np.ndarray, " instants"]:
        """Times of the stored instants [s]."""
        return np.arange(self.n_steps + 1) * self.trace.dt

    @property
    def outcome(self) -> str:
        """How the run ended, in words."""
        event = self.stopped_by
        return "end of the trace" if event is None else event.outcome

    @property
    def activation_time(self) -> float | None:
        """When the disturbance of the grasp test starts [s], or None.

        Repaired: in rostok ACTIVATE has no effect; legacy: None.
        """
        steps = (c.step_n for c in self.commands if c.command is EventCommands.ACTIVATE)
        first = None if self.legacy else next(steps, None)
        return None if first is None else first * self.trace.dt

    @property
    def environment_final_ds(self) -> DataStorage:
        """The object's series until the stop."""
        return DataStorage(self.environment, self.n_steps + 1)

    @property
    def robot_final_ds(self) -> DataStorage:
        """The robot's series until the stop."""
        return DataStorage(self.robot, self.n_steps + 1)


def run_events(trace: Any, events: Any, legacy: bool = False) -> SimulationResult:
    """Walk along a trace as rostok's simulation does, asking events at each step.

    Events that have happened are not asked again; STOP ends the run at once, so that
    later events of the container do not see that step. Events given are reset and left
    as the run left them; builders make new ones.

    Args:
        trace: a `Trace`.
        events: events, or builders of events, in the container's order.
        legacy: rostok's results bit for bit, for the criteria too, and no checks of the
            container. See each class for what is repaired otherwise.

    Raises:
        TraceError: for another kind of trace.
        EventError: for what is no event; for two events of a class, or an event without
            the one that it needs.
    """
    if not isinstance(trace, Trace):
        raise TraceError(f"trace is {type(trace).__name__}, expected a Trace.")
    walk = EventLoop(events, legacy)
    robot, environment = robot_sensor(trace, legacy), environment_sensor(trace, legacy)
    for k in range(1, trace.n_steps + 1):
        if not walk.step(trace.dt, robot, environment, k):
            break
    return walk.result(trace, robot, environment)


class EventLoop:
    """Events that are asked step after step; see `run_events`."""

    def __init__(self, events: Any, legacy: bool = False) -> None:
        self.container = make_container(events, check=not legacy)
        for event in self.container:
            event.reset()
        self.legacy = legacy
        self.commands: list[CommandRecord] = []
        self.stopped_by: int | None = None
        self.n_steps = 0

    def step(self, dt: float, robot: Sensor, environment: Sensor, k: int) -> bool:
        """Ask all events about one more step [s], read at instant k; False: stop."""
        readings = SensorReading(robot, k), SensorReading(environment, k)
        number = self.n_steps
        self.n_steps += 1
        for j, event in enumerate(self.container):
            if event.state:
                continue
            command = event.event_check(number * dt, number, *readings)
            if command is not EventCommands.CONTINUE:
                self.commands.append(
                    CommandRecord(type(event).__name__, number, command)
                )
            if command is EventCommands.STOP:
                self.stopped_by = j
                return False
        return True

    def result(
        self, trace: Trace, robot: Sensor, environment: Sensor
    ) -> SimulationResult:
        """What criteria read, given the whole trace and its sensors."""
        final = tuple(copy.deepcopy(self.container))
        return SimulationResult(
            trace,
            self.legacy,
            final,
            tuple(self.commands),
            None if self.stopped_by is None else final[self.stopped_by],
            self.n_steps,
            environment,
            robot,
        )


def make_container(events: Any, check: bool) -> list[SimulationSingleEvent]:
    """New events from builders, or the events themselves."""
    try:
        given = list(events)
    except TypeError:
        given = [events]
    container: list[SimulationSingleEvent] = []
    if given and all(isinstance(e, EventBuilder) for e in given):
        for builder in given:
            builder.build_event(container)
        return container
    for event in given:
        if not isinstance(event, SimulationSingleEvent):
            raise EventError(
                f"events holds {event!r}, expected events only, or builders only."
            )
    if check:
        _check_container(given)
    return given


def required_event(event: SimulationSingleEvent) -> SimulationSingleEvent | None:
    """The event of the same run that this one looks at."""
    match event:
        case EventContactTimeOut() | EventGrasp():
            return event.contact_event
        case EventStopExternalForce():
            return event.grasp_event
    return None


def _check_container(container: list[SimulationSingleEvent]) -> None:
    kinds = [type(e).__name__ for e in container]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise EventError(
                f"events holds {kinds.count(kind)} of {kind}, expected one of a class."
            )
    for event in container:
        needed = required_event(event)
        if needed is not None and all(needed is not e for e in container):
            raise EventError(
                f"events holds an {type(event).__name__} but not the"
                f" {type(needed).__name__} that it was made with; add that one."
            )

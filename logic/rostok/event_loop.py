"""The loop that checks events along a recorded trace, and its result."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .errors import EventError, TraceError
from .event import EventCommands, SimulationSingleEvent
from .event_builders import EventBuilder
from .sensors import (
    DataStorage,
    Sensor,
    SensorReading,
    environment_sensor,
    robot_sensor,
)
from .trace import Trace

Events = Iterable[SimulationSingleEvent | EventBuilder]
"""Events only, or builders only."""


class CommandRecord(NamedTuple):
    """Command other than CONTINUE that an event gave."""

    event: str
    """Name of the event's class."""
    step_n: int
    command: EventCommands


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Input of criteria: a trace up to the step at which its events stopped it."""

    trace: Trace
    legacy: bool
    """Whether all values are exactly those of rostok."""
    events: tuple[SimulationSingleEvent, ...]
    """Copies of the events after the run, in the container's order."""
    commands: tuple[CommandRecord, ...]
    stopped_by: SimulationSingleEvent | None
    """Event that ended the run, or None at the end of the trace."""
    n_steps: int
    """Number of steps until the stop; rostok's own attribute of this name is always
    0."""
    environment: Sensor
    """Series of the object's sensor over the whole trace."""
    robot: Sensor
    """Series of the robot's sensor over the whole trace."""

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
        """Description of how the run ended."""
        event = self.stopped_by
        return "end of the trace" if event is None else event.outcome

    @property
    def activation_time(self) -> float | None:
        """Start of the disturbance in the force test [s], or None.

        Repaired: ACTIVATE has no effect in rostok; with `legacy` this is None.
        """
        steps = (c.step_n for c in self.commands if c.command is EventCommands.ACTIVATE)
        first = None if self.legacy else next(steps, None)
        return None if first is None else first * self.trace.dt

    @property
    def environment_final_ds(self) -> DataStorage:
        """Series of the object's sensor until the stop."""
        return DataStorage(self.environment, self.n_steps + 1)

    @property
    def robot_final_ds(self) -> DataStorage:
        """Series of the robot's sensor until the stop."""
        return DataStorage(self.robot, self.n_steps + 1)


def run_events(trace: Trace, events: Events, legacy: bool = False) -> SimulationResult:
    """Check events along a trace at each step, as rostok's simulation does.

    Events that have occurred are not checked again. STOP ends the run at once, so that
    later events of the container are not checked at that step. Events are reset first
    and keep the state in which the run leaves them; builders make new events.

    Args:
        trace: recorded trace.
        events: events, or builders of events, in the container's order.
        legacy: whether to reproduce rostok's results exactly, for the criteria too, and
            to skip the checks of the container. Each class says what is repaired
            otherwise.

    Raises:
        TraceError: for another kind of trace.
        EventError: for objects that are not events; for two events of a class; for an
            event without the event that it requires.
    """
    if not isinstance(trace, Trace):
        raise TraceError(f"trace is {type(trace).__name__}, expected a Trace.")
    loop = EventLoop(events, legacy)
    robot, environment = robot_sensor(trace, legacy), environment_sensor(trace, legacy)
    for k in range(1, trace.n_steps + 1):
        if not loop.step(trace.dt, robot, environment, k):
            break
    return loop.result(trace, robot, environment)


class EventLoop:
    """Container of events that is checked step by step.

    Args:
        events: events or builders, as in `run_events`.
        legacy: as in `run_events`.
    """

    def __init__(self, events: Events, legacy: bool = False) -> None:
        self.container = make_container(events, check=not legacy)
        for event in self.container:
            event.reset()
        self.legacy = legacy
        self.commands: list[CommandRecord] = []
        self.stopped_by: int | None = None
        self.n_steps = 0

    def step(self, dt: float, robot: Sensor, environment: Sensor, k: int) -> bool:
        """Check all events after one more step; return False if the run stops.

        Args:
            dt: length of the step [s].
            robot: the robot's sensor.
            environment: the object's sensor.
            k: index of the instant at which the sensors are read.
        """
        readings = SensorReading(robot, k), SensorReading(environment, k)
        step_n = self.n_steps
        self.n_steps += 1
        for j, event in enumerate(self.container):
            if event.state:
                continue
            command = event.event_check(step_n * dt, step_n, *readings)
            if command is not EventCommands.CONTINUE:
                self.commands.append(
                    CommandRecord(type(event).__name__, step_n, command)
                )
            if command is EventCommands.STOP:
                self.stopped_by = j
                return False
        return True

    def result(
        self, trace: Trace, robot: Sensor, environment: Sensor
    ) -> SimulationResult:
        """Return the input of criteria, given the whole trace and its sensors."""
        events = tuple(copy.deepcopy(self.container))
        return SimulationResult(
            trace=trace,
            legacy=self.legacy,
            events=events,
            commands=tuple(self.commands),
            stopped_by=None if self.stopped_by is None else events[self.stopped_by],
            n_steps=self.n_steps,
            environment=environment,
            robot=robot,
        )


def make_container(events: Events, check: bool) -> list[SimulationSingleEvent]:
    """Return the given events, or new events from builders.

    Args:
        events: events or builders, as in `run_events`.
        check: whether to check the classes and requirements of given events.

    Raises:
        EventError: as in `run_events`.
    """
    try:
        members = list(events)
    except TypeError:
        raise EventError(
            f"events is {events!r}, expected events only, or builders only."
        ) from None
    builders = [e for e in members if isinstance(e, EventBuilder)]
    container: list[SimulationSingleEvent] = []
    if members and len(builders) == len(members):
        for builder in builders:
            builder.build_event(container)
        return container
    for event in members:
        if not isinstance(event, SimulationSingleEvent):
            raise EventError(
                f"events holds {event!r}, expected events only, or builders only."
            )
        container.append(event)
    if check:
        _check_container(container)
    return container


def _check_container(container: list[SimulationSingleEvent]) -> None:
    """Raise an EventError for repeated classes and missing required events."""
    names = [type(e).__name__ for e in container]
    for name in names:
        if names.count(name) > 1:
            raise EventError(
                f"events holds {names.count(name)} of {name}, expected one of a class."
            )
    for event in container:
        required = event.required_event
        if required is not None and all(required is not e for e in container):
            raise EventError(
                f"events holds an {type(event).__name__} but not the"
                f" {type(required).__name__} that it was made with; add that event."
            )

"""The interface of rostok's events, which a run checks after every step.

A run passes the readings of both sensors to `event_check` of each event, which answers
with a command. `run_events` does so along a recorded trace. "Repaired" in the docstring
of a class marks where `run_events(..., legacy=False)` deviates from rostok.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float

from posewise.robots.validation import number

from .errors import EventError
from .event_probabilities import PerStep, ProbabilityContext
from .robustness import Rows
from .sensors import SensorReading
from .trace import Trace
from .trace_arrays import Temperature, TraceArrays, validate_arrays

Kind = TypeVar("Kind")


class EventCommands(Enum):
    """Command that an event gives to a run."""

    STOP = 0
    CONTINUE = 1
    ACTIVATE = 2


class SimulationSingleEvent(ABC):
    """Event that occurs at most once in a run; subclass it for a custom event.

    Attributes:
        state: whether the event has occurred.
        step_n: step at which the event occurred, or None.
        outcome: description of a run that this event stops.
        required_event: event of the same run that this event reads, or None.

    Args:
        verbosity: if above 0, the event prints a line when it occurs.
    """

    outcome = "stopped by an event"
    required_event: "SimulationSingleEvent | None" = None

    def __init__(self, verbosity: int = 0) -> None:
        self.state = False
        self.step_n: int | None = None
        self.verbosity = verbosity

    def __repr__(self) -> str:
        return f"{type(self).__name__}(state={self.state}, step_n={self.step_n})"

    def reset(self) -> None:
        """Return to the state before any step, for a new run."""
        self.state = False
        self.step_n = None

    @abstractmethod
    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        """Update the event for one step and return a command to the run.

        Args:
            current_time: time at the start of the step [s].
            step_n: number of the step, from 0.
            robot_data: reading of the robot's sensor after the step.
            env_data: reading of the object's sensor after the step.

        Raises:
            EventError: if the event has occurred before.
        """

    def robustness(self, trace: Trace | TraceArrays, tau: Temperature) -> Rows:
        """Return rows that are all <= 0 only if the event occurs on a trace.

        The rows are smooth and sound; the module `robustness` explains them and their
        units. Stops by other events are not considered.

        Args:
            trace: recorded trace, or `TraceArrays` to differentiate by.
            tau: temperature > 0 of the smooth minima and maxima; may be traced.

        Raises:
            TraceError: for an invalid trace or temperature, as in `smooth_events`.
            EventError: for an event without such rows.
        """
        raise EventError(
            f"{type(self).__name__} has no robustness; override robustness() to use it"
            " as a constraint."
        )

    def avoidance(self, trace: Trace | TraceArrays, tau: Temperature) -> Rows:
        """Return rows that are all <= 0 only if the event does not occur on a trace.

        Arguments and errors are those of `robustness`.
        """
        raise EventError(
            f"{type(self).__name__} has no avoidance rows; these events have them:"
            " EventContact, EventContactTimeOut, EventFlyingApart, EventSlipOut,"
            " EventBodyTooLow, EventContactInInitialPosition."
        )

    def _record(self, step_n: int) -> None:
        """Record that the event occurs at a step."""
        self.state = True
        self.step_n = step_n
        if self.verbosity > 0:
            print(f"{type(self).__name__} at step {step_n}")

    def _require_new(self) -> None:
        """Raise an EventError if the event has occurred before."""
        if self.state:
            raise EventError(
                f"{type(self).__name__} has occurred already, at step {self.step_n};"
                " call reset() before a new run."
            )


@dataclass(frozen=True)
class RunStep:
    """One step of a run, as the condition of an event reads it."""

    time: float
    """Time at the start of the step [s]."""
    number: int
    """Number of the step, from 0."""
    robot: SensorReading
    environment: SensorReading


@dataclass(frozen=True)
class EventRule:
    """Functions of one event class: exact condition, smooth rows, probabilities."""

    occurs: Callable[[Any, RunStep], bool]
    """Exact condition; may update counters of the event."""
    probabilities: Callable[[ProbabilityContext, int], PerStep]
    """Probability that the event first occurs at a step; see `event_probabilities`."""
    robustness: Callable[..., Rows]
    """Rows that are <= 0 only if the event occurs; see `robustness`."""
    avoidance: Callable[..., Rows] | None = None
    """Rows that are <= 0 only if the event does not occur, if there are such rows."""
    command: EventCommands = EventCommands.STOP
    """Command of the event when it occurs."""
    is_recorded_in_legacy: bool = True
    """Whether rostok sets `state` and `step_n` of the event."""
    is_repeatable: bool = False
    """Whether the event may be checked again after it occurred."""


class BuiltInEvent(SimulationSingleEvent):
    """Event whose behaviour is the table of functions in `rule`."""

    rule: ClassVar[EventRule]

    def row_parameters(self) -> dict[str, Any]:
        """Return the static keyword arguments of the row functions of `rule`."""
        return {}

    def probability_data(self, times: Float[np.ndarray, " steps"]) -> dict[str, Any]:
        """Return the arrays that the probability function of `rule` reads.

        Args:
            times: start times of the steps [s].
        """
        return {}

    def event_check(
        self,
        current_time: float,
        step_n: int,
        robot_data: SensorReading,
        env_data: SensorReading,
    ) -> EventCommands:
        if not self.rule.is_repeatable:
            self._require_new()
        step = RunStep(current_time, step_n, robot_data, env_data)
        if not self.rule.occurs(self, step):
            return EventCommands.CONTINUE
        if self.rule.is_recorded_in_legacy or not env_data.legacy:
            self._record(step_n)
        return self.rule.command

    def robustness(self, trace: Trace | TraceArrays, tau: Temperature) -> Rows:
        arrays, temperature = validate_arrays(trace, tau)
        return self.rule.robustness(arrays, temperature, **self.row_parameters())

    def avoidance(self, trace: Trace | TraceArrays, tau: Temperature) -> Rows:
        if self.rule.avoidance is None:
            return super().avoidance(trace, tau)
        arrays, temperature = validate_arrays(trace, tau)
        return self.rule.avoidance(arrays, temperature, **self.row_parameters())


def check_limit(name: str, value: float) -> float:
    """Return a time or distance >= 0; infinity means that it is never reached.

    Raises:
        EventError: for any other value.
    """
    if isinstance(value, float) and value == math.inf:
        return value
    return number(name, value, ">= 0", lambda x: x >= 0, EventError)


def check_kind(owner: object, value: object, kind: type[Kind]) -> Kind:
    """Return an argument of an event or force law if it has the expected class.

    Raises:
        EventError: for any other class.
    """
    if not isinstance(value, kind):
        raise EventError(
            f"{type(owner).__name__} got {value!r}, expected its {kind.__name__}."
        )
    return value

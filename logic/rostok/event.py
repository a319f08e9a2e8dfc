"""rostok's events: what may happen once in a run, and what the run does then.

An event is asked at each step, `event_check`, with what the sensors read after it; the
answer is a command. `run_events` asks the events of a recorded trace. Each class says
what rostok does; "Repaired" is where `run_events(..., legacy=False)` differs.
"""

import math
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

import jax
from jaxtyping import Float

from posewise.robots.errors import PosewiseError
from posewise.robots.validation import number

from .sensors import SensorReading


class EventError(PosewiseError):
    """Events, builders or criteria that do not fit together."""


class EventCommands(Enum):
    """What a run does after asking an event."""

    STOP = 0
    CONTINUE = 1
    ACTIVATE = 2


class SimulationSingleEvent(ABC):
    """What may happen once in a run; subclass it for an event of your own.

    Attributes:
        state: whether it has happened.
        step_n: the step at which it happened, or None.
        outcome: what a run is said to end by when this event stops it.

    Args:
        verbosity: above 0 a line is printed when it happens.
    """

    outcome = "stopped by an event"

    def __init__(self, verbosity: Any = 0) -> None:
        self.state = False
        self.step_n: int | None = None
        self.verbosity = verbosity

    def reset(self) -> None:
        """Forget what happened, for a new run."""
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
        """Whether it happens at this step, and what the run does then.

        Args:
            current_time: at the step's start [s].
            step_n: number of the step, from 0.
            robot_data: what the robot's sensor reads after the step.
            env_data: what the object's sensor reads after the step.

        Raises:
            EventError: when it has happened already.
        """

    def robustness(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """Rows that are all <= 0 only where the event happens on a trace.

        Smooth, and sound: see the module `robustness`, also for units. Nothing else is
        taken to stop the run.

        Args:
            trace: a `Trace`, or `TraceArrays` to differentiate by.
            tau: temperature > 0 of the smooth minima and maxima; may be traced.

        Raises:
            TraceError: see `smooth_events`.
            EventError: for an event without such a form.
        """
        raise EventError(f"{type(self).__name__} has no robustness.")

    def avoidance(self, trace: Any, tau: Any) -> Float[jax.Array, " rows"]:
        """Rows that are all <= 0 only where the event does not happen on a trace.

        See `robustness`.
        """
        raise EventError(
            f"{type(self).__name__} has no form in which to avoid it; these have:"
            " EventContact, EventContactTimeOut, EventFlyingApart, EventSlipOut,"
            " EventBodyTooLow, EventContactInInitialPosition."
        )

    def _record(self, step_n: int) -> None:
        self.state = True
        self.step_n = step_n
        if self.verbosity > 0:
            print(f"{type(self).__name__} at step {step_n}")

    def _require_new(self) -> None:
        if self.state:
            raise EventError(
                f"{type(self).__name__} has happened already, at step {self.step_n};"
                " call reset() before a new run."
            )


def check_limit(what: str, value: Any) -> float:
    """A time or a distance that may be infinite, for "never"."""
    if isinstance(value, float) and value == math.inf:
        return value
    return number(what, value, ">= 0", lambda x: x >= 0, EventError)


def check_kind(owner: Any, given: Any, kind: type) -> Any:
    """What an event, or a builder of one, was given, if it is of a kind.

    Raises:
        EventError: else.
    """
    if not isinstance(given, kind):
        raise EventError(
            f"{type(owner).__name__} got {given!r} where its {kind.__name__} is"
            " expected."
        )
    return given

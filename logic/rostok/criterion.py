"""The base class of rostok's criteria, which reward a run; larger is better.

`calculate_reward` reads the result of `run_events`, whose flag `legacy` selects
rostok's exact arithmetic or the repaired one; "Repaired" in the docstring of a class
marks where they differ. `smooth` reads the result of `smooth_events`.

A criterion finds its events in the result by their class. As in rostok, the builder or
event passed to the criterion only names this class.
"""

from abc import ABC, abstractmethod
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Float

from posewise.robots.validation import number

from . import smooth_criteria
from .errors import EventError
from .event import SimulationSingleEvent
from .event_builders import EventBuilder
from .event_loop import SimulationResult
from .smooth_events import SmoothResult

Event = TypeVar("Event", bound=SimulationSingleEvent)
EventSource = EventBuilder | SimulationSingleEvent
"""Builder or event that names the class of an event in the result."""


class Criterion(ABC):
    """Reward of a run; subclass it for a custom criterion.

    Args:
        legacy: whether to accept any argument, zeros included, as rostok does; for
            results of `run_events(..., legacy=True)` only.
    """

    def __init__(self, *, legacy: bool = False) -> None:
        self.legacy = legacy

    @abstractmethod
    def calculate_reward(self, simulation_output: SimulationResult) -> float:
        """Return the reward.

        Args:
            simulation_output: result of `run_events`.

        Raises:
            EventError: if the run had no event of a required class (with `legacy` an
                AttributeError, as in rostok); for a legacy criterion with a result that
                is not legacy.
            ZeroDivisionError: with `legacy`, for arguments that are zero.
        """

    def smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        """Return the smooth reward, which tends to the exact one as tau falls.

        Args:
            run: result of `smooth_events`.

        Raises:
            EventError: if the run had no event of a required class; for a criterion
                without a smooth form.
        """
        return self._smooth_reward(check_smooth_result(self, run))

    def residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        """Return residuals whose squares decrease as the reward increases.

        The residual is √(1 - reward) unless the class defines another one. It does not
        require a grasp; use `EventGrasp.robustness` as a constraint for that.

        Args:
            run: result of `smooth_events`.

        Raises:
            EventError: as in `smooth`.
        """
        return self._residual_rows(check_smooth_result(self, run))

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        """Return the smooth reward; override it in a custom criterion."""
        raise EventError(
            f"{type(self).__name__} has no smooth form; define _smooth_reward(run)."
        )

    def _residual_rows(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        """Return the residuals; override it for other residuals than √(1 - reward)."""
        return smooth_criteria.root_shortfall(self._smooth_reward(run))

    def _find_event(self, kind: type[Event], result: SimulationResult) -> Event:
        """Return the event of a class in a result."""
        check_result(self, result)
        if self.legacy and not result.legacy:
            raise EventError(
                f"{type(self).__name__} is legacy but the result is not; use"
                " run_events(..., legacy=True)."
            )
        for event in result.events:
            if isinstance(event, kind):
                return event
        raise (AttributeError if result.legacy else EventError)(
            f"{type(self).__name__} needs an {kind.__name__}, which the run did not"
            " have; add it to the events."
        )

    def _check_positive(self, name: str, value: float) -> float:
        """Return a number > 0; with `legacy` any number."""
        if self.legacy:
            return value
        label = f"{type(self).__name__}: {name}"
        return number(label, value, "> 0", lambda x: x > 0, EventError)

    def _check_source(
        self, source: EventSource, kind: type[SimulationSingleEvent]
    ) -> None:
        """Raise an EventError unless a builder or event names the expected class."""
        event_class: type = type(source)
        if isinstance(source, EventBuilder):
            event_class = source.event_class
        if not issubclass(event_class, kind):
            raise EventError(
                f"{type(self).__name__} got {source!r}, expected the builder of an"
                f" {kind.__name__}."
            )


def check_result(reader: object, result: SimulationResult) -> None:
    """Raise an EventError for anything but a result of run_events."""
    if not isinstance(result, SimulationResult):
        raise EventError(
            f"{type(reader).__name__}: simulation_output is {type(result).__name__},"
            " expected the result of run_events."
        )


def check_smooth_result(reader: object, run: SmoothResult) -> SmoothResult:
    """Return the argument if it is a result of smooth_events.

    Raises:
        EventError: for anything else.
    """
    if not isinstance(run, SmoothResult):
        raise EventError(
            f"{type(reader).__name__}: run is {type(run).__name__}, expected the result"
            " of smooth_events."
        )
    return run


def nan_to_zero(reward: float) -> float:
    """Return the reward, or 0 if it is NaN because an input was not measured."""
    return 0.0 if np.isnan(reward) else reward

"""What all of rostok's criteria share: rewards of a run, the larger the better.

`calculate_reward` reads the result of `run_events`, whose `legacy` decides: rostok's
arithmetic bit for bit, or the repaired one; "Repaired" says where they differ. `smooth`
reads the result of `smooth_events`.

Builders given to a criterion, or events, stand for the event of that class in the
result, as in rostok.
"""

from abc import ABC, abstractmethod
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from posewise.robots.validation import number

from . import smooth_criteria as forms
from .event import EventError, SimulationSingleEvent
from .event_builders import EventBuilder
from .event_loop import SimulationResult
from .smooth_events import SmoothResult


class Criterion(ABC):
    """A reward of a run; subclass it for a criterion of your own.

    Args:
        legacy: take any argument, as rostok does, zeros included; for results of
            `run_events(..., legacy=True)` only.
    """

    def __init__(self, *, legacy: bool = False) -> None:
        self.legacy = legacy

    @abstractmethod
    def calculate_reward(self, simulation_output: Any) -> float:
        """The reward.

        Args:
            simulation_output: the result of `run_events`.

        Raises:
            EventError: when the run had no event of a class that is asked for (legacy:
                AttributeError, as in rostok); for a legacy criterion with a result that
                is not.
            ZeroDivisionError: legacy, for zero arguments.
        """

    def smooth(self, run: Any) -> Float[jax.Array, ""]:
        """The reward as a smooth function; the exact one as the temperature falls.

        Args:
            run: the result of `smooth_events`.

        Raises:
            EventError: when the run had no event of a class that is asked for; for a
                criterion without a smooth form.
        """
        return self._smooth(check_smooth_result(self, run))

    def residual(self, run: Any) -> Float[jax.Array, " rows"]:
        """A vector whose squares to minimise for the same end, for sos objectives.

        √(1 - reward), or what the class says. It does not ask for a grasp: that is for
        `EventGrasp.robustness`, a constraint.

        Args:
            run: the result of `smooth_events`.

        Raises:
            EventError: see `smooth`.
        """
        return self._residual(check_smooth_result(self, run))

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        raise EventError(
            f"{type(self).__name__} has no smooth form; define _smooth(run)."
        )

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.root_shortfall(self._smooth(run))

    def _find_event(self, kind: type[SimulationSingleEvent], result: Any) -> Any:
        check_result(self, result)
        if self.legacy and not result.legacy:
            raise EventError(
                f"{type(self).__name__} is legacy, the result is not; walk along the"
                " trace with run_events(..., legacy=True)."
            )
        found = next((e for e in result.events if isinstance(e, kind)), None)
        if found is None:
            raise (AttributeError if result.legacy else EventError)(
                f"{type(self).__name__} asks for an {kind.__name__}, which the run did"
                " not have; put it among the events."
            )
        return found

    def _check_positive(self, name: str, value: Any) -> Any:
        if self.legacy:
            return value
        what = f"{type(self).__name__}: {name}"
        return number(what, value, "> 0", lambda x: x > 0, EventError)

    def _check_builder(self, given: Any, kind: type[SimulationSingleEvent]) -> None:
        given_kind = (
            given.event_class if isinstance(given, EventBuilder) else type(given)
        )
        if not issubclass(given_kind, kind):
            raise EventError(
                f"{type(self).__name__} got {given!r} where the builder of an"
                f" {kind.__name__} is expected."
            )


def check_result(reader: Any, result: Any) -> None:
    """Raise an EventError for what is no result of run_events."""
    if not isinstance(result, SimulationResult):
        raise EventError(
            f"{type(reader).__name__}: simulation_output is {type(result).__name__},"
            " expected the result of run_events."
        )


def check_smooth_result(reader: Any, run: Any) -> SmoothResult:
    """The run, if it is a result of smooth_events.

    Raises:
        EventError: else.
    """
    if not isinstance(run, SmoothResult):
        raise EventError(
            f"{type(reader).__name__}: run is {type(run).__name__}, expected the result"
            " of smooth_events."
        )
    return run


def nan_to_zero(reward: float) -> float:
    """A reward; of what was not measured, none."""
    return 0.0 if np.isnan(reward) else reward

"""rostok's criteria: rewards of a run, from 0 to 1, the larger the better.

`calculate_reward` reads the result of `run_events`, whose `legacy` decides: rostok's
arithmetic bit for bit, or the repaired one; "Repaired" says where they differ.

Builders given to a criterion, or events, stand for the event of that class in the
result, as in rostok.
"""

from abc import ABC, abstractmethod
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from ..robots.checks import integer, number
from . import smooth_criteria as forms
from .event_builders import EventBuilder
from .event_loop import SimulationResult
from .events import (
    EventContactTimeOut,
    EventError,
    EventFlyingApart,
    EventGrasp,
    EventSlipOut,
    SimulationSingleEvent,
)
from .smooth_events import SmoothResult
from .thresholds import STRONGEST


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
        return self._smooth(check_smooth(self, run))

    def residual(self, run: Any) -> Float[jax.Array, " rows"]:
        """A vector whose squares to minimise for the same end, for sos objectives.

        √(1 - reward), or what the class says. It does not ask for a grasp: that is for
        `EventGrasp.robustness`, a constraint.

        Args:
            run: the result of `smooth_events`.

        Raises:
            EventError: see `smooth`.
        """
        return self._residual(check_smooth(self, run))

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        raise EventError(
            f"{type(self).__name__} has no smooth form; define _smooth(run)."
        )

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.shortfall(self._smooth(run))

    def _event(self, kind: type[SimulationSingleEvent], result: Any) -> Any:
        check_exact(self, result)
        if self.legacy and not result.legacy:
            raise EventError(
                f"{type(self).__name__} is legacy, the result is not; walk along the"
                " trace with run_events(..., legacy=True)."
            )
        found = next((e for e in result.events if type(e) is kind), None)
        if found is None:
            raise (AttributeError if result.legacy else EventError)(
                f"{type(self).__name__} asks for an {kind.__name__}, which the run did"
                " not have; put it among the events."
            )
        return found

    def _number(self, name: str, value: Any) -> Any:
        if self.legacy:
            return value
        what = f"{type(self).__name__}: {name}"
        return number(what, value, "> 0", lambda x: x > 0, EventError)

    def _check_kind(self, given: Any, kind: type[SimulationSingleEvent]) -> None:
        given_kind = (
            given.event_class if isinstance(given, EventBuilder) else type(given)
        )
        if given_kind is not kind:
            raise EventError(
                f"{type(self).__name__} got {given!r} where the builder of an"
                f" {kind.__name__} is expected."
            )


def check_exact(reader: Any, result: Any) -> None:
    """Raise an EventError for what is no result of run_events."""
    if not isinstance(result, SimulationResult):
        raise EventError(
            f"{type(reader).__name__}: simulation_output is {type(result).__name__},"
            " expected the result of run_events."
        )


def check_smooth(reader: Any, run: Any) -> SmoothResult:
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


class TimeCriterion(Criterion):
    """1 for a grasp, 0 for a contact time-out, else (simulated time / T)².

    Repaired: at most 1. In rostok a run without grasp that lasts longer than T is worth
    more than a grasp.

    Args:
        time: T, the longest time of a run [s].
        event_timeout_builder: of the EventContactTimeOut.
        event_grasp_builder: of the EventGrasp.
        legacy: see `Criterion`.

    Raises:
        EventError: for a time that is not > 0, or other builders.
    """

    def __init__(
        self,
        time: Any,
        event_timeout_builder: Any,
        event_grasp_builder: Any,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(legacy=legacy)
        self.max_simulation_time = self._number("time", time)
        self._check_kind(event_timeout_builder, EventContactTimeOut)
        self._check_kind(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        if self._event(EventGrasp, simulation_output).state:
            return 1.0
        if self._event(EventContactTimeOut, simulation_output).state:
            return 0.0
        reward = (simulation_output.time / self.max_simulation_time) ** 2
        return reward if simulation_output.legacy else min(reward, 1.0)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.time_reward(run, self.max_simulation_time)


class ForceCriterion(Criterion):
    """1 / (1 + mean net force on the object [N]); 0 without contact or on a time-out.

    The mean is over the instants with contacts and a net force below 100 N. Forces that
    cancel are best: a balanced squeeze is worth 1. Residual: the net forces [N] at all
    steps, over the root of the number of those that count.

    Repaired: the two bodies of a contact feel opposite forces; in rostok the same.

    Args:
        event_timeout_builder: of the EventContactTimeOut.
        legacy: see `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def __init__(self, event_timeout_builder: Any, *, legacy: bool = False) -> None:
        super().__init__(legacy=legacy)
        self._check_kind(event_timeout_builder, EventContactTimeOut)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        if self._event(EventContactTimeOut, simulation_output).state:
            return 0.0
        contacts = simulation_output.environment_final_ds.get_data("forces")[0]
        net = [np.linalg.norm(c[:, 1].sum(0)) for c in contacts if len(c)]
        kept = [f for f in net if f < STRONGEST]
        return 1 / (1 + np.mean(kept)) if kept else 0.0

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.force_reward(run)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.force_residual(run)


class InstantObjectCOGCriterion(Criterion):
    """1 / (1 + distance of the object's centre of mass to that of the contacts [m]).

    At the grasp; 0 without grasp or contact. Residual: centre of the contacts minus
    centre of mass [m], three rows.

    Repaired: the contacts are weighted by their forces; in rostok equally. An object
    whose position was not measured earns 0; in rostok it is at 9999 m.

    Args:
        event_grasp_builder: of the EventGrasp.
        legacy: see `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def __init__(self, event_grasp_builder: Any, *, legacy: bool = False) -> None:
        super().__init__(legacy=legacy)
        self._check_kind(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._event(EventGrasp, simulation_output)
        if not grasp.state:
            return 0.0
        k = grasp.step_n + 1
        center = simulation_output.environment.force_center(0, k)
        if center is None:
            return 0.0
        position = simulation_output.environment.positions[0][k]
        return _known(1 / (1 + float(np.linalg.norm(position - center))))

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.cog_reward(run)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.cog_residual(run)


class InstantForceCriterion(Criterion):
    """1 / (1 + standard deviation of the forces on the object [N]), at the grasp.

    Over the contacts, with the number of contacts as divisor; 0 without grasp or
    contact. Residual: each force minus their mean [N], over the root of their number.

    Repaired: a contact counts with its force |f|; in rostok with √(|p|² + |f|²), p
    being the point in the world, so that moving all by 5 m changes the reward.

    Args:
        event_grasp_builder: of the EventGrasp.
        legacy: see `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def __init__(self, event_grasp_builder: Any, *, legacy: bool = False) -> None:
        super().__init__(legacy=legacy)
        self._check_kind(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._event(EventGrasp, simulation_output)
        if not grasp.state:
            return 0.0
        contacts = simulation_output.environment.forces[0][grasp.step_n + 1]
        if not len(contacts):
            return 0.0
        counted = contacts if simulation_output.legacy else contacts[:, 1]
        return 1 / (1 + np.std([np.linalg.norm(c) for c in counted]))

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.instant_force_reward(run)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.instant_force_residual(run)


class InstantContactingLinkCriterion(Criterion):
    """The part of the robot's bodies that touch something at the grasp; 0 without one.

    The palm counts; touching another body of the robot does not, touching the floor
    does.

    Args:
        event_grasp_builder: of the EventGrasp.
        legacy: see `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def __init__(self, event_grasp_builder: Any, *, legacy: bool = False) -> None:
        super().__init__(legacy=legacy)
        self._check_kind(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._event(EventGrasp, simulation_output)
        if not grasp.state:
            return 0.0
        counts = simulation_output.robot.n_contacts.values()
        touching = [n[grasp.step_n + 1] > 0 for n in counts]
        return sum(touching) / len(touching)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.contacting_link_reward(run)


class GraspTimeCriterion(Criterion):
    """(S - step of the grasp) / S; 0 without grasp.

    Repaired: at least 0. In rostok negative for a grasp after step S.

    Args:
        event_grasp_builder: of the EventGrasp.
        total_steps: S, the number of steps within which a grasp is wanted.
        legacy: see `Criterion`.

    Raises:
        EventError: for a number that is no integer > 0, or another builder.
    """

    def __init__(
        self, event_grasp_builder: Any, total_steps: Any, *, legacy: bool = False
    ) -> None:
        super().__init__(legacy=legacy)
        self._check_kind(event_grasp_builder, EventGrasp)
        if not legacy:
            what, positive = "GraspTimeCriterion: total_steps", lambda x: x > 0
            total_steps = integer(
                what, total_steps, "an integer > 0", positive, EventError
            )
        self.total_steps = total_steps

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._event(EventGrasp, simulation_output)
        if not grasp.state:
            return 0.0
        reward = (self.total_steps - grasp.step_n) / self.total_steps
        return reward if simulation_output.legacy else max(reward, 0.0)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.grasp_time_reward(run, float(self.total_steps))


class FinalPositionCriterion(Criterion):
    """1 - distance of the object's positions at the grasp and at the end / reference.

    0 beyond the reference, without grasp, and after a slip. Residual: the displacement
    over the reference, three rows.

    Repaired: 0 also when the robot has flown apart, which rostok does not look at, and
    for positions that were not measured, which rostok takes for 9999 m.

    Args:
        reference_distance: where the reward is 0 [m].
        grasp_event_builder: of the EventGrasp.
        slipout_event_builder: of the EventSlipOut.
        legacy: see `Criterion`.

    Raises:
        EventError: for a distance that is not > 0, or other builders.
    """

    def __init__(
        self,
        reference_distance: Any,
        grasp_event_builder: Any,
        slipout_event_builder: Any,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(legacy=legacy)
        self.reference_distance = self._number("reference_distance", reference_distance)
        self._check_kind(grasp_event_builder, EventGrasp)
        self._check_kind(slipout_event_builder, EventSlipOut)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._event(EventGrasp, simulation_output)
        slip = self._event(EventSlipOut, simulation_output)
        apart = not simulation_output.legacy and isinstance(
            simulation_output.stopped_by, EventFlyingApart
        )
        if not grasp.state or slip.state or apart:
            return 0.0
        positions = simulation_output.environment.positions[0]
        start, end = positions[grasp.step_n + 1], positions[simulation_output.n_steps]
        distance = float(np.linalg.norm(start - end))
        if distance > self.reference_distance:
            return 0.0
        return _known(1 - distance / self.reference_distance)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.final_position_reward(run, self.reference_distance)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.final_position_residual(run, self.reference_distance)


def _known(reward: float) -> float:
    """A reward; of what was not measured, none."""
    return 0.0 if np.isnan(reward) else reward

"""rostok's criteria of a run as a whole."""

import jax
import numpy as np
from jaxtyping import Float

from . import smooth_criteria
from .body_events import EventFlyingApart
from .contact_events import EventContactTimeOut, EventSlipOut
from .criterion import Criterion, EventSource, nan_to_zero
from .event_loop import SimulationResult
from .grasp_events import EventGrasp
from .smooth_events import SmoothResult
from .thresholds import MAX_NET_FORCE


class TimeCriterion(Criterion):
    """1 for a grasp, 0 for a contact time-out, otherwise (simulated time / T)².

    Repaired: the reward is at most 1. In rostok a run without a grasp that lasts longer
    than T earns more than a grasp.

    Args:
        time: longest time T of a run [s].
        event_timeout_builder: builder of the EventContactTimeOut.
        event_grasp_builder: builder of the EventGrasp.
        legacy: as in `Criterion`.

    Raises:
        EventError: for a time that is not > 0, or other builders.
    """

    def __init__(
        self,
        time: float,
        event_timeout_builder: EventSource,
        event_grasp_builder: EventSource,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(legacy=legacy)
        self.max_simulation_time = self._check_positive("time", time)
        self._check_source(event_timeout_builder, EventContactTimeOut)
        self._check_source(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: SimulationResult) -> float:
        if self._find_event(EventGrasp, simulation_output).state:
            return 1.0
        if self._find_event(EventContactTimeOut, simulation_output).state:
            return 0.0
        reward = (simulation_output.time / self.max_simulation_time) ** 2
        return reward if simulation_output.legacy else min(reward, 1.0)

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.time_reward(run, self.max_simulation_time)


class ForceCriterion(Criterion):
    """1 / (1 + f) for the mean net force f on the object [N].

    The mean is over the instants with contacts and a net force below 100 N. The reward
    is 0 without contact or after a time-out, and 1 for forces that cancel, such as a
    balanced squeeze. The residual is the net forces [N] at all steps, over the root of
    the number of those that count.

    Repaired: forces on the two bodies of a contact are opposite; in rostok they are
    equal.

    Args:
        event_timeout_builder: builder of the EventContactTimeOut.
        legacy: as in `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def __init__(
        self, event_timeout_builder: EventSource, *, legacy: bool = False
    ) -> None:
        super().__init__(legacy=legacy)
        self._check_source(event_timeout_builder, EventContactTimeOut)

    def calculate_reward(self, simulation_output: SimulationResult) -> float:
        if self._find_event(EventContactTimeOut, simulation_output).state:
            return 0.0
        contacts = simulation_output.environment_final_ds.get_data("forces")[0]
        net_forces = [np.linalg.norm(c[:, 1].sum(0)) for c in contacts if len(c)]
        plausible = [f for f in net_forces if f < MAX_NET_FORCE]
        return float(1 / (1 + np.mean(plausible))) if plausible else 0.0

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.force_reward(run)

    def _residual_rows(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return smooth_criteria.force_residual(run)


class FinalPositionCriterion(Criterion):
    """1 - d / reference for the distance d [m] that the object moves after the grasp.

    The distance is between its positions at the grasp and at the end. The reward is 0
    beyond the reference, without a grasp, and after a slip. The residual is the
    displacement over the reference, three rows.

    Repaired: the reward is also 0 if the robot has flown apart, which rostok ignores,
    and for positions that were not measured, which rostok sets to 9999 m.

    Args:
        reference_distance: distance at which the reward reaches 0 [m].
        grasp_event_builder: builder of the EventGrasp.
        slipout_event_builder: builder of the EventSlipOut.
        legacy: as in `Criterion`.

    Raises:
        EventError: for a distance that is not > 0, or other builders.
    """

    def __init__(
        self,
        reference_distance: float,
        grasp_event_builder: EventSource,
        slipout_event_builder: EventSource,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(legacy=legacy)
        self.reference_distance = self._check_positive(
            "reference_distance", reference_distance
        )
        self._check_source(grasp_event_builder, EventGrasp)
        self._check_source(slipout_event_builder, EventSlipOut)

    def calculate_reward(self, simulation_output: SimulationResult) -> float:
        grasp = self._find_event(EventGrasp, simulation_output)
        slip = self._find_event(EventSlipOut, simulation_output)
        has_flown_apart = not simulation_output.legacy and isinstance(
            simulation_output.stopped_by, EventFlyingApart
        )
        if grasp.step_n is None or slip.state or has_flown_apart:
            return 0.0
        positions = simulation_output.environment.positions[0]
        start, end = positions[grasp.step_n + 1], positions[simulation_output.n_steps]
        distance = float(np.linalg.norm(start - end))
        if distance > self.reference_distance:
            return 0.0
        return nan_to_zero(1 - distance / self.reference_distance)

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.final_position_reward(run, self.reference_distance)

    def _residual_rows(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return smooth_criteria.final_position_residual(run, self.reference_distance)

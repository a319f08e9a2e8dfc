"""rostok's criteria of a run as a whole."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from . import smooth_criteria as forms
from .body_events import EventFlyingApart
from .contact_events import EventContactTimeOut, EventSlipOut
from .criterion import Criterion, nan_to_zero
from .grasp_events import EventGrasp
from .smooth_events import SmoothResult
from .thresholds import MAX_NET_FORCE


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
        self.max_simulation_time = self._check_positive("time", time)
        self._check_builder(event_timeout_builder, EventContactTimeOut)
        self._check_builder(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        if self._find_event(EventGrasp, simulation_output).state:
            return 1.0
        if self._find_event(EventContactTimeOut, simulation_output).state:
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
        self._check_builder(event_timeout_builder, EventContactTimeOut)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        if self._find_event(EventContactTimeOut, simulation_output).state:
            return 0.0
        contacts = simulation_output.environment_final_ds.get_data("forces")[0]
        net = [np.linalg.norm(c[:, 1].sum(0)) for c in contacts if len(c)]
        kept = [f for f in net if f < MAX_NET_FORCE]
        return 1 / (1 + np.mean(kept)) if kept else 0.0

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.force_reward(run)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.force_residual(run)


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
        self.reference_distance = self._check_positive(
            "reference_distance", reference_distance
        )
        self._check_builder(grasp_event_builder, EventGrasp)
        self._check_builder(slipout_event_builder, EventSlipOut)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._find_event(EventGrasp, simulation_output)
        slip = self._find_event(EventSlipOut, simulation_output)
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
        return nan_to_zero(1 - distance / self.reference_distance)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.final_position_reward(run, self.reference_distance)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.final_position_residual(run, self.reference_distance)

"""rostok's criteria of the instant of the grasp."""

from abc import abstractmethod
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from posewise.robots.validation import integer

from . import smooth_criteria as forms
from .criterion import Criterion, nan_to_zero
from .event import EventError
from .grasp_events import EventGrasp
from .smooth_events import SmoothResult


class _GraspCriterion(Criterion):
    """A criterion that is 0 without a grasp."""

    def __init__(self, event_grasp_builder: Any, *, legacy: bool = False) -> None:
        super().__init__(legacy=legacy)
        self._check_builder(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: Any) -> float:
        """See `Criterion`."""
        grasp = self._find_event(EventGrasp, simulation_output)
        return (
            self._reward_at_grasp(grasp.step_n, simulation_output)
            if grasp.state
            else 0.0
        )

    @abstractmethod
    def _reward_at_grasp(self, step_n: int, simulation_output: Any) -> float:
        """Of a run with a grasp in that step."""


class InstantObjectCOGCriterion(_GraspCriterion):
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

    def _reward_at_grasp(self, step_n: int, simulation_output: Any) -> float:
        k = step_n + 1
        center = simulation_output.environment.force_center(0, k)
        if center is None:
            return 0.0
        position = simulation_output.environment.positions[0][k]
        return nan_to_zero(1 / (1 + float(np.linalg.norm(position - center))))

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.cog_reward(run)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.cog_residual(run)


class InstantForceCriterion(_GraspCriterion):
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

    def _reward_at_grasp(self, step_n: int, simulation_output: Any) -> float:
        contacts = simulation_output.environment.forces[0][step_n + 1]
        if not len(contacts):
            return 0.0
        counted = contacts if simulation_output.legacy else contacts[:, 1]
        return 1 / (1 + np.std([np.linalg.norm(c) for c in counted]))

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.instant_force_reward(run)

    def _residual(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return forms.instant_force_residual(run)


class InstantContactingLinkCriterion(_GraspCriterion):
    """The part of the robot's bodies that touch something at the grasp; 0 without one.

    The palm counts; touching another body of the robot does not, touching the floor
    does.

    Args:
        event_grasp_builder: of the EventGrasp.
        legacy: see `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def _reward_at_grasp(self, step_n: int, simulation_output: Any) -> float:
        counts = simulation_output.robot.n_contacts.values()
        touching = [n[step_n + 1] > 0 for n in counts]
        return sum(touching) / len(touching)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.contacting_link_reward(run)


class GraspTimeCriterion(_GraspCriterion):
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
        super().__init__(event_grasp_builder, legacy=legacy)
        if not legacy:
            what, positive = "GraspTimeCriterion: total_steps", lambda x: x > 0
            total_steps = integer(
                what, total_steps, "an integer > 0", positive, EventError
            )
        self.total_steps = total_steps

    def _reward_at_grasp(self, step_n: int, simulation_output: Any) -> float:
        reward = (self.total_steps - step_n) / self.total_steps
        return reward if simulation_output.legacy else max(reward, 0.0)

    def _smooth(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return forms.grasp_time_reward(run, float(self.total_steps))

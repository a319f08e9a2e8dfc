"""rostok's criteria of the instant of the grasp."""

from abc import abstractmethod

import jax
import numpy as np
from jaxtyping import Float

from posewise.robots.validation import integer

from . import smooth_criteria
from .criterion import Criterion, EventSource, nan_to_zero
from .errors import EventError
from .event_loop import SimulationResult
from .grasp_events import EventGrasp
from .smooth_events import SmoothResult


class _GraspCriterion(Criterion):
    """Criterion of the instant of the grasp; 0 without a grasp."""

    def __init__(self, event_grasp_builder: EventSource, *, legacy: bool = False):
        super().__init__(legacy=legacy)
        self._check_source(event_grasp_builder, EventGrasp)

    def calculate_reward(self, simulation_output: SimulationResult) -> float:
        grasp = self._find_event(EventGrasp, simulation_output)
        if not grasp.state or grasp.step_n is None:
            return 0.0
        return self._reward_at_grasp(grasp.step_n, simulation_output)

    @abstractmethod
    def _reward_at_grasp(
        self, step_n: int, simulation_output: SimulationResult
    ) -> float:
        """Return the reward of a run with a grasp at a step."""


class InstantObjectCOGCriterion(_GraspCriterion):
    """1 / (1 + d) for the distance d [m] of two centers; 0 without grasp or contact.

    The centers are those of the object's mass and of its contacts, at the grasp. The
    residual is center of the contacts minus center of mass [m], three rows.

    Repaired: contacts are weighted by their forces; rostok weights them equally. An
    object whose position was not measured earns 0; rostok places it at 9999 m.

    Args:
        event_grasp_builder: builder of the EventGrasp.
        legacy: as in `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def _reward_at_grasp(
        self, step_n: int, simulation_output: SimulationResult
    ) -> float:
        k = step_n + 1
        center = simulation_output.environment.force_center(0, k)
        if center is None:
            return 0.0
        position = simulation_output.environment.positions[0][k]
        return nan_to_zero(1 / (1 + float(np.linalg.norm(position - center))))

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.cog_reward(run)

    def _residual_rows(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return smooth_criteria.cog_residual(run)


class InstantForceCriterion(_GraspCriterion):
    """1 / (1 + s) for the standard deviation s [N] of the forces on the object.

    It is taken over the contacts at the grasp, with their number as divisor; 0 without
    grasp or contact. The residual is each force minus their mean [N], over the root of
    their number.

    Repaired: a contact counts with its force |f|; rostok uses √(|p|² + |f|²) with the
    contact point p in the world, so that moving the whole scene changes the reward.

    Args:
        event_grasp_builder: builder of the EventGrasp.
        legacy: as in `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def _reward_at_grasp(
        self, step_n: int, simulation_output: SimulationResult
    ) -> float:
        contacts = simulation_output.environment.forces[0][step_n + 1]
        if not len(contacts):
            return 0.0
        vectors = contacts if simulation_output.legacy else contacts[:, 1]
        return float(1 / (1 + np.std([np.linalg.norm(v) for v in vectors])))

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.instant_force_reward(run)

    def _residual_rows(self, run: SmoothResult) -> Float[jax.Array, " rows"]:
        return smooth_criteria.instant_force_residual(run)


class InstantContactingLinkCriterion(_GraspCriterion):
    """Fraction of the robot's bodies in contact at the grasp; 0 without a grasp.

    The palm counts as a body. Contacts with the floor count, contacts with another body
    of the robot do not.

    Args:
        event_grasp_builder: builder of the EventGrasp.
        legacy: as in `Criterion`.

    Raises:
        EventError: for another builder.
    """

    def _reward_at_grasp(
        self, step_n: int, simulation_output: SimulationResult
    ) -> float:
        counts = simulation_output.robot.n_contacts.values()
        in_contact = [n[step_n + 1] > 0 for n in counts]
        return float(sum(in_contact) / len(in_contact))

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.contacting_link_reward(run)


class GraspTimeCriterion(_GraspCriterion):
    """(S - step of the grasp) / S for S allowed steps; 0 without a grasp.

    Repaired: the reward is at least 0; rostok's is negative for a grasp after step S.

    Args:
        event_grasp_builder: builder of the EventGrasp.
        total_steps: number S of steps within which the grasp should happen.
        legacy: as in `Criterion`.

    Raises:
        EventError: for a number that is not an integer > 0, or another builder.
    """

    def __init__(
        self,
        event_grasp_builder: EventSource,
        total_steps: int,
        *,
        legacy: bool = False,
    ) -> None:
        super().__init__(event_grasp_builder, legacy=legacy)
        if not legacy:
            total_steps = integer(
                "GraspTimeCriterion: total_steps",
                total_steps,
                "an integer > 0",
                lambda x: x > 0,
                EventError,
            )
        self.total_steps = total_steps

    def _reward_at_grasp(
        self, step_n: int, simulation_output: SimulationResult
    ) -> float:
        reward = (self.total_steps - step_n) / self.total_steps
        return reward if simulation_output.legacy else max(reward, 0.0)

    def _smooth_reward(self, run: SmoothResult) -> Float[jax.Array, ""]:
        return smooth_criteria.grasp_time_reward(run, float(self.total_steps))

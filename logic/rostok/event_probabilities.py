"""Probabilities that each event, considered alone, first occurs at each step.

Sigmoids turn contacts, speeds and distances into probabilities. Steps are assumed to be
independent of each other, and so are bodies. Comparisons of times stay exact.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import safe_math
from posewise.robots.typing import Array

from .errors import EventError
from .logistic import at_least_two, probability
from .thresholds import (
    LENGTH_UNIT,
    MAX_INITIAL_CONTACT_STEPS,
    MAX_STEADY_SPEED,
    MIN_STEADY_STEPS,
)
from .trace_arrays import ContactProbabilities, TraceArrays

PerStep = Float[jax.Array, " steps"]


class EventStructure(NamedTuple):
    """Static description of an event that shapes the compiled program."""

    event_class: Any
    """Class of the event, with its `rule`."""
    required: int | None
    """Index in the container of the event that this event reads."""
    from_body: bool = False


def survival(first_step: PerStep) -> PerStep:
    """Return the probability that an event has not occurred by the end of each step."""
    return 1 - jnp.cumsum(first_step)


def shift_one_step(curve: PerStep) -> PerStep:
    """Return a survival curve delayed by one step."""
    return jnp.concatenate([jnp.ones(1), curve[:-1]])


def _first_occurrence(hazard: PerStep) -> PerStep:
    """Return the probability of the first occurrence at each step.

    Args:
        hazard: probability of an occurrence at each step given none before.
    """
    return hazard * shift_one_step(jnp.cumprod(1 - hazard))


class ProbabilityContext(NamedTuple):
    """Inputs that the probability functions of all events of a run share."""

    structures: tuple[EventStructure, ...]
    data: tuple[dict[str, Any], ...]
    """Arrays of each event; see `BuiltInEvent.probability_data`."""
    arrays: TraceArrays
    contacts: ContactProbabilities
    tau: Float[Array, ""]
    cache: dict[int, PerStep]
    """Results by event, because other events read those that they require."""

    def first_step(self, j: int) -> PerStep:
        """Return the probability that event j first occurs at each step.

        The event is considered alone with the event that it requires.
        """
        if j not in self.cache:
            rule = self.structures[j].event_class.rule
            self.cache[j] = rule.probabilities(self, j)
        return self.cache[j]

    @property
    def log_no_finger(self) -> PerStep:
        """Log probability that no body except the palm touches anything."""
        return self.contacts.log_no_body[:, 2:].sum(-1)

    def contact(self, j: int) -> PerStep:
        """Return the probability that event j, an EventContact, sees a contact."""
        if self.structures[j].from_body:
            return -jnp.expm1(self.log_no_finger)
        return -jnp.expm1(self.contacts.log_no_body[:, 0])

    def required(self, j: int) -> tuple[int, bool]:
        """Return the event that event j requires, and whether it is checked first."""
        required = self.structures[j].required
        if required is None:
            name = self.structures[j].event_class.__name__
            raise EventError(f"{name} requires no other event.")
        return required, required < j


def contact(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventContact."""
    return _first_occurrence(context.contact(j))


def timeout(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventContactTimeOut."""
    required, is_checked_first = context.required(j)
    no_contact = survival(context.first_step(required))
    if not is_checked_first:
        no_contact = shift_one_step(no_contact)
    return context.data[j]["is_timeout_step"] * no_contact


def flying_apart(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventFlyingApart."""
    positions = context.arrays.robot_pos[1:]
    distance = safe_math.norm(positions[:, 1:] - positions[:, :1])
    margin = (distance - context.data[j]["max_distance"]) / LENGTH_UNIT
    is_far = probability(margin, context.tau)
    return _first_occurrence(1 - jnp.prod(1 - is_far, -1))


def slip_out(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventSlipOut.

    The sum is over the last step with a contact. With the log probability ℓ_i of no
    contact at step i, a contact at step c is the last one until the end e of its wait
    with probability exp(Σ_{c < i <= e} ℓ_i), a difference of cumulative sums.
    """
    log_quiet = jnp.cumsum(context.log_no_finger)
    wait_end = context.data[j]["wait_end"]
    is_inside = wait_end < context.arrays.n_steps
    silence = jnp.exp(log_quiet.at[wait_end].get(mode="clip") - log_quiet)
    contact = -jnp.expm1(context.log_no_finger)
    ends = jnp.where(is_inside, contact * silence, 0.0)
    hazard = jnp.zeros_like(log_quiet).at[wait_end].add(ends, mode="drop")
    return _first_occurrence(hazard)


def grasp(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventGrasp.

    A Markov chain: its states are "no contact yet" and the number of steady steps so
    far.
    """
    required, is_checked_first = context.required(j)
    speed = safe_math.norm(context.arrays.obj_vel[1:])
    is_slow = probability(1 - speed / MAX_STEADY_SPEED, context.tau)
    is_steady = is_slow * at_least_two(context.contacts.body[:, 2:])

    def step(carry: Any, inputs: Any) -> Any:
        untouched, counts = carry
        contact, steady, is_in_time = inputs
        new_contact = untouched * contact
        # The required contact of this step counts only if it is checked earlier.
        if is_checked_first:
            counts = counts.at[0].add(new_contact)
        previous = counts
        restarted = jnp.zeros_like(counts).at[0].set((1 - steady) * counts.sum())
        advanced = restarted.at[1:].add(steady * counts[:-1])
        counts = jnp.where(is_in_time, advanced, counts)
        if not is_checked_first:
            counts = counts.at[0].add(new_contact)
        occurs = jnp.where(is_in_time, steady * previous[-1], 0.0)
        return (untouched - new_contact, counts), occurs

    inputs = context.contact(required), is_steady, context.data[j]["is_in_time"]
    counts = jnp.zeros(MIN_STEADY_STEPS, context.tau.dtype)
    return jax.lax.scan(step, (jnp.ones_like(context.tau), counts), inputs)[1]


def end_of_force_test(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventStopExternalForce.

    Each step at which the grasp may occur has its own end of the test.
    """
    required, _ = context.required(j)
    grasps = context.first_step(required)
    test_end = context.data[j]["test_end"]
    return jnp.zeros_like(grasps).at[test_end].add(grasps, mode="drop")


def body_too_low(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventBodyTooLow."""
    height = context.arrays.robot_pos[1:, 0, 1]
    margin = (context.data[j]["ref_height"] - height) / LENGTH_UNIT
    return _first_occurrence(probability(margin, context.tau))


def initial_contact(context: ProbabilityContext, j: int) -> PerStep:
    """Return the probabilities of an EventContactInInitialPosition."""
    contact = -jnp.expm1(context.contacts.log_no_body[:, 0])
    is_early = np.arange(context.arrays.n_steps) < MAX_INITIAL_CONTACT_STEPS
    return _first_occurrence(jnp.where(is_early, contact, 0.0))

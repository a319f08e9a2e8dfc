"""Chances of each event alone, step by step.

Contacts, speeds and distances turn into chances by sigmoids; steps are independent, and
so are bodies. Comparisons of times are not softened.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import safe_math
from posewise.robots.typing import Array

from .body_events import EventBodyTooLow, EventFlyingApart
from .contact_events import (
    EventContact,
    EventContactInInitialPosition,
    EventContactTimeOut,
    EventSlipOut,
)
from .event import EventError, SimulationSingleEvent
from .grasp_events import EventGrasp, EventStopExternalForce
from .softening import at_least_two, chance
from .step_indices import ends_of_tests, ends_of_waits, first_past
from .thresholds import (
    LENGTH_UNIT,
    MAX_INITIAL_CONTACT_STEPS,
    MAX_STEADY_SPEED,
    MIN_STEADY_STEPS,
)
from .trace_arrays import ContactProbabilities, TraceArrays

MAX_BODY_DISTANCE = 1e9
"""Farther than anything flies [m]."""
PerStep = Float[jax.Array, " steps"]


class EventStructure(NamedTuple):
    """What of an event shapes the program; its numbers are data."""

    event: type[SimulationSingleEvent]
    required: int | None
    """Place in the container of the event that this one looks at."""
    from_body: bool = False


def survival(chances: PerStep) -> PerStep:
    """That something has not happened yet after a step."""
    return 1 - jnp.cumsum(chances)


def shift_one_step(curve: PerStep) -> PerStep:
    """A survival curve one step earlier."""
    return jnp.concatenate([jnp.ones(1), curve[:-1]])


def _first_occurrence(hazard: PerStep) -> PerStep:
    """That something happens first at a step, from the chance if not before."""
    return hazard * shift_one_step(jnp.cumprod(1 - hazard))


class ProbabilityContext(NamedTuple):
    """What chances are made of."""

    structures: tuple[EventStructure, ...]
    data: tuple[Any, ...]
    arrays: TraceArrays
    contacts: ContactProbabilities
    tau: Float[Array, ""]
    cache: dict[int, PerStep]
    """Chances so far: events that others look at are computed once."""

    def chances(self, j: int) -> PerStep:
        """That event j, were it alone with the one it needs, happens at a step."""
        if j not in self.cache:
            self.cache[j] = PROBABILITY_MODELS[self.structures[j].event].chances(
                self, j
            )
        return self.cache[j]

    @property
    def log_no_finger(self) -> PerStep:
        """Logarithm of the chance that no body but the palm touches anything."""
        return self.contacts.log_no_body[:, 2:].sum(-1)

    def contact(self, j: int) -> PerStep:
        """That event j, an EventContact, finds a contact."""
        log_none = self.contacts.log_no_body[:, 0]
        return -jnp.expm1(
            self.log_no_finger if self.structures[j].from_body else log_none
        )

    def required(self, j: int) -> tuple[int, bool]:
        """Which event j looks at, and whether that one is asked first in a step."""
        needed = self.structures[j].required
        if needed is None:
            raise EventError(
                f"{self.structures[j].event.__name__} looks at no other event."
            )
        return needed, needed < j


def _contact(run: ProbabilityContext, j: int) -> PerStep:
    return _first_occurrence(run.contact(j))


def _time_out(run: ProbabilityContext, j: int) -> PerStep:
    needed, asked_first = run.required(j)
    none = survival(run.chances(needed))
    return run.data[j]["late"] * (none if asked_first else shift_one_step(none))


def _flying_apart(run: ProbabilityContext, j: int) -> PerStep:
    positions = run.arrays.robot_pos[1:]
    distance = safe_math.norm(positions[:, 1:] - positions[:, :1])
    margin = (distance - run.data[j]["max_distance"]) / LENGTH_UNIT
    return _first_occurrence(1 - jnp.prod(1 - chance(margin, run.tau), -1))


def _slip_out(run: ProbabilityContext, j: int) -> PerStep:
    """After contact at step c, no contact until the first step late enough."""
    quiet = jnp.cumsum(run.log_no_finger)
    until = run.data[j]["until"]
    inside = until < run.arrays.n_steps
    silence = jnp.exp(quiet.at[until].get(mode="clip") - quiet)
    fires = jnp.where(inside, -jnp.expm1(run.log_no_finger) * silence, 0.0)
    return _first_occurrence(jnp.zeros_like(quiet).at[until].add(fires, mode="drop"))


def _grasp(run: ProbabilityContext, j: int) -> PerStep:
    """A chain over: no contact yet, and the number of steady steps so far."""
    needed, asked_first = run.required(j)
    slow = chance(
        1 - safe_math.norm(run.arrays.obj_vel[1:]) / MAX_STEADY_SPEED, run.tau
    )
    steady = slow * at_least_two(run.contacts.body[:, 2:])

    def step(carry: Any, now: Any) -> Any:
        untouched, counts = carry
        contact, steady, in_time = now
        newly = untouched * contact
        if asked_first:
            counts = counts.at[0].add(newly)
        kept = counts
        restart = jnp.zeros_like(counts).at[0].set((1 - steady) * counts.sum())
        counted = restart.at[1:].add(steady * counts[:-1])
        counts = jnp.where(in_time, counted, counts)
        if not asked_first:
            counts = counts.at[0].add(newly)
        happens = jnp.where(in_time, steady * kept[-1], 0.0)
        return (untouched - newly, counts), happens

    inputs = run.contact(needed), steady, run.data[j]["in_time"]
    start = jnp.ones_like(run.tau), jnp.zeros(MIN_STEADY_STEPS, run.tau.dtype)
    return jax.lax.scan(step, start, inputs)[1]


def _stop_external_force(run: ProbabilityContext, j: int) -> PerStep:
    """Each step at which the grasp may happen has its own end of the test."""
    needed, _ = run.required(j)
    chances = run.chances(needed)
    until = run.data[j]["until"]
    return jnp.zeros_like(chances).at[until].add(chances, mode="drop")


def _body_too_low(run: ProbabilityContext, j: int) -> PerStep:
    margin = (run.data[j]["ref_height"] - run.arrays.robot_pos[1:, 0, 1]) / LENGTH_UNIT
    return _first_occurrence(chance(margin, run.tau))


def _initial_contact(run: ProbabilityContext, j: int) -> PerStep:
    touched = -jnp.expm1(run.contacts.log_no_body[:, 0])
    early = np.arange(run.arrays.n_steps) < MAX_INITIAL_CONTACT_STEPS
    return _first_occurrence(jnp.where(early, touched, 0.0))


class ProbabilityModel(NamedTuple):
    """The smooth side of a class of events."""

    chances: Callable[[ProbabilityContext, int], PerStep]
    data: Callable[[Any, np.ndarray], dict[str, Any]]
    """What of an event, and of the times of steps, the curve needs: data."""
    stops: bool


PROBABILITY_MODELS: dict[type, ProbabilityModel] = {
    EventContact: ProbabilityModel(_contact, lambda e, t: {}, False),
    EventContactTimeOut: ProbabilityModel(
        _time_out, lambda e, t: {"late": first_past(t, e.reference_time)}, True
    ),
    EventFlyingApart: ProbabilityModel(
        _flying_apart,
        lambda e, t: {"max_distance": min(e.max_distance, MAX_BODY_DISTANCE)},
        True,
    ),
    EventSlipOut: ProbabilityModel(
        _slip_out, lambda e, t: {"until": ends_of_waits(t, e.reference_time)}, True
    ),
    EventGrasp: ProbabilityModel(
        _grasp,
        lambda e, t: {
            "in_time": t <= e.grasp_limit_time,
            "limit": first_past(t, e.grasp_limit_time),
        },
        False,
    ),
    EventStopExternalForce: ProbabilityModel(
        _stop_external_force,
        lambda e, t: {"until": ends_of_tests(t, e.force_test_time)},
        True,
    ),
    EventBodyTooLow: ProbabilityModel(
        _body_too_low, lambda e, t: {"ref_height": e.ref_height}, True
    ),
    EventContactInInitialPosition: ProbabilityModel(
        _initial_contact, lambda e, t: {}, True
    ),
}

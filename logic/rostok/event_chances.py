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

from ..states.schedule import ends_of_tests, ends_of_waits, first_past
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
from .thresholds import INITIAL_STEPS, LENGTH, STEADY_SPEED, STEADY_STEPS
from .trace_arrays import Touch, TraceArrays

FAR = 1e9
"""Farther than anything flies [m]."""
Steps = Float[jax.Array, " steps"]


class Kind(NamedTuple):
    """What of an event shapes the program; its numbers are data."""

    event: type[SimulationSingleEvent]
    needed: int | None
    """Place in the container of the event that this one looks at."""
    from_body: bool = False


def survival(chances: Steps) -> Steps:
    """That something has not happened yet after a step."""
    return 1 - jnp.cumsum(chances)


def before(curve: Steps) -> Steps:
    """A survival curve one step earlier."""
    return jnp.concatenate([jnp.ones(1), curve[:-1]])


def _first(hazard: Steps) -> Steps:
    """That something happens first at a step, from the chance if not before."""
    return hazard * before(jnp.cumprod(1 - hazard))


class Run(NamedTuple):
    """What chances are made of."""

    kinds: tuple[Kind, ...]
    numbers: tuple[Any, ...]
    arrays: TraceArrays
    touch: Touch
    tau: Float[Array, ""]
    found: dict[int, Steps]
    """Chances so far: events that others look at are computed once."""

    def chances(self, j: int) -> Steps:
        """That event j, were it alone with the one it needs, happens at a step."""
        if j not in self.found:
            self.found[j] = CURVES[self.kinds[j].event].chances(self, j)
        return self.found[j]

    @property
    def no_finger(self) -> Steps:
        """Logarithm of the chance that no body but the palm touches anything."""
        return self.touch.log_no_body[:, 2:].sum(-1)

    def contact(self, j: int) -> Steps:
        """That event j, an EventContact, finds a contact."""
        log_none = self.touch.log_no_body[:, 0]
        return -jnp.expm1(self.no_finger if self.kinds[j].from_body else log_none)

    def needed(self, j: int) -> tuple[int, bool]:
        """Which event j looks at, and whether that one is asked first in a step."""
        needed = self.kinds[j].needed
        if needed is None:
            raise EventError(f"{self.kinds[j].event.__name__} looks at no other event.")
        return needed, needed < j


def _contact(run: Run, j: int) -> Steps:
    return _first(run.contact(j))


def _time_out(run: Run, j: int) -> Steps:
    needed, asked_first = run.needed(j)
    none = survival(run.chances(needed))
    return run.numbers[j]["late"] * (none if asked_first else before(none))


def _flying_apart(run: Run, j: int) -> Steps:
    positions = run.arrays.robot_pos[1:]
    distance = safe_math.norm(positions[:, 1:] - positions[:, :1])
    margin = (distance - run.numbers[j]["max_distance"]) / LENGTH
    return _first(1 - jnp.prod(1 - chance(margin, run.tau), -1))


def _slip_out(run: Run, j: int) -> Steps:
    """After contact at step c, no contact until the first step late enough."""
    quiet = jnp.cumsum(run.no_finger)
    until = run.numbers[j]["until"]
    inside = until < run.arrays.n_steps
    silence = jnp.exp(quiet.at[until].get(mode="clip") - quiet)
    fires = jnp.where(inside, -jnp.expm1(run.no_finger) * silence, 0.0)
    return _first(jnp.zeros_like(quiet).at[until].add(fires, mode="drop"))


def _grasp(run: Run, j: int) -> Steps:
    """A chain over: no contact yet, and the number of steady steps so far."""
    needed, asked_first = run.needed(j)
    slow = chance(1 - safe_math.norm(run.arrays.obj_vel[1:]) / STEADY_SPEED, run.tau)
    steady = slow * at_least_two(run.touch.body[:, 2:])

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

    inputs = run.contact(needed), steady, run.numbers[j]["in_time"]
    start = jnp.ones_like(run.tau), jnp.zeros(STEADY_STEPS, run.tau.dtype)
    return jax.lax.scan(step, start, inputs)[1]


def _stop_external_force(run: Run, j: int) -> Steps:
    """Each step at which the grasp may happen has its own end of the test."""
    needed, _ = run.needed(j)
    chances = run.chances(needed)
    until = run.numbers[j]["until"]
    return jnp.zeros_like(chances).at[until].add(chances, mode="drop")


def _body_too_low(run: Run, j: int) -> Steps:
    margin = (run.numbers[j]["ref_height"] - run.arrays.robot_pos[1:, 0, 1]) / LENGTH
    return _first(chance(margin, run.tau))


def _initial_contact(run: Run, j: int) -> Steps:
    touched = -jnp.expm1(run.touch.log_no_body[:, 0])
    early = np.arange(run.arrays.n_steps) < INITIAL_STEPS
    return _first(jnp.where(early, touched, 0.0))


class Curve(NamedTuple):
    """The smooth side of a class of events."""

    chances: Callable[[Run, int], Steps]
    numbers: Callable[[Any, np.ndarray], dict[str, Any]]
    """What of an event, and of the times of steps, the curve needs: data."""
    stops: bool


CURVES: dict[type, Curve] = {
    EventContact: Curve(_contact, lambda e, t: {}, False),
    EventContactTimeOut: Curve(
        _time_out, lambda e, t: {"late": first_past(t, e.reference_time)}, True
    ),
    EventFlyingApart: Curve(
        _flying_apart, lambda e, t: {"max_distance": min(e.max_distance, FAR)}, True
    ),
    EventSlipOut: Curve(
        _slip_out, lambda e, t: {"until": ends_of_waits(t, e.reference_time)}, True
    ),
    EventGrasp: Curve(
        _grasp,
        lambda e, t: {
            "in_time": t <= e.grasp_limit_time,
            "limit": first_past(t, e.grasp_limit_time),
        },
        False,
    ),
    EventStopExternalForce: Curve(
        _stop_external_force,
        lambda e, t: {"until": ends_of_tests(t, e.force_test_time)},
        True,
    ),
    EventBodyTooLow: Curve(
        _body_too_low, lambda e, t: {"ref_height": e.ref_height}, True
    ),
    EventContactInInitialPosition: Curve(_initial_contact, lambda e, t: {}, True),
}

"""Chances of rostok's events along a trace: smooth, and exact as the temperature falls.

Contacts, speeds and distances turn into chances by sigmoids; steps are independent. For
each event alone, p_i is the chance that it happens first at step i, S_i = 1 - Σ p that
it has not by then. A run goes on while no stop has happened, so that in it

    P(event first at step i) = p_i · Π_stops S_i or S_{i-1},

S_i for stops that are asked before the event in a step, S_{i-1} for those after.
Comparisons of times are not softened.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..features import safe
from ..robots._typing import Array
from .event_loop import make_container, needed_event
from .events import (
    EventBodyTooLow,
    EventContact,
    EventContactInInitialPosition,
    EventContactTimeOut,
    EventError,
    EventFlyingApart,
    EventGrasp,
    EventSlipOut,
    EventStopExternalForce,
    SimulationSingleEvent,
)
from .schedule import ends_of_tests, ends_of_waits, first_past
from .softening import at_least_two, chance
from .thresholds import INITIAL_STEPS, LENGTH, STEADY_SPEED, STEADY_STEPS
from .trace_arrays import Touch, TraceArrays, as_arrays, touch

FAR = 1e9
"""Farther than anything flies [m]."""
Steps = Float[jax.Array, " steps"]


class Kind(NamedTuple):
    """What of an event shapes the program; its numbers are data."""

    event: type[SimulationSingleEvent]
    needed: int | None
    """Place in the container of the event that this one looks at."""
    from_body: bool = False


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class SmoothResult:
    """Chances of the events of a run; what `Criterion.smooth` reads."""

    kinds: tuple[Kind, ...] = field(metadata=dict(static=True))
    arrays: TraceArrays
    tau: Float[Array, "*batch"]
    touch: Touch
    first: Float[Array, "*batch events steps"]
    """That an event happens first at a step, in the container's order."""
    grasp_limit: Float[Array, "*batch steps"]
    """That the run stops at a step because no grasp came in time."""
    alive: Float[Array, "*batch steps"]
    """That the run goes on after a step."""

    @property
    def executed(self) -> Steps:
        """That a step is made."""
        return _before(self.alive)

    @property
    def last(self) -> Steps:
        """That a step is the last one: of a stop, or of the end of the trace."""
        return (self.executed - self.alive).at[-1].add(self.alive[-1])

    def first_of(self, kind: type[SimulationSingleEvent]) -> Steps:
        """That the event of a class happens first at a step.

        Raises:
            EventError: when the run has no event of the class.
        """
        for j, k in enumerate(self.kinds):
            if k.event is kind:
                return self.first[j]
        raise EventError(
            f"The run had no {kind.__name__}; put it, or its builder, among the events."
        )

    def happens(self, kind: type[SimulationSingleEvent]) -> Float[Array, ""]:
        """That the event of a class happens; see `first_of`."""
        return self.first_of(kind).sum()


def smooth_events(trace: Any, events: Any, tau: Any) -> SmoothResult:
    """Chances of events along a trace: the smooth side of `run_events`.

    As tau -> 0 every chance goes to 0 or 1 as the (repaired) exact run says, unless a
    number of the trace lies on a threshold. Differentiable in all arrays and in tau;
    works under jit, vmap and grad.

    Args:
        trace: a `Trace`, or `TraceArrays` to differentiate by.
        events: events, or builders of events, in the container's order; those of this
            module only. Neither changes.
        tau: temperature > 0, without unit: margins are relative to the thresholds of
            force, speed and count, and in cm for distances.

    Raises:
        TraceError: see `Trace.arrays`; for shapes that do not fit; for tau.
        EventError: see `run_events`; for an event of another class.
    """
    arrays, tau = as_arrays(trace, tau)
    container = make_container(events, check=True)
    kinds, numbers = [], []
    for event in container:
        if type(event) not in _CURVES:
            known = ", ".join(k.__name__ for k in _CURVES)
            raise EventError(
                f"{type(event).__name__} has no smooth form; these have: {known}."
            )
        needed = needed_event(event)
        place = None if needed is None else [e is needed for e in container].index(True)
        from_body = isinstance(event, EventContact) and event.from_body
        kinds.append(Kind(type(event), place, from_body))
        numbers.append(_CURVES[type(event)].numbers(event, arrays.times))
    return _run(tuple(kinds), tuple(numbers), arrays, tau)


@partial(jax.jit, static_argnums=0)
def _run(
    kinds: tuple[Kind, ...],
    numbers: tuple[Any, ...],
    arrays: TraceArrays,
    tau: Float[Array, ""],
) -> SmoothResult:
    run = _Run(kinds, numbers, arrays, touch(arrays, tau), tau)
    alone = [run.chances(j) for j in range(len(kinds))]
    stops = [(j, c) for j, c in enumerate(alone) if _CURVES[kinds[j].event].stops]
    limited = (0, jnp.zeros(arrays.n_steps))
    for j, kind in enumerate(kinds):
        if kind.event is EventGrasp:
            limited = (j, numbers[j]["limit"] * (1 - alone[j].sum()))
    stops.append(limited)

    def first(place: int, chances: Steps) -> Steps:
        for j, stop in stops:
            if stop is not chances:
                survival = _survival(stop)
                chances = chances * (survival if j < place else _before(survival))
        return chances

    return SmoothResult(
        kinds,
        arrays,
        tau,
        run.touch,
        jnp.array([first(*c) for c in enumerate(alone)]).reshape(-1, arrays.n_steps),
        first(*limited),
        jnp.prod(jnp.stack([_survival(c) for _, c in stops]), 0),
    )


def _survival(chances: Steps) -> Steps:
    """That something has not happened yet after a step."""
    return 1 - jnp.cumsum(chances)


def _before(curve: Steps) -> Steps:
    """A survival curve one step earlier."""
    return jnp.concatenate([jnp.ones(1), curve[:-1]])


def _first(hazard: Steps) -> Steps:
    """That something happens first at a step, from the chance if not before."""
    return hazard * _before(jnp.cumprod(1 - hazard))


class _Run(NamedTuple):
    """What chances are made of."""

    kinds: tuple[Kind, ...]
    numbers: tuple[Any, ...]
    arrays: TraceArrays
    touch: Touch
    tau: Float[Array, ""]

    def chances(self, j: int) -> Steps:
        """That event j, were it alone with the one it needs, happens at a step."""
        return _CURVES[self.kinds[j].event].chances(self, j)

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


def _contact(run: _Run, j: int) -> Steps:
    return _first(run.contact(j))


def _time_out(run: _Run, j: int) -> Steps:
    needed, asked_first = run.needed(j)
    none = _survival(run.chances(needed))
    return run.numbers[j]["late"] * (none if asked_first else _before(none))


def _flying_apart(run: _Run, j: int) -> Steps:
    positions = run.arrays.robot_pos[1:]
    distance = safe.norm(positions[:, 1:] - positions[:, :1])
    margin = (distance - run.numbers[j]["max_distance"]) / LENGTH
    return _first(1 - jnp.prod(1 - chance(margin, run.tau), -1))


def _slip_out(run: _Run, j: int) -> Steps:
    """After contact at step c, no contact until the first step late enough."""
    quiet = jnp.cumsum(run.no_finger)
    until = run.numbers[j]["until"]
    inside = until < run.arrays.n_steps
    silence = jnp.exp(quiet.at[until].get(mode="clip") - quiet)
    fires = jnp.where(inside, -jnp.expm1(run.no_finger) * silence, 0.0)
    return _first(jnp.zeros_like(quiet).at[until].add(fires, mode="drop"))


def _grasp(run: _Run, j: int) -> Steps:
    """A chain over: no contact yet, and the number of steady steps so far."""
    needed, asked_first = run.needed(j)
    slow = chance(1 - safe.norm(run.arrays.obj_vel[1:]) / STEADY_SPEED, run.tau)
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


def _stop_external_force(run: _Run, j: int) -> Steps:
    """Each step at which the grasp may happen has its own end of the test."""
    needed, _ = run.needed(j)
    chances = run.chances(needed)
    until = run.numbers[j]["until"]
    return jnp.zeros_like(chances).at[until].add(chances, mode="drop")


def _body_too_low(run: _Run, j: int) -> Steps:
    margin = (run.numbers[j]["ref_height"] - run.arrays.robot_pos[1:, 0, 1]) / LENGTH
    return _first(chance(margin, run.tau))


def _initial_contact(run: _Run, j: int) -> Steps:
    touched = -jnp.expm1(run.touch.log_no_body[:, 0])
    early = np.arange(run.arrays.n_steps) < INITIAL_STEPS
    return _first(jnp.where(early, touched, 0.0))


class Curve(NamedTuple):
    """The smooth side of a class of events."""

    chances: Callable[[_Run, int], Steps]
    numbers: Callable[[Any, np.ndarray], dict[str, Any]]
    """What of an event, and of the times of steps, the curve needs: data."""
    stops: bool


_CURVES: dict[type, Curve] = {
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

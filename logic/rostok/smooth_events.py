"""Chances of rostok's events along a trace: smooth, and exact as the temperature falls.

For each event alone, p_i is the chance that it happens first at step i (see
`event_chances`), and S_i = 1 - Σ p that it has not by then. A run goes on while no stop
has happened, so that in it

    P(event first at step i) = p_i · Π_stops S_i or S_{i-1},

S_i for stops that are asked before the event in a step, S_{i-1} for those after.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.robots.typing import Array

from .contact_events import EventContact
from .event import EventError, SimulationSingleEvent
from .event_loop import make_container, required_event
from .event_probabilities import (
    PROBABILITY_MODELS,
    EventStructure,
    PerStep,
    ProbabilityContext,
    shift_one_step,
    survival,
)
from .grasp_events import EventGrasp
from .trace_arrays import (
    ContactProbabilities,
    TraceArrays,
    contact_probabilities,
    validate_arrays,
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class SmoothResult:
    """Chances of the events of a run; what `Criterion.smooth` reads."""

    structures: tuple[EventStructure, ...] = field(metadata=dict(static=True))
    arrays: TraceArrays
    tau: Float[Array, "*batch"]
    contacts: ContactProbabilities
    first_step: Float[Array, "*batch events steps"]
    """That an event happens first at a step, in the container's order."""
    grasp_limit: Float[Array, "*batch steps"]
    """That the run stops at a step because no grasp came in time."""
    alive: Float[Array, "*batch steps"]
    """That the run goes on after a step."""

    @property
    def executed(self) -> PerStep:
        """That a step is made."""
        return shift_one_step(self.alive)

    @property
    def last_step(self) -> PerStep:
        """That a step is the last one: of a stop, or of the end of the trace."""
        return (self.executed - self.alive).at[-1].add(self.alive[-1])

    def first_step_of(self, kind: type[SimulationSingleEvent]) -> PerStep:
        """That the event of a class happens first at a step.

        Raises:
            EventError: when the run has no event of the class.
        """
        for j, k in enumerate(self.structures):
            if k.event is kind:
                return self.first_step[j]
        raise EventError(
            f"The run had no {kind.__name__}; put it, or its builder, among the events."
        )

    def probability_of(self, kind: type[SimulationSingleEvent]) -> Float[Array, ""]:
        """That the event of a class happens; see `first_of`."""
        return self.first_step_of(kind).sum()


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
    arrays, tau = validate_arrays(trace, tau)
    container = make_container(events, check=True)
    kinds, numbers = [], []
    for event in container:
        if type(event) not in PROBABILITY_MODELS:
            known = ", ".join(k.__name__ for k in PROBABILITY_MODELS)
            raise EventError(
                f"{type(event).__name__} has no smooth form; these have: {known}."
            )
        needed = required_event(event)
        place = None if needed is None else [e is needed for e in container].index(True)
        from_body = isinstance(event, EventContact) and event.from_body
        kinds.append(EventStructure(type(event), place, from_body))
        numbers.append(PROBABILITY_MODELS[type(event)].data(event, arrays.times))
    return _run(tuple(kinds), tuple(numbers), arrays, tau)


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def _run(
    kinds: tuple[EventStructure, ...],
    numbers: tuple[Any, ...],
    arrays: TraceArrays,
    tau: Float[Array, ""],
) -> SmoothResult:
    run = ProbabilityContext(
        kinds, numbers, arrays, contact_probabilities(arrays, tau), tau, {}
    )
    alone = [run.chances(j) for j in range(len(kinds))]
    stops = [
        (j, c) for j, c in enumerate(alone) if PROBABILITY_MODELS[kinds[j].event].stops
    ]
    limited = (0, jnp.zeros(arrays.n_steps))
    for j, kind in enumerate(kinds):
        if kind.event is EventGrasp:
            limited = (j, numbers[j]["limit"] * (1 - alone[j].sum()))
    stops.append(limited)

    def first(place: int, chances: PerStep) -> PerStep:
        goes_on = jnp.ones(arrays.n_steps)
        for j, stop in stops:
            if stop is not chances:
                left = survival(stop)
                goes_on = goes_on * (left if j < place else shift_one_step(left))
        return chances * goes_on

    return SmoothResult(
        kinds,
        arrays,
        tau,
        run.contacts,
        jnp.array([first(*c) for c in enumerate(alone)]).reshape(-1, arrays.n_steps),
        first(*limited),
        jnp.prod(jnp.stack([survival(c) for _, c in stops]), 0),
    )

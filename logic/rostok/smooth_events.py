"""Smooth probabilities of rostok's events along a trace, exact as temperature falls.

For each event alone, p_i is the probability that it first occurs at step i (see
`event_probabilities`), and S_i = 1 - Σ_{k <= i} p_k that it has not occurred by then. A
run continues until a stop occurs, so that in a run

    P(event first at step i) = p_i · Π_stops S_i or S_{i-1},

with S_i for stops that are checked before the event in a step, S_{i-1} for the others.
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
from .errors import EventError
from .event import BuiltInEvent, EventCommands, SimulationSingleEvent
from .event_loop import Events, make_container
from .event_probabilities import (
    EventStructure,
    PerStep,
    ProbabilityContext,
    shift_one_step,
    survival,
)
from .grasp_events import EventGrasp
from .trace import Trace
from .trace_arrays import (
    ContactProbabilities,
    Temperature,
    TraceArrays,
    contact_probabilities,
    validate_arrays,
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class SmoothResult:
    """Probabilities of the events of a run; input of `Criterion.smooth`."""

    structures: tuple[EventStructure, ...] = field(metadata=dict(static=True))
    arrays: TraceArrays
    tau: Float[Array, "*batch"]
    contacts: ContactProbabilities
    first_step: Float[Array, "*batch events steps"]
    """Probability that each event first occurs at a step, in the container's order."""
    grasp_limit: Float[Array, "*batch steps"]
    """Probability that the run stops at a step because the grasp is too late."""
    alive: Float[Array, "*batch steps"]
    """Probability that the run continues after a step."""

    @property
    def executed(self) -> PerStep:
        """Probability that the run executes a step."""
        return shift_one_step(self.alive)

    @property
    def last_step(self) -> PerStep:
        """Probability that a step is the last one, by a stop or the trace's end."""
        return (self.executed - self.alive).at[-1].add(self.alive[-1])

    def first_step_of(self, kind: type[SimulationSingleEvent]) -> PerStep:
        """Return the probability that the event of a class first occurs at each step.

        Raises:
            EventError: if the run had no event of the class.
        """
        for j, structure in enumerate(self.structures):
            if structure.event_class is kind:
                return self.first_step[j]
        raise EventError(
            f"The run had no {kind.__name__}; add it, or its builder, to the events."
        )

    def probability_of(self, kind: type[SimulationSingleEvent]) -> Float[Array, ""]:
        """Return the probability that the event of a class occurs.

        Raises:
            EventError: if the run had no event of the class.
        """
        return self.first_step_of(kind).sum()


def smooth_events(
    trace: Trace | TraceArrays, events: Events, tau: Temperature
) -> SmoothResult:
    """Compute probabilities of events along a trace: the smooth form of `run_events`.

    As tau -> 0 every probability tends to 0 or 1 as in the repaired exact run, unless a
    number of the trace lies on a threshold. The result is differentiable in all arrays
    and in tau, and works under jit, vmap and grad.

    Args:
        trace: recorded trace, or `TraceArrays` to differentiate by.
        events: built-in events, or their builders, in the container's order; they are
            not changed.
        tau: temperature > 0 without unit, because margins are relative to the
            thresholds of force, speed and count, and in cm for distances.

    Raises:
        TraceError: for a NaN in the trace, shapes that do not fit, or an invalid tau.
        EventError: for custom events, and as in `run_events`.
    """
    arrays, temperature = validate_arrays(trace, tau)
    container = make_container(events, check=True)
    structures, data = [], []
    for event in container:
        if not isinstance(event, BuiltInEvent):
            raise EventError(
                f"{type(event).__name__} has no smooth form; only the built-in events"
                " have one. Leave it out, or use run_events."
            )
        required = event.required_event
        index = None
        if required is not None:
            index = [e is required for e in container].index(True)
        from_body = isinstance(event, EventContact) and event.from_body
        structures.append(EventStructure(type(event), index, from_body))
        data.append(event.probability_data(arrays.times))
    return _run(tuple(structures), tuple(data), arrays, temperature)


@partial(jax.jit, static_argnums=0)
@full_matmul_precision
def _run(
    structures: tuple[EventStructure, ...],
    data: tuple[dict[str, Any], ...],
    arrays: TraceArrays,
    tau: Float[Array, ""],
) -> SmoothResult:
    contacts = contact_probabilities(arrays, tau)
    context = ProbabilityContext(structures, data, arrays, contacts, tau, {})
    alone = [context.first_step(j) for j in range(len(structures))]
    stops = [
        (j, probabilities)
        for j, probabilities in enumerate(alone)
        if structures[j].event_class.rule.command is EventCommands.STOP
    ]
    # The time limit of the grasp stops a run too, although no event occurs then.
    limit = (0, jnp.zeros(arrays.n_steps))
    for j, structure in enumerate(structures):
        if structure.event_class is EventGrasp:
            limit = (j, data[j]["is_limit_step"] * (1 - alone[j].sum()))
    stops.append(limit)

    def in_run(index: int, probabilities: PerStep) -> PerStep:
        """Return probabilities times those that no other stop comes before."""
        survives = jnp.ones(arrays.n_steps)
        for j, stop in stops:
            if stop is not probabilities:
                survived = survival(stop)
                survives *= survived if j < index else shift_one_step(survived)
        return probabilities * survives

    first_step = [in_run(j, probabilities) for j, probabilities in enumerate(alone)]
    return SmoothResult(
        structures=structures,
        arrays=arrays,
        tau=tau,
        contacts=contacts,
        first_step=jnp.array(first_step).reshape(-1, arrays.n_steps),
        grasp_limit=in_run(*limit),
        alive=jnp.prod(jnp.stack([survival(stop) for _, stop in stops]), 0),
    )

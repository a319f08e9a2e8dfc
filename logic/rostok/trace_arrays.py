"""Traces as arrays, on which the smooth forms of events and criteria are defined."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision
from posewise.features import safe_math
from posewise.robots.typing import Array
from posewise.robots.validation import number

from .errors import TraceError
from .logistic import log_complement, probability
from .thresholds import LENGTH_UNIT, MIN_CONTACT_FORCE
from .trace import OBJECT, Trace

Temperature = float | Float[Array, ""]
"""Temperature tau > 0 of smooth forms; may be a traced scalar."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class TraceArrays:
    """Trace of K instants, B robot bodies and up to J contacts at an instant.

    The pytree's arrays may be traced, batched and differentiated. `trace_arrays` makes
    them from a recorded trace; roll-outs and paths can provide them too. All values are
    in the world frame with y up. Instant 0 is before the first step, so that its
    contacts are ignored.
    """

    dt: float = field(metadata=dict(static=True))
    """Length of a step [s]."""
    obj_pos: Float[Array, "*batch K 3"]
    """Position of the object's center of mass [m]."""
    obj_vel: Float[Array, "*batch K 3"]
    """Velocity of the object's center of mass [m/s]."""
    robot_pos: Float[Array, "*batch K B 3"]
    """Positions of the robot's bodies [m], the palm first."""
    points: Float[Array, "*batch K J 3"]
    """Contact points [m]; arbitrary in unused slots."""
    forces: Float[Array, "*batch K J 3"]
    """Contact forces [N], on the object if it takes part; 0 in unused slots."""
    incidence: Float[Array, "*batch K J bodies"]
    """Contact-body incidence matrix: entries are 1 or 0.

    The first column marks contacts of the object, the others contacts of a robot body
    with anything but the robot.
    """
    distances: Float[Array, "*batch K bodies"] | None = None
    """Signed distances [m] to the nearest body, or None.

    The first column belongs to the object; the others to the robot's bodies, whose
    distances to other parts of the robot do not count. If given, bodies are in contact
    where distances are <= 0, and forces are used only by the criteria of forces.
    """

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return self.obj_pos.shape[0] - 1

    @property
    def times(self) -> Float[np.ndarray, " steps"]:
        """Start times of the steps [s]."""
        return np.arange(self.n_steps) * self.dt


def trace_arrays(trace: Trace) -> TraceArrays:
    """Return the arrays of a recorded trace without the contacts that have a NaN.

    Raises:
        TraceError: for a NaN in a position or velocity.
    """
    robot_pos = np.stack([trace.robot_pos[b] for b in trace.robot_ids], 1)
    for name, values in (
        ("obj_pos", trace.obj_pos),
        ("obj_vel", trace.obj_vel),
        ("robot_pos", robot_pos),
    ):
        if np.isnan(values).any():
            k = int(np.argwhere(np.isnan(values))[0, 0])
            raise TraceError(
                f"{name} has a NaN at instant {k}; smooth forms need every position and"
                " velocity. Fill the gap, or use run_events."
            )
    columns = {b: j for j, b in enumerate((OBJECT, *trace.robot_ids))}
    records: list[list[Any]] = [[] for _ in trace.obj_pos]
    for c in trace.contacts:
        if c.k > 0 and not np.isnan([c.pa, c.pb, c.f]).any():
            point, force = (c.pb, c.f) if c.b == OBJECT else (c.pa, -c.f)
            sides = [columns[b] for b in (c.a, c.b) if b in columns]
            # Two robot bodies in contact with each other hold nothing.
            is_external = OBJECT in (c.a, c.b) or len(sides) == 1
            records[c.k].append((point, force, sides if is_external else []))
    K, J = len(records), max(map(len, records))
    points, forces = np.zeros((2, K, J, 3))
    incidence = np.zeros((K, J, len(columns)))
    for k, contacts in enumerate(records):
        for j, (point, force, sides) in enumerate(contacts):
            points[k, j], forces[k, j] = point, force
            incidence[k, j, sides] = 1
    return TraceArrays(
        dt=trace.dt,
        obj_pos=np.array(trace.obj_pos),
        obj_vel=np.array(trace.obj_vel),
        robot_pos=robot_pos,
        points=points,
        forces=forces,
        incidence=incidence,
    )


def validate_arrays(
    trace: Trace | TraceArrays, tau: Temperature
) -> tuple[TraceArrays, Float[jax.Array, ""]]:
    """Return the arrays of either kind of trace, and the checked temperature.

    Raises:
        TraceError: for another kind of trace, shapes that do not fit, or a tau that is
            not > 0.
    """
    if isinstance(trace, Trace):
        trace = trace_arrays(trace)
    if not isinstance(trace, TraceArrays):
        raise TraceError(
            f"trace is {type(trace).__name__}, expected a Trace or TraceArrays."
        )
    shapes = {n: jnp.shape(v) for n, v in vars(trace).items() if v is not None}
    K, B = shapes["robot_pos"][:2] if len(shapes["robot_pos"]) == 3 else (0, 0)
    J = shapes["points"][1] if len(shapes["points"]) == 3 else 0
    expected = dict(
        dt=(),
        obj_pos=(K, 3),
        obj_vel=(K, 3),
        robot_pos=(K, B, 3),
        points=(K, J, 3),
        forces=(K, J, 3),
        incidence=(K, J, 1 + B),
        distances=(K, 1 + B),
    )
    for name, shape in shapes.items():
        if shape != expected[name] or K < 2 or B < 1:
            raise TraceError(
                f"TraceArrays: {name} has shape {shape}, expected {expected[name]} for"
                f" K = {K} instants (2 or more), B = {B} bodies (1 or more) and J = {J}"
                " contacts."
            )
    if not isinstance(tau, jax.core.Tracer):
        number("tau", tau, "> 0", lambda x: x > 0, TraceError)
    return trace, jnp.asarray(tau, float)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class ContactProbabilities:
    """Probabilities of contact after each step."""

    contact: Float[Array, "*batch steps J"]
    """Probability of each contact that its force counts."""
    strength: Float[Array, "*batch steps J"]
    """Magnitude of each contact force [N]."""
    log_no_body: Float[Array, "*batch steps bodies"]
    """Log probability that a body (the object first) touches nothing."""

    @property
    def body(self) -> Float[Array, "steps bodies"]:
        """Probability of each body, the object first, that it touches something."""
        return -jnp.expm1(self.log_no_body)


@full_matmul_precision
def contact_probabilities(
    arrays: TraceArrays, tau: Float[Array, ""]
) -> ContactProbabilities:
    """Return probabilities of contact, with contacts independent of each other."""
    strength = safe_math.norm(arrays.forces[1:])
    margin = strength / MIN_CONTACT_FORCE - 1
    touching = arrays.incidence[1:]
    contact = probability(margin, tau) * touching.max(-1, initial=0.0)
    if arrays.distances is None:
        log_no_body = jnp.einsum("kj,kjb->kb", log_complement(margin, tau), touching)
    else:
        log_no_body = log_complement(-arrays.distances[1:] / LENGTH_UNIT, tau)
    return ContactProbabilities(contact, strength, log_no_body)


def contact_violation(
    arrays: TraceArrays,
) -> Float[Array, "steps J bodies"]:
    """Return z <= 0 where a contact force, or a distance (J = 1), means contact.

    The margins are in units of the weakest contact force, or of 1 cm.
    """
    if arrays.distances is not None:
        return arrays.distances[1:, None] / LENGTH_UNIT
    strength = safe_math.norm(arrays.forces[1:])
    z = jnp.where(
        arrays.incidence[1:] > 0, 1 - strength[..., None] / MIN_CONTACT_FORCE, 1.0
    )
    return z if z.shape[1] else jnp.ones((z.shape[0], 1, z.shape[2]))

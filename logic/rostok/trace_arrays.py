"""A trace as arrays: what smooth forms of events and criteria are functions of."""

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

from .softening import chance, log_not
from .thresholds import LENGTH_UNIT, MIN_CONTACT_FORCE
from .trace import OBJECT, Trace, TraceError


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class TraceArrays:
    """A trace of K instants, B robot bodies and up to J contacts at an instant.

    A pytree whose arrays may be traced, batched and differentiated; `Trace.arrays()`
    makes one, and so can any roll-out or path. All is in the world frame with y up.
    Instant 0 is before the first step; its contacts are ignored.
    """

    dt: float = field(metadata=dict(static=True))
    """Length of a step [s]."""
    obj_pos: Float[Array, "*batch K 3"]
    """The object's centre of mass [m]."""
    obj_vel: Float[Array, "*batch K 3"]
    """Its velocity [m/s]."""
    robot_pos: Float[Array, "*batch K B 3"]
    """Positions of the robot's bodies [m], the palm first."""
    points: Float[Array, "*batch K J 3"]
    """Where contacts are [m]; anything where there is none."""
    forces: Float[Array, "*batch K J 3"]
    """Their forces [N], on the object where it takes part; 0 where there is none."""
    incidence: Float[Array, "*batch K J bodies"]
    """1 where a contact is of the object (first column) or of a robot body (the others)
    with something else than the robot; else 0."""
    distances: Float[Array, "*batch K bodies"] | None = None
    """Signed distances [m] of the object to the nearest other body, and of each robot
    body to the nearest thing that is not the robot. Where given, bodies touch when
    these are <= 0; forces then serve criteria of forces only."""

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return self.obj_pos.shape[0] - 1

    @property
    def times(self) -> Float[np.ndarray, " steps"]:
        """Times at which steps start [s]."""
        return np.arange(self.n_steps) * self.dt


def trace_arrays(trace: Trace) -> TraceArrays:
    """The arrays of a recorded trace; contacts with a NaN are left out.

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
    rows: list[list[Any]] = [[] for _ in trace.obj_pos]
    for c in trace.contacts:
        if c.k > 0 and not np.isnan([c.pa, c.pb, c.f]).any():
            point, force = (c.pb, c.f) if c.b == OBJECT else (c.pa, -c.f)
            sides = [columns[b] for b in (c.a, c.b) if b in columns]
            outer = OBJECT in (c.a, c.b) or len(sides) == 1
            rows[c.k].append((point, force, sides if outer else []))
    K, J = len(rows), max(map(len, rows))
    points, forces = np.zeros((2, K, J, 3))
    touching = np.zeros((K, J, len(columns)))
    for k, row in enumerate(rows):
        for j, (point, force, sides) in enumerate(row):
            points[k, j], forces[k, j] = point, force
            touching[k, j, sides] = 1
    return TraceArrays(
        trace.dt,
        np.array(trace.obj_pos),
        np.array(trace.obj_vel),
        robot_pos,
        points,
        forces,
        touching,
    )


def validate_arrays(trace: Any, tau: Any) -> tuple[TraceArrays, Float[jax.Array, ""]]:
    """The arrays of either kind of trace, and a checked temperature.

    Raises:
        TraceError: for what is no trace, shapes that do not fit, tau that is not > 0.
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
    """Who touches after each step, with which chance."""

    contact: Float[Array, "*batch steps J"]
    """Of each contact: that its force counts."""
    strength: Float[Array, "*batch steps J"]
    """Force of each contact [N]."""
    log_no_body: Float[Array, "*batch steps bodies"]
    """Logarithm of the chance that a body (the object first) touches nothing."""

    @property
    def body(self) -> Float[Array, "steps bodies"]:
        """Of each body, the object first: that it touches something."""
        return -jnp.expm1(self.log_no_body)


@full_matmul_precision
def contact_probabilities(
    arrays: TraceArrays, tau: Float[Array, ""]
) -> ContactProbabilities:
    """Chances of contact at a temperature; contacts are independent of each other."""
    strength = safe_math.norm(arrays.forces[1:])
    margin = strength / MIN_CONTACT_FORCE - 1
    touching = arrays.incidence[1:]
    contact = chance(margin, tau) * touching.max(-1, initial=0.0)
    if arrays.distances is None:
        none = jnp.einsum("kj,kjb->kb", log_not(margin, tau), touching)
    else:
        none = log_not(-arrays.distances[1:] / LENGTH_UNIT, tau)
    return ContactProbabilities(contact, strength, none)


def contact_violation(
    arrays: TraceArrays,
) -> Float[Array, "steps J bodies"]:
    """z <= 0 where a contact, or the distance (J = 1), lets a body touch, after steps.

    In units of the weakest force, or of 1 cm.
    """
    if arrays.distances is not None:
        return arrays.distances[1:, None] / LENGTH_UNIT
    strength = safe_math.norm(arrays.forces[1:])
    z = jnp.where(
        arrays.incidence[1:] > 0, 1 - strength[..., None] / MIN_CONTACT_FORCE, 1.0
    )
    return z if z.shape[1] else jnp.ones((z.shape[0], 1, z.shape[2]))

"""How far events are from happening, or from being avoided: rows for ineq objectives.

Rows are smooth, and sound: where all of an event's rows are <= 0 the event happens (is
avoided) in the exact run of the same trace, if nothing else stops it. They are
robustness values of signal temporal logic (Donzé and Maler 2010) with the opposite
sign, minima and maxima being replaced by functions that are never below them: above the
exact values by at most tau log n, n being the number of alternatives and parts.

Margins are in units of the weakest force, of the steady speed, or of 1 cm. An event
that another one needs is taken at earlier steps only, so that the order of the
container does not matter.
"""

from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import safe_math
from posewise.robots.typing import Array

from .softening import every, some, some_so_far
from .step_indices import ends_of_tests, ends_of_waits
from .thresholds import (
    LENGTH_UNIT,
    MAX_INITIAL_CONTACT_STEPS,
    MAX_STEADY_SPEED,
    MIN_STEADY_STEPS,
)
from .trace_arrays import TraceArrays, contact_violation

Rows = Float[jax.Array, " rows"]
Tau = Float[Array, ""]
Alternatives = Float[jax.Array, "steps n"]
STRICTNESS_MARGIN = 1e-9
"""Covers rounding, and thresholds that must be passed, not met."""
compile_rows = partial(jax.jit, static_argnums=2)


@compile_rows
def contact_rows(arrays: TraceArrays, tau: Tau, from_body: bool) -> Rows:
    """Some contact at some step."""
    return some(_contact_violations(arrays, from_body), tau)[None] + STRICTNESS_MARGIN


@compile_rows
def no_contact_rows(arrays: TraceArrays, tau: Tau, from_body: bool) -> Rows:
    """No contact at any step: a row for each possible one."""
    return STRICTNESS_MARGIN - _contact_violations(arrays, from_body).reshape(-1)


@compile_rows
def timeout_rows(arrays: TraceArrays, tau: Tau, limits: tuple[float, bool]) -> Rows:
    """No contact until the time, itself included."""
    ref_time, from_body = limits
    late = np.flatnonzero(arrays.times > ref_time)
    if not late.size:
        return _violated_row()
    return every(
        STRICTNESS_MARGIN - _contact_violations(arrays, from_body)[: late[0] + 1], tau
    )[None]


@compile_rows
def no_timeout_rows(arrays: TraceArrays, tau: Tau, limits: tuple[float, bool]) -> Rows:
    """Some contact before the time, or a trace that ends before it."""
    ref_time, from_body = limits
    late = np.flatnonzero(arrays.times > ref_time)
    if not late.size:
        return -_violated_row()
    return (
        some(_contact_violations(arrays, from_body)[: late[0]], tau)[None]
        + STRICTNESS_MARGIN
    )


@compile_rows
def flying_apart_rows(arrays: TraceArrays, tau: Tau, max_distance: float) -> Rows:
    """Some body too far from the first at some step."""
    margin = _distance_margins(arrays, max_distance)
    return (
        some(-margin, tau)[None] + STRICTNESS_MARGIN if margin.size else _violated_row()
    )


@compile_rows
def no_flying_apart_rows(arrays: TraceArrays, tau: Tau, max_distance: float) -> Rows:
    """No body too far from the first: a row for each body at each step."""
    return _distance_margins(arrays, max_distance).reshape(-1) + STRICTNESS_MARGIN


@compile_rows
def slip_out_rows(arrays: TraceArrays, tau: Tau, ref_time: float) -> Rows:
    """Fingers touch at some step, and at none of the wait after it."""
    touched = _contact_violations(arrays, True)
    starts, inside, waits = _wait_windows(arrays, ref_time)
    if not starts.size:
        return _violated_row()
    quiet = every(STRICTNESS_MARGIN - touched, tau, 1)[waits]
    parts = jnp.where(inside, quiet, -1 / STRICTNESS_MARGIN)
    first = some(touched, tau, 1)[starts] + STRICTNESS_MARGIN
    return some(every(jnp.concatenate([first[:, None], parts], 1), tau, 1), tau)[None]


@compile_rows
def no_slip_out_rows(arrays: TraceArrays, tau: Tau, ref_time: float) -> Rows:
    """For each step a row: no finger touches, or one does in the wait after it."""
    touched = _contact_violations(arrays, True)
    starts, inside, waits = _wait_windows(arrays, ref_time)
    if not starts.size:
        return -_violated_row()
    again = jnp.where(inside, some(touched, tau, 1)[waits], 1 / STRICTNESS_MARGIN)
    quiet = every(STRICTNESS_MARGIN - touched, tau, 1)[starts]
    return some(jnp.concatenate([quiet[:, None], again], 1), tau, 1) + STRICTNESS_MARGIN


@compile_rows
def grasp_rows(
    arrays: TraceArrays, tau: Tau, limits: tuple[float, bool, float]
) -> Rows:
    """Ten steady steps in time after a contact, and a test that ends within the trace.

    Args:
        arrays: the trace.
        tau: temperature.
        limits: the time limit [s]; whether fingers alone count as contact; the duration
            of the test after the grasp [s], -inf for none.
    """
    limit_time, from_body, duration = limits
    steps, times = arrays.n_steps, arrays.times
    last = np.arange(MIN_STEADY_STEPS, steps)
    in_time = times[last] <= limit_time
    tested = ends_of_tests(times, duration)[last] < steps
    last = last[in_time & tested]
    pairs = list(combinations(range(2, arrays.robot_pos.shape[1] + 1), 2))
    if not last.size or not pairs:
        return _violated_row()
    fingers = some(contact_violation(arrays), tau, 1)
    slow = safe_math.norm(arrays.obj_vel[1:]) / MAX_STEADY_SPEED - 1
    held = some(every(fingers[:, np.array(pairs)], tau, 2), tau, 1)
    steady = every(jnp.stack([slow, held], 1), tau, 1)
    before = some_so_far(_contact_violations(arrays, from_body), tau)[
        last - MIN_STEADY_STEPS
    ]
    window = steady[last[:, None] - np.arange(MIN_STEADY_STEPS)]
    whole = every(jnp.concatenate([before[:, None], window], 1), tau, 1)
    return some(whole, tau)[None] + STRICTNESS_MARGIN


@compile_rows
def too_low_rows(arrays: TraceArrays, tau: Tau, ref_height: float) -> Rows:
    """The first body below the height at some step."""
    return some(_height_margins(arrays, ref_height), tau)[None] + STRICTNESS_MARGIN


@compile_rows
def not_too_low_rows(arrays: TraceArrays, tau: Tau, ref_height: float) -> Rows:
    """The first body at or above the height: a row for each step."""
    return STRICTNESS_MARGIN - _height_margins(arrays, ref_height)


@compile_rows
def initial_contact_rows(arrays: TraceArrays, tau: Tau, from_body: bool) -> Rows:
    """Some contact within the first four steps."""
    return (
        some(_contact_violations(arrays, from_body)[:MAX_INITIAL_CONTACT_STEPS], tau)[
            None
        ]
        + STRICTNESS_MARGIN
    )


@compile_rows
def no_initial_contact_rows(arrays: TraceArrays, tau: Tau, from_body: bool) -> Rows:
    """No contact within the first four steps: a row for each possible one."""
    return STRICTNESS_MARGIN - _contact_violations(arrays, from_body)[
        :MAX_INITIAL_CONTACT_STEPS
    ].reshape(-1)


def _violated_row() -> Rows:
    return jnp.ones(1)


def _contact_violations(arrays: TraceArrays, from_body: bool) -> Alternatives:
    """z <= 0 where an EventContact sees something, after each step."""
    z = contact_violation(arrays)
    seen = (z[..., 2:] if from_body else z[..., :1]).reshape(len(z), -1)
    return seen if seen.shape[1] else jnp.ones((len(z), 1))


def _distance_margins(arrays: TraceArrays, max_distance: float) -> Alternatives:
    """Of bodies from the first, over the largest allowed, after each step."""
    positions = arrays.robot_pos[1:]
    distance = safe_math.norm(positions[:, 1:] - positions[:, :1])
    return (distance - min(max_distance, 1 / STRICTNESS_MARGIN)) / LENGTH_UNIT


def _height_margins(
    arrays: TraceArrays, ref_height: float
) -> Float[jax.Array, " steps"]:
    return (arrays.robot_pos[1:, 0, 1] - ref_height) / LENGTH_UNIT


def _wait_windows(
    arrays: TraceArrays, wait: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps whose wait ends within the trace; which steps it spans, in a rectangle."""
    ends = ends_of_waits(arrays.times, wait)
    starts = np.flatnonzero(ends < arrays.n_steps)
    length = (ends - np.arange(len(ends)))[starts].max(initial=0)
    steps = starts[:, None] + 1 + np.arange(length)
    return starts, steps <= ends[starts, None], np.minimum(steps, arrays.n_steps - 1)

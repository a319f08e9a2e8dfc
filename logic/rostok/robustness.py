"""Smooth, sound rows that say by how much events occur or are avoided.

If all rows of an event are <= 0, the event occurs (is avoided) in the exact run of the
same trace, provided that no other event stops the run. The rows are robustness values
of signal temporal logic (Donzé and Maler 2010) with the opposite sign. Smooth functions
that never fall below minima and maxima replace these; a row exceeds the exact value by
at most tau log n for n alternatives and parts.

Margins are in units of the weakest contact force, of the steady speed, or of 1 cm. A
required event counts at earlier steps only, so that the rows are sound in whatever
order rostok tests its events.
"""

import inspect
import math
from collections.abc import Callable
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.features import safe_math
from posewise.robots.typing import Array

from ..smooth_extrema import cumulative_mellowmin, mellowmin, smooth_max
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
"""Margin by which rows stay on the safe side [unit of the row]. It covers rounding, and
strict comparisons of the exact events. A larger value loses true occurrences near a
threshold."""


def compile_rows(fn: Callable[..., Rows]) -> Callable[..., Rows]:
    """Compile a row function for each value of its keyword-only arguments.

    These arguments are static because they decide which steps take part.
    """
    parameters = inspect.signature(fn).parameters.values()
    return jax.jit(
        fn, static_argnames=[p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    )


@compile_rows
def contact_rows(arrays: TraceArrays, tau: Tau, *, from_body: bool) -> Rows:
    """Return one row for a contact at any step."""
    return (
        mellowmin(_contact_violations(arrays, from_body), tau)[None] + STRICTNESS_MARGIN
    )


@compile_rows
def no_contact_rows(arrays: TraceArrays, tau: Tau, *, from_body: bool) -> Rows:
    """Return one row for the absence of each possible contact at each step."""
    return STRICTNESS_MARGIN - _contact_violations(arrays, from_body).reshape(-1)


@compile_rows
def timeout_rows(
    arrays: TraceArrays, tau: Tau, *, ref_time: float, from_body: bool
) -> Rows:
    """Return one row for no contact up to and including the first step after a time."""
    late = np.flatnonzero(arrays.times > ref_time)
    if not late.size:
        return _violated_row()
    early_contacts = _contact_violations(arrays, from_body)[: late[0] + 1]
    return smooth_max(STRICTNESS_MARGIN - early_contacts, tau)[None]


@compile_rows
def no_timeout_rows(
    arrays: TraceArrays, tau: Tau, *, ref_time: float, from_body: bool
) -> Rows:
    """Return one row for a contact before a time; it holds if the trace ends
    earlier."""
    late = np.flatnonzero(arrays.times > ref_time)
    if not late.size:
        return -_violated_row()
    early_contacts = _contact_violations(arrays, from_body)[: late[0]]
    return mellowmin(early_contacts, tau)[None] + STRICTNESS_MARGIN


@compile_rows
def flying_apart_rows(arrays: TraceArrays, tau: Tau, *, max_distance: float) -> Rows:
    """Return one row for a body too far from the first body at any step."""
    margins = _distance_margins(arrays, max_distance)
    if not margins.size:
        return _violated_row()
    return mellowmin(-margins, tau)[None] + STRICTNESS_MARGIN


@compile_rows
def no_flying_apart_rows(arrays: TraceArrays, tau: Tau, *, max_distance: float) -> Rows:
    """Return one row per body and step for a body near enough to the first body."""
    return _distance_margins(arrays, max_distance).reshape(-1) + STRICTNESS_MARGIN


@compile_rows
def slip_out_rows(arrays: TraceArrays, tau: Tau, *, ref_time: float) -> Rows:
    """Return one row for a finger contact and none during the wait after it."""
    contacts = _contact_violations(arrays, True)
    starts, is_inside, windows = _wait_windows(arrays, ref_time)
    if not starts.size:
        return _violated_row()
    no_contact = smooth_max(STRICTNESS_MARGIN - contacts, tau, 1)[windows]
    # A huge negative number leaves steps outside of the window out of the maximum.
    no_contact = jnp.where(is_inside, no_contact, -1 / STRICTNESS_MARGIN)
    contact = mellowmin(contacts, tau, 1)[starts] + STRICTNESS_MARGIN
    parts = jnp.concatenate([contact[:, None], no_contact], 1)
    return mellowmin(smooth_max(parts, tau, 1), tau)[None]


@compile_rows
def no_slip_out_rows(arrays: TraceArrays, tau: Tau, *, ref_time: float) -> Rows:
    """Return one row per step for no finger contact, or for one in the wait after
    it."""
    contacts = _contact_violations(arrays, True)
    starts, is_inside, windows = _wait_windows(arrays, ref_time)
    if not starts.size:
        return -_violated_row()
    later_contact = mellowmin(contacts, tau, 1)[windows]
    # A huge positive number leaves steps outside of the window out of the minimum.
    later_contact = jnp.where(is_inside, later_contact, 1 / STRICTNESS_MARGIN)
    no_contact = smooth_max(STRICTNESS_MARGIN - contacts, tau, 1)[starts]
    alternatives = jnp.concatenate([no_contact[:, None], later_contact], 1)
    return mellowmin(alternatives, tau, 1) + STRICTNESS_MARGIN


@compile_rows
def grasp_rows(
    arrays: TraceArrays,
    tau: Tau,
    *,
    limit_time: float,
    from_body: bool,
    test_duration: float = -math.inf,
) -> Rows:
    """Return one row for ten steady steps after a contact, with the test in the trace.

    Args:
        arrays: the trace.
        tau: temperature.
        limit_time: last time at which the grasp may be complete [s].
        from_body: whether finger contacts count instead of the object's contacts.
        test_duration: duration of the force test after the grasp [s]; -inf for none.
    """
    n_steps, times = arrays.n_steps, arrays.times
    last = np.arange(MIN_STEADY_STEPS, n_steps)
    is_in_time = times[last] <= limit_time
    is_tested = ends_of_tests(times, test_duration)[last] < n_steps
    last = last[is_in_time & is_tested]
    finger_pairs = list(combinations(range(2, arrays.robot_pos.shape[1] + 1), 2))
    if not last.size or not finger_pairs:
        return _violated_row()
    fingers = mellowmin(contact_violation(arrays), tau, 1)
    speed = safe_math.norm(arrays.obj_vel[1:]) / MAX_STEADY_SPEED - 1
    two_fingers = mellowmin(
        smooth_max(fingers[:, np.array(finger_pairs)], tau, 2), tau, 1
    )
    steady = smooth_max(jnp.stack([speed, two_fingers], 1), tau, 1)
    # The contact must come before the window, whatever the order of the container.
    contact_so_far = cumulative_mellowmin(_contact_violations(arrays, from_body), tau)
    earlier_contact = contact_so_far[last - MIN_STEADY_STEPS]
    window = steady[last[:, None] - np.arange(MIN_STEADY_STEPS)]
    parts = jnp.concatenate([earlier_contact[:, None], window], 1)
    return mellowmin(smooth_max(parts, tau, 1), tau)[None] + STRICTNESS_MARGIN


@compile_rows
def too_low_rows(arrays: TraceArrays, tau: Tau, *, ref_height: float) -> Rows:
    """Return one row for the first body below a height at any step."""
    return mellowmin(_height_margins(arrays, ref_height), tau)[None] + STRICTNESS_MARGIN


@compile_rows
def not_too_low_rows(arrays: TraceArrays, tau: Tau, *, ref_height: float) -> Rows:
    """Return one row per step for the first body at or above a height."""
    return STRICTNESS_MARGIN - _height_margins(arrays, ref_height)


@compile_rows
def initial_contact_rows(arrays: TraceArrays, tau: Tau) -> Rows:
    """Return one row for a contact with the object within the first four steps."""
    contacts = _contact_violations(arrays, False)[:MAX_INITIAL_CONTACT_STEPS]
    return mellowmin(contacts, tau)[None] + STRICTNESS_MARGIN


@compile_rows
def no_initial_contact_rows(arrays: TraceArrays, tau: Tau) -> Rows:
    """Return one row for the absence of each possible contact in the first four
    steps."""
    contacts = _contact_violations(arrays, False)[:MAX_INITIAL_CONTACT_STEPS]
    return STRICTNESS_MARGIN - contacts.reshape(-1)


def _violated_row() -> Rows:
    """Return the row of a condition that the trace cannot meet."""
    return jnp.ones(1)


def _contact_violations(arrays: TraceArrays, from_body: bool) -> Alternatives:
    """Return z <= 0 for each contact that an EventContact may see, after each step."""
    z = contact_violation(arrays)
    selected = (z[..., 2:] if from_body else z[..., :1]).reshape(len(z), -1)
    return selected if selected.shape[1] else jnp.ones((len(z), 1))


def _distance_margins(arrays: TraceArrays, max_distance: float) -> Alternatives:
    """Return distances to the first body minus the limit, after each step [cm]."""
    positions = arrays.robot_pos[1:]
    distance = safe_math.norm(positions[:, 1:] - positions[:, :1])
    # A finite stand-in for an infinite limit keeps derivatives finite.
    return (distance - min(max_distance, 1 / STRICTNESS_MARGIN)) / LENGTH_UNIT


def _height_margins(
    arrays: TraceArrays, ref_height: float
) -> Float[jax.Array, " steps"]:
    """Return heights of the first body above the limit, after each step [cm]."""
    return (arrays.robot_pos[1:, 0, 1] - ref_height) / LENGTH_UNIT


def _wait_windows(
    arrays: TraceArrays, wait: float
) -> tuple[
    Int[np.ndarray, " n"], Bool[np.ndarray, "n length"], Int[np.ndarray, "n length"]
]:
    """Return the waits that end within the trace.

    Returns:
        Steps at which the waits start; which entries of the windows belong to the wait;
        and the steps of the windows, in a rectangle of the longest length.
    """
    ends = ends_of_waits(arrays.times, wait)
    starts = np.flatnonzero(ends < arrays.n_steps)
    length = (ends - np.arange(len(ends)))[starts].max(initial=0)
    steps = starts[:, None] + 1 + np.arange(length)
    return starts, steps <= ends[starts, None], np.minimum(steps, arrays.n_steps - 1)

"""Durations of phases as variables of a path problem, and the cost of their sum."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.robots.typing import VectorLike
from posewise.robots.validation import float_array, number

from ..chain.modes import HelperFrame
from ..terms.objective import OT, Objective, ObjectiveError
from .builder import check_helper
from .objective_builder import checked_objective
from .spec import ProblemSpec

DURATION_RANGE = 10.0
"""Factor by which variable durations may be longer or shorter than the initial ones by
default."""


def free_durations(
    spec: ProblemSpec,
    min: float | VectorLike | None,
    max: float | VectorLike | None,
) -> ProblemSpec:
    """Return a problem in which durations are variables; see `KOMO.free_durations`.

    The factor of each phase's duration is the joint of a helper frame.
    """
    if spec.durations:
        raise ObjectiveError("The durations are variables already; free them once.")
    if spec.start_velocity is not None:
        raise ObjectiveError(
            "The start is in motion, but a start of free durations is at rest; leave"
            " one of both out."
        )
    if spec.objectives or spec.choices:
        raise ObjectiveError(
            "Objectives were added before free_durations(), which may count in seconds"
            " of constant durations; call it first."
        )
    starts = np.arange(spec.num_phases) * spec.slices_per_phase
    # A last phase that is cut short counts as far as it goes.
    initial = np.add.reduceat(spec.tau, starts)
    low = _phase_durations("min", min, initial, initial / DURATION_RANGE)
    high = _phase_durations("max", max, initial, initial * DURATION_RANGE)
    if not (low <= high).all():
        raise ObjectiveError(
            f"min is {low.tolist()} and max {high.tolist()} [s]; expected min <= max."
        )
    names = tuple(f"duration of phase {k}" for k in range(spec.num_phases))
    for name, *ends, at_first in zip(names, low, high, initial, strict=True):
        factors = np.array(ends) / at_first
        arguments = dict(
            joint="transX", limits=factors[:, None], q=np.clip([1.0], *factors)
        )
        helper = HelperFrame(name, "world", arguments, True)
        spec = replace(spec, helpers=check_helper(spec, helper))
    return replace(spec, durations=names)


def _phase_durations(
    label: str,
    value: float | VectorLike | None,
    initial: Float[np.ndarray, " phases"],
    default: Float[np.ndarray, " phases"],
) -> Float[np.ndarray, " phases"]:
    """Return the least or largest duration of each phase [s]."""
    if value is None:
        return default
    expected = f"seconds > 0: one number, or {len(initial)}, one for each phase"
    values = float_array(label, value, expected, ObjectiveError)
    is_positive = np.isfinite(values).all() and (values > 0).all()
    if values.shape not in ((), initial.shape) or not is_positive:
        raise ObjectiveError(f"{label} is {value!r}, expected {expected}.")
    return np.broadcast_to(values, initial.shape)


def make_time_objective(spec: ProblemSpec, scale: float) -> Objective:
    """Return a cost of the total duration; see `KOMO.add_time_objective`."""
    if not spec.durations:
        raise ObjectiveError(
            "The durations are constant, so their sum is no cost; call"
            " free_durations() first."
        )
    scale = number("scale", scale, "a number > 0", lambda x: x > 0, ObjectiveError)
    starts = np.arange(spec.num_phases) * spec.slices_per_phase
    row = scale * np.add.reduceat(spec.tau, starts)
    feature = Feature(FS.qItself, spec.durations, scale=row[None])
    return checked_objective(spec, "total duration", feature, OT.sos, (spec.T - 1,))

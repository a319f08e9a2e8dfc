"""Joint targets that velocity limits do not let joints reach in time."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from posewise.features.table import FS
from posewise.robots.errors import first_few

from ..objective import OT, Objective
from ..problem_spec import ProblemSpec, mode_sequence
from .goals import is_joint_goal, joint_goal

MIN_EXCESS = 1.01
"""Time that a motion takes at least, divided by the time there is, from which it is too
long; rows within the tolerance exceed limits by less."""


def targets_out_of_time(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each joint target that is too far away for its time."""
    if spec.durations:
        return
    times = np.cumsum(spec.tau)
    for objective in filter(is_joint_goal, spec.objectives):
        t = objective.slices[-1]
        C, target, known = joint_goal(spec, (objective,), t)
        start = mode_sequence(spec).from_base(spec.config.q)
        distance = np.abs(target - start)
        # Joints that turn without end may take the shorter way.
        low, high = C.limits
        turns = C.kinematics().tree.is_angle & np.isinf(low) & np.isinf(high)
        around = np.abs(np.mod(distance + np.pi, 2 * np.pi) - np.pi)
        distance = np.where(turns, around, distance)
        needed = np.where(known, distance / _velocity_limits(spec, t), 0.0)
        late = np.flatnonzero(needed > MIN_EXCESS * times[t])
        if len(late):
            names = C.coordinate_names
            parts = [f"{names[i]} {needed[i]:.3g} s" for i in late]
            yield (
                f"{objective.name}: at the limits of velocity, its target is"
                f" {first_few(parts)} away from the start, but slice {t} is at"
                f" {times[t]:.3g} s. Give the phases more time (duration_per_phase), or"
                " leave it open (KOMO.free_durations)."
            )


def _velocity_limits(spec: ProblemSpec, t: int) -> Float[np.ndarray, " nq"]:
    """Return the speed that no coordinate exceeds in any slice up to t."""
    limits = np.full(mode_sequence(spec).at(t).config.nq, np.inf)
    for objective in spec.objectives:
        if not _limits_velocity(objective) or not {*range(t + 1)} <= {
            *objective.slices
        }:
            continue
        bound = mode_sequence(spec).at(t).bind(objective.feature)
        at = bound.coordinates
        limits[at] = np.minimum(limits[at], bound.params["limits"])
    return limits


def _limits_velocity(objective: Objective) -> bool:
    is_limit = objective.feature.symbol is FS.velocityBounds.symbol
    return is_limit and objective.type is OT.ineq and objective.feature.order == 1

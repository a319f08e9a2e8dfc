"""Joint targets that velocity limits do not let joints reach in time."""

from collections.abc import Iterator

import numpy as np

from posewise.robots.errors import first_few

from ..problem.spec import ProblemSpec, mode_sequence
from ..problem.stated_limits import stated_limits
from .goals import is_joint_goal, joint_goal

MIN_EXCESS = 1.01
"""Time that a motion takes at least, as a multiple of the time there is, from which it
is too long; rows within the tolerance exceed limits by less."""


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
        names = C.joints.coordinate_names
        limits = stated_limits(spec, "velocity", names, range(t + 1))
        needed = np.where(known, distance / limits, 0.0)
        late = np.flatnonzero(needed > MIN_EXCESS * times[t])
        if len(late):
            parts = [f"{names[i]} {needed[i]:.3g} s" for i in late]
            yield (
                f"{objective.name}: at the limits of velocity, its target is"
                f" {first_few(parts)} away from the start, but slice {t} is at"
                f" {times[t]:.3g} s. Give the phases more time (duration_per_phase), or"
                " leave it open (KOMO.free_durations)."
            )

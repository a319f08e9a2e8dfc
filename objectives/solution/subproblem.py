"""A phase of a solution as a separate problem."""

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.validation import integer

from ..problem.spec import ProblemSpec, mode_sequence
from ..terms.objective import ObjectiveError


def phase_problem(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"], phase: int
) -> tuple[Config, Float[np.ndarray, " n"]]:
    """Return the world as a phase begins, and its configuration at the end.

    See `Solution.sub_problem`.

    Args:
        spec: the problem as it was solved.
        x: its solution, in coordinates of the solved world.
        phase: counted from 0.
    """
    modes, S, T = mode_sequence(spec), spec.slices_per_phase, spec.T
    phase = integer(
        "phase",
        phase,
        f"0 to {spec.num_phases - 1}",
        lambda k: 0 <= k < spec.num_phases,
        ObjectiveError,
    )
    first, last = phase * S - 1, min((phase + 1) * S, T) - 1
    inside = [s.start for s in spec.switches if first < s.start < last]
    if inside:
        raise ObjectiveError(
            f"phase is {phase}, but a mode switch at slice {inside[0]} lies inside it;"
            " attachments must be the same throughout a phase."
        )
    before = x[first]
    if first < 0:
        shared = modes.shared_coordinates
        before = modes.from_base(spec.config.q)
        before[shared] = x[0, shared]
    C = modes.config_at(before, first)
    joints = modes.modes[0].joints
    if joints is not None:
        C.lock([name for name in C.joint_names if name not in joints])
    end = modes.to_base(x[last], last)
    return C, end[modes.base.joints.coordinates(C.joint_names)]

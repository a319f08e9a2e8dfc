"""A phase of a solution as a problem of its own."""

from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.validation import integer

from ..objective import ObjectiveError
from ..path_problem import PathProblem


def phase_problem(
    problem: PathProblem, x: Float[np.ndarray, "T nq"], phase: Any
) -> tuple[Config, Float[np.ndarray, " n"]]:
    """See `Solution.sub_problem`.

    Args:
        problem: as it was solved.
        x: its solution, coordinates of `problem.modes().world`.
        phase: counted from 0.
    """
    modes, S, T = problem.modes(), problem.slices_per_phase, problem.T
    phases = -(-T // S)
    phase = integer(
        "phase", phase, f"0 to {phases - 1}", lambda k: 0 <= k < phases, ObjectiveError
    )
    first, last = phase * S - 1, min((phase + 1) * S, T) - 1
    inside = [s.start for s in problem.switches if first < s.start < last]
    if inside:
        raise ObjectiveError(
            f"phase is {phase}, but a mode switch at slice {inside[0]} lies inside it;"
            " what is attached to what must be the same throughout."
        )
    before = x[first]
    if first < 0:
        shared = modes.shared_coordinates
        before = modes.widen(problem.config.q)
        before[shared] = x[0, shared]
    C = modes.attached(before, first)
    joints = modes.modes[0].joints
    if joints is not None:
        C.lock([name for name in C.joint_names if name not in joints])
    end = modes.narrow(x[last], last)
    return C, end[modes.base.coordinates(C.joint_names)]

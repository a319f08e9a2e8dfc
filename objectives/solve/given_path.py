"""Paths that were not solved here, with their violations of a problem."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.solvers import Status

from ..chain.builder import without_slack
from ..chain.courses import set_courses
from ..problem.deviations import deviations, rows_of
from ..problem.spec import (
    ProblemSpec,
    certify_path,
    compile_chain,
    mode_sequence,
    step_durations,
)
from ..solution.record import SolveRecord
from ..solution.solution import Solution


def given_path_as_solution(
    spec: ProblemSpec,
    path: Float[np.ndarray, "T nq"],
    tolerance: float,
    steps: Float[np.ndarray, " T"] | None = None,
) -> Solution:
    """Return a path as a solution, which tells the violation of each objective.

    With `KOMO.avoid_collisions` its distances are checked between slices, too. What
    mode switches attach keeps the pose at which the path brings it there. Contact
    forces are no part of a path and count as zero.

    Args:
        spec: the problem, without choices.
        path: coordinates of the user's world.
        tolerance: largest violation that counts as satisfied, in scaled units.
        steps: duration of the step into each slice [s], equal within each phase, where
            durations are variables; None: those at first.
    """
    modes = mode_sequence(spec)
    x = modes.without_jumps(modes.from_base(path))
    if spec.durations and steps is not None:
        factors = steps[:: spec.slices_per_phase] / spec.tau[:: spec.slices_per_phase]
        x[:, modes.world.joints.coordinates(spec.durations)] = factors
    set_courses(modes.world, spec.courses, x)
    return solved_path_as_solution(spec, x, tolerance)


def solved_path_as_solution(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"], tolerance: float
) -> Solution:
    """Return a path of the solved world as a solution; see `given_path_as_solution`."""
    modes = mode_sequence(spec)
    chain, data, locations = compile_chain(spec)
    x = x.astype(data.prefix.dtype)
    y = np.asarray(rows_of(chain, without_slack(data), jnp.asarray(x)))
    nothing = np.zeros(len(y))
    parts = chain, data, locations, x, y, nothing
    certificate = certify_path(spec, np.asarray(x, float))
    record = SolveRecord(
        spec.frozen(),
        *parts,
        mu=0.0,
        certificate=certificate,
        deviations=deviations(spec, np.asarray(x, float)),
    )
    return Solution(
        x=np.asarray(x, float),
        status=Status.FEASIBLE,
        tolerance=tolerance,
        iterations=0,
        seconds=0.0,
        config=spec.config,
        tau=step_durations(spec, x),
        modes=modes,
        _record=record,
    )

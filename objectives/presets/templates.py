"""KOMO problems as one usually begins them: costs of motion, and no collisions.

Joint limits are bounds of any KOMO and unit quaternions are kept by the solver, so
neither needs an objective.
"""

from typing import Any

from posewise.features import FS

from ..komo import KOMO
from ..objective import OT
from ..solution import Solution
from .motion import stop


def setup_inverse_kinematics(C: Any, collisions: bool = True) -> KOMO:
    """One configuration: near home (weight 0.1)."""
    komo = KOMO(C)
    komo.add_control_objective(0, 0.1)
    return _clear(komo, collisions)


def setup_sequence(C: Any, phases: Any, collisions: bool = True) -> KOMO:
    """One configuration for each phase: short ways (0.1), near home (0.01)."""
    komo = KOMO(C, phases, 1, 1)
    komo.add_control_objective(0, 0.01)
    komo.add_control_objective(1, 0.1)
    return _clear(komo, collisions)


def setup_motion(
    C: Any, phases: Any = 1, slices_per_phase: Any = 32, collisions: bool = True
) -> KOMO:
    """A path of small accelerations (weight 0.1), at rest at its end."""
    komo = KOMO(C, phases, slices_per_phase, 2)
    komo.add_control_objective(2, 0.1)
    komo.add(stop(), times=[-1.0])
    return _clear(komo, collisions)


def setup_point_to_point(
    C: Any, q: Any, slices: Any = 32, collisions: bool = True
) -> KOMO:
    """A motion of one phase from the present state to coordinates q (nq,), at rest."""
    komo = setup_motion(C, 1, slices, collisions)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=q, name="end")
    komo.initialize_waypoints([q])
    return komo


def sub_motion(
    waypoints: Solution, phase: Any, slices: Any = 32, collisions: bool = True
) -> KOMO:
    """The motion in one phase of a solution, such as one of `setup_sequence`.

    From where the phase begins to where it ends, both as they are in that solution.

    Args:
        waypoints: the solution.
        phase: counted from 0; see `Solution.sub_problem`.
        slices: of the motion.
        collisions: whether to keep clear of collisions on the way.
    """
    C, q = waypoints.sub_problem(phase)
    return setup_point_to_point(C, q, slices, collisions)


def _clear(komo: KOMO, collisions: bool) -> KOMO:
    """Allow no penetration of frames that can collide, if there are any."""
    if collisions and komo.config.collision_pairs():
        komo.add_objective(None, FS.accumulatedCollisions, type=OT.ineq)
    return komo

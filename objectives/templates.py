"""Templates of KOMO problems, with costs of motion and without collisions.

Joint limits are bounds of every KOMO and the solver keeps quaternions normalised, so
neither needs an objective.
"""

import numpy as np

from posewise.features import FS
from posewise.features.typing import Order
from posewise.robots.config import Config
from posewise.robots.kinematics.periods import nearest_turn
from posewise.robots.typing import FrameName, VectorLike

from .komo import KOMO
from .presets.motion import stop
from .solution.solution import Solution
from .terms.objective import OT


def setup_inverse_kinematics(C: Config, collisions: bool = True) -> KOMO:
    """Return a problem of one configuration near home (scale 0.1)."""
    komo = KOMO(C)
    komo.add_control_objective(0, 0.1)
    return without_overlaps(komo, collisions)


def setup_sequence(C: Config, phases: int, collisions: bool = True) -> KOMO:
    """Return a problem of one configuration per phase.

    Costs are differences between the configurations (scale 0.1) and from home (0.01).
    """
    komo = KOMO(C, phases, 1, 1)
    add_motion_costs(komo, 1, 0.1, 0.01)
    return without_overlaps(komo, collisions)


def setup_pick_and_place(
    C: Config, gripper: FrameName, object: FrameName, collisions: bool = True
) -> KOMO:
    """Return a problem of two configurations: a grasp, and a place for the object.

    From the first one on, at time 1, the gripper carries the object at a relative pose
    that is free; add presets of a grasp at 1 and of a place at 2. Costs are those of
    `setup_sequence`.
    """
    komo = setup_sequence(C, 2, collisions)
    komo.add_mode_switch([1.0], "stable", [gripper, object])
    return komo


def setup_motion(
    C: Config, phases: float = 1, slices_per_phase: int = 32, collisions: bool = True
) -> KOMO:
    """Return a path problem with a cost of acceleration (scale 0.1) and final rest."""
    komo = KOMO(C, phases, slices_per_phase, 2)
    komo.add_control_objective(2, 0.1)
    komo.add(stop(), times=[-1.0])
    return without_overlaps(komo, collisions)


def setup_point_to_point(
    C: Config, q: VectorLike, slices: int = 32, collisions: bool = True
) -> KOMO:
    """Return a motion of one phase from the present state to rest at q (nq,).

    Joints that turn without end take the shorter way, so that they end at q up to full
    turns (see `Config.joints.periods`).
    """
    komo = setup_motion(C, 1, slices, collisions)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=q, name="end")
    end = nearest_turn(np.asarray(q, float), C.q, C.joints.periods)
    komo.initialize_waypoints(end[None])
    return komo


def sub_motion(
    waypoints: Solution, phase: int, slices: int = 32, collisions: bool = True
) -> KOMO:
    """Return the motion in one phase of a solution, such as one of `setup_sequence`.

    It begins and ends at the configurations that the solution has there.

    Args:
        waypoints: solution with the configurations.
        phase: counted from 0; see `Solution.sub_problem`.
        slices: number of slices of the motion.
        collisions: whether the motion must be free of collisions.
    """
    C, q = waypoints.sub_problem(phase)
    return setup_point_to_point(C, q, slices, collisions)


def add_motion_costs(komo: KOMO, order: Order, motion: float, homing: float) -> None:
    """Add the costs of distance from home and of motion.

    Args:
        komo: the problem that gets them.
        order: of the cost of motion: 1: speed; 2: acceleration.
        motion: scale of speed or acceleration; 0: none.
        homing: scale of the distance from home; 0: none.
    """
    if homing > 0:
        komo.add_control_objective(0, homing)
    if motion > 0:
        komo.add_control_objective(order, motion)


def without_overlaps(komo: KOMO, collisions: bool = True) -> KOMO:
    """Forbid penetration of frames that can collide, if there are any, and return it.

    Args:
        komo: the problem that gets the objective.
        collisions: False: frames may penetrate each other.
    """
    if collisions and komo.config.pairs.names():
        komo.add_objective(None, FS.accumulatedCollisions, type=OT.ineq)
    return komo

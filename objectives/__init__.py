"""Objectives: KOMO problems, placement, presets, and their solutions.

Rooms, the lowest first: terms, chain, clearance, trajectory, presets, problem,
planning, checks, report, solution, chunks, solve, komo, preparation, placement,
templates, skeleton, moveit.
"""

from typing import TYPE_CHECKING

from posewise.lazy_names import lazy_names

if TYPE_CHECKING:
    from .chain.contact_forces import ContactForce as ContactForce
    from .chunks.map_solves import map_solves as map_solves
    from .komo import KOMO as KOMO
    from .moveit.problem import MoveItProblem as MoveItProblem
    from .moveit.problem import load_moveit as load_moveit
    from .placement import Placement as Placement
    from .placement import solve_placement as solve_placement
    from .planning.planner import Planner as Planner
    from .planning.planner import PlanningTask as PlanningTask
    from .preparation import prepare as prepare
    from .problem.nlp import NLP as NLP
    from .skeleton import Skeleton as Skeleton
    from .solution.sensitivity import Sensitivity as Sensitivity
    from .solution.solution import Solution as Solution
    from .solve.solution_batch import SolutionBatch as SolutionBatch
    from .terms.objective import OT as OT
    from .terms.objective import Objective as Objective
    from .terms.objective import ObjectiveError as ObjectiveError
    from .trajectory.trajectory import Trajectory as Trajectory
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".chain.contact_forces": "ContactForce",
            ".chunks.map_solves": "map_solves",
            ".komo": "KOMO",
            ".moveit.problem": "MoveItProblem load_moveit",
            ".placement": "Placement solve_placement",
            ".planning.planner": "Planner PlanningTask",
            ".preparation": "prepare",
            ".problem.nlp": "NLP",
            ".skeleton": "Skeleton",
            ".solution.sensitivity": "Sensitivity",
            ".solution.solution": "Solution",
            ".solve.solution_batch": "SolutionBatch",
            ".terms.objective": "OT Objective ObjectiveError",
            ".trajectory.trajectory": "Trajectory",
        },
    )

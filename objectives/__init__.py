"""Objectives: KOMO problems, placement, presets, and their solutions."""

from .chain.contact_forces import ContactForce as ContactForce
from .komo import KOMO as KOMO
from .moveit.problem import MoveItProblem as MoveItProblem
from .moveit.problem import load_moveit as load_moveit
from .nlp import NLP as NLP
from .objective import OT as OT
from .objective import Objective as Objective
from .objective import ObjectiveError as ObjectiveError
from .placement import Placement as Placement
from .placement import solve_placement as solve_placement
from .planning.planner import Planner as Planner
from .planning.planner import PlanningTask as PlanningTask
from .prepare import prepare as prepare
from .solution import Solution as Solution
from .solve.sensitivity import Sensitivity as Sensitivity
from .trajectory.trajectory import Trajectory as Trajectory

"""From a goal to a motion: the steps of a robot, and plans of certified paths."""

from .activity import ActivityPlan as ActivityPlan
from .activity import solve_activity as solve_activity
from .grasp import Grasp as Grasp
from .grasps import find_grasps as find_grasps
from .plan import MotionPlan as MotionPlan
from .plan import MotionStatus as MotionStatus
from .plan import StepResult as StepResult
from .planner import plan_motion as plan_motion
from .replay import Replay as Replay
from .replay import replay as replay
from .steps import Close as Close
from .steps import Handover as Handover
from .steps import Hold as Hold
from .steps import Open as Open
from .steps import Pick as Pick
from .steps import Place as Place
from .steps import Push as Push
from .steps import Step as Step
from .steps import Until as Until

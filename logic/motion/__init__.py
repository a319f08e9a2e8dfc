"""From a goal to a motion: the steps of a robot, and plans of certified paths."""

from posewise.lazy_names import renamed

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
from .step_types import CloseJoint as CloseJoint
from .step_types import Handover as Handover
from .step_types import Hold as Hold
from .step_types import MoveUntil as MoveUntil
from .step_types import OpenJoint as OpenJoint
from .step_types import Pick as Pick
from .step_types import Place as Place
from .step_types import Push as Push
from .step_types import Step as Step

__getattr__ = renamed(
    __name__, {"Open": "OpenJoint", "Close": "CloseJoint", "Until": "MoveUntil"}
)

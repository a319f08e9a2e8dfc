"""posewise with the names of rai's Python package: `import posewise.rai as ry`.

The modules translate names and argument conventions; posewise computes all results,
with its own conventions where rai has a defect. Units are rai's. Differences from rai:

- Mistakes raise a `PosewiseError` with a sentence; nothing ends the process. As in rai,
  `getFrame` returns None for an unknown name, and both warn.
- Methods that take a frame's name use the first frame of that name.
- `getJointNames` lists one name for each entry of the joint state; rai's also lists
  mimic joints.
- A joint keeps the constant offset of its frame even where rai drops it.
- `feasible` is rai's: sums of violations below 0.1. Beside it `every_row_holds` tells
  whether every row is within 1e-3, which is posewise's `feasible`.
- Views are pages in the browser, and nothing where there is no screen.
- What is not here says so, and what to use instead; `posewise.rai.coverage` lists it.
- `Simulation` and `BotOp` are by MuJoCo, an extra, where rai has PhysX and robots.
- `KOMO_ManipulationHelper` goes by rai's sum, too, and warns of what that lets pass.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from .cameras import CameraView as CameraView
from .cameras import depthImage2PointCloud as depthImage2PointCloud
from .config import Config as Config
from .coverage import raise_absent as _raise_absent
from .enums import FS as FS
from .enums import JT as JT
from .enums import OT as OT
from .enums import ST as ST
from .enums import SY as SY
from .enums import ArgWord as ArgWord
from .enums import ControlMode as ControlMode
from .enums import SimulationEngine as SimulationEngine
from .enums import compiled as compiled
from .enums import raiPath as raiPath
from .features import Feature as Feature
from .frame import Frame as Frame
from .komo import KOMO as KOMO
from .nlp import NLP_Solver as NLP_Solver
from .nlp import OptMethod as OptMethod
from .nlp_factory import NLP_Factory as NLP_Factory
from .nlp_factory import NLP_Sampler as NLP_Sampler
from .nlp_problem import NLP as NLP
from .parameters import params_add as params_add
from .parameters import params_clear as params_clear
from .parameters import params_get as params_get
from .parameters import params_print as params_print
from .parameters import rnd_seed as rnd_seed
from .parameters import rnd_seed_random as rnd_seed_random
from .parameters import version as version
from .path_finder import RRT_PathFinder as RRT_PathFinder
from .quaternion import Quaternion as Quaternion
from .results import SolverReturn as SolverReturn
from .spline import BSpline as BSpline
from .tasks.lgp import LGP_TAMP_Abstraction as LGP_TAMP_Abstraction
from .tasks.lgp import LGP_Tool as LGP_Tool
from .tasks.lgp import default_LGP_TAMP_Abstraction as default_LGP_TAMP_Abstraction
from .tasks.manipulation import KOMO_ManipulationHelper as KOMO_ManipulationHelper
from .tasks.robot_operation import BotOp as BotOp
from .tasks.simulation import Simulation as Simulation
from .tasks.simulation import SimulationState as SimulationState
from .tasks.skeleton import Skeleton as Skeleton
from .toy_problems import get_NLP_Problem_names as get_NLP_Problem_names
from .toy_problems import make_NLP_Problem as make_NLP_Problem
from .viewer import ConfigurationViewer as ConfigurationViewer

_left, _right, _sequence, _path = ArgWord
clear_params, get_params, set_params = params_clear, params_get, params_add


if not TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType:
        if name == "_robotic":
            # Programs annotate arguments by rai's compiled module.
            return sys.modules[__name__]
        _raise_absent(name)

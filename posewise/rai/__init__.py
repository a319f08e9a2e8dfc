"""posewise with the names of rai's Python package: `import posewise.rai as ry`.

The modules translate names and argument conventions; posewise computes all results,
with its own conventions where rai has a defect. Units are rai's. Differences from rai:

- Mistakes raise a `PosewiseError` with a sentence; nothing ends the process.
- Methods that take a frame's name use the first frame of that name.
- `getJointNames` lists one name for each entry of the joint state; rai's also lists
  mimic joints.
- A joint keeps the constant offset of its frame even where rai drops it.
- `feasible` means that every row holds within 1e-3; in rai, that a sum is below 0.1.
  `KOMO_ManipulationHelper` goes by rai's sum, and warns of what that lets pass.
"""

from .config import Config as Config
from .config import Feature as Feature
from .enums import FS as FS
from .enums import JT as JT
from .enums import OT as OT
from .enums import ST as ST
from .enums import SY as SY
from .enums import compiled as compiled
from .enums import params_add as params_add
from .enums import params_print as params_print
from .enums import raiPath as raiPath
from .frame import Frame as Frame
from .komo import KOMO as KOMO
from .lgp import LGP_TAMP_Abstraction as LGP_TAMP_Abstraction
from .lgp import LGP_Tool as LGP_Tool
from .lgp import default_LGP_TAMP_Abstraction as default_LGP_TAMP_Abstraction
from .manipulation import KOMO_ManipulationHelper as KOMO_ManipulationHelper
from .nlp import NLP as NLP
from .nlp import NLP_Solver as NLP_Solver
from .nlp import SolverReturn as SolverReturn
from .path_finder import RRT_PathFinder as RRT_PathFinder
from .skeleton import Skeleton as Skeleton

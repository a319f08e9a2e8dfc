"""posewise in the spelling of rai's Python package: `import posewise.rai as ry`.

It translates names and argument conventions; what is computed is posewise's own, with
its conventions where rai has a defect. Names and units are rai's; differences:

- Mistakes raise a `PosewiseError` with a sentence; nothing ends the process.
- Frames are spoken of by name: the first of that name.
- `getJointNames` lists one name for each entry of the joint state; rai's also lists
  mimicking joints.
- A joint keeps the frame's constant offset, also where rai would drop it.
- `feasible` says that every row holds within 1e-3; rai's, that the sum is below 0.1.
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
from .nlp import NLP as NLP
from .nlp import NLP_Solver as NLP_Solver
from .nlp import SolverReturn as SolverReturn

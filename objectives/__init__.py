"""Features with a meaning and a time: KOMO and what it returns."""

from .exchanges import ContactForce as ContactForce
from .komo import KOMO as KOMO
from .nlp import NLP as NLP
from .objective import OT as OT
from .objective import Objective as Objective
from .objective import ObjectiveError as ObjectiveError
from .placement import Placement as Placement
from .placement import solve_placement as solve_placement
from .sensitivity import Sensitivity as Sensitivity
from .solution import Solution as Solution

"""min Σ‖φ_sos‖² subject to φ_ineq <= 0, φ_eq = 0, over a chain of configurations."""

from .augmented_lagrangian import Result as Result
from .augmented_lagrangian import solve as solve
from .batch import solve_many as solve_many
from .options import Options as Options
from .rounds import Progress as Progress
from .rounds import Watch as Watch
from .rounds import solve_watched as solve_watched
from .rows import EQ as EQ
from .rows import INEQ as INEQ
from .rows import SOS as SOS
from .rows import Rows as Rows
from .rows import violation as violation
from .status import Status as Status

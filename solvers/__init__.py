"""min Σ‖φ_sos‖² subject to φ_ineq <= 0, φ_eq = 0, over a chain of configurations."""

from .augmented_lagrangian import Result as Result
from .augmented_lagrangian import solve as solve
from .interruptible import Progress as Progress
from .interruptible import Watch as Watch
from .interruptible import solve_watched as solve_watched
from .multistart import solve_many as solve_many
from .options import Options as Options
from .residuals import EQ as EQ
from .residuals import INEQ as INEQ
from .residuals import SOS as SOS
from .residuals import Rows as Rows
from .residuals import violation as violation
from .status import Status as Status

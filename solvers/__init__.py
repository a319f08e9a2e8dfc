"""Solvers: min Σ‖φ_sos‖² subject to φ_ineq <= 0, φ_eq = 0, on a chain of slices."""

from .augmented_lagrangian import Result as Result
from .augmented_lagrangian import solve as solve
from .bounds import StepBounds as StepBounds
from .interruptible import Progress as Progress
from .interruptible import ProgressReporter as ProgressReporter
from .interruptible import solve_interruptible as solve_interruptible
from .multistart import BatchInputs as BatchInputs
from .multistart import solve_multistart as solve_multistart
from .options import Options as Options
from .options import SolverOptions as SolverOptions
from .residuals import EQ as EQ
from .residuals import INEQ as INEQ
from .residuals import SOS as SOS
from .residuals import ResidualBlock as ResidualBlock
from .residuals import violation as violation
from .status import Status as Status

"""Type aliases of what users pass to problems, presets and placement."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from posewise.solvers import Progress
from posewise.solvers.options import SolverOptions

if TYPE_CHECKING:
    from optax import GradientTransformation  # slow to import

Times: TypeAlias = float | Sequence[float] | np.ndarray | None
"""Times in phases: None or [] for all slices, [t] for one, [a, b] for an interval."""
Slices: TypeAlias = tuple[int, ...]
"""Indices of slices, in ascending order."""
ModeKind: TypeAlias = Literal["stable", "stableOn", "rigid", "free", "slidingOn"]
"""Kind of the attachment of a mode switch; see `KOMO.add_mode_switch`."""
ContactKind: TypeAlias = Literal["sticking", "sliding", "complementary"]
"""Kind of motion that a contact allows; see `KOMO.add_contact`."""
AxisPair: TypeAlias = Literal["xy", "xz", "yx", "yz", "zx", "zy"]
"""Two different axes of a frame, in order."""
SignedAxis: TypeAlias = Literal["x", "y", "z", "-x", "-y", "-z"]
"""An axis of a frame, or its opposite."""
ProgressLike: TypeAlias = bool | Callable[[Progress], None]
"""Whether progress is reported on stderr, or a function that receives it."""

SolveMethod: TypeAlias = "Literal['augmented_lagrangian'] | GradientTransformation"
"""The augmented Lagrangian with Newton steps, or an optimiser of optax."""


class PlacementOptions(SolverOptions, total=False):
    """Keywords that `solve_placement` takes as `KOMO.solve` does."""

    progress: ProgressLike
    method: SolveMethod

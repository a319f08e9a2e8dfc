"""A problem as it was solved, and where the solver ended."""

from typing import Any, NamedTuple

import numpy as np

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..chain.problem import Chain
from ..objective import Objective
from ..problem_spec import ProblemSpec


class SolveRecord(NamedTuple):
    """A problem as it was solved, and where the solver ended."""

    spec: ProblemSpec
    """The problem, with a copy of its world of that time."""
    chain: Chain
    data: ChainData
    locations: list[list[RowLocation]]
    x: Any
    """Path (T, nq) of the solved world."""
    y: Any
    """Scaled rows of all objectives, concatenated."""
    multipliers: Any
    """Multiplier of each row."""
    mu: float
    """Penalty at the end."""

    def rows(self) -> list[tuple[Objective, np.ndarray]]:
        """Return the scaled rows (slices, rows) of each objective."""
        y = np.asarray(self.y, float)
        values = [
            np.concatenate(
                [np.maximum(y[part.positions], part.lower_bound) for part in parts]
            )
            for parts in self.locations
        ]
        return list(zip(self.spec.objectives, values, strict=True))

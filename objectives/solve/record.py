"""A problem as it was solved, and where the solver ended."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..chain.problem import Chain
from ..clearance.certificate import Certificate
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
    certificate: Certificate | None = None
    """Check of the path between slices; None: nothing is required there."""

    def rows(self) -> list[tuple[Objective, np.ndarray]]:
        """Return the scaled rows (slices, rows) of each objective."""
        pairs = zip(self.spec.objectives, self.locations, strict=True)
        return [(objective, self._values(objective, at)) for objective, at in pairs]

    def _values(
        self, objective: Objective, parts: list[RowLocation]
    ) -> Float[np.ndarray, "slices rows"]:
        if objective.fraction is not None and self.certificate is not None:
            # Rows between slices hold at one place, but what counts is everywhere.
            return self.certificate.missing[list(objective.slices), None]
        y = np.asarray(self.y, float)
        return np.concatenate(
            [np.maximum(y[part.positions], part.lower_bound) for part in parts]
        )

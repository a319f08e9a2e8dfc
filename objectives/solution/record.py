"""A problem as it was solved, and where the solver ended."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..chain.builder import RowLocation
from ..chain.groups import ChainData
from ..chain.problem import Chain
from ..clearance.certificate import Certificate
from ..problem.deviations import Deviation
from ..problem.spec import ProblemSpec, mode_sequence
from ..terms.objective import Objective


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
    deviations: tuple[Deviation, ...] = ()
    """Largest deviations between slices of constraints that bound them."""

    def rows(self) -> list[tuple[Objective, np.ndarray]]:
        """Return the scaled rows (slices, rows) of each objective."""
        pairs = zip(self.spec.objectives, self.locations, strict=True)
        return [
            (objective, self._values(objective, location))
            for objective, location in pairs
        ]

    def _values(
        self, objective: Objective, parts: list[RowLocation]
    ) -> Float[np.ndarray, "slices rows"]:
        y = np.asarray(self.y, float)
        values = np.concatenate(
            [np.maximum(y[part.positions], part.lower_bound) for part in parts]
        )
        avoidance = self.spec.avoidance
        if avoidance is None or not objective.is_avoidance:
            return values
        if self.certificate is None:
            spare = avoidance.tolerance(objective.slices[:1])
            return np.minimum(values, np.maximum(values - spare, 0.0))
        # Rows for distances hold at some places and may ask for more than is required;
        # what counts is required everywhere.
        missing = self._missing_distance(objective, self.certificate)
        return (
            missing if objective.fraction is not None else np.minimum(values, missing)
        )

    def _missing_distance(
        self, objective: Objective, certificate: Certificate
    ) -> Float[np.ndarray, "slices 1"]:
        """Return a bound of the distance that is missing in or before each slice [m].

        In a slice it is that of any segment with the slice at one end, in the same
        mode, on which the same is required; without such a segment it is infinite.
        """
        avoidance = self.spec.avoidance
        if objective.fraction is not None or avoidance is None:
            return certificate.violation[list(objective.slices), None]
        modes, touching = mode_sequence(self.spec), avoidance.touching
        every = np.append(certificate.violation, np.inf)

        def is_alike(t: int, end: int) -> bool:
            same_mode = modes.at(t) is modes.at(end - 1)
            return same_mode and touching([t]) == touching([end - 1, end])

        bounds = [
            min(every[end] if is_alike(t, end) else np.inf for end in (t, t + 1))
            for t in objective.slices
        ]
        return np.array(bounds)[:, None]

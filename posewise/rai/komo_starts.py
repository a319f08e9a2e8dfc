"""Paths that the next solve of `KOMO` starts from, with rai's names."""

import numpy as np

from posewise.objectives.problem.spec import initial_paths, mode_sequence
from posewise.robots.typing import MatrixLike, VectorLike

from .komo_report import KomoReport


class KomoStarts(KomoReport):
    """Path problem that is told where to start."""

    _num_random_paths = 0

    def initWithConstant(self, q: VectorLike) -> None:
        """Start the next solve from one configuration (n,) for all slices."""
        self.state.initialize(np.ravel(q))

    def initWithPath(self, q: MatrixLike) -> None:
        """Start the next solve from a path (T, n)."""
        self.state.initialize(q)

    def initWithWaypoints(
        self,
        waypoints: MatrixLike,
        waypointSlicesPerPhase: int = 1,
        interpolate: bool = False,
        qHomeInterpolate: float = 0.0,
        verbose: int = -1,
    ) -> np.ndarray:
        """Start the next solve from a path that comes to rest at each waypoint.

        Args:
            waypoints: configurations (n,), the last one of each phase at its end.
            waypointSlicesPerPhase: number of waypoints in each phase.
            interpolate: ignored, because the path is always interpolated.
            qHomeInterpolate: ignored.
            verbose: ignored.

        Returns:
            The slices of the waypoints.
        """
        count = waypointSlicesPerPhase
        self.komo.initialize_waypoints(np.asarray(waypoints)[count - 1 :: count])
        self.state.solution = None
        slices = self.komo.slices_per_phase
        return np.arange(len(waypoints)) * slices // count + slices // count - 1

    def initOrg(self) -> None:
        """Start the next solve from the configuration's state."""
        self.state.initialize(self.komo.config.q)

    def initRandom(self, verbose: int = 0) -> None:
        """Start the next solve from a random path; equal calls give equal paths."""
        self._num_random_paths += 1
        spec = self.komo.spec
        paths = initial_paths(spec, self._num_random_paths, 2)
        self.state.initialize(mode_sequence(spec).path_to_base(paths[1]))

"""`RRT_PathFinder` with rai's names, a spelling of `posewise.KOMO.plan`."""

from collections.abc import Sequence

import numpy as np

import posewise as pw
from posewise import FS, OT, presets
from posewise.robots.typing import VectorLike

from .config import Config
from .nlp import SolverReturn

SLICES = 50
"""Slices of the problem that is planned in (count); the found path may have more."""


class RRT_PathFinder:
    """A search for a path without collisions, by posewise's RRT-Connect.

    The path is certified along its straight segments, not only at samples.
    """

    def __init__(self) -> None:
        self._world: pw.Config | None = None
        self._goal: np.ndarray | None = None
        self._pairs: list[tuple[str, str]] = []
        self.path: np.ndarray | None = None

    def setProblem(self, Configuration: Config) -> None:
        """Set the configuration, and forget start, goal and pairs."""
        self._world, self._goal, self._pairs = Configuration.C.copy(), None, []

    def setStartGoal(self, starts: VectorLike, goals: VectorLike) -> None:
        """Set the first and the last configuration (n,)."""
        self._require_world().q = np.ravel(starts)
        self._goal = np.ravel(np.asarray(goals, float))

    def setExplicitCollisionPairs(self, collisionPairs: Sequence[str]) -> None:
        """Set pairs of frames, one after the other, that must not overlap either."""
        names = list(collisionPairs)
        self._pairs = list(zip(names[::2], names[1::2], strict=True))

    def setOptions(self, **options: float) -> "RRT_PathFinder":
        """Ignore rai's options of its search."""
        return self

    def solve(self, verbose: int = 1) -> SolverReturn:
        """Search, keep the path as `path`, and return the result.

        Raises:
            ObjectiveError: without a problem, a start and a goal.
        """
        world = self._require_world()
        if self._goal is None:
            raise pw.ObjectiveError("There is no goal; call setStartGoal(q0, q1).")
        komo = pw.KOMO(world, 1, SLICES, 1)
        komo.add_objective([1.0], FS.qItself, type=OT.eq, target=self._goal)
        komo.avoid_collisions()
        if self._pairs:
            komo.add(presets.no_collisions(self._pairs, 0.0))
        solution = komo.plan()
        result = SolverReturn(solution)
        self.path = None
        if result.feasible:
            self.path = np.vstack([world.q, solution.path])
            result.x = self.path
        if verbose > 0:
            print(result)
        return result

    def get_resampledPath(self, T: int) -> np.ndarray:
        """Return T configurations (T, n) at equal distances, the first at the start.

        Raises:
            ObjectiveError: if no path has been found.
        """
        if self.path is None:
            raise pw.ObjectiveError("There is no path; call solve() first.")
        steps = np.linalg.norm(np.diff(self.path, axis=0), axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        places = np.linspace(0.0, along[-1], T)
        columns = [np.interp(places, along, column) for column in self.path.T]
        return np.stack(columns, 1)

    def view(
        self, pause: bool = False, message: str | None = None, play: bool = False
    ) -> None:
        """Do nothing, so that scripts run without a display."""

    def _require_world(self) -> pw.Config:
        if self._world is None:
            raise pw.ObjectiveError("There is no problem; call setProblem(C).")
        return self._world

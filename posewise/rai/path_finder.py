"""`RRT_PathFinder` with rai's names, which is `posewise.KOMO.plan`."""

import warnings

import numpy as np

import posewise as pw
from posewise.robots.typing import MatrixLike, VectorLike

from .config import Config
from .coverage import Absent
from .results import SolverReturn

NUM_SLICES = 50
"""Number of configurations of a path; more follow its corners more closely."""


class RRT_PathFinder(Absent):
    """Search for a path without collisions, within joint limits."""

    def __init__(self) -> None:
        self._world: pw.Config | None = None
        self._ends: tuple[np.ndarray, np.ndarray] | None = None
        self._allowed: list[str] | None = None
        self.path: np.ndarray | None = None
        """The last path (k, n) that was is_found, or None."""

    def setOptions(
        self,
        verbose: int = 0,
        stepsize: float = 0.1,
        subsamples: int = 4,
        maxIters: int = 5000,
        p_connect: float = 0.5,
        collisionTolerance: float = 1e-4,
        useBroadCollisions: bool = True,
    ) -> "RRT_PathFinder":
        """Ignore rai's options; paths are certified between configurations, too."""
        return self

    def setProblem(self, Configuration: Config) -> None:
        """Set the configuration, in its state."""
        self._world = Configuration.C.copy()

    def setStartGoal(
        self, starts: VectorLike | MatrixLike, goals: VectorLike | MatrixLike
    ) -> None:
        """Set the first and the last joint state, (n,) or (1, n)."""
        self._ends = (
            np.ravel(np.asarray(starts, float)),
            np.ravel(np.asarray(goals, float)),
        )

    def setExplicitCollisionPairs(self, collisionPairs: list[str]) -> None:
        """Let only these pairs of frames collide, two names for each."""
        self._allowed = list(collisionPairs)

    def solve(self, verbose: int = 1) -> SolverReturn:
        """Search, and return the path as x (k, n); an empty one if none was found.

        Raises:
            ObjectiveError: without a problem, or without start and goal.
        """
        if self._world is None or self._ends is None:
            raise pw.ObjectiveError(
                "RRT_PathFinder has no problem; call setProblem(C) and"
                " setStartGoal(start, goal)."
            )
        C, (start, goal) = self._world.copy(), self._ends
        C.q = start
        if self._allowed is not None:
            _collide_only(C, self._allowed)
        komo = pw.KOMO(C, 1, slices_per_phase=NUM_SLICES, k_order=1)
        komo.add_objective([1.0], pw.FS.qItself, [], pw.OT.eq, target=goal)
        komo.avoid_collisions()
        solution = komo.plan(progress=False)
        is_found = solution.feasible
        if not is_found:
            warnings.warn(
                f"RRT_PathFinder: {solution.message}", pw.ProblemWarning, stacklevel=2
            )
        self.path = np.vstack([start, solution.path]) if is_found else None
        done = solution.status is not pw.Status.TIME_LIMIT
        x = np.zeros((0, C.nq)) if self.path is None else self.path
        return SolverReturn(
            x, solution.iterations, solution.seconds, done,
            f=0.0, sos=0.0, ineq=0.0, eq=0.0 if is_found else 1.0,
            every_row_holds=is_found, solution=solution,
        )  # fmt: skip

    def get_resampledPath(self, T: int) -> np.ndarray:
        """Return T configurations, equally far from each other along the path.

        Raises:
            ObjectiveError: before a path was found.
        """
        if self.path is None:
            raise pw.ObjectiveError("There is no path; call solve() first.")
        steps = np.linalg.norm(np.diff(self.path, axis=0), axis=1)
        length = np.concatenate([[0.0], np.cumsum(steps)])
        places = np.linspace(0, length[-1], T)
        columns = [np.interp(places, length, column) for column in self.path.T]
        return np.stack(columns, 1)

    def view(self, pause: bool, message: str | None = None, play: bool = False) -> None:
        """Play the path in the browser where there is a screen."""
        if self._world is not None and self.path is not None:
            Config.of(self._world).viewer().play(self._world, self.path)


def _collide_only(C: pw.Config, names: list[str]) -> None:
    """Ignore collisions of all pairs but these."""
    allowed = {frozenset(names[i : i + 2]) for i in range(0, len(names), 2)}
    for a, b in C.pairs.names():
        if frozenset((a, b)) not in allowed:
            C.ignore_collisions(a, b)

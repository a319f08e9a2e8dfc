"""`LGP_Tool` with rai's names, a spelling of `posewise.logic.lgp`."""

from collections.abc import Iterator

import numpy as np

import posewise as pw
from posewise.features.typing import Order
from posewise.logic.lgp.files import read_program
from posewise.logic.lgp.program import ProgramSolution
from posewise.robots.typing import StrPath

from ..config import Config
from ..komo import KOMO
from ..nlp import NLP_Solver
from .manipulation import KOMO_ManipulationHelper

STEPS_PER_PHASE = 30
"""Slices of each phase of the full path, as in rai (count). With more, the path is
smoother and takes longer to solve."""


class LGP_TAMP_Abstraction:
    """Rules, goal and options of a `.lgp` file, with the facts of a configuration."""

    def __init__(self, C: Config, lgpFile: StrPath) -> None:
        self.program = read_program(C.C, lgpFile)


def default_LGP_TAMP_Abstraction(
    C: Config, lgp_configfile: StrPath
) -> LGP_TAMP_Abstraction:
    """Return the rules, the goal and the options of a `.lgp` file."""
    return LGP_TAMP_Abstraction(C, lgp_configfile)


class LGP_Tool:
    """A search for plans whose waypoints are solved, with motions of the last one."""

    def __init__(self, C: Config, tamp: LGP_TAMP_Abstraction) -> None:
        self._world = C
        self._program = tamp.program
        self._solutions: Iterator[ProgramSolution] = tamp.program.solutions()
        self._solution: ProgramSolution | None = None

    @property
    def solution(self) -> ProgramSolution:
        """The last solution, with its numbers of decisions and of solves.

        Raises:
            ObjectiveError: before one is found.
        """
        if self._solution is None:
            raise pw.ObjectiveError("There is no plan yet; call solve() first.")
        return self._solution

    def solve(self, verbose: int = 1) -> None:
        """Find the next plan.

        Raises:
            ObjectiveError: if there is none within six decisions.
        """
        solution = next(self._solutions, None)
        if solution is None:
            raise pw.ObjectiveError("There is no further plan within six decisions.")
        self._solution = solution
        if verbose > 0:
            print(self.getSolvedPlan())

    def getSolvedPlan(self) -> list[list[str]]:
        """Return the decisions of the last solution."""
        return [list(decision) for decision in self.solution.plan]

    def getSolvedKOMO(self) -> KOMO:
        """Return the solved problem of the waypoints."""
        komo = self._komo(1, 1)
        komo.state.solution = self.solution.waypoints
        komo.komo.initialize(self.solution.waypoints.path)
        return komo

    def get_piecewiseMotionProblem(self, phase: int, fixEnd: bool = True) -> KOMO:
        """Return the problem of the motion to a waypoint, from 0; `fixEnd` is true."""
        C, end = self.solution.waypoints.sub_problem(phase)
        man = KOMO_ManipulationHelper()
        man.setup_point_to_point_motion(Config.of(C), end)
        return man.komo

    def get_fullMotionProblem(self, initWithWaypoints: bool = True) -> KOMO:
        """Return the problem of the whole path."""
        komo = self._komo(STEPS_PER_PHASE, 2)
        if initWithWaypoints:
            komo.initWithWaypoints(self.solution.waypoints.path)
        return komo

    def _komo(self, slices: int, order: Order) -> KOMO:
        """Return the problem of the last plan, with slices in each phase."""
        komo, skeleton = KOMO(), self.solution.skeleton
        komo.setTiming(skeleton.phases, slices, 1.0, order)
        komo.setConfig(self._world, self._program.collisions)
        komo.addControlObjective([], order, 1e-1)
        self._program.add_to(komo.komo, skeleton)
        return komo

    def solvePiecewiseMotions(self, verbose: int = 1) -> list[np.ndarray]:
        """Return the paths of the motions to all waypoints."""
        paths = []
        for phase in range(len(self.solution.plan)):
            komo = self.get_piecewiseMotionProblem(phase)
            NLP_Solver(komo.nlp(), verbose).solve()
            paths.append(komo.getPath())
        return paths

    def solveFullMotion(self, verbose: int = 1) -> KOMO:
        """Return the problem of the whole path, solved."""
        komo = self.get_fullMotionProblem()
        NLP_Solver(komo.nlp(), verbose).solve()
        return komo

    def view_solved(self, pause: bool = False) -> int:
        """Do nothing, so that scripts run without a display."""
        return 0

    def view_close(self) -> None:
        """Do nothing, because `view_solved` opens no window."""

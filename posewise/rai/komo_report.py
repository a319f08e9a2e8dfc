"""Path of a `KOMO`, its reports and views."""

from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.typing import VectorLike

from .config import Config
from .frame import Frame
from .nlp_problem import SharedProblem, row_error
from .results import totals
from .viewer import ConfigurationViewer


class KomoReport:
    """Problem with its path, and what is told and seen of it."""

    def __init__(self) -> None:
        self._state: SharedProblem | None = None
        self._viewer: ConfigurationViewer | None = None

    @property
    def state(self) -> SharedProblem:
        """Problem and last solution, which an `NLP` shares.

        Raises:
            ObjectiveError: without a configuration.
        """
        if self._state is None:
            raise pw.ObjectiveError("KOMO has no configuration; call setConfig(C).")
        return self._state

    @property
    def komo(self) -> pw.KOMO:
        """The posewise problem."""
        return self.state.komo

    @property
    def solution(self) -> pw.Solution | None:
        """The last solution, or None after any change of the initial path."""
        return None if self._state is None else self._state.solution

    # -- the path ----------------------------------------------------------------

    def getPath(self, dofIndices: VectorLike = ()) -> np.ndarray:
        """Return the path (T, n) of the solution, or the initial path.

        Args:
            dofIndices: frames, by index, whose joints are wanted, or nothing for all.
        """
        path = np.clip(self.komo.initial, *self.komo.config.limits)
        if not np.size(dofIndices):
            return path
        C = self.komo.config
        names = [C.frame_names[int(i)] for i in np.ravel(dofIndices)]
        return path[:, C.joints.coordinates(names)]

    def getPath_qAll(self) -> list[np.ndarray]:
        """Return the configuration of each slice."""
        return list(self.getPath())

    def getPathTau(self) -> np.ndarray:
        """Return the time from the previous slice to each slice (T,) [s]."""
        return self.komo.tau.copy()

    def getPathFrames(self) -> np.ndarray:
        """Return the poses (T, frames, 7).

        After a solve, frames of `addFrameDof` are the last ones.
        """
        return np.stack([self.getFrameState(t) for t in range(self.getT())])

    def getFrameState(self, t: int) -> np.ndarray:
        """Return the poses (frames, 7) in a slice."""
        return self._world_at(t).poses()

    def getFrame(self, frameName: str, phaseTime: float) -> Frame:
        """Return a frame as it is at a time in phases, in a copy of the world."""
        last = self.getT() - 1
        t = round(phaseTime * self.komo.slices_per_phase) - 1
        return Frame(self._world_at(min(max(t, 0), last)), frameName)

    def getT(self) -> int:
        """Return the number of slices."""
        return self.komo.T

    # -- reports -----------------------------------------------------------------

    def getFeatureNames(self) -> list[str]:
        """Return the name of the objective of each row of the problem."""
        return [name.split("@")[0] for name in self.komo.nlp().names]

    def report(
        self,
        specs: bool = False,
        listObjectives: bool = True,
        plotOverTime: bool = False,
        sortByError: bool = True,
    ) -> dict[str, dict[str, Any]]:
        """Return the objectives and, after a solve, their errors and totals by type.

        Args:
            specs: ignored.
            listObjectives: whether to list objectives, not only totals.
            plotOverTime: ignored; `posewise.Solution.plot` plots.
            sortByError: whether to sort by error after a solve, the smallest first.
        """
        report: dict[str, dict[str, Any]] = {}
        for i, objective in enumerate(self.komo.objectives):
            feature, slices = objective.feature, list(objective.slices)
            entry: dict[str, Any] = {
                "name": feature.symbol.name,
                "frames": list(feature.frames),
                "order": float(feature.order),
                "type": objective.type.name,
            }
            if feature.scale is not None:
                entry["scale"] = np.ravel(feature.scale).tolist()
            if feature.target is not None:
                entry["target"] = np.ravel(feature.target).tolist()
            report[f"o{i}"] = entry | {"slices": [min(slices), max(slices)]}
        if self.solution is None:
            return report
        for i, objective_report in enumerate(self.solution.objectives):
            kind = objective_report.objective.type.name
            report[f"o{i}"]["err"] = row_error(objective_report.values, kind)
        if sortByError:
            report = dict(sorted(report.items(), key=lambda item: item[1]["err"]))
        return (report if listObjectives else {}) | {"totals": totals(self.solution)}

    def info_objectiveNames(self) -> list[str]:
        """Return a name for each objective."""
        return [objective.name for objective in self.komo.objectives]

    def info_objectiveErrorTraces(self) -> np.ndarray:
        """Return the error of each objective in each slice (T, objectives).

        Raises:
            ObjectiveError: before the problem is solved.
        """
        solution = self._solved()
        errors = np.zeros((self.komo.T, len(solution.objectives)))
        for k, report in enumerate(solution.objectives):
            kind = report.objective.type.name
            for t, row in zip(report.objective.slices, report.values, strict=True):
                errors[t, k] = row_error(np.asarray(row), kind)
        return errors

    def info_sliceErrors(self, t: int, errorTraces: np.ndarray) -> str:
        """Return a line for each objective with an error in a slice, the largest first.

        Args:
            t: the slice.
            errorTraces: what `info_objectiveErrorTraces` returns.
        """
        lines = [
            f"t:{t} #{k}{objective.name} {objective.type.name} {errorTraces[t][k]:g}\n"
            for k, objective in enumerate(self.komo.objectives)
        ]
        by_error = np.argsort(-np.asarray(errorTraces)[t], kind="stable")
        return "".join(lines[k] for k in by_error if errorTraces[t][k] > 0)

    def info_sliceCollisions(self, t: int, belowMargin: float) -> str:
        """Return a line for each pair of frames nearer than a margin [m] in a slice."""
        pairs = self._world_at(t).collisions(belowMargin)
        return "".join(f"{a}-{b}: {distance:g}\n" for a, b, distance in pairs)

    def getForceInteractions(self) -> list[Any]:
        """Return no forces, because this face has no contact forces."""
        return []

    # -- views -------------------------------------------------------------------

    def get_viewer(self) -> ConfigurationViewer:
        """Return the viewer of the problem."""
        if self._viewer is None:
            self._viewer = ConfigurationViewer(Config())
        return self._viewer

    def set_viewer(self, viewer: ConfigurationViewer) -> None:
        """Show the problem in another viewer."""
        self._viewer = viewer

    def view(self, pause: bool = False, txt: str | None = None) -> int:
        """Show the path in the browser where there is a screen, and return 0."""
        return self.view_play(pause, txt)

    def view_play(
        self,
        pause: bool = False,
        txt: str | None = None,
        delay: float = 0.1,
        saveVideoPath: str | None = None,
    ) -> int:
        """Play the path in the browser where there is a screen, and return 0.

        Args:
            pause: ignored, because pages have no keys.
            txt: ignored.
            delay: ignored; the page has a slider of time.
            saveVideoPath: ignored; `posewise.Solution.film` draws pictures of a path.
        """
        self.get_viewer().play(self.komo.config, self.getPath())
        return 0

    def view_slice(self, t: int, pause: bool = False) -> int:
        """Show a slice in the browser where there is a screen, and return 0."""
        config = Config.of(self._world_at(t))
        config.set_viewer(self.get_viewer())
        return config.view(pause)

    def view_close(self) -> None:
        """Close the page."""
        if self._viewer is not None:
            self._viewer.close()

    def _world_at(self, t: int) -> pw.Config:
        """Return the world in a slice of the solution, or of the initial path."""
        if self.solution is not None:
            return self.solution.world_at(t)
        C = self.komo.config.copy()
        C.q = self.getPath()[t]
        return C

    def _solved(self) -> pw.Solution:
        if self.solution is None:
            raise pw.ObjectiveError(
                "There is no solution yet; solve the problem first."
            )
        return self.solution

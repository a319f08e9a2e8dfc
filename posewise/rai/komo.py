"""`KOMO` and `NLP_Solver` with rai's names."""

import warnings
from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.errors import unknown

from .config import Config, make_feature
from .names import OT, later

_MEANT = {
    "stopTolerance": "step_tolerance",
    "stopEvals": "max_iterations",
    "stepMax": "max_step",
    "damping": "damping",
    "muInit": "mu",
    "muInc": "mu_factor",
    "muMax": "mu_max",
}
"""rai's options that mean the same in `posewise.solvers.Options`."""

_IGNORED = (
    *("stopFTolerance", "stopGTolerance", "stopInners", "stopOuters", "stopLineSteps"),
    *("stopTinySteps", "stepInit", "stepMin", "stepInc", "stepDec", "wolfe"),
    *("muLBInit", "muLBDec", "lambdaMax", "interiorPadding", "boundedNewton"),
    *("method", "finiteDifference"),
)
"""rai's options without counterpart: `setOptions` warns that they are ignored."""


class KOMO:
    """A path problem over copies of a configuration, as it is when KOMO is made.

    Args:
        config: the configuration; without it, call `setConfig` and `setTiming`.
        phases: number of phases.
        slicesPerPhase: slices in each phase.
        kOrder: highest order of any feature.
        enableCollisions: has no meaning: features are evaluated whenever they occur.
    """

    def __init__(
        self,
        config: Config | None = None,
        phases: Any = 1.0,
        slicesPerPhase: Any = 1,
        kOrder: Any = 0,
        enableCollisions: bool = False,
    ) -> None:
        self._timing = (phases, slicesPerPhase, kOrder, 1.0)
        self._world = None if config is None else config.C.copy()
        self._solution: pw.Solution | None = None
        self._draws = 0
        self._make()

    def _make(self) -> None:
        if self._world is not None:
            self._komo = pw.KOMO(self._world, *self._timing)

    @property
    def komo(self) -> pw.KOMO:
        """The posewise problem behind it."""
        if self._world is None:
            raise pw.ObjectiveError("KOMO has no configuration; call setConfig(C).")
        return self._komo

    def setConfig(self, config: Config, enableCollisions: bool = False) -> None:
        """Set the configuration; objectives are dropped."""
        self._world = config.C.copy()
        self._make()

    def setTiming(
        self,
        phases: Any,
        slicesPerPhase: Any,
        durationPerPhase: Any,
        kOrder: Any,
    ) -> None:
        """Set phases, slices, seconds and order; objectives are dropped."""
        self._timing = (phases, slicesPerPhase, kOrder, durationPerPhase)
        self._make()

    def addObjective(
        self,
        times: Any,
        feature: Any,
        frames: Any = (),
        type: Any = OT.sos,
        scale: Any = (),
        target: Any = (),
        order: Any = -1,
    ) -> None:
        """Add a feature as sos (cost), eq or ineq (<= 0) at times in phases.

        Raises:
            ObjectiveError: for `OT.f`, and whatever `posewise.KOMO` refuses.
        """
        name = getattr(type, "name", type)
        if name not in pw.OT.__members__:
            raise pw.ObjectiveError(
                f"type is {type!r}, expected OT.sos, OT.eq or OT.ineq (costs that are"
                " no squares have no place in posewise)."
            )
        made = make_feature(self.komo.config, feature, frames, scale, target, order)
        self.komo.add_objective(times, made, type=pw.OT[name])

    def addControlObjective(
        self,
        times: Any,
        order: Any,
        scale: Any = 1.0,
        target: Any = (),
    ) -> None:
        """Add the cost of distance from home (0), speed (1) or acceleration (2).

        As in rai, each joint's cost is weighted by its attribute `ctrl_H`.
        """
        C, weights = self.komo.config, np.ones(self.komo.config.nq)
        for joint in C.joint_names:
            frame = next(f for f in C.frames if f.joint and f.joint.name == joint)
            weights[C.coordinates(joint)] = frame.attributes.get("ctrl_H", 1.0)
        self.komo.add_control_objective(
            order, scale * weights, target if np.size(target) else None, times
        )

    def addQuaternionNorms(
        self, times: Any = (), scale: Any = 3.0, hard: bool = True
    ) -> None:
        """Do nothing: the solver keeps quaternions at unit length by itself."""

    def addModeSwitch(
        self,
        times: Any,
        newMode: Any,
        frames: Any,
        firstSwitch: bool = True,
    ) -> None:
        """Not there yet.

        Raises:
            FeatureError: always.
        """
        later("addModeSwitch", "mode switches")

    def clearObjectives(self) -> None:
        """Drop all objectives."""
        self._make()

    def updateRootObjects(self, config: Config) -> None:
        """Take over the poses of the frames that have neither parent nor joint."""
        C = self.komo.config
        for frame in C.frames:
            if frame.parent is None and frame.joint is None:
                C.set_pose(frame.name, config.C.pose(frame.name))

    def initWithConstant(self, q: Any) -> None:
        """Start the next solve from one configuration (n,) for all slices."""
        self.komo.initialize(np.ravel(q))

    def initWithPath(self, q: Any) -> None:
        """Start the next solve from a path (T, n)."""
        self.komo.initialize(q)

    def initRandom(self, verbose: int = 0) -> None:
        """Start from a random path; the same calls give the same paths."""
        self._draws += 1
        self.komo.initialize(self.komo.starts(self._draws, 2)[1])

    def nlp(self) -> "NLP":
        """The problem, for `NLP_Solver`."""
        return NLP(self)

    def getPath(self) -> np.ndarray:
        """The path (T, n): solved, or initial."""
        return self.komo.starts(0, 1)[0]

    def getT(self) -> int:
        """Number of slices."""
        return self.komo.T

    def report(self) -> dict[str, dict[str, Any]]:
        """The objectives; after a solve with errors, and their totals by type."""
        report: dict[str, dict[str, Any]] = {}
        for i, objective in enumerate(self.komo.objectives):
            feature = objective.feature
            report[f"o{i}"] = {
                "name": feature.symbol.name,
                "frames": list(feature.frames),
                "order": feature.order,
                "type": objective.type.name,
                "scale": [] if feature.scale is None else feature.scale.tolist(),
                "target": [] if feature.target is None else feature.target.tolist(),
                "slices": list(objective.slices),
            }
        if self._solution is not None:
            errors = [
                _error(o.values, o.objective.type) for o in self._solution.objectives
            ]
            for i, error in enumerate(errors):
                report[f"o{i}"]["err"] = error
            report["totals"] = SolverReturn(self._solution).totals()
        return report

    def view(self, pause: bool = False, txt: str | None = None) -> None:
        """Do nothing: no window is opened."""

    view_close = view_play = view


class NLP:
    """A `KOMO`'s problem."""

    def __init__(self, komo: KOMO) -> None:
        self.komo = komo
        self._nlp: pw.NLP | None = None

    @property
    def nlp(self) -> pw.NLP:
        """The posewise problem behind it, as it was when first asked for."""
        if self._nlp is None:
            self._nlp = self.komo.komo.nlp()
        return self._nlp

    def evaluate(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows φ, and their Jacobian as triplets (nonzeros, 3): row, column, value."""
        phi, values = self.nlp.values(x)
        return phi, np.stack([self.nlp.row, self.nlp.column, values], 1)

    def getTypes(self) -> list[Any]:
        """What each row means."""
        return [getattr(OT, t.name) for t in self.nlp.types]

    def getInitializationSample(self) -> np.ndarray:
        """The present path with a little noise; the same at every call."""
        noise = np.random.default_rng(0).normal(scale=0.01, size=self.getDimension())
        return self.komo.getPath().ravel() + noise

    def summarizeErrors(self, phi: Any) -> tuple[float, float, float, float]:
        """Totals of f, sos, ineq and eq, as in rai: sums over rows."""
        y, types = np.ravel(phi), np.array([t.name for t in self.nlp.types])
        total = lambda t: _error(y[types == t.name], t)
        sos, ineq, eq = (total(t) for t in (pw.OT.sos, pw.OT.ineq, pw.OT.eq))
        return 0.0, sos, ineq, eq

    def as_KOMO(self) -> KOMO:
        """The `KOMO` it came from."""
        return self.komo

    def getDimension(self) -> int:
        """Number of variables, slice by slice."""
        return self.komo.getPath().size

    def getBounds(self) -> np.ndarray:
        """Limits (2, variables), lower row first, ±inf where none."""
        return np.tile(self.komo.komo.config.limits, (1, self.komo.getT()))


class NLP_Solver:
    """Solves a `KOMO`'s problem with posewise's solver."""

    def __init__(self, problem: NLP | None = None, verbose: int = 0) -> None:
        self.problem = problem
        self.verbose = verbose
        self.options: dict[str, Any] = {}

    def setProblem(self, problem: NLP) -> "NLP_Solver":
        """Set the problem."""
        self.problem = problem
        return self

    def setOptions(self, verbose: int = 0, **options: Any) -> "NLP_Solver":
        """Set rai's options; those not given are posewise's defaults.

        `stopTolerance` (of steps), `stopEvals`, `stepMax`, `damping`, `muInit`,
        `muInc` and `muMax` are used; rai's others are ignored, with a warning.

        Raises:
            ObjectiveError: for an option that rai does not have either.
        """
        for name in options:
            if name not in _MEANT and name not in _IGNORED:
                raise pw.ObjectiveError(unknown("option", name, (*_MEANT, *_IGNORED)))
        ignored = sorted(set(options) & {*_IGNORED})
        if ignored:
            warnings.warn(
                f"NLP_Solver ignores {', '.join(ignored)}: posewise's solver has no"
                " counterpart.",
                stacklevel=2,
            )
        self.verbose = verbose
        self.options = {_MEANT[k]: v for k, v in options.items() if k in _MEANT}
        return self

    def setInitialization(self, x: Any) -> "NLP_Solver":
        """Start from a path, flat or (T, n)."""
        komo = self._problem().komo
        komo.initWithPath(np.reshape(x, (komo.getT(), -1)))
        return self

    def solve(self) -> "SolverReturn":
        """Solve from the path in the `KOMO`, and leave the solution there."""
        komo = self._problem().komo
        solution = komo.komo.solve(**self.options)
        komo._solution = solution
        komo.initWithPath(solution.path)
        if self.verbose > 0:
            print(solution.report())
        return SolverReturn(solution)

    def _problem(self) -> NLP:
        if self.problem is None:
            raise pw.ObjectiveError("NLP_Solver has no problem; call setProblem(nlp).")
        return self.problem


class SolverReturn:
    """How a solve ended; errors are rai's sums over rows."""

    def __init__(self, solution: pw.Solution) -> None:
        self.solution = solution
        self.x = solution.path.reshape(-1)
        self.feasible = solution.feasible
        self.done = solution.status is not pw.Status.ITERATION_LIMIT
        self.evals = solution.iterations
        self.time = solution.seconds
        self.f = 0.0
        self.sos, self.eq, self.ineq = (self._total(t) for t in "sos eq ineq".split())

    def _total(self, type: str) -> float:
        reports = self.solution.objectives
        errors = [
            _error(o.values, o.objective.type)
            for o in reports
            if o.objective.type.name == type
        ]
        return float(sum(errors))

    def totals(self) -> dict[str, float]:
        """Sums of squares, of |φ| of equalities and of violated inequalities."""
        return {"sos": self.sos, "ineq": self.ineq, "eq": self.eq, "f": self.f}

    def dict(self) -> dict[str, Any]:
        """All but x."""
        names = ("evals", "time", "done", "feasible", "f", "sos", "ineq", "eq")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        parts = ", ".join(f"{k}: {v:.6g}" for k, v in self.dict().items())
        return f"{{ {parts}, x-dim: [{self.x.size}] }}"


def _error(values: np.ndarray, type: pw.OT) -> float:
    if type is pw.OT.sos:
        return float(np.sum(values**2))
    return float(np.sum(np.abs(values) if type is pw.OT.eq else np.maximum(values, 0)))

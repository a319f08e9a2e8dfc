"""`KOMO` with rai's names."""

from typing import Any

import numpy as np

import posewise as pw

from .config import Config, make_feature
from .enums import JT, OT, raise_unsupported
from .frame import Frame
from .nlp import NLP, SolverReturn, row_error

_MODES = {"stable": "stable", "stableOn": "stableOn", "stableZero": "rigid"}
"""rai's modes that mean the same in `posewise.KOMO.add_mode_switch`."""


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
        self._num_random_paths = 0
        self._reset_problem()

    def _reset_problem(self) -> None:
        self.solution: pw.Solution | None = None
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
        self._reset_problem()

    def setTiming(
        self,
        phases: Any,
        slicesPerPhase: Any,
        durationPerPhase: Any,
        kOrder: Any,
    ) -> None:
        """Set phases, slices, seconds and order; objectives are dropped."""
        self._timing = (phases, slicesPerPhase, kOrder, durationPerPhase)
        self._reset_problem()

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
        made = make_feature(self.komo.world, feature, frames, scale, target, order)
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
        """From times[0] on, frames[1] hangs on frames[0]; see `add_mode_switch`.

        Args:
            times: [t], or [from, to]; a negative end: to the last slice.
            newMode: `SY.stable`, `SY.stableOn` or `SY.stableZero`.
            frames: [parent, frame].
            firstSwitch: has no meaning: what carried the frame before is known.

        Raises:
            FeatureError: for other modes.
        """
        mode = getattr(newMode, "name", newMode)
        if mode not in _MODES:
            raise_unsupported(
                f"addModeSwitch with mode {mode!r}", f"modes but {', '.join(_MODES)}"
            )
        times = [t for t in np.ravel(times).tolist() if t >= 0]
        self.komo.add_mode_switch(times, _MODES[mode], frames)

    def addRigidSwitch(self, times: Any, frames: Any, noJumpStart: bool = True) -> None:
        """From a time on, frames[1] coincides with frames[0] and hangs on it.

        Raises:
            FeatureError: without `noJumpStart`.
        """
        if not noJumpStart:
            raise_unsupported("addRigidSwitch with noJumpStart=False", "jumps")
        self.komo.add_mode_switch([times], "rigid", frames)

    def addFrameDof(
        self,
        name: str,
        parent: str,
        jointType: Any,
        stable: bool,
        originFrameName: str | None = None,
        originFrame: Frame | None = None,
    ) -> None:
        """Add a frame that only the problem has; see `posewise.KOMO.add_frame`.

        Args:
            name: not in use yet.
            parent: what it hangs on.
            jointType: a `JT`; `JT.none` fixes it.
            stable: the joint has one value for all slices.
            originFrameName: where it stands before its joint's motion; else the parent.
            originFrame: the same, as a frame.
        """
        origin = originFrameName if originFrame is None else originFrame.name
        given: dict[str, Any] = {}
        if jointType is not JT.none:
            given["joint"] = jointType.name
        if origin is not None:
            world = self.komo.world
            given["pose"] = world.eval(pw.FS.poseRel, [origin, parent])[0]
        self.komo.add_frame(name, parent, stable=stable, **given)

    def clearObjectives(self) -> None:
        """Drop all objectives."""
        self._reset_problem()

    def updateRootObjects(self, config: Config) -> None:
        """Take over the poses of the frames that have neither parent nor joint."""
        C = self.komo.config
        for frame in C.frames:
            if frame.parent is None and frame.joint is None:
                C.set_pose(frame.name, config.C.pose(frame.name))

    def initWithConstant(self, q: Any) -> None:
        """Start the next solve from one configuration (n,) for all slices."""
        self._initialize(np.ravel(q))

    def initWithPath(self, q: Any) -> None:
        """Start the next solve from a path (T, n)."""
        self._initialize(q)

    def initWithWaypoints(
        self,
        waypoints: Any,
        waypointSlicesPerPhase: int = 1,
        interpolate: bool = False,
        qHomeInterpolate: float = 0.0,
        verbose: int = -1,
    ) -> None:
        """Start the next solve from a path through waypoints, at rest at each.

        Args:
            waypoints: configurations (n,), the last of each phase at its end.
            waypointSlicesPerPhase: how many of them each phase has.
            interpolate: has no meaning: the path is always interpolated.
            qHomeInterpolate: has no meaning.
            verbose: has no meaning.
        """
        each = waypointSlicesPerPhase
        self.komo.initialize_waypoints(np.asarray(waypoints)[each - 1 :: each])
        self.solution = None

    def initOrg(self) -> None:
        """Start the next solve from the configuration's state."""
        self._initialize(self.komo.config.q)

    def initRandom(self, verbose: int = 0) -> None:
        """Start from a random path; the same calls give the same paths."""
        self._num_random_paths += 1
        modes = self.komo.modes()
        self._initialize(
            modes.narrow_path(self.komo.starts(self._num_random_paths, 2)[1])
        )

    def _initialize(self, path: Any) -> None:
        self.komo.initialize(path)
        self.solution = None

    def nlp(self) -> NLP:
        """The problem, for `NLP_Solver`."""
        return NLP(self)

    def getPath(self) -> np.ndarray:
        """The path (T, n): solved, or initial."""
        return np.clip(self.komo.initial, *self.komo.config.limits)

    def getPath_qAll(self) -> list[np.ndarray]:
        """The configuration of each slice."""
        return list(self.getPath())

    def getPathTau(self) -> np.ndarray:
        """Time from the slice before to each slice (T,)."""
        return self.komo.tau.copy()

    def getPathFrames(self) -> np.ndarray:
        """Poses (T, frames, 7), those of `addFrameDof` last once it is solved."""
        return np.stack([self.getFrameState(t) for t in range(self.getT())])

    def getFrameState(self, t: int) -> np.ndarray:
        """Poses (frames, 7) in a slice."""
        if self.solution is not None:
            return self.solution.at(t).poses()
        C = self.komo.config.copy()
        C.q = self.getPath()[t]
        return C.poses()

    def getConfig(self) -> Config:
        """A copy of the configuration it was made of."""
        return _wrap_world(self.komo.config.copy())

    def getSubProblem(self, phase: int) -> tuple[Config, np.ndarray, np.ndarray]:
        """Configuration, start and end of a phase (counted from 0), once it is solved.

        Raises:
            ObjectiveError: before it is solved.
        """
        if self.solution is None:
            raise pw.ObjectiveError("There is no solution yet; solve, then ask for it.")
        C, end = self.solution.sub_problem(phase)
        return _wrap_world(C), C.q, end

    def getT(self) -> int:
        """Number of slices."""
        return self.komo.T

    def getFeatureNames(self) -> list[str]:
        """A name for each row of the problem: objective, slice, row."""
        return list(self.komo.nlp().names)

    def report(
        self,
        specs: bool = False,
        listObjectives: bool = True,
        plotOverTime: bool = False,
        sortByError: bool = True,
    ) -> dict[str, dict[str, Any]]:
        """The objectives; after a solve with errors, and their totals by type.

        Args:
            specs: has no meaning.
            listObjectives: list them, not the totals only.
            plotOverTime: has no meaning; see `posewise.Solution.plot`.
            sortByError: after a solve, the largest error first.
        """
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
        if self.solution is not None:
            errors = [
                row_error(o.values, o.objective.type) for o in self.solution.objectives
            ]
            for i, error in enumerate(errors):
                report[f"o{i}"]["err"] = error
            if sortByError:
                worst = lambda entry: -entry[1]["err"]
                report = dict(sorted(report.items(), key=worst))
            report = report if listObjectives else {}
            report["totals"] = SolverReturn(self.solution).totals()
        return report

    def view(self, pause: bool = False, txt: str | None = None) -> None:
        """Do nothing: no window is opened."""

    view_close = view_play = view


def _wrap_world(C: pw.Config) -> Config:
    config = Config()
    config.C = C
    return config

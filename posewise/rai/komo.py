"""`KOMO` with rai's names."""

import warnings
from collections.abc import Sequence
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np

import posewise as pw
from posewise.features.typing import Order, ScaleLike, TargetLike
from posewise.objectives.templates import without_overlaps
from posewise.objectives.terms.typing import ModeKind, Times
from posewise.robots.typing import Frames
from posewise.robots.world.kinematics_builder import topological_order

from .config import Config
from .coverage import Absent
from .differences import unmoved_frames, world_differences
from .enums import JT, OT, raise_unsupported
from .features import make_feature
from .frame import Frame
from .komo_starts import KomoStarts
from .nlp_problem import KomoNLP, SharedProblem

_MODES: dict[str, ModeKind] = {
    "stable": "stable",
    "stableOn": "stableOn",
    "stableZero": "rigid",
}
"""rai's modes, and the equivalent modes of `posewise.KOMO.add_mode_switch`."""


Timing: TypeAlias = tuple[float, int, float, Order]
"""Phases, slices and duration [s] of each, and order, as of `KOMO.setTiming`."""


class KOMO(KomoStarts, Absent):
    """Path problem over copies of a configuration, in its state at construction.

    Args:
        config: the configuration; without it, call `setConfig` and `setTiming`.
        phases: number of phases.
        slicesPerPhase: slices in each phase.
        kOrder: highest order of any feature.
        enableCollisions: ignored, because posewise evaluates collision features
            whenever they occur.
    """

    def __init__(
        self,
        config: Config | None = None,
        phases: float = 1.0,
        slicesPerPhase: int = 1,
        kOrder: Order = 0,
        enableCollisions: bool = False,
    ) -> None:
        self._timing = (phases, slicesPerPhase, kOrder, 1.0)
        self._world = None if config is None else _world_of(config)
        super().__init__()
        self._reset_problem()

    def _reset_problem(self) -> None:
        self._state: SharedProblem | None = None
        if self._world is not None:
            phases, slices, order, duration = self._timing
            komo = pw.KOMO(
                self._world,
                phases,
                slices_per_phase=slices,
                k_order=order,
                duration_per_phase=duration,
            )
            self._state = SharedProblem(komo)

    def setConfig(self, config: Config, enableCollisions: bool = False) -> None:
        """Set the configuration and drop all objectives."""
        self._world = _world_of(config)
        self._reset_problem()

    def setTiming(
        self,
        phases: float,
        slicesPerPhase: int,
        durationPerPhase: float,
        kOrder: Order,
    ) -> None:
        """Set phases, slices, duration [s] and order, and drop all objectives."""
        self._timing = (phases, slicesPerPhase, kOrder, durationPerPhase)
        self._reset_problem()

    def addObjective(
        self,
        times: Times,
        feature: pw.FS,
        frames: Frames = (),
        type: Enum = OT.sos,
        scale: ScaleLike = (),
        target: TargetLike = (),
        order: Order | Literal[-1] = -1,
    ) -> None:
        """Add a feature as sos (cost), eq or ineq (<= 0) at times in phases.

        Raises:
            ObjectiveError: for `OT.f`, and as `posewise.KOMO.add_objective`.
        """
        name = str(getattr(type, "name", type))
        if name not in pw.OT.__members__:
            raise pw.ObjectiveError(
                f"type is {type!r}, expected OT.sos, OT.eq or OT.ineq, because costs in"
                " posewise are sums of squares."
            )
        on_frames = make_feature(self.komo.world, feature, frames, scale, target, order)
        self.komo.add_objective(times, on_frames, type=pw.OT[name])

    def addControlObjective(
        self,
        times: Times,
        order: Order,
        scale: float = 1.0,
        target: TargetLike = (),
        deltaFromSlice: int = 0,
        deltaToSlice: int = 0,
    ) -> None:
        """Add the cost of distance from home (0), speed (1) or acceleration (2).

        As in rai, the attribute `ctrl_H` of a joint weights its cost.

        Raises:
            FeatureError: for slices shifted by `deltaFromSlice` or `deltaToSlice`.
        """
        if deltaFromSlice or deltaToSlice:
            raise_unsupported(
                "addControlObjective with deltaFromSlice", "shifted slices"
            )
        C, weights = self.komo.config, np.ones(self.komo.config.nq)
        for joint in C.joint_names:
            frame = next(f for f in C.frames if f.joint and f.joint.name == joint)
            weights[C.joints.coordinates(joint)] = frame.attributes.get("ctrl_H", 1.0)
        self.komo.add_control_objective(
            order, scale * weights, target if np.size(target) else None, times
        )

    def addQuaternionNorms(
        self, times: Times = (), scale: float = 3.0, hard: bool = True
    ) -> None:
        """Do nothing, because the solver keeps quaternions at unit length."""

    def addModeSwitch(
        self,
        times: Sequence[float],
        newMode: Enum,
        frames: Sequence[str],
        firstSwitch: bool = True,
    ) -> None:
        """Attach frames[1] to frames[0] from times[0] on, as `add_mode_switch` does.

        Args:
            times: [t], or [from, to]; a negative end stands for the last slice.
            newMode: `SY.stable`, `SY.stableOn` or `SY.stableZero`.
            frames: [parent, frame].
            firstSwitch: ignored, because the previous parent is known.

        Raises:
            FeatureError: for other modes.
        """
        mode = getattr(newMode, "name", newMode)
        if mode not in _MODES:
            raise_unsupported(
                f"addModeSwitch with mode {mode!r}",
                f"modes other than {', '.join(_MODES)}",
            )
        start_and_end = [t for t in np.ravel(times).tolist() if t >= 0]
        self.komo.add_mode_switch(start_and_end, _MODES[mode], frames)

    def addRigidSwitch(
        self, times: float, frames: Sequence[str], noJumpStart: bool = True
    ) -> None:
        """Attach frames[1] to frames[0] from a time on, at the same pose.

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
        jointType: Enum,
        stable: bool,
        originFrameName: str | None = None,
        originFrame: Frame | None = None,
    ) -> None:
        """Add a frame to the problem only, as `posewise.KOMO.add_frame` does.

        Args:
            name: name not in use yet.
            parent: parent frame.
            jointType: a `JT`; `JT.none` fixes the frame.
            stable: whether the joint has one value for all slices.
            originFrameName: frame at which the joint starts; by default the parent.
            originFrame: the same, as a frame.
        """
        origin = originFrameName if originFrame is None else originFrame.name
        options: dict[str, Any] = {}
        if jointType is not JT.none:
            options["joint"] = jointType.name
        if origin is not None:
            world = self.komo.world
            options["pose"] = world.eval(pw.FS.poseRel, [origin, parent])[0]
        self.komo.add_frame(name, parent, stable=stable, **options)

    def clearObjectives(self) -> None:
        """Drop all objectives."""
        self._reset_problem()

    def updateRootObjects(self, config: Config) -> None:
        """Take over the poses of all frames that no joint moves.

        These are frames without parent and what is fixed to them. All else stays as it
        was when the `KOMO` was made, also as in rai.

        Args:
            config: a configuration with the same frames.

        Warns:
            ProblemWarning: for differences that are not taken over.
        """
        world, C = self.komo.config, config.C
        stays = unmoved_frames(world) & unmoved_frames(C)
        for i in topological_order(world.frames):
            name = world.frames[i].name
            if name in stays and world.index(name) == i:
                if not np.allclose(world.pose(name), C.pose(name), 0, 1e-12):
                    world.set_pose(name, C.pose(name))
        differences = world_differences(world, C, stays)
        if self.komo.k_order and not np.array_equal(world.q, C.q):
            differences.append("the joint state that the path starts from")
        if differences:
            warnings.warn(
                "updateRootObjects takes over the poses of frames that no joint moves,"
                f" as rai does, but not {'; '.join(differences)}. Make a new KOMO for"
                " these.",
                pw.ProblemWarning,
                stacklevel=2,
            )

    def nlp(self) -> KomoNLP:
        """Return the problem for `NLP_Solver`."""
        return KomoNLP(self.state, self)

    def getConfig(self) -> Config:
        """Return a copy of the configuration of the problem."""
        return Config.of(self.komo.config.copy())

    def getSubProblem(self, phase: int) -> tuple[Config, np.ndarray, np.ndarray]:
        """Return configuration, start and end of a phase, counted from 0.

        Raises:
            ObjectiveError: before the problem is solved.
        """
        C, end = self._solved().sub_problem(phase)
        return Config.of(C), C.q, end


def problem_of_motion(
    C: Config,
    timing: Timing,
    motion: float,
    homing: float,
    collisions: bool,
) -> KOMO:
    """Return a problem with costs of distance from home, and of its highest order.

    Args:
        C: the configuration.
        timing: see `Timing`.
        motion: scale of differences or accelerations; 0: none.
        homing: scale of the distance from home; 0: none.
        collisions: whether frames must not overlap.
    """
    komo = KOMO()
    komo.setTiming(*timing)
    komo.setConfig(C, collisions)
    if homing > 0:
        komo.addControlObjective([], 0, homing)
    if motion > 0:
        komo.addControlObjective([], timing[-1], motion)
    without_overlaps(komo.komo, collisions)
    return komo


def _world_of(config: Config) -> pw.Config:
    """Return a copy of a configuration's world, with joints where they belong."""
    world = config.C.copy()
    config.restore_origins(world)
    return world

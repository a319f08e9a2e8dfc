"""`KOMO_ManipulationHelper` with rai's names, a spelling of `posewise.presets`."""

import time as clock
import warnings
from collections.abc import Sequence
from enum import Enum

import numpy as np

import posewise as pw
from posewise import presets
from posewise.objectives.presets.preset import Preset
from posewise.objectives.terms.typing import AxisPair, SignedAxis, Times
from posewise.robots.typing import Axis, Frames, VectorLike

from ..config import Config
from ..enums import FS, JT, OT
from ..frame import Frame
from ..komo import KOMO, Timing, problem_of_motion
from ..nlp import NLP_Solver
from ..path_finder import RRT_PathFinder
from ..results import FEASIBLE_LIMIT, SolverReturn

STEPS_PER_PHASE = 50
"""Slices of a motion between two waypoints, as in rai (count). With more, motions are
smoother and take longer to solve."""
PLACE_DIRECTIONS: dict[str, SignedAxis] = {
    **{"x": "x", "y": "y", "z": "z"},
    **{"xNeg": "-x", "yNeg": "-y", "zNeg": "-z"},
}
"""rai's names of the axes that point up in `place_box`, and posewise's."""


class KOMO_ManipulationHelper:
    """A `KOMO`, as `komo`, and methods that add the constraints of manipulation to it.

    As in rai, `feasible` means that the violations of all equalities, and those of all
    inequalities, sum up to less than 0.1; unlike in rai, a warning names the worst row
    if it is missed by more than 1e-3.

    Rows are those of `posewise.presets`: orientations of placements are relative to the
    table, and approaches and retreats are straight on the way, not only at their ends.
    A box smaller than twice the margin of a grasp is grasped at its middle.

    Args:
        info: a text for what `solve` prints.
    """

    def __init__(self, info: str = "") -> None:
        self.info = info
        self.komo = KOMO()
        self.ret: SolverReturn | None = None
        self.path: np.ndarray | None = None

    # -- problems ----------------------------------------------------------------

    def setup_inverse_kinematics(
        self,
        C: Config,
        homing_scale: float = 1e-1,
        accumulated_collisions: bool = True,
        joint_limits: bool = True,
        quaternion_norms: bool = True,
    ) -> None:
        """Set up a problem of one configuration near home.

        Args:
            C: the configuration.
            homing_scale: scale of the distance from home.
            accumulated_collisions: whether frames must not overlap.
            joint_limits: ignored, because limits always are bounds.
            quaternion_norms: ignored, because the solver normalises quaternions.
        """
        self.komo = problem_of_motion(
            C, (1.0, 1, 1.0, 0), 0.0, homing_scale, accumulated_collisions
        )

    def setup_sequence(
        self,
        C: Config,
        K: int,
        homing_scale: float = 1e-2,
        velocity_scale: float = 1e-1,
        accumulated_collisions: bool = True,
        joint_limits: bool = True,
        quaternion_norms: bool = True,
    ) -> None:
        """Set up a problem of K configurations, see `setup_inverse_kinematics`.

        Args:
            C: the configuration.
            K: number of configurations.
            homing_scale: scale of the distance from home.
            velocity_scale: scale of the differences between configurations.
            accumulated_collisions: whether frames must not overlap.
            joint_limits: ignored.
            quaternion_norms: ignored.
        """
        self.komo = problem_of_motion(
            C, (K, 1, 1.0, 1), velocity_scale, homing_scale, accumulated_collisions
        )

    def setup_motion(
        self,
        C: Config,
        K: int,
        steps_per_phase: int,
        homing_scale: float = 0.0,
        acceleration_scale: float = 1e-1,
        accumulated_collisions: bool = True,
        joint_limits: bool = True,
        quaternion_norms: bool = True,
    ) -> None:
        """Set up a path that ends at rest, see `setup_inverse_kinematics`.

        Args:
            C: the configuration.
            K: number of phases.
            steps_per_phase: slices of each phase.
            homing_scale: scale of the distance from home; 0: none.
            acceleration_scale: scale of the acceleration.
            accumulated_collisions: whether frames must not overlap.
            joint_limits: ignored.
            quaternion_norms: ignored.
        """
        timing: Timing = (K, steps_per_phase, 1.0, 2)
        self.komo = problem_of_motion(
            C, timing, acceleration_scale, homing_scale, accumulated_collisions
        )
        self._add(presets.stop(), [float(K)])

    def setup_pick_and_place_waypoints(
        self,
        C: Config,
        gripper: str,
        obj: str,
        homing_scale: float = 1e-2,
        velocity_scale: float = 1e-1,
        accumulated_collisions: bool = True,
        joint_limits: bool = True,
        quaternion_norms: bool = False,
    ) -> None:
        """Set up two configurations: a grasp, and a place; the gripper carries `obj`.

        The frame `obj_grasp`, at a constant pose in the gripper that is free, carries
        the object. See `setup_sequence` for the other arguments.
        """
        self.setup_sequence(C, 2, homing_scale, velocity_scale, accumulated_collisions)
        self.add_stable_frame(JT.free, gripper, "obj_grasp", obj)
        self.snap_switch(1.0, "obj_grasp", obj)

    def setup_point_to_point_motion(
        self,
        C: Config,
        q1: VectorLike,
        homing_scale: float = 1e-2,
        acceleration_scale: float = 1e-1,
        accumulated_collisions: bool = True,
        joint_limits: bool = True,
        quaternion_norms: bool = False,
    ) -> None:
        """Set up a path from the present state to q1; see `setup_motion`."""
        self.setup_motion(
            C, 1, STEPS_PER_PHASE, homing_scale, acceleration_scale,
            accumulated_collisions,
        )  # fmt: skip
        self.komo.initWithWaypoints(np.reshape(q1, (1, -1)))
        self.komo.addObjective([1.0], FS.qItself, [], OT.eq, [1e0], q1)

    def _add(self, preset: Preset, times: Times) -> None:
        self.komo.komo.add(preset, times)

    # -- frames ------------------------------------------------------------------

    def add_stable_frame(
        self,
        jointType: Enum,
        parent: str,
        name: str,
        initFrame: str | Frame | None = None,
        markerSize: float = -1.0,
    ) -> None:
        """Add a frame whose joint has the same value in all slices.

        Args:
            jointType: a `JT`.
            parent: frame that it moves with.
            name: name of the new frame.
            initFrame: frame at whose pose it is at first.
            markerSize: ignored, because helper frames are not shown.
        """
        origin = initFrame.name if isinstance(initFrame, Frame) else initFrame
        self.komo.addFrameDof(name, parent, jointType, True, origin)

    def snap_switch(self, time: float, parent: str, obj: str) -> None:
        """Attach `obj` to `parent` from a time on: the two frames coincide."""
        self.komo.addRigidSwitch(time, [parent, obj])

    # -- grasps and places -------------------------------------------------------

    def grasp_top_box(
        self, time: float, gripper: str, obj: str, grasp_direction: AxisPair = "xz"
    ) -> None:
        """Add `presets.grasp_top_box`."""
        self._add(presets.grasp_top_box(gripper, obj, grasp_direction), [time])

    def grasp_box(
        self,
        time: float,
        gripper: str,
        obj: str,
        palm: str,
        grasp_direction: Axis = "x",
        margin: float = 0.02,
    ) -> None:
        """Add `presets.grasp_box`."""
        preset = presets.grasp_box(gripper, obj, palm, grasp_direction, margin)
        self._add(preset, [time])

    def grasp_cylinder(
        self, time: float, gripper: str, obj: str, palm: str, margin: float = 0.02
    ) -> None:
        """Add `presets.grasp_cylinder`."""
        self._add(presets.grasp_cylinder(gripper, obj, palm, margin), [time])

    def place_box(
        self,
        time: float,
        obj: str,
        table: str,
        palm: str | None,
        place_direction: str = "z",
        margin: float = 0.02,
    ) -> None:
        """Add `presets.place_box`; "xNeg" stands for "-x".

        Raises:
            ObjectiveError: for another direction.
        """
        direction = PLACE_DIRECTIONS.get(place_direction)
        if direction is None:
            raise pw.ObjectiveError(
                f"place_box: place_direction is {place_direction!r}, expected one of"
                f" {', '.join(map(repr, PLACE_DIRECTIONS))}."
            )
        self._add(presets.place_box(obj, table, palm, direction, margin), [time])

    # -- pushes and pulls --------------------------------------------------------

    def straight_push(
        self, time_interval: Sequence[float], obj: str, gripper: str, table: str
    ) -> str:
        """Add `presets.straight_push`; return the frame whose x is across the push.

        That is the gripper; rai returns a helper frame instead.

        Args:
            time_interval: from the touch to the end of the push, in phases.
            obj: frame that is pushed; what moves it is the caller's to add.
            gripper: frame that pushes.
            table: ignored.
        """
        self._add(presets.straight_push(gripper, obj), time_interval)
        return gripper

    def pull(self, times: Sequence[float], obj: str, gripper: str, table: str) -> None:
        """Add `presets.pull`; `table` is ignored. In rai it ends in an error."""
        self._add(presets.pull(gripper, obj), times)

    def retract(
        self, time_interval: Sequence[float], gripper: str, dist: float = 0.03
    ) -> None:
        """Add `presets.retract`."""
        self._add(presets.retract(gripper, dist), time_interval)

    def approach(
        self, time_interval: Sequence[float], gripper: str, dist: float = 0.03
    ) -> None:
        """Add `presets.approach`."""
        self._add(presets.approach(gripper, dist), time_interval)

    def retractPush(
        self, time_interval: Sequence[float], gripper: str, dist: float
    ) -> None:
        """Add `presets.retract_push`."""
        self._add(presets.retract_push(gripper, dist), time_interval)

    def approachPush(
        self, time_interval: Sequence[float], gripper: str, dist: float
    ) -> None:
        """Add `presets.approach_push`."""
        self._add(presets.approach_push(gripper, dist), time_interval)

    # -- further constraints -----------------------------------------------------

    def no_collisions(
        self,
        time_interval: Times,
        objs: Sequence[str],
        margin: float = 0.001,
        scale: float = 1e1,
    ) -> None:
        """Keep pairs of frames, listed one after the other, a margin [m] apart."""
        for pair in zip(objs[::2], objs[1::2], strict=True):
            self.komo.addObjective(
                time_interval, FS.negDistance, pair, OT.ineq, [scale], [-margin]
            )

    def freeze_joint(self, time_interval: Times, joints: Frames) -> None:
        """Demand zero velocity of joints."""
        self.komo.addObjective(time_interval, FS.qItself, joints, OT.eq, [1e1], order=1)

    def freeze_relativePose(self, time_interval: Times, obj: str, relFrom: str) -> None:
        """Demand zero velocity of the pose of `obj` in `relFrom`."""
        self.komo.addObjective(
            time_interval, FS.poseRel, [obj, relFrom], OT.eq, [1e1], order=1
        )

    def target_relative_xy_position(
        self, time: float, obj: str, relativeTo: str, pos: VectorLike
    ) -> None:
        """Add `presets.target_relative_xy_position`; a third number is ignored."""
        xy = np.ravel(pos)[:2]
        self._add(presets.target_relative_xy_position(obj, relativeTo, xy), [time])

    def target_x_orientation(self, time: float, obj: str, x_vector: VectorLike) -> None:
        """Add `presets.target_x_orientation`."""
        self._add(presets.target_x_orientation(obj, x_vector), [time])

    def bias(self, time: float, qBias: VectorLike, scale: float = 1e0) -> None:
        """Add a cost of the distance of all joints from qBias."""
        self.komo.addObjective([time], FS.qItself, [], OT.sos, [scale], qBias)

    # -- solving -----------------------------------------------------------------

    def solve(self, verbose: int = 1) -> SolverReturn:
        """Solve; `path` is that of a feasible solution, else None.

        Args:
            verbose: 0: print nothing; 1: a line; more: the objectives of a failure.
        """
        self.ret = NLP_Solver(self.komo.nlp()).solve()
        solution = self.ret.solution
        if solution and self.ret.feasible and not self.ret.every_row_holds:
            _warn_of_violations(solution)
        self.path = self.komo.getPath() if self.ret.feasible else None
        if verbose > 0:
            word = "feasible" if self.ret.feasible else "infeasible"
            print(f"  -- {word}:{self.info}\n     {self.ret}")
        if verbose > 1 and not self.ret.feasible:
            for name, entry in self.komo.report().items():
                print(f"objective {name}: {entry}")
        return self.ret

    @property
    def feasible(self) -> bool:
        """Whether the last solve met all constraints."""
        return self._solved().feasible

    def _solved(self) -> SolverReturn:
        if self.ret is None:
            raise pw.ObjectiveError("There is no solution yet; call solve() first.")
        return self.ret

    def debug(self, listObjectives: bool, plotOverTime: bool) -> None:
        """Print the result and, if asked, the objectives, the worst first.

        Args:
            listObjectives: whether to print the objectives.
            plotOverTime: ignored; `posewise.Solution.plot` plots.
        """
        print(f"debug: {self.info}\n{self._solved()}")
        if listObjectives:
            print(self.komo.report())

    def play(self, C: Config, duration: float = 1.0, savePngs: bool = False) -> None:
        """Set the states of the path in C, one after the other.

        Args:
            C: the configuration that moves.
            duration: of the whole path [s].
            savePngs: ignored, because there is no window.
        """
        path = self.komo.getPath()
        for q in path:
            C.setJointState(q)
            C.view(False, self.info)
            clock.sleep(duration / len(path))

    def sub_motion(
        self,
        phase: int,
        fixEnd: bool = True,
        homing_scale: float = 1e-2,
        acceleration_scale: float = 1e-1,
        accumulated_collisions: bool = True,
        quaternion_norms: bool = False,
    ) -> "KOMO_ManipulationHelper":
        """Return the motion in a phase of the solution, not solved yet.

        Args:
            phase: counted from 0.
            fixEnd: ignored, as in rai: the motion ends at the waypoint.
            homing_scale: see `setup_point_to_point_motion`, as for all below.
            acceleration_scale: scale of the acceleration.
            accumulated_collisions: whether frames must not overlap.
            quaternion_norms: ignored.
        """
        C, _, q1 = self.komo.getSubProblem(phase)
        motion = KOMO_ManipulationHelper(f"sub_motion_{phase}--{self.info}")
        motion.setup_point_to_point_motion(
            C, q1, homing_scale, acceleration_scale, accumulated_collisions
        )
        return motion

    def sub_rrt(
        self, phase: int, explicitCollisionPairs: Sequence[str] = ()
    ) -> RRT_PathFinder:
        """Return a path finder for a phase of the solution, see `RRT_PathFinder`."""
        C, q0, q1 = self.komo.getSubProblem(phase)
        finder = RRT_PathFinder()
        finder.setProblem(C)
        finder.setStartGoal(q0, q1)
        if explicitCollisionPairs:
            finder.setExplicitCollisionPairs([*explicitCollisionPairs])
        return finder


def _warn_of_violations(solution: pw.Solution) -> None:
    """Warn of constraints that rai's rule lets pass, the worst first."""
    worst = max(solution.objectives, key=lambda o: o.violation)
    warnings.warn(
        f"feasible by rai's rule, a sum of violations below {FEASIBLE_LIMIT}, but"
        f" {worst.label!r} is missed by {worst.violation:.2g} in scaled"
        " units; komo.solution.report() tells more.",
        pw.ProblemWarning,
        stacklevel=3,
    )

"""`Simulation` with rai's names: a `posewise.Simulator` that a configuration follows.

Joints are driven by rai's springs and dampers; bodies with a mass and no joint fall, on
a floor at height 0.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import quat_multiply
from posewise.robots.simulation.simulator import SimulatorState
from posewise.robots.typing import MatrixLike, VectorLike

from ..cameras import CameraView, PinholeCamera, depthImage2PointCloud
from ..config import Config
from ..coverage import Absent
from ..enums import ControlMode, SimulationEngine, raise_unsupported
from ..frame import Frame
from ..parameters import params_get
from ..spline import BSpline
from .physical_world import physical_world

MIN_SPLINE_DURATION = 1e-3
"""Duration of a spline that stands still [s]; longer ones delay what is appended."""
MIN_CHANGE = 1e-9
"""Change of a loose body or a finger [m, rad] from which on the configuration follows
it; a larger one is faster, and less exact."""
MOTORS = {"physx/motorKp": "stiffness", "physx/motorKd": "damping"}
"""rai's parameters of motors, and the arguments of `posewise.Simulator`."""


@dataclass
class SimulationState:
    """State that `Simulation.getState` returns and `setState` takes."""

    time: float
    """[s]"""
    q: np.ndarray
    """Joint state (n,)."""
    qDot: np.ndarray
    """Its rate (n,)."""
    freePos: np.ndarray
    """World poses (m, 7) of `getFreeFrames`."""
    freeVel: np.ndarray
    """Their linear [m/s] and angular velocities [rad/s] (m, 2, 3) in the world."""


class Simulation(Absent):
    """Simulation of a configuration, which follows its state.

    Args:
        C: the configuration.
        engine: `physx` and `bullet` both stand for MuJoCo; `kinematic` moves joints to
            their references, and nothing else.
        verbose: ignored.

    Raises:
        ConfigError: for worlds that MuJoCo cannot represent.
        ImportError: without MuJoCo; the message names the extra.
    """

    def __init__(
        self, C: Config, engine: Enum = SimulationEngine.physx, verbose: int = 2
    ) -> None:
        self._config, self._view, self._spline = C, CameraView(C), BSpline()
        self._physics, parameters = physical_world(C.C), params_get()
        self._simulator = pw.Simulator(
            self._physics.world,
            kinematic=engine is SimulationEngine.kinematic,
            **{MOTORS[k]: parameters[k] for k in MOTORS.keys() & parameters.keys()},
        )
        self._fingers: dict[str, str] = {}
        """Joint of each gripper that was told to move."""
        self.resetSplineRef()

    # -- steps -------------------------------------------------------------------

    def step(
        self,
        u_control: VectorLike = (),
        tau: float = 0.01,
        u_mode: Enum = ControlMode.none,
    ) -> None:
        """Advance by a time, and put the configuration in the new state.

        Args:
            u_control: a joint state (n,), or its rate for `velocity`; ignored by
                `none`, which holds the last reference, and by `spline`.
            tau: the time [s].
            u_mode: a `ControlMode`.

        Raises:
            ConfigError: for another number of joints, and a time that is not above 0.
            FeatureError: for accelerations.
            SimulationError: when the simulation becomes unstable.
        """
        if not tau > 0:
            raise pw.ConfigError(f"tau is {tau!r}, expected a time > 0 s.")
        if u_mode is ControlMode.acceleration:
            raise_unsupported("step with ControlMode.acceleration", "accelerations")
        driven, target = self._physics.driven, self._simulator.target
        rate = np.zeros(len(target))
        if u_mode is ControlMode.spline:
            u_control = self._spline.eval([self.get_t() + tau])[0]
        if u_mode is not ControlMode.none:
            u = np.ravel(np.asarray(u_control, float))
            if u.shape != driven.shape or not np.isfinite(u).all():
                raise pw.ConfigError(
                    f"u_control is {u_control!r}, expected {len(driven)} finite"
                    " numbers, one for each joint."
                )
            is_velocity = u_mode is ControlMode.velocity
            target[driven] = self.get_q() if is_velocity else u
            rate[driven] = u if is_velocity else 0.0
        self._simulator.step(tau, target, rate)
        self.copy_state_to(self._config)

    def multi_step(self, tau_step: float, tau_sim: float) -> None:
        """Advance by a time along the spline, in steps of another time [s]."""
        for _ in range(max(round(tau_step / tau_sim), 1)):
            self.step([], tau_sim, ControlMode.spline)

    def copy_state_to(self, config: Config) -> None:
        """Put a configuration with the same joints in the state of the simulation.

        Bodies that it does not have are left out.
        """
        physics, C, q = self._physics, config.C, self._simulator.q
        config.setJointState(q[physics.driven])
        # What stands still is skipped, for each change takes longer than the step.
        for name in physics.held_joints:
            now = q[physics.entries(name)]
            if abs(now - C.joints.value(name)).max() > MIN_CHANGE:
                C.set_joint(name, now)
        for name in set(physics.loose) & set(C.frame_names):
            now = q[physics.entries(name)]
            if abs(now - C.pose(name)).max() > MIN_CHANGE:
                C.set_pose(name, now)

    # -- splines -----------------------------------------------------------------

    def resetSplineRef(self, ctrl_time: float = -1.0) -> None:
        """Drop the spline, and stay where the joints are."""
        time, q = self.get_t() if ctrl_time < 0 else ctrl_time, self.get_q()
        self._spline.set(2, np.stack([q, q]), [time - MIN_SPLINE_DURATION, time])

    def setSplineRef(
        self, path: MatrixLike, times: VectorLike, append: bool = True
    ) -> None:
        """Set the reference of steps in the mode `spline`.

        Args:
            path: control points (k, n), or one (n,).
            times: their times from now on, or from the end on [s]; one number is the
                duration of all of them, in equal parts.
            append: whether to come to rest at the end before; otherwise the path goes
                on from where the reference is, without a jump of velocity.
        """
        points = np.atleast_2d(np.asarray(path, float))
        delays = np.ravel(np.asarray(times, float))
        if len(delays) == 1:
            delays = delays[0] * np.arange(1, len(points) + 1) / len(points)
        if not append:
            self._spline.overwriteSmooth(points, delays, self.get_t())
            return
        if self.getTimeToSplineEnd() < 0:
            # What has ended stands still until now.
            end = self._spline.getCtrlPoints()[-1:]
            self._spline.append(end, [-self.getTimeToSplineEnd()])
        self._spline.append(points, delays)

    def getTimeToSplineEnd(self) -> float:
        """Return the time until the spline ends [s]; negative since it has ended."""
        return float(self._spline.getKnots()[-1] - self.get_t())

    @property
    def spline_end(self) -> np.ndarray:
        """Joint state (n,) at the end of the spline."""
        return self._spline.getCtrlPoints()[-1]

    # -- states ------------------------------------------------------------------

    def get_t(self) -> float:
        """Return the time [s]."""
        return self._simulator.time

    def resetTime(self, time: float = 1.0) -> None:
        """Set the time [s]."""
        self._simulator.time = time

    def get_q(self) -> np.ndarray:
        """Return the joint state (n,)."""
        return self._simulator.q[self._physics.driven]

    def get_qDot(self) -> np.ndarray:
        """Return the rate (n,) of the joint state."""
        return self._simulator.rate[self._physics.driven]

    def getFreeFrames(self) -> list[Frame]:
        """Return bodies that move freely and, as in rai, the bases of arms."""
        names = {*self._physics.roots, *self._physics.loose}
        return [f for f in self._config.getFrames() if f.name in names]

    def get_frameVelocities(self) -> np.ndarray:
        """Return linear and angular velocities (m, 2, 3) of `getFreeFrames`."""
        names = [frame.name for frame in self.getFreeFrames()]
        velocities = np.zeros((len(names), 2, 3))
        for velocity, name in zip(velocities, names, strict=True):
            if name in self._physics.loose:
                velocity[:] = self._simulator.velocity(name)
        return velocities

    def getState(self) -> SimulationState:
        """Return time, joint state, poses and velocities."""
        poses = np.reshape([f.getPose() for f in self.getFreeFrames()], (-1, 7))
        velocities = self.get_frameVelocities()
        return SimulationState(
            self.get_t(), self.get_q(), self.get_qDot(), poses, velocities
        )

    def setState(self, state: SimulationState) -> None:
        """Put simulation and configuration in a state; bases of arms do not move."""
        self._config.setJointState(state.q)
        for frame, pose in zip(self.getFreeFrames(), state.freePos, strict=True):
            if frame.name in self._physics.loose:
                self._config.C.set_pose(frame.name, pose)
        self.pushConfigToSim(state.freeVel, state.qDot)
        self.resetTime(state.time)

    def pushConfigToSim(
        self, frameVelocities: MatrixLike = (), jointVelocities: VectorLike = ()
    ) -> None:
        """Put the simulation in the state of the configuration.

        Args:
            frameVelocities: linear and angular velocities (m, 2, 3) of
                `getFreeFrames`; at rest by default.
            jointVelocities: rate (n,) of the joint state; at rest by default.
        """
        physics, C, q = self._physics, self._config.C, self._simulator.q
        q[physics.driven], rate = C.q, np.zeros(len(q))
        for name in physics.held_joints:
            q[physics.entries(name)] = C.joints.value(name)
        for name in physics.loose:
            q[physics.entries(name)] = C.pose(name)
        if np.size(jointVelocities):
            rate[physics.driven] = np.ravel(np.asarray(jointVelocities, float))
        if np.size(frameVelocities):
            names = [frame.name for frame in self.getFreeFrames()]
            twists = np.reshape(np.asarray(frameVelocities, float), (-1, 2, 3))
            for name, (linear, angular) in zip(names, twists, strict=True):
                if name in physics.loose:
                    entries = physics.entries(name)
                    turn = quat_multiply(np.array([0.0, *angular]), q[entries[3:]])
                    rate[entries] = [*linear, *(turn / 2)]
        time = self._simulator.time
        self._simulator.state = SimulatorState(time, q, rate, q)

    # -- grippers ----------------------------------------------------------------

    def moveGripper(
        self, gripperFrameName: str, width: float, speed: float = 0.3
    ) -> None:
        """Move the fingers of a gripper during the next steps.

        Args:
            gripperFrameName: frame on the hand.
            width: joint value of the leading finger at the end [m]; beyond its limits
                the nearest of these.
            speed: [m/s].
        """
        self._fingers[gripperFrameName] = finger = self._finger(gripperFrameName)
        self._simulator.move_joint(finger, width, speed)

    def getGripperWidth(self, gripperFrameName: str) -> float:
        """Return the joint value of the leading finger [m]."""
        entry = self._physics.entries(self._finger(gripperFrameName))
        return float(self._simulator.q[entry][0])

    def gripperIsDone(self, gripperFrameName: str) -> bool:
        """Return whether fingers were told to move, and stand still at the end.

        They stand at their width, at a limit, or hold something.
        """
        finger = self._fingers.get(gripperFrameName)
        return finger is not None and self._simulator.joint_rests(finger)

    def _finger(self, gripper: str) -> str:
        """Return the joint, outside the joint state, that is nearest to a frame.

        Raises:
            ConfigError: if there is none.
        """
        C, physics = self._config.C, self._physics
        top = C.frame(gripper)
        while top.parent is not None:
            top = C.frames[top.parent]
            below = C.subtree(top.name)
            for name in physics.held_joints:
                if C.frame_names[C.tree.joint_frame(name)] in below:
                    return name
        raise pw.ConfigError(
            f"Gripper {gripper!r} has no finger; it needs a joint nearby that is not in"
            " the joint state."
        )

    # -- cameras -----------------------------------------------------------------

    def setCamera(self, sensorName: Frame) -> PinholeCamera:
        """Look from a frame that has a camera's attributes."""
        return self._view.setCamera(sensorName)

    def getImageAndDepth(self) -> tuple[np.ndarray, np.ndarray]:
        """Return colors (h, w, 3), 0 to 255, and depths (h, w) [m] of the camera."""
        return self._view.computeImageAndDepth(self._config)

    def getScreenshot(self) -> np.ndarray:
        """Return colors (h, w, 3), 0 to 255, of the camera."""
        return self.getImageAndDepth()[0]

    def depthData2pointCloud(self, depth: np.ndarray, fxycxy: VectorLike) -> np.ndarray:
        """Return the points (h, w, 3) of depths in the camera's frame [m]."""
        return depthImage2PointCloud(depth, fxycxy)

    def setSimulateDepthNoise(self, _setSimulateDepthNoise: bool) -> None:
        """Do nothing, because depths have no noise."""

    def setVerbose(self, verbose: int) -> None:
        """Do nothing, because steps say nothing."""

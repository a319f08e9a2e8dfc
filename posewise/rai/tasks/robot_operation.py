"""`BotOp` with rai's names: the robot of a simulation, which a workspace follows.

It drives no real robot. Time passes in `sync` and `wait` only, as fast as MuJoCo
simulates, and not by the clock.
"""

import math
from enum import Enum

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.typing import MatrixLike, VectorLike

from ..cameras import CameraView, depthImage2PointCloud
from ..config import Config
from ..coverage import Absent
from ..enums import ArgWord
from .simulation import Simulation

SIMULATION_STEP = 0.01
"""Time between two references of the motors [s]; less takes longer to simulate."""
MIN_SMOOTH_POINTS = 16
"""Least number of points of `moveAutoTimed`, as in rai (count); fewer may be jerky."""
GRIPPERS = {ArgWord._left: "l_gripper", ArgWord._right: "r_gripper"}
"""Frames of the grippers."""


class BotOp(Absent):
    """Robot in a simulation of a copy of the configuration.

    Args:
        C: the configuration, in whose joint state is home.
        useRealRobot: must be False.
        auto_launch: ignored, because the simulation always starts.

    Raises:
        ConfigError: for a real robot, and for worlds that MuJoCo cannot represent.
        ImportError: without MuJoCo; the message names the extra.
    """

    def __init__(self, C: Config, useRealRobot: bool, auto_launch: bool = True) -> None:
        if useRealRobot:
            raise pw.ConfigError(
                "BotOp drives no real robot: pass useRealRobot=False, or send paths to"
                " your robot's own driver."
            )
        self._config = Config()
        self._config.addConfigurationCopy(C)
        self._simulation = Simulation(self._config)
        self._home = np.array(C.getJointState())
        self._told: set[Enum] = set()

    # -- states ------------------------------------------------------------------

    def get_t(self) -> float:
        """Return the time [s]."""
        return self._simulation.get_t()

    def get_q(self) -> np.ndarray:
        """Return the joint state (n,) of the robot."""
        return self._simulation.get_q()

    def get_qDot(self) -> np.ndarray:
        """Return the rate (n,) of the joint state."""
        return self._simulation.get_qDot()

    def get_qHome(self) -> np.ndarray:
        """Return the joint state (n,) in which the robot was made."""
        return self._home.copy()

    def getTimeToEnd(self) -> float:
        """Return the time until the motion ends [s]; negative since it has ended."""
        return self._simulation.getTimeToSplineEnd()

    def getKeyPressed(self) -> int:
        """Return 0, because there are no keys."""
        return 0

    # -- motions -----------------------------------------------------------------

    def move(
        self,
        path: MatrixLike,
        times: VectorLike,
        overwrite: bool = False,
        overwriteCtrlTime: float = -1.0,
    ) -> None:
        """Move along a spline, when the motion before has ended.

        Args:
            path: control points (k, n).
            times: their times [s] (k,), or one number T; then points are T/(k - 1)
                apart, and the first of them, too, as in rai.
            overwrite: whether to leave the motion before now, without a jump.
            overwriteCtrlTime: ignored; the motion before is left now.
        """
        points, delays = np.atleast_2d(path), np.ravel(np.asarray(times, float))
        count = len(points)
        if len(delays) == 1:
            delays = delays * np.arange(1, count + 1) / max(count - 1, 1)
        self._simulation.setSplineRef(points, delays, append=not overwrite)

    def moveTo(
        self, q_target: VectorLike, timeCost: float = 1.0, overwrite: bool = False
    ) -> None:
        """Move to a joint state, when the motion before has ended.

        Args:
            q_target: the joint state (n,).
            timeCost: cost of a second beside that of squared accelerations; the larger
                it is, the faster is the motion.
            overwrite: see `move`.
        """
        start = self.get_q() if overwrite else self._simulation.spline_end
        distance = np.linalg.norm(np.ravel(q_target) - start)
        duration = max(math.sqrt(6 * distance / timeCost), SIMULATION_STEP)
        self.move(np.reshape(q_target, (1, -1)), [duration], overwrite)

    def moveAutoTimed(
        self, path: MatrixLike, maxVel: float = 1.0, maxAcc: float = 1.0
    ) -> None:
        """Move along a fine path as fast as the limits allow.

        Args:
            path: control points (k, n), at least 16.
            maxVel: largest speed of a joint [1/s].
            maxAcc: largest acceleration of a joint [1/s²].

        Raises:
            ConfigError: for fewer points.
        """
        points = np.asarray(path, float)
        if len(points) < MIN_SMOOTH_POINTS:
            raise pw.ConfigError(
                f"moveAutoTimed: path has {len(points)} points, expected at least"
                f" {MIN_SMOOTH_POINTS} of a smooth path; use move with times."
            )
        speed = abs(np.diff(points, axis=0)).max() / maxVel
        bend = abs(np.diff(points, 2, axis=0)).max() / maxAcc
        self.move(points, [max(speed, math.sqrt(bend)) * len(points)])

    def home(self, C: Config) -> None:
        """Move home at once, and wait."""
        self.moveTo(self._home, 1.0, True)
        self.wait(C)

    def stop(self, C: Config) -> None:
        """Come to rest at once, and wait."""
        self.moveTo(self.get_q(), 1.0, True)
        self.wait(C)

    def hold(self) -> None:
        """Stay where the joints are, and forget the motion."""
        self._simulation.resetSplineRef()

    # -- time --------------------------------------------------------------------

    def sync(self, C: Config, waitTime: float = 0.1, viewMsg: str = "") -> int:
        """Let time pass, and put the workspace in the state of the robot.

        Args:
            C: the workspace; bodies and fingers that are in it follow, too.
            waitTime: the time [s].
            viewMsg: shown in the view.

        Returns:
            0, because there are no keys.
        """
        self._simulation.multi_step(waitTime, SIMULATION_STEP)
        self._simulation.copy_state_to(C)
        C.view(False, viewMsg)
        return 0

    def wait(
        self,
        C: Config,
        forKeyPressed: bool = True,
        forTimeToEnd: bool = True,
        forGripper: bool = False,
        syncFrequency: float = 0.05,
    ) -> int:
        """Let time pass until the motion, or that of grippers, has ended; return 0.

        Args:
            C: the workspace, see `sync`.
            forKeyPressed: ignored, because there are no keys.
            forTimeToEnd: whether to wait for the motion.
            forGripper: whether to wait for grippers that were told to move.
            syncFrequency: time between two looks [s].
        """
        while True:
            self.sync(C, syncFrequency)
            moves = forTimeToEnd and self.getTimeToEnd() > 0
            closes = forGripper and not all(map(self.gripperDone, self._told))
            if not moves and not closes:
                return 0

    # -- grippers ----------------------------------------------------------------

    def gripperMove(self, id: Enum, width: float = 0.075, speed: float = 0.2) -> None:
        """Move a gripper, `_left` or `_right`, during the next syncs.

        Args:
            id: the gripper.
            width: see `Simulation.moveGripper`.
            speed: [m/s].
        """
        self._simulation.moveGripper(GRIPPERS[id], width, speed)
        self._told.add(id)

    def gripperClose(
        self, id: Enum, force: float = 10.0, width: float = 0.05, speed: float = 0.1
    ) -> None:
        """Close a gripper until it holds something; force and width are ignored."""
        self.gripperMove(id, 0.0, speed)

    def gripperCloseGrasp(
        self,
        id: Enum,
        objName: str,
        force: float = 10.0,
        width: float = 0.05,
        speed: float = 0.1,
    ) -> None:
        """Close a gripper; only contacts hold the object."""
        self.gripperMove(id, 0.0, speed)

    def gripperDone(self, id: Enum) -> bool:
        """Return whether a gripper stands at its width, holds something, or was never
        told to move."""
        return id not in self._told or self._simulation.gripperIsDone(GRIPPERS[id])

    def getGripperPos(self, id: Enum) -> float:
        """Return the joint value of the leading finger [m]."""
        return self._simulation.getGripperWidth(GRIPPERS[id])

    # -- cameras -----------------------------------------------------------------

    def _camera(self, sensorName: str) -> CameraView:
        view, frame = CameraView(self._config), self._config.getFrame(sensorName)
        if frame is None:
            raise pw.ConfigError(f"The robot has no camera frame {sensorName!r}.")
        view.setCamera(frame)
        return view

    def getCameraFxycxy(self, sensorName: str) -> np.ndarray:
        """Return focal lengths and centre (4,) of a camera [pixels]."""
        return self._camera(sensorName).getFxycxy()

    def getImage(self, sensorName: str) -> np.ndarray:
        """Return colors (h, w, 3), 0 to 255, of a camera."""
        return self.getImageAndDepth(sensorName)[0]

    def getImageAndDepth(self, sensorName: str) -> tuple[np.ndarray, np.ndarray]:
        """Return colors (h, w, 3), 0 to 255, and depths (h, w) [m] of a camera."""
        return self._camera(sensorName).computeImageAndDepth(self._config)

    def getImageDepthPcl(
        self, sensorName: str, globalCoordinates: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return colors, depths and points (h, w, 3) [m] of a camera.

        Args:
            sensorName: frame with a camera's attributes.
            globalCoordinates: whether points are in the world, not in the camera.
        """
        image, depth = self.getImageAndDepth(sensorName)
        points = depthImage2PointCloud(depth, self.getCameraFxycxy(sensorName))
        if globalCoordinates:
            pose = self._config.C.pose(sensorName)
            points = points @ np.asarray(quat_to_matrix(pose[3:])).T + pose[:3]
        return image, depth, points

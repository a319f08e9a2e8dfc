"""Planning problems of MoveIt: a scene with a robot, and a request."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from posewise.features import FS
from posewise.robots.config import Config
from posewise.robots.errors import LoadError, first_few
from posewise.robots.loaders.dispatch import Packages
from posewise.robots.typing import StrPath

from ..komo import KOMO
from ..templates import setup_motion
from ..terms.objective import OT
from .files import read_message, read_messages
from .goals import Goal, put_helpers, read_goal
from .messages import Message
from .scene import PlanningScene
from .scene_world import write_scene


@dataclass(frozen=True, eq=False)
class MoveItProblem:
    """A world, and the constraints of a request on a path in it."""

    world: Config
    """Robot, objects and frames of constraints, in the state at the start."""
    goals: tuple[Goal, ...] = ()
    """Constraints on the last slice, of which one must hold."""
    path_constraints: Goal | None = None
    """Constraints on all slices."""

    def komo(self, slices: int = 32, *, margin: float = 0.0, goal: int = 0) -> KOMO:
        """Return the path problem of the request: accelerate little, end at rest.

        Frames that can collide keep a margin on the whole path. Where the goal sets all
        moving joints, the initial path leads straight there.

        Args:
            slices: number of slices.
            margin: [m].
            goal: which of `goals` holds at the end.

        Raises:
            ObjectiveError: without moving joints.
            LoadError: without this goal.
        """
        if not 0 <= goal < max(len(self.goals), 1):
            raise LoadError(
                f"goal is {goal}, expected one of 0 to {len(self.goals) - 1}."
            )
        komo = setup_motion(self.world, 1, slices, collisions=False)
        if self.world.pairs.names():
            komo.avoid_collisions(margin)
        if self.path_constraints is not None:
            for feature, kind in self.path_constraints.features:
                komo.add_objective(None, feature, type=kind)
        if self.goals:
            for feature, kind in self.goals[goal].features:
                komo.add_objective([1.0], feature, type=kind)
            komo.initialize_waypoints(self._end(self.goals[goal])[None])
        return komo

    def _end(self, goal: Goal) -> Float[np.ndarray, " nq"]:
        """Return the state at the start, with the joint values that a goal sets."""
        C = self.world.copy()
        for feature, kind in goal.features:
            is_joint = feature.symbol is FS.qItself.symbol and kind is OT.eq
            if is_joint and feature.target is not None:
                C.set_joint(feature.frames[0], float(feature.target[0]))
        return C.q


def load_moveit(
    scene: StrPath,
    request: StrPath | None = None,
    robot: StrPath | Config | None = None,
    *,
    srdf: StrPath | None = None,
    packages: Packages | None = None,
) -> MoveItProblem:
    """Return the planning problem in files of MoveIt.

    A scene is a `PlanningScene`, `PlanningSceneWorld`, `CollisionObject` or
    `AttachedCollisionObject` as YAML or JSON, or several of them, which change the
    scene one by one as in MoveIt; or the text of a `.scene` file. A request is a
    `MotionPlanRequest`. They do not contain the robot. Objects become fixed objects of
    the world; what a link carries is attached to it.
    With a request, only the joints that its goals concern move. What is not read costs
    one warning.

    Args:
        scene: the file of the scene.
        request: the file of the request; None: the scene alone.
        robot: the file of the robot, e.g. a URDF, or a world with it, which is copied;
            None: the objects alone.
        srdf: the file with the pairs of links that may touch.
        packages: see `Config.add_file`; for the SRDF as well, which may be xacro.

    Raises:
        LoadError: for files that cannot be read; names the place.
        ConfigError: for what does not fit the world.
        ImportError: for YAML without pyyaml; names the extra.
    """
    C = _world(robot, packages)
    if srdf is not None:
        C.pairs.read_srdf(srdf, packages=packages)
    skipped: list[str] = []
    messages = read_messages(_path("scene", scene))
    planning_scene = PlanningScene(C, skipped)
    for message in messages:
        planning_scene.apply(message)
    problem = MoveItProblem(C)
    if request is None:
        write_scene(planning_scene, C)
    else:
        motion_request = read_message(_path("request", request))
        messages.append(motion_request)
        problem = _with_request(planning_scene, motion_request)
    _warn(messages, skipped)
    return problem


def _world(robot: StrPath | Config | None, packages: Packages | None) -> Config:
    if isinstance(robot, Config):
        return robot.copy()
    C = Config()
    if robot is not None:
        C.add_file(robot, packages=packages)
    return C


def _path(argument: str, file: StrPath) -> Path:
    if not isinstance(file, str | os.PathLike):
        raise LoadError(f"{argument} is {file!r}, expected the path of a file.")
    return Path(file)


def _with_request(scene: PlanningScene, message: Message) -> MoveItProblem:
    """Return the problem of a `MotionPlanRequest`, or of a message that holds one."""
    C, skipped = scene.robot, scene.skipped
    if "motion_plan_request" in message.fields:
        message = message.message("motion_plan_request")
    scene.apply_start_state(message.message("start_state"))
    write_scene(scene, C)
    goals = [
        read_goal(C, constraints, f"goal {k}", skipped)
        for k, constraints in enumerate(message.messages("goal_constraints"))
    ]
    along = read_goal(C, message.message("path_constraints"), "path", skipped)
    if not any(goal.features for goal in goals):
        skipped.append("a goal: the request has none that can be used")
    for goal in (*goals, along):
        put_helpers(scene, goal)
    joints = dict.fromkeys(name for goal in (*goals, along) for name in goal.joints)
    if joints:
        C.joints.select(list(joints))
    return MoveItProblem(C, tuple(goals), along if along.features else None)


def _warn(messages: list[Message], skipped: list[str]) -> None:
    """Warn once of all that was not read."""
    unread = [f"{m.file.name}: {key}" for m in messages for key in m.unread()]
    if notes := [*skipped, *unread]:
        warnings.warn(
            f"{messages[0].file}: not used as written: {first_few(notes, '; ', 6)}.",
            UserWarning,
            stacklevel=3,
        )

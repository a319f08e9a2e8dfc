"""Planning scenes of MoveIt: messages that add, move, attach and remove objects.

The rules are those of MoveIt's `PlanningScene`: messages change the scene one by one,
and what it cannot do is skipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import first_few
from posewise.robots.kinematics.transforms import pose_inverse, pose_multiply

from .collision_matrix import CollisionMatrix, read_matrix
from .messages import Message
from .object_messages import (
    has_shapes,
    is_identity,
    mark_read,
    operation_of,
    posed_shapes,
    shape_poses,
    subframes_of,
)
from .robot_state import set_state
from .shapes import IDENTITY, SceneShape

WORLD_FRAMES = ("", "world", "map", "odom")
"""Names of frames that are the world if nothing else has that name."""


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object of a scene, in the world or carried by a link."""

    pose: Float[np.ndarray, "7"]
    """In the world, or in the link."""
    shapes: tuple[SceneShape, ...]
    subframes: Mapping[str, Float[np.ndarray, "7"]]
    """Poses in the object, by name."""
    link: str | None = None
    touch_links: frozenset[str] = frozenset()
    """Names of what an object that is carried may touch besides the link."""


@dataclass(eq=False)
class PlanningScene:
    """A planning scene of a robot, as messages left it."""

    robot: Config
    """The world with the robot, whose joints are set."""
    skipped: list[str]
    """Gets a phrase for each part of a message that cannot be used."""
    objects: dict[str, SceneObject] = field(default_factory=dict)
    carried: dict[str, SceneObject] = field(default_factory=dict)
    fixed_frames: dict[str, Float[np.ndarray, "7"]] = field(default_factory=dict)
    colors: dict[str, tuple[float, ...]] = field(default_factory=dict)
    matrix: CollisionMatrix = field(default_factory=CollisionMatrix)

    def apply(self, message: Message) -> None:
        """Change the scene by a message.

        Args:
            message: a `PlanningScene`, a `PlanningSceneWorld`, a `CollisionObject` or
                an `AttachedCollisionObject`.
        """
        keys = message.fields.keys()
        if "object" in keys:
            self._apply_attached(message)
        elif "id" in keys and not keys & {"world", "collision_objects", "robot_state"}:
            self._apply_object(message)
        elif "collision_objects" in keys and keys <= {"collision_objects", "octomap"}:
            self._apply_world(message)
        else:
            self._apply_scene(message)

    def frame_pose(self, name: str) -> Float[np.ndarray, "7"] | None:
        """Return the pose in the world of the frame of a header; None if unknown."""
        name = name.lstrip("/")
        if name in self.robot.frame_names:
            return self.robot.pose(name)
        for objects in (self.carried, self.objects):
            for id, obj in objects.items():
                if name == id:
                    return self._world_pose(obj)
                sub = name.removeprefix(f"{id}/")
                if sub != name and sub in obj.subframes:
                    return pose_multiply(self._world_pose(obj), obj.subframes[sub])
        if name in self.fixed_frames:
            return self.fixed_frames[name]
        return IDENTITY if name in WORLD_FRAMES else None

    def _world_pose(self, obj: SceneObject) -> Float[np.ndarray, "7"]:
        if obj.link is None:
            return obj.pose
        return pose_multiply(self.robot.pose(obj.link), obj.pose)

    # -- messages ----------------------------------------------------------------------

    def _apply_scene(self, scene: Message) -> None:
        is_diff = bool(scene.value("is_diff", False))
        frames = {
            stamped.text("child_frame_id"): stamped.message("transform").pose(
                "translation", "rotation"
            )
            for stamped in scene.messages("fixed_frame_transforms")
        }
        if frames or not is_diff:
            self.fixed_frames = frames
        self._apply_state(scene.message("robot_state"))
        matrix = scene.message("allowed_collision_matrix")
        if matrix.names("entry_names") or not is_diff:
            self.matrix = read_matrix(matrix)
        if not is_diff:
            self.objects, self.colors = {}, {}
        for entry in scene.messages("object_colors"):
            rgba = entry.vector("color", "rgba")
            if rgba.any():
                self.colors[entry.text("id")] = tuple(np.clip(rgba, 0.0, 1.0).tolist())
        self._apply_world(scene.message("world") if "world" in scene.fields else scene)
        for what, neutral in (("padding", 0.0), ("scale", 1.0)):
            entries = scene.messages(f"link_{what}")
            names = [e.text("link_name") for e in entries if e.number(what) != neutral]
            if names:
                self.skipped.append(f"link_{what} of {first_few(names)} (use a margin)")

    def _apply_world(self, world: Message) -> None:
        for obj in world.messages("collision_objects"):
            self._apply_object(obj)
        octomap = world.value("octomap", {})
        if isinstance(octomap, dict) and (octomap.get("octomap") or {}).get("data"):
            self.skipped.append("world.octomap (give its cells as a PointCloud)")

    def _apply_state(self, state: Message) -> None:
        is_diff = bool(state.value("is_diff", False))
        joints = state.message("joint_state").names("name")
        joints += state.message("multi_dof_joint_state").names("joint_names")
        if joints and not is_diff:
            self.carried.clear()
        self.apply_start_state(state)

    def apply_start_state(self, state: Message) -> None:
        """Set the joints of the robot, and attach objects to it; see `RobotState`.

        What it carries already stays.
        """
        set_state(self.robot, state, self.skipped)
        for attached in state.messages("attached_collision_objects"):
            operation = operation_of(obj := attached.message("object"))
            if operation != "ADD" and not state.value("is_diff", False):
                self.skipped.append(
                    f"{operation} of attached object {obj.text('id')!r} (only if its"
                    " robot_state has is_diff: true)"
                )
                mark_read(attached)
            else:
                self._apply_attached(attached)

    # -- objects of the world ----------------------------------------------------------

    def _apply_object(self, obj: Message) -> None:
        operation, id = operation_of(obj), obj.text("id")
        if operation == "REMOVE":
            mark_read(obj)
            if id and id not in self.objects:
                self.skipped.append(f"REMOVE of object {id!r}, which is not there")
            for name in [id] if id else [*self.objects]:
                self._remove(name)
        elif operation == "MOVE":
            self._move(id, obj)
        else:
            self._add(id, obj, operation)

    def _remove(self, id: str) -> None:
        if self.objects.pop(id, None) is not None:
            self.colors.pop(id, None)
            self.matrix = self.matrix.without(id)

    def _add(self, id: str, obj: Message, operation: str) -> None:
        frame = self._header_pose(obj, f"object {id!r}")
        if frame is None:
            return
        if not has_shapes(obj):
            self._skip_without_shapes(obj)
            return
        if operation == "ADD":
            self.objects.pop(id, None)
        if (posed := posed_shapes(obj, self.skipped)) is None:
            return
        pose, shapes = posed
        if not shapes:
            return
        present = self.objects.get(id)
        if present is None:
            present = SceneObject(pose_multiply(frame, pose), (), {})
        self.objects[id] = replace(
            present, shapes=(*present.shapes, *shapes), subframes=subframes_of(obj)
        )

    def _move(self, id: str, obj: Message) -> None:
        if id not in self.objects:
            self.skipped.append(f"MOVE of object {id!r}, which is not there")
            return
        frame = self._header_pose(obj, f"MOVE of object {id!r}")
        if frame is None:
            return
        present = self.objects[id]
        pose = pose_multiply(frame, obj.message("pose").pose())
        poses = shape_poses(obj)
        shapes = present.shapes
        if poses and len(poses) != len(shapes):
            self.skipped.append(
                f"poses of shapes in MOVE of object {id!r}: {len(poses)}, but it has"
                f" {len(shapes)} shapes"
            )
        elif poses:
            moved = zip(shapes, poses, strict=True)
            shapes = tuple(shape._replace(pose=pose) for shape, pose in moved)
        self.objects[id] = replace(present, pose=pose, shapes=shapes)

    # -- objects that links carry ------------------------------------------------------

    def _apply_attached(self, attached: Message) -> None:
        obj, link = attached.message("object"), attached.text("link_name")
        operation, id = operation_of(obj), obj.text("id")
        if operation == "REMOVE":
            mark_read(attached)
            self._detach(id, link)
        elif operation == "MOVE":
            self.skipped.append(f"MOVE of attached object {id!r}, which MoveIt lacks")
            mark_read(attached)
        elif link not in self.robot.frame_names:
            self.skipped.append(f"object {id!r}, attached to unknown link {link!r}")
        else:
            self._attach(id, link, attached, operation)

    def _attach(self, id: str, link: str, attached: Message, operation: str) -> None:
        obj = attached.message("object")
        touch_links = frozenset(attached.names("touch_links"))
        inverse = pose_inverse(self.robot.pose(link))
        if operation == "ADD" and not has_shapes(obj):
            present = self.objects.get(id)
            if present is None:
                self._skip_without_shapes(obj)
                return
            pose = pose_multiply(inverse, present.pose)
            shapes, subframes = present.shapes, present.subframes
        else:
            frame = self._header_pose(obj, f"object {id!r}")
            if frame is None or (posed := posed_shapes(obj, self.skipped)) is None:
                return
            pose, shapes = posed
            pose = pose_multiply(inverse, pose_multiply(frame, pose))
            subframes = subframes_of(obj)
            if not shapes:
                self._skip_without_shapes(obj)
                return
        self.objects.pop(id, None)
        carried = self.carried.get(id)
        if operation == "APPEND" and carried is not None:
            if is_identity(obj.message("pose").pose()):
                pose = carried.pose
            shapes = (*shapes, *carried.shapes)
            subframes = {**carried.subframes, **subframes}
            touch_links |= carried.touch_links
        self.carried[id] = SceneObject(pose, shapes, subframes, link, touch_links)

    def _detach(self, id: str, link: str) -> None:
        """Put what is carried into the world, unless an object there has its name."""
        if id and id not in self.carried:
            self.skipped.append(f"REMOVE of attached object {id!r}, which is not there")
        elif id and link and self.carried[id].link != link:
            self.skipped.append(
                f"REMOVE of object {id!r} from {link!r}: it is attached to"
                f" {self.carried[id].link!r}"
            )
        else:
            all_links = link not in self.robot.frame_names
            names = [n for n, o in self.carried.items() if all_links or o.link == link]
            for name in [id] if id else names:
                obj = self.carried.pop(name)
                loose = replace(
                    obj,
                    pose=self._world_pose(obj),
                    link=None,
                    touch_links=frozenset(),
                )
                self.objects.setdefault(name, loose)

    # -- parts of messages -------------------------------------------------------------

    def _header_pose(self, obj: Message, label: str) -> Float[np.ndarray, "7"] | None:
        name = obj.message("header").text("frame_id")
        pose = self.frame_pose(name)
        if pose is None:
            self.skipped.append(f"{label} (unknown frame {name.lstrip('/')!r})")
            mark_read(obj)
        return pose

    def _skip_without_shapes(self, obj: Message) -> None:
        kind = obj.message("type").text("key")
        what = f" of the type {kind!r} of a database" if kind else ""
        self.skipped.append(f"object {obj.text('id')!r}{what}, which has no shapes")
        mark_read(obj)

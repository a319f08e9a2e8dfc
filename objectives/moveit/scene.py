"""Planning scenes of MoveIt, added to a world: state, objects, what may touch."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, first_few
from posewise.robots.kinematics.transforms import pose_multiply

from .messages import Message
from .shapes import IDENTITY, read_shapes

REMOVE = (1, "1", "REMOVE")
"""Operation of an object that is to be removed."""


def add_scene(C: Config, scene: Message, skipped: list[str]) -> None:
    """Add the content of a `moveit_msgs/PlanningScene` to a world.

    Args:
        C: the world with its robot.
        scene: the message; one of a `PlanningSceneWorld` too.
        skipped: gets a phrase for each part that cannot be used.
    """
    set_state(C, scene.message("robot_state"), skipped)
    frames = _fixed_frames(scene)
    world = scene.message("world") if "world" in scene.fields else scene
    renamed: dict[str, str] = {}
    for obj in world.messages("collision_objects"):
        _add_object(C, obj, frames, renamed, skipped)
    octomap = world.value("octomap", {})
    if isinstance(octomap, dict) and (octomap.get("octomap") or {}).get("data"):
        skipped.append("world.octomap (give its cells as a PointCloud)")
    for attached in scene.message("robot_state").messages("attached_collision_objects"):
        _attach(C, attached, frames, renamed, skipped)
    _allow_contacts(C, scene.message("allowed_collision_matrix"), renamed, skipped)
    _set_colors(C, scene, renamed)
    for what, neutral in (("padding", 0.0), ("scale", 1.0)):
        entries = scene.messages(f"link_{what}")
        names = [e.text("link_name") for e in entries if e.number(what) != neutral]
        if names:
            skipped.append(f"link_{what} of {first_few(names)} (use a margin)")


def set_state(C: Config, state: Message, skipped: list[str]) -> None:
    """Set the joints of a `RobotState`; followers keep to their leaders."""
    joints = state.message("joint_state")
    names, values = joints.names("name"), joints.numbers("position").reshape(-1)
    if len(values) != len(names):
        raise joints.fail("position", f"{len(names)} numbers, one for each name")
    by_name = {f.joint.name: f.joint for f in C.frames if f.joint is not None}
    unknown = []
    for name, value in zip(names, values.tolist(), strict=True):
        joint = by_name.get(name)
        if joint is None or joint.dim != 1:
            unknown.append(name)
        elif joint.mimic is None:
            C.set_joint(name, value)
    if unknown and by_name:
        skipped.append(f"values of joints that the world lacks: {', '.join(unknown)}")
    multi = state.message("multi_dof_joint_state")
    for name, transform in zip(
        multi.names("joint_names"), multi.messages("transforms"), strict=False
    ):
        pose = transform.pose("translation", "rotation")
        joint = by_name.get(name)
        if joint is not None and joint.type in ("free", "floating"):
            C.set_joint(name, pose)
        elif not np.allclose(pose, IDENTITY):
            skipped.append(
                f"the pose of joint {name!r}; add the robot on a free joint, or at that"
                " pose"
            )


def _fixed_frames(scene: Message) -> dict[str, Float[np.ndarray, "7"]]:
    """Return the poses in the world of frames that a scene defines."""
    frames = {}
    for stamped in scene.messages("fixed_frame_transforms"):
        name = stamped.text("child_frame_id")
        frames[name] = stamped.message("transform").pose("translation", "rotation")
    return frames


def _frame_pose(
    C: Config, obj: Message, frames: dict[str, Float[np.ndarray, "7"]]
) -> Float[np.ndarray, "7"]:
    """Return the pose in the world of the frame that a message's header names."""
    name = obj.message("header").text("frame_id").lstrip("/")
    if name in C.frame_names:
        return C.pose(name)
    if name in frames:
        return frames[name]
    if name in ("", "world", "map", "odom"):
        return IDENTITY
    raise ConfigError(f"unknown frame {name!r}")


def _add_object(
    C: Config,
    obj: Message,
    frames: dict[str, Float[np.ndarray, "7"]],
    renamed: dict[str, str],
    skipped: list[str],
) -> str | None:
    """Add a collision object; return its name in the world, None if it is not added."""
    name = obj.text("id")
    if obj.value("operation", 0) in REMOVE:
        return None
    kind = obj.message("type").text("key")
    parts = [*read_shapes(obj, skipped)]
    if not parts:
        what = f" of the type {kind!r} of a database" if kind else ""
        skipped.append(f"object {name!r}{what}, which has no shapes")
        return None
    try:
        place = _frame_pose(C, obj, frames)
    except ConfigError as error:
        skipped.append(f"object {name!r} ({error})")
        return None
    own = name
    while own in C.frame_names or not own or own == "world":
        own = f"{own}_object"
    if own != name:
        skipped.append(f"the name of object {name!r}, which is {own!r} here")
    renamed[name] = own
    pose = pose_multiply(place, obj.message("pose").pose())
    if len(parts) == 1 and not obj.fields.get("pose"):
        # As in MoveIt, an object without a pose has that of its only shape.
        ((shape, offset),) = parts
        parts, pose = [(shape, IDENTITY)], pose_multiply(pose, offset)
    C.add_object(own, parts, pose=pose)
    poses = [m.pose() for m in obj.messages("subframe_poses")]
    for sub, pose in zip(obj.names("subframe_names"), poses, strict=False):
        C.add_frame(f"{own}/{sub}", own, pose=pose)
    return own


def _attach(
    C: Config,
    attached: Message,
    frames: dict[str, Float[np.ndarray, "7"]],
    renamed: dict[str, str],
    skipped: list[str],
) -> None:
    """Add what a link carries, and let it touch the links that may."""
    link, obj = attached.text("link_name"), attached.message("object")
    if link not in C.frame_names:
        skipped.append(f"object {obj.text('id')!r}, attached to unknown link {link!r}")
        return
    present = renamed.get(obj.text("id"))
    name = present or _add_object(C, obj, frames, renamed, skipped)
    if name is None:
        return
    C.attach(link, name)
    # What the hand and its fingers may touch ends when it is released; what the file
    # adds to that is for good.
    touching = {link, *attached.names("touch_links")}
    for a, b in C.collision_pairs():
        if name in (a, b) and touching & {a, b}:
            C.ignore_collisions(a, b)


def _allow_contacts(
    C: Config, matrix: Message, renamed: dict[str, str], skipped: list[str]
) -> None:
    """Exclude the pairs that an `AllowedCollisionMatrix` allows to touch."""
    names = matrix.names("entry_names")
    rows = [
        row.get("enabled", []) if isinstance(row, dict) else row
        for row in matrix.value("entry_values", [])
    ]
    if len(rows) != len(names) or any(
        not isinstance(row, list) or len(row) != len(names) for row in rows
    ):
        raise matrix.fail("entry_values", f"{len(names)} rows of {len(names)} entries")
    frames = {*C.frame_names}
    own = [renamed.get(name, name) for name in names]
    unknown = sorted({name for name in own if name not in frames} - {""})
    for i, j in zip(*np.triu_indices(len(own), 1), strict=True):
        if rows[i][j] and own[i] in frames and own[j] in frames:
            C.ignore_collisions(own[i], own[j])
    stated = {*own}
    defaults = zip(
        matrix.names("default_entry_names"),
        matrix.value("default_entry_values", []),
        strict=False,
    )
    for name, allowed in defaults:
        name = renamed.get(name, name)
        if allowed and name in frames:
            for other in _solid(C):
                if other != name and not (name in stated and other in stated):
                    C.ignore_collisions(name, other)
    if unknown and len(unknown) < len(own):
        shown = ", ".join(unknown[:4]) + (", …" if len(unknown) > 4 else "")
        skipped.append(f"allowed collisions of what the world lacks: {shown}")


def _solid(C: Config) -> Iterator[str]:
    return (f.name for f in C.frames if f.contact and f.geometries)


def _set_colors(C: Config, scene: Message, renamed: dict[str, str]) -> None:
    for entry in scene.messages("object_colors"):
        name = renamed.get(entry.text("id"))
        rgba = entry.value("color", {})
        if isinstance(rgba, dict):
            rgba = [rgba.get(k, 0.0) for k in "rgba"]
        if name is not None and len(rgba) == 4 and any(rgba):
            C.set_color(name, tuple(np.clip(rgba, 0.0, 1.0).tolist()))

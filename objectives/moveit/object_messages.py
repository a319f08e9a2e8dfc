"""Messages of MoveIt about one object: its operation, shapes and subframes."""

import numpy as np
from jaxtyping import Float

from .messages import Message
from .shapes import IDENTITY, SHAPE_KEYS, SceneShape, read_shapes

OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")
"""Operations of `moveit_msgs/CollisionObject`, in the order of their numbers."""


def operation_of(obj: Message) -> str:
    """Return the name of the operation of a `CollisionObject`.

    Raises:
        LoadError: for an unknown one.
    """
    value = obj.value("operation", 0)
    if isinstance(value, str) and len(value) == 1 and ord(value) < len(OPERATIONS):
        # ROS 2 writes a byte as the character of that number.
        value = ord(value)
    name = str(value).upper()
    if name.isdecimal() and int(name) < len(OPERATIONS):
        return OPERATIONS[int(name)]
    if name not in OPERATIONS:
        known = ", ".join(f"{name} ({k})" for k, name in enumerate(OPERATIONS))
        raise obj.fail("operation", f"one of {known}")
    return name


def posed_shapes(
    obj: Message, skipped: list[str]
) -> tuple[Float[np.ndarray, "7"], tuple[SceneShape, ...]] | None:
    """Return the pose of an object in the frame of its header, and its shapes.

    Args:
        obj: a `CollisionObject`.
        skipped: gets a phrase for what cannot be used.

    Returns:
        None if the message has more poses than shapes.
    """
    count = 0
    for kind, key in SHAPE_KEYS.items():
        shapes, poses = obj.messages(key), obj.messages(f"{kind}_poses")
        if len(poses) > len(shapes):
            skipped.append(
                f"object {obj.text('id')!r}, which has more {kind}_poses than {key}"
            )
            return None
        count += len(shapes)
    pose, parts = obj.message("pose").pose(), tuple(read_shapes(obj, skipped))
    if count == 1 and parts and is_identity(pose):
        # An object without a pose has that of its only shape.
        pose = parts[0].pose
        parts = (parts[0]._replace(pose=IDENTITY),)
    return pose, parts


def shape_poses(obj: Message) -> list[Float[np.ndarray, "7"]]:
    """Return the poses of the shapes of an object, in the order of its shapes."""
    return [m.pose() for kind in SHAPE_KEYS for m in obj.messages(f"{kind}_poses")]


def has_shapes(obj: Message) -> bool:
    """Return whether a `CollisionObject` has shapes."""
    return any(obj.messages(key) for key in SHAPE_KEYS.values())


def is_identity(pose: Float[np.ndarray, "7"]) -> bool:
    """Return whether a pose is the one of a message in which none is set."""
    return bool(np.array_equal(pose, IDENTITY))


def subframes_of(obj: Message) -> dict[str, Float[np.ndarray, "7"]]:
    """Return the poses of the subframes of a `CollisionObject`, by name."""
    poses = [m.pose() for m in obj.messages("subframe_poses")]
    return dict(zip(obj.names("subframe_names"), poses, strict=False))


def mark_read(message: Message) -> None:
    """Count all keys of a message as read, because they do not matter."""
    message.read |= message.fields.keys()
    message.inside.clear()

"""Arguments of queries: targets, names, cameras and poses."""

from dataclasses import fields
from typing import TypeAlias

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.transforms import matrix_to_quat, quat_to_matrix
from posewise.robots.typing import FrameName, PoseLike, VectorLike
from posewise.robots.world.argument_parsing import finite_vector, parse_pose

from ..errors import PredicateError
from ..formulas.predicate import Predicate

Target: TypeAlias = FrameName | VectorLike
"""An object or frame, a position (3,) or a pose (7,) in the world."""


def check_names(query: Predicate) -> None:
    """Check that positional fields, and `by` if it is given, are names.

    Raises:
        PredicateError: when one is not.
    """
    for f in fields(query):  # type: ignore[arg-type]
        value = getattr(query, f.name)
        if f.kw_only and (f.name != "by" or value is None):
            continue
        check_name(f"{type(query).__name__}: {f.name}", value)


def check_name(label: str, value: object) -> None:
    """Raise a PredicateError unless the value is a name."""
    if not isinstance(value, str) or not value:
        raise PredicateError(f"{label} is {value!r}, expected a name, e.g. 'mug'.")


def with_camera(
    C: Config, camera: str | PoseLike, axis: VectorLike | None
) -> tuple[Config, str]:
    """Return the world and a camera's name; for a pose, a copy with a camera there.

    Args:
        C: the world.
        camera: a name, or a pose (7,) in the world.
        axis: axis (3,) of the pose that looks forward; None: x.

    Raises:
        PredicateError: for an axis of a named camera.
        ConfigError: when the pose or the axis is invalid.
    """
    if isinstance(camera, str):
        if axis is not None:
            raise PredicateError(
                f"front_facing_axis is {axis!r}, but {camera!r} is a camera, which"
                " looks along its x; give an axis with a pose only."
            )
        return C, camera
    pose = parse_pose("camera", None, None, camera)
    if axis is not None:
        forward = finite_vector("front_facing_axis", axis, 3)
        pose[3:] = _facing(pose[3:], forward)
    world = C.copy()
    name = "camera"
    while name in world.frame_names:
        name += "'"
    world.annotations.add_camera(name, pose=pose)
    return world, name


def _facing(quaternion: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return the orientation whose x is an axis of another, with y level if it can."""
    length = np.linalg.norm(axis)
    if length < 1e-9:
        raise ConfigError(
            f"front_facing_axis is {axis.tolist()}, expected a direction, e.g."
            " [1, 0, 0]."
        )
    x = quat_to_matrix(quaternion) @ (axis / length)
    level = np.cross([0.0, 0, 1], x)
    y = level if np.linalg.norm(level) > 1e-9 else np.array([0.0, 1, 0])
    y = y / np.linalg.norm(y)
    return matrix_to_quat(np.stack([x, y, np.cross(x, y)], -1))

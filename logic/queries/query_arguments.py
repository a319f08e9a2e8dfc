"""What queries are asked with: names, cameras, poses."""

from dataclasses import fields
from typing import Any

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.transforms import matrix_to_quat, quat_to_matrix
from posewise.robots.world.argument_parsing import finite_vector, parse_pose

from ..errors import PredicateError
from ..formulas.predicate import Predicate


def check_names(query: Predicate) -> None:
    """Positional fields, and `by` if it is given, must be names.

    Raises:
        PredicateError: for what is no name.
    """
    for f in fields(query):  # type: ignore[arg-type]
        value = getattr(query, f.name)
        if f.kw_only and (f.name != "by" or value is None):
            continue
        check_name(f"{type(query).__name__}: {f.name}", value)


def check_name(what: str, value: Any) -> None:
    """Raise a PredicateError unless the value is a name."""
    if not isinstance(value, str) or not value:
        raise PredicateError(f"{what} is {value!r}, expected a name, e.g. 'mug'.")


def with_camera(C: Config, camera: Any, axis: Any) -> tuple[Config, str]:
    """The world and a camera's name; for a pose, a copy with a camera there.

    Args:
        C: the world.
        camera: a name, or a pose (7,) in the world.
        axis: of a pose, the one that looks forward (3,), None: x.

    Raises:
        PredicateError: for an axis of a camera that has a name.
        ConfigError: for a pose or an axis that is none.
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
        pose[3:] = _facing(pose[3:], finite_vector("front_facing_axis", axis, 3))
    world = C.copy()
    name = "camera"
    while name in world.frame_names:
        name += "'"
    world.add_camera(name, pose=pose)
    return world, name


def _facing(quaternion: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Orientation whose x is an axis of the given one, and its y level, if it can."""
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

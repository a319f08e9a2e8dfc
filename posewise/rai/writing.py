"""Frames as dictionaries and as text of rai's graph files."""

from typing import Any

import numpy as np

import posewise as pw
from posewise.robots.world.frame import Frame, Joint
from posewise.robots.world.kinematics_builder import topological_order

_DERIVED = frozenset(
    "pose Q X origin joint axis limits q mimic mimic_index joint_scale joint_active"
    " shape size mesh color contact mass inertia".split()
)
"""Attributes that are written from the frame, as it is now."""


def frame_dict(
    C: pw.Config, name: str, joint_type: str, shape: str, size: list[float]
) -> dict[str, Any]:
    """Return what defines a frame, in rai's order and words.

    Args:
        C: the world.
        name: name of the frame.
        joint_type: rai's name of its joint's type.
        shape: rai's name of its shape's type.
        size: rai's sizes of its shape.
    """
    frame = C.frame(name)
    entries: dict[str, Any] = {}
    moves = frame.joint is not None and frame.joint.dim > 0
    if pose := _short_pose(frame.origin):
        # rai's joints have no constant part; its reader puts a frame before them.
        entries["origin" if moves else "pose"] = pose
    if frame.joint is not None:
        entries |= _joint_entries(C, frame.joint, joint_type)
    entries |= _shape_entries(frame, shape, size)
    if frame.contact:
        entries["contact"] = frame.contact
    if frame.mass:
        entries["mass"] = frame.mass
    if frame.inertia is not None:
        entries["inertia"] = np.diag(frame.inertia).tolist()
    others = {k: v for k, v in frame.attributes.items() if k not in _DERIVED}
    joint = frame.joint
    is_locked = joint is not None and not joint.active and joint.mimic is None
    return entries | others | ({"joint_active": False} if is_locked else {})


def world_dict(C: pw.Config, frames: dict[str, dict]) -> dict[str, dict]:
    """Return the entries of frames by `name(parent)`, parents first.

    Args:
        C: the world.
        frames: entries of each frame, by its name.
    """
    entries = {}
    for i in topological_order(C.frames):
        parent = C.frames[i].parent
        name = C.frames[i].name
        suffix = "" if parent is None else f"({C.frames[parent].name})"
        entries[name + suffix] = frames[name]
    return entries


def graph_text(entries: dict[str, dict]) -> str:
    """Return the text of a graph file with an entry on each line."""
    return "".join(f"{name}: {_text(entry)}\n" for name, entry in entries.items())


def yaml_text(entries: dict[str, dict], serial: bool) -> str:
    """Return entries as YAML, all of them on one line if `serial`."""
    if serial:
        return "{" + ", ".join(f"{k}: {_yaml(v)}" for k, v in entries.items()) + "}"
    return "".join(f"{name}: {_yaml(entry)}\n" for name, entry in entries.items())


def _short_pose(pose: np.ndarray) -> list[float]:
    """Return position, quaternion or both, without what is zero."""
    position, quaternion = pose[:3].tolist(), pose[3:].tolist()
    is_turned = not np.array_equal(quaternion, [1, 0, 0, 0])
    is_moved = bool(np.any(position))
    return position * is_moved + quaternion * is_turned


def _joint_entries(C: pw.Config, joint: Joint, type: str) -> dict[str, Any]:
    entries: dict[str, Any] = {"joint": type}
    factor = joint.scale if joint.mimic is None else joint.multiplier
    if factor != 1.0:
        entries["joint_scale"] = factor
    if joint.axis is not None and type == "hinge":
        entries["axis"] = np.asarray(joint.axis).tolist()
    if joint.limits is not None and np.isfinite(joint.limits).all():
        entries["limits"] = joint.limits.ravel().tolist()
    if joint.mimic is not None:
        return entries | {"mimic": joint.mimic}
    q = C.joints.value(joint.name) if joint.dim else np.zeros(0)
    return entries | ({"q": q.tolist()} if np.any(q) else {})


def _shape_entries(frame: Frame, shape: str, size: list[float]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    if isinstance(frame.shape, pw.Mesh):
        source = frame.shape.source
        is_file = not hasattr(source, "vertices")
        entries = {"mesh": f"<{source}>"} if is_file else {"shape": "mesh"}
    elif frame.shape is not None:
        entries = {"shape": shape, "size": size}
    color = frame.attributes.get("color")
    return entries | ({} if color is None or not entries else {"color": color})


def _text(value: Any) -> str:
    """Return a value in rai's graph language."""
    if isinstance(value, dict):
        parts = [_entry_text(k, v) for k, v in value.items()]
        return "{ " + ", ".join(parts) + " }" if parts else "{ }"
    if isinstance(value, list | tuple | np.ndarray):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, str):
        is_word = value.isidentifier() or value.startswith("<")
        return value if is_word else f'"{value}"'
    return repr(float(value)) if isinstance(value, np.floating) else repr(value)


def _entry_text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"{key}!"
    return f"{key}: {_text(value)}"


def _yaml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple | np.ndarray):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return str(value) if isinstance(value, bool | str) else _text(value)

"""Additions to a frame tree: single frames and whole models.

Every function returns a new tree, or raises and changes nothing.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ConfigError, unknown_name
from ..kinematics.joint_types import FREE_JOINTS, neutral_value
from ..kinematics.transforms import IDENTITY, pose_multiply
from ..typing import FrameName, JointTypeName, PoseLike, VectorLike
from .argument_parsing import parse_joint, parse_joint_value, parse_pose
from .frame import Frame, Joint, Model
from .frame_tree import FrameTree, joint_of


def add_frame(tree: FrameTree, frame: Frame, parent: FrameName | None) -> FrameTree:
    """Add a frame at the end.

    Args:
        tree: the tree.
        frame: its origin is the value of a free joint, unless that has one.
        parent: the frame it is attached to; None: none.

    Raises:
        ConfigError: for a name in use, an unknown parent, and a mimic that fits none.
    """
    name = frame.name
    if name in tree.model.first_index or name == "world" and tree.frames:
        raise ConfigError(f"A frame {name!r} exists already; choose another name.")
    joint, origin = _joint_and_origin(frame.joint, frame.origin)
    parent_index = tree.parent_index(parent)
    placed = replace(frame, parent=parent_index, origin=origin, joint=joint)
    return append_frames(tree, [placed])


def _joint_and_origin(
    joint: Joint | None, place: np.ndarray
) -> tuple[Joint | None, np.ndarray]:
    """Return a new joint with its value, and the constant origin before it.

    Args:
        joint: the joint, without a value where none is given.
        place: of the frame in its parent (7,).
    """
    if joint is None:
        return None, place
    value = neutral_value(joint.type)
    if joint.type in FREE_JOINTS and joint.mimic is None:
        value, place = place, IDENTITY.copy()
    return replace(joint, q=value if joint.q is None else joint.q), place


def append_frames(
    tree: FrameTree,
    frames: Sequence[Frame],
    values: Mapping[int, VectorLike] | None = None,
) -> FrameTree:
    """Add frames at the end.

    Args:
        tree: the tree.
        frames: their parents are indices into the new tree.
        values: coordinates by place in `frames`, where they differ from `Joint.q`.

    Raises:
        ConfigError: for frames in a circle, mimic joints and values that do not fit.
    """
    first = len(tree.frames)
    new_values = dict(tree.values)
    for k, frame in enumerate(frames):
        if frame.joint is not None and frame.joint.dim:
            start = frame.joint.q
            value = neutral_value(frame.joint.type) if start is None else start
            new_values[first + k] = np.array(value, float)
    for k, coordinates in ({} if values is None else values).items():
        new_values[first + k] = parse_joint_value(joint_of(frames[k]), coordinates)
    new = FrameTree.build((*tree.frames, *frames), new_values)
    # A single frame that mimics no joint always fits; leaving out the check keeps
    # worlds of many frames linear in their number.
    if len(frames) > 1 or any(f.joint and f.joint.mimic for f in frames):
        return new.checked()
    return new


def append_model(
    tree: FrameTree,
    model: Model,
    prefix: str,
    parent: FrameName | None,
    pose: PoseLike | None,
    joint: JointTypeName | None,
    *,
    duplicates: bool,
    source: str,
) -> FrameTree:
    """Add the frames of a model; see `Config.add_model`."""
    if not isinstance(model, Model):
        raise ConfigError(
            f"model is {type(model).__name__}, expected a Model; a Config's is its"
            " model()."
        )
    if not model.frames:
        raise ConfigError(f"{source} has no frames; nothing was added.")
    names = [prefix + f.name for f in model.frames]
    clash = [f.name for f in model.frames if prefix + f.name in tree.model.first_index]
    if clash and not duplicates:
        raise ConfigError(
            f"{source}: {len(clash)} frame names are in use already"
            f" ({', '.join(map(repr, clash[:4]))}); give a prefix, e.g. 'b_'."
        )
    root_pose = IDENTITY if pose is None else parse_pose(source, None, None, pose)
    root, first = tree.parent_index(parent), len(tree.frames)
    joint_names = _unique_joint_names(tree, model, prefix)
    leaders = _leaders(model)
    frames = []
    for i, frame in enumerate(model.frames):
        new_joint, up = frame.joint, frame.parent
        origin = np.asarray(frame.origin, float)
        if new_joint is not None:
            mimic = None if new_joint.mimic is None else joint_names[leaders[i]]
            new_joint = replace(new_joint, name=joint_names[i], mimic=mimic)
        if up is None:
            up, origin = root, pose_multiply(root_pose, origin)
            if joint is not None and new_joint is None:
                root_joint = parse_joint(names[i], joint)
                new_joint, origin = _joint_and_origin(root_joint, origin)
        else:
            up += first
        frames.append(
            replace(
                frame,
                name=names[i],
                joint=new_joint,
                parent=up,
                origin=origin,
                attributes=_lasting_attributes(frame),
                is_part_of_model=frame.parent is not None,
            )
        )
    return append_frames(tree, frames, model.q)


def _lasting_attributes(frame: Frame) -> dict[str, Any]:
    """Return attributes that stay true in a world, where indices are others."""
    if "mimic_index" not in frame.attributes:
        return frame.attributes
    return {k: v for k, v in frame.attributes.items() if k != "mimic_index"}


def _unique_joint_names(tree: FrameTree, model: Model, prefix: str) -> dict[int, str]:
    """Return names for a model's joints that no joint of the tree has."""
    used_names = {f.joint.name for f in tree.frames if f.joint is not None}
    names = {}
    for i, frame in enumerate(model.frames):
        if frame.joint is None:
            continue
        name = base = prefix + frame.joint.name
        for k in itertools.count(2):
            if name not in used_names:
                break
            name = f"{base}~{k}"
        used_names.add(name)
        names[i] = name
    return names


def _leaders(model: Model) -> dict[int, int]:
    """Return the frame that each mimicking frame follows: the last of that name.

    Raises:
        ConfigError: when there is none.
    """
    by_name = {f.joint.name: i for i, f in enumerate(model.frames) if f.joint}
    leaders = {}
    for i, frame in enumerate(model.frames):
        if frame.joint is not None and frame.joint.mimic is not None:
            if frame.joint.mimic not in by_name:
                raise ConfigError(
                    f"Joint {frame.joint.name!r} mimics {frame.joint.mimic!r}: "
                    + unknown_name("joint", frame.joint.mimic, by_name)
                )
            default = by_name[frame.joint.mimic]
            leaders[i] = frame.attributes.get("mimic_index", default)
    return leaders

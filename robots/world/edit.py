"""Edits of a frame tree: attachments, poses, joints, shapes.

Every function returns a new tree, or raises and changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from ..errors import ConfigError
from ..geometry.shapes import Part, Shape
from ..kinematics.joint_types import joint_type, neutral_value, value_from_pose
from ..kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from ..typing import (
    RGBA,
    FrameName,
    Frames,
    JointTypeName,
    MatrixLike,
    PoseLike,
    VectorLike,
)
from .argument_parsing import (
    JointOptions,
    parse_color,
    parse_contact,
    parse_geometries,
    parse_joint,
    parse_joint_value,
    parse_limits,
    parse_mass,
    parse_pose,
)
from .frame import Joint
from .frame_tree import FrameTree, joint_of
from .kinematics_builder import topological_order
from .palette import keep_bodies

MAX_POSE_ERROR = 1e-6
"""Largest distance [m or rad] at which a joint counts as reaching a pose.

A larger one accepts poses that the joint misses.
"""


def attach(tree: FrameTree, parent: FrameName, frame: FrameName) -> FrameTree:
    """Fix a frame to a new parent at its present world pose; see `Config.attach`."""
    i, new_parent = tree.own_index(frame), tree.parent_index(parent)
    relative = pose_multiply(pose_inverse(tree.pose(parent)), tree.pose(frame))
    # What hangs on a robot would else be drawn as a link of it.
    tree = FrameTree(keep_bodies(tree.frames), tree.values, tree.model)
    return _reattach(tree, i, new_parent, relative, None)


def detach(
    tree: FrameTree, frame: FrameName, joint: JointTypeName | None = "free"
) -> FrameTree:
    """Put a frame on a joint in the world, at its pose; see `Config.detach`."""
    i = tree.own_index(frame)
    new_joint = parse_joint(tree.frames[i].name, joint)
    return _reattach(tree, i, None, tree.pose(i), new_joint)


def set_joint_type(
    tree: FrameTree,
    frame: FrameName,
    joint: JointTypeName | None,
    **options: Unpack[JointOptions],
) -> FrameTree:
    """Put a frame on another joint; see `Config.joints.set_type`."""
    i = tree.own_index(frame)
    old = tree.frames[i]
    pose = _in_parent(tree, i, tree.pose(i))
    new_joint = parse_joint(old.name, joint, **options)
    return _reattach(tree, i, old.parent, pose, new_joint)


def _reattach(
    tree: FrameTree,
    i: int,
    parent: int | None,
    pose: np.ndarray,
    joint: Joint | None,
) -> FrameTree:
    """Give a frame another parent and joint, so that it is at `pose` in the parent.

    The pose becomes the joint's value where the joint reaches it, else the constant
    origin before the joint.

    Raises:
        ConfigError: when the parent is below the frame, or the mimic does not fit.
    """
    values = {k: v for k, v in tree.values.items() if k != i}
    origin = pose
    if joint is not None:
        value, error = value_from_pose(joint.type, joint.axis, pose)
        if error <= MAX_POSE_ERROR and joint.mimic is None:
            origin = IDENTITY.copy()
        else:
            value = neutral_value(joint.type)
        joint = replace(joint, q=value)
        values[i] = value
    frames = [*tree.frames]
    frames[i] = replace(
        frames[i], parent=parent, origin=origin, joint=joint, is_part_of_model=False
    )
    return FrameTree.build(frames, values).checked()


def reorder(tree: FrameTree, names: Sequence[str]) -> tuple[FrameTree, dict[int, int]]:
    """Put frames in another order; see `Config.reorder`.

    Returns:
        The tree, and the new index of each frame by the old one.

    Raises:
        ConfigError: when the names are not those of all frames, each once.
    """
    order = [tree.own_index(name) for name in names]
    if sorted(order) != list(range(len(tree.frames))):
        raise ConfigError(
            f"names has {len(order)} frames, expected each of the world's"
            f" {len(tree.frames)} frames once."
        )
    new_index = {old: new for new, old in enumerate(order)}
    frames = []
    for frame in (tree.frames[i] for i in order):
        parent = None if frame.parent is None else new_index[frame.parent]
        frames.append(replace(frame, parent=parent))
    values = {new_index[i]: value for i, value in tree.values.items()}
    return FrameTree.build(frames, values).checked(), new_index


def _in_parent(tree: FrameTree, i: int, pose: np.ndarray) -> np.ndarray:
    """Express a world pose in the parent of a frame."""
    parent = tree.frames[i].parent
    if parent is None:
        return pose
    return pose_multiply(pose_inverse(tree.pose(parent)), pose)


def set_pose(
    tree: FrameTree, frame: FrameName, pose: PoseLike, relative_to: FrameName | None
) -> FrameTree:
    """Move a frame by its joint, or by its origin; see `Config.set_pose`."""
    i = tree.own_index(frame)
    target = parse_pose(f"{frame!r}", None, None, pose)
    if relative_to is not None:
        target = pose_multiply(tree.pose(relative_to), target)
    target = _in_parent(tree, i, target)
    old = tree.frames[i]
    joint = old.joint
    if joint is None or joint.dim == 0:
        return tree.with_origin(i, target)
    if joint.mimic is not None:
        raise ConfigError(
            f"Frame {frame!r} mimics {joint.mimic!r}; move that joint instead."
        )
    motion = pose_multiply(pose_inverse(np.asarray(old.origin)), target)
    value, error = value_from_pose(joint.type, joint.axis, motion)
    if error > MAX_POSE_ERROR:
        raise ConfigError(
            f"Frame {frame!r} has a joint of type {joint.type!r}, which misses"
            f" this pose by {error:.2g} (m or rad); set q, or detach the frame."
        )
    if joint.scale != 1.0 and not joint_type(joint.type).balls:
        value = value / joint.scale
    return tree.with_value(i, value)


def set_joint(tree: FrameTree, joint: str, value: float | VectorLike) -> FrameTree:
    """Set the coordinates of one joint; see `Config.set_joint`."""
    i = tree.joint_frame(joint)
    target = joint_of(tree.frames[i])
    if target.mimic is not None:
        raise ConfigError(f"Joint {joint!r} mimics {target.mimic!r}; set that one.")
    return tree.with_value(i, parse_joint_value(target, value))


def set_active(tree: FrameTree, joints: Frames, active: bool) -> FrameTree:
    """Put joints into q, or lock them at their present values.

    Raises:
        ConfigError: for unknown joints, and mimic joints.
    """
    names = [joints] if isinstance(joints, str) else list(joints)
    chosen = {tree.joint_frame(name) for name in names}
    for i in chosen:
        joint = joint_of(tree.frames[i])
        if joint.mimic is not None:
            raise ConfigError(
                f"Joint {joint.name!r} mimics {joint.mimic!r}; lock or unlock that one."
            )
    return _with_active(tree, lambda i, joint: active if i in chosen else joint.active)


def select_joints(tree: FrameTree, joints: Frames) -> FrameTree:
    """Put exactly these joints into q, by joint or frame name."""
    names = [joints] if isinstance(joints, str) else list(joints)
    chosen = {tree.joint_frame(name) for name in names}
    return _with_active(tree, lambda i, joint: i in chosen)


def _with_active(tree: FrameTree, is_active: Callable[[int, Joint], bool]) -> FrameTree:
    """Decide for each joint that does not mimic another whether it is in q."""
    frames = [*tree.frames]
    for i, frame in enumerate(frames):
        joint = frame.joint
        if joint is not None and joint.mimic is None:
            active = is_active(i, joint)
            if active != joint.active:
                frames[i] = replace(frame, joint=replace(joint, active=active))
    return FrameTree.build(frames, tree.values)


def set_limits(
    tree: FrameTree, joint: str, limits: MatrixLike | VectorLike | None
) -> FrameTree:
    """Replace the limits of a joint; None: it has none."""
    i = tree.joint_frame(joint)
    old = joint_of(tree.frames[i])
    bounds = None if limits is None else parse_limits(old.name, old.dim, limits)
    return tree.with_frame(i, joint=replace(old, limits=bounds))


def set_shape(
    tree: FrameTree,
    frame: FrameName,
    shape: Shape | Sequence[Part] | None,
    color: RGBA | None,
) -> FrameTree:
    """Replace all shapes of a frame; see `Config.set_shape`."""
    i = tree.own_index(frame)
    geometries = parse_geometries(frame, shape, color)
    collides = any(g.collision for g in geometries)
    contact = tree.frames[i].contact if collides else 0
    return tree.with_properties(i, geometries=geometries, contact=contact)


def set_color(tree: FrameTree, frame: FrameName, color: RGBA) -> FrameTree:
    """Replace the colours of a frame's shapes, fitted or not."""
    i = tree.own_index(frame)
    rgba = parse_color(color)
    colored = tree.frames[i]
    geometries, unfitted = (
        tuple(replace(g, color=rgba) for g in shapes)
        for shapes in (colored.geometries, colored.unfitted)
    )
    return tree.with_properties(i, geometries=geometries, unfitted=unfitted)


def set_contact(tree: FrameTree, frame: FrameName, contact: int) -> FrameTree:
    """Set the contact flag of a frame; see `Config.set_contact`."""
    i = tree.own_index(frame)
    return tree.with_properties(i, contact=parse_contact(frame, contact))


def set_mass(tree: FrameTree, frame: FrameName, mass: float) -> FrameTree:
    """Replace the mass of a frame [kg]."""
    i = tree.own_index(frame)
    return tree.with_properties(i, mass=parse_mass(f"mass of {frame!r}", mass))


def set_attributes(
    tree: FrameTree, frame: FrameName, attributes: dict[str, Any]
) -> FrameTree:
    """Merge metadata into that of a frame."""
    i = tree.own_index(frame)
    merged = tree.frames[i].attributes | attributes
    return tree.with_properties(i, attributes=merged)


def remove(tree: FrameTree, frame: FrameName) -> tuple[FrameTree, dict[int, int]]:
    """Remove a subtree.

    Returns:
        The new tree, and for each remaining frame its old and its new index.

    Raises:
        ConfigError: when a remaining joint mimics a removed one.
    """
    removed = {tree.own_index(frame)}
    for i in topological_order(tree.frames):
        if tree.frames[i].parent in removed:
            removed.add(i)
    joints = [tree.frames[i].joint for i in removed]
    removed_joints = {joint.name for joint in joints if joint is not None}
    remaining = [i for i in range(len(tree.frames)) if i not in removed]
    for i in remaining:
        joint = tree.frames[i].joint
        if joint is not None and joint.mimic in removed_joints:
            raise ConfigError(
                f"Frame {frame!r} cannot be removed: joint {joint.name!r} mimics"
                f" {joint.mimic!r}."
            )
    new_index = {old: new for new, old in enumerate(remaining)}
    frames = []
    for i in remaining:
        parent = tree.frames[i].parent
        new_parent = None if parent is None else new_index[parent]
        frames.append(replace(tree.frames[i], parent=new_parent))
    values = {new_index[i]: v for i, v in tree.values.items() if i in new_index}
    return FrameTree.build(frames, values), new_index

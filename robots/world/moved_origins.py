"""Kinematics as a differentiable function of constant poses of frames.

Where a frame is on its parent enters the arrays of `Kinematics` by a rigid motion of
all that is fixed to the frame: X' = A o' o⁻¹ A⁻¹ X, with the origin o before and o'
after, and the pose A of the parent on its node. Joints below the frame move with it,
which is what links' offsets, the places of robots and of obstacles are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.compilation.precision import full_matmul_precision

from ..errors import ConfigError
from ..kinematics.forward import Kinematics
from ..kinematics.joint_types import joint_type
from ..kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
    rotate,
)
from ..typing import Array, FrameName
from .frame import Frame
from .frame_tree import FrameTree


class FixedParts(NamedTuple):
    """Frames and nodes that a frame carries with no joint between."""

    frames: Int[np.ndarray, " frames"]
    nodes: Int[np.ndarray, " nodes"]


def fixed_parts(
    K: Kinematics,
    frames: Sequence[Frame],
    children: Mapping[int | None, Sequence[int]],
    index: int,
) -> FixedParts:
    """Return what moves rigidly with the origin of a frame, relative to its parent.

    Args:
        K: kinematics of the frames.
        frames: all frames.
        children: indices of the frames attached to each frame.
        index: of the frame.
    """
    fixed: list[int] = []
    nodes: list[int] = []
    pending = [index]
    while pending:
        i = pending.pop()
        parent = frames[i].parent
        above = len(K.tree.parents) if parent is None else int(K.frame_nodes[parent])
        node, joint = int(K.frame_nodes[i]), frames[i].joint
        if node == above:
            fixed.append(i)
            pending += children.get(i, ())
        elif joint is not None:
            # The first node of a joint that has several carries the others.
            for _ in joint_type(joint.type).nodes[1:]:
                node = K.tree.parents[node]
            nodes.append(node)
    return FixedParts(np.array(fixed, int), np.array(nodes, int))


@full_matmul_precision
def with_origin(
    K: Kinematics,
    parent: int,
    parts: FixedParts,
    before: Float[Array, "7"],
    after: Float[Array, "7"],
) -> Kinematics:
    """Return the kinematics in which a frame has another origin.

    Args:
        K: kinematics before.
        parent: index of the frame's parent, that of the world is the last one.
        parts: what moves with the frame.
        before: origin of the frame in its parent before.
        after: origin that it has now; the quaternion need not have unit length.
    """
    dtype = K.frame_p.dtype
    after = jnp.asarray(after, dtype)
    after = jnp.concatenate([after[:3], quat_normalize(after[3:])])
    A = jnp.concatenate([jnp.asarray(x)[parent] for x in (K.frame_p, K.frame_quat)])
    motion = pose_multiply(A, pose_multiply(after, pose_inverse(jnp.asarray(before))))
    motion = pose_multiply(motion, pose_inverse(A)).astype(dtype)
    R, p, quaternion = quat_to_matrix(motion[3:]), motion[:3], motion[3:]
    tree, indices = K.tree, K.tree.indices
    frames, nodes = parts
    balls = np.flatnonzero(np.isin(tree.ball_nodes, nodes))
    slides = np.flatnonzero(np.isin(indices.slide_nodes, nodes))
    moves_axis = np.isin(indices.dof_nodes, nodes) & ~indices.is_rotation
    dofs = np.flatnonzero(moves_axis)

    def place(x: jax.Array) -> jax.Array:
        return rotate(R, x) + p

    def turn(x: jax.Array) -> jax.Array:
        return R @ x

    def turn_quaternion(x: jax.Array) -> jax.Array:
        return quat_multiply(quaternion, x)

    def turn_axes(x: jax.Array) -> jax.Array:
        return x @ R.T

    changes = {
        "node_p": (nodes, place),
        "rotation_basis": ((slice(None), nodes), turn),
        "rotation_quat_basis": ((slice(None), nodes), turn_quaternion),
        "ball_R": (balls, turn),
        "ball_quat": (balls, turn_quaternion),
        "slide_axis": (slides, turn_axes),
        "dof_axis": (dofs, turn_axes),
        "frame_R": (frames, turn),
        "frame_p": (frames, place),
        "frame_quat": (frames, turn_quaternion),
    }
    arrays: dict[str, Any] = {}
    for name, (rows, change) in changes.items():
        x = jnp.asarray(getattr(K, name))
        arrays[name] = x.at[rows].set(change(x[rows])) if x.size else x
    return replace(K, **arrays)


def with_origins(
    tree: FrameTree, K: Kinematics, origins: Mapping[FrameName, Float[Array, "7"]]
) -> Kinematics:
    """Return kinematics in which frames have other origins, by any traced poses.

    Args:
        tree: the frames.
        K: their kinematics.
        origins: poses of frames in their parents, before their joints.

    Raises:
        ConfigError: for an unknown frame, and what is no pose.
    """
    model = tree.model
    for name, pose in origins.items():
        index = tree.own_index(name)
        if np.shape(pose) != (7,):
            raise ConfigError(
                f"origin of {name!r} has shape {np.shape(pose)}, expected a pose (7,):"
                " the position in the parent, and a quaternion (w, x, y, z)."
            )
        frame = model.frames[index]
        parts = fixed_parts(model.kinematics, model.frames, model.children, index)
        parent = model.kinematics.num_frames if frame.parent is None else frame.parent
        K = with_origin(K, parent, parts, frame.origin, pose)
    return K

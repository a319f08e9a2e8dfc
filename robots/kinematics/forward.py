"""Batched forward kinematics and analytic Jacobians of any tree of frames.

One forward pass over the levels of moving joints gives all frame poses and the world
twist of each dof. The geometric Jacobian of a frame consists of these twists, moved to
the frame's origin and masked by "dof j moves frame f" (Lynch and Park, Modern Robotics,
5.1; Featherstone, Rigid Body Dynamics Algorithms, 4.3). The same code runs on NumPy
arrays (single evaluations, no compilation) and on JAX arrays. Twists and Jacobians put
linear before angular parts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.capacity import capacity_class
from posewise.compilation.compaction import gather
from posewise.compilation.materialize import materialize
from posewise.compilation.precision import full_matmul_precision

from ..errors import ConfigError, unknown_name
from ..typing import Array, FrameName
from .manifold import integrate
from .transforms import (
    compose,
    cross,
    quat_multiply,
    quat_normalize,
    quat_to_matrix,
    rotate,
)
from .tree import KinematicTree

MIN_FRAME_CAPACITY = 64
"""Least number of frames that programs are compiled for (count). A larger one makes
data of small worlds larger."""


class FramePoses(NamedTuple):
    """Rotation matrices and positions in the world, one per frame."""

    R: Float[Array, "*batch frames 3 3"]
    p: Float[Array, "*batch frames 3"]


class ForwardPass(NamedTuple):
    """The result of one forward pass."""

    frames: FramePoses
    """Poses of all frames and, last, of the world (identity)."""
    twists: Float[Array, "*batch dofs 6"]
    """World twist of each elementary dof at unit speed: velocity of the point at the
    world's origin, then angular velocity."""


def frame_index(
    frame: FrameName | int | np.integer, names: Sequence[str], count: int
) -> int:
    """Return the index of a frame among `count`; that of the world is `count`.

    Raises:
        ConfigError: For an unknown name, with near matches.
    """
    if isinstance(frame, int | np.integer):
        if not 0 <= frame <= count:
            raise ConfigError(
                f"No frame {frame}; indices run from 0 to {count}, the world."
            )
        return int(frame)
    if frame in names:
        return names.index(frame)
    if frame == "world":
        return count
    raise ConfigError(unknown_name("frame", frame, names))


@dataclass(frozen=True, eq=False)
class Kinematics:
    """A frozen snapshot of a world's kinematics; a pytree whose leaves may be traced.

    Jacobians are with respect to the tangent space (length nv): for a quaternion, the
    angular velocity in the joint's own (moved) frame.
    """

    tree: KinematicTree
    names: tuple[str, ...]
    node_p: Float[Array, "nodes 3"]
    """Origin of each node in its parent node."""
    rotation_basis: Float[Array, "3 nodes 3 3"]
    """Matrices A, B, C of the rotation in the parent node, A + cos θ B + sin θ C
    (Rodrigues' formula, with the constant orientation of the node multiplied in)."""
    rotation_quat_basis: Float[Array, "2 nodes 4"]
    """Quaternions a, b of the same rotation, cos(θ/2) a + sin(θ/2) b."""
    angle_multiplier: Float[Array, " nodes"]
    angle_offset: Float[Array, " nodes"]
    ball_R: Float[Array, "balls 3 3"]
    ball_quat: Float[Array, "balls 4"]
    slide_axis: Float[Array, "slides 3 3"]
    slide_multiplier: Float[Array, "slides 3"]
    slide_offset: Float[Array, "slides 3"]
    dof_axis: Float[Array, "dofs 3"]
    dof_multiplier: Float[Array, " dofs"]
    frame_nodes: Int[Array, " frames_and_world"]
    """Node that each frame and, last, the world is attached to; that of the world comes
    after all others."""
    frame_R: Float[Array, "frames_and_world 3 3"]
    """Orientation of each frame on its node."""
    frame_p: Float[Array, "frames_and_world 3"]
    frame_quat: Float[Array, "frames_and_world 4"]
    limits: Float[Array, "2 nq"]
    """Lower and upper bound of each coordinate, ±inf where none."""
    home: Float[Array, " nq"]
    """Home value of each coordinate."""
    max_velocity: Float[Array, " nq"]
    """Largest speed of each coordinate, inf where none."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Dimension of the tangent space."""
        return self.tree.nv

    def index(self, frame: FrameName | int | np.integer) -> int:
        """Return the index of a frame; that of the world is `len(names)`.

        Raises:
            ConfigError: For an unknown name, with near matches.
        """
        return frame_index(frame, self.names, self.num_frames)

    @property
    def num_frames(self) -> int:
        """Number of frames, without the world."""
        return len(self.frame_nodes) - 1

    @property
    def dof_mask(self) -> Bool[Array, "frames_and_world dofs"]:
        """Whether each dof moves each frame; last, the world."""
        return self._xp.asarray(self.tree.node_dof_mask)[self.frame_nodes]

    @property
    def _xp(self) -> Any:
        """The namespace of the arrays, NumPy's or JAX's."""
        return self.frame_nodes.__array_namespace__()

    def for_programs(self, least: int = MIN_FRAME_CAPACITY) -> "Kinematics":
        """Return a copy for compiled programs, which depend on little of a world.

        It has no names. Its frames are followed by copies of the world, up to a class
        of capacity, and these by the nodes; see `first_node_frame`.

        Args:
            least: smallest class of the number of frames.
        """
        count, nodes = len(self.frame_nodes), len(self.tree.parents) + 1
        padding = capacity_class(count, least) - count
        xp = self._xp

        def padded(x: Array) -> Array:
            world = xp.broadcast_to(x[-1:], (padding + nodes, *x.shape[1:]))
            return xp.concatenate([x, world])

        frame_nodes = [self.frame_nodes, np.full(padding, nodes - 1), np.arange(nodes)]
        return replace(
            self,
            names=(),
            frame_nodes=xp.concatenate(frame_nodes),
            frame_R=padded(self.frame_R),
            frame_p=padded(self.frame_p),
            frame_quat=padded(self.frame_quat),
        )

    @property
    def first_node_frame(self) -> int:
        """Frame of a copy `for_programs` that is node 0; the other nodes follow."""
        return len(self.frame_nodes) - len(self.tree.parents) - 1

    def forward_pass(self, q: Float[Array, "*batch nq"]) -> ForwardPass:
        """Return the frame poses, and the world twist of each elementary dof."""
        return forward_pass(self, q)

    def poses(self, q: Float[Array, "*batch nq"]) -> Float[Array, "*batch frames 7"]:
        """Return the world poses `(px, py, pz, w, x, y, z)` of all frames."""
        p = forward_pass(self, q).frames.p
        xp = p.__array_namespace__()
        return xp.concatenate([p, frame_quaternions(self, q)], -1)[..., :-1, :]

    def pose(
        self, q: Float[Array, "*batch nq"], frame: str | int
    ) -> Float[Array, "*batch 7"]:
        """Return the world pose of one frame."""
        return self.poses(q)[..., self.index(frame), :]

    def jacobian(
        self, q: Float[Array, "*batch nq"], frame: str | int
    ) -> Float[Array, "*batch 6 nv"]:
        """Return the geometric Jacobian of a frame's origin, in world axes."""
        result = forward_pass(self, q)
        i = self.index(frame)
        R, p = result.frames.R[..., i : i + 1, :, :], result.frames.p[..., i : i + 1, :]
        mask = self.dof_mask[i : i + 1]
        selected = ForwardPass(FramePoses(R, p), result.twists)
        return geometric_jacobians(self, selected, mask)[..., 0, :, :]

    def jacobians(
        self, q: Float[Array, "*batch nq"]
    ) -> Float[Array, "*batch frames 6 nv"]:
        """Return the geometric Jacobians of all frames' origins."""
        result = forward_pass(self, q)
        R, p = result.frames.R[..., :-1, :, :], result.frames.p[..., :-1, :]
        selected = ForwardPass(FramePoses(R, p), result.twists)
        return geometric_jacobians(self, selected, self.dof_mask[:-1])

    def integrate(
        self, q: Float[Array, "*batch nq"], v: Float[Array, "*batch nv"]
    ) -> Float[Array, "*batch nq"]:
        """Move along a tangent vector for unit time; quaternions keep unit length."""
        return integrate(self.tree, q, v)


def _flatten(K: Kinematics) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    tree, names, *leaves = vars(K).values()
    return tuple(leaves), (tree, names)


def _unflatten(static: tuple[Any, ...], leaves: Iterable[Any]) -> Kinematics:
    # Leaves may be anything, such as tangents of indices, so that nothing checks them.
    K = object.__new__(Kinematics)
    values = zip(_FIELD_NAMES, (*static, *leaves), strict=True)
    vars(K).update(values)
    return K


_FIELD_NAMES = tuple(field.name for field in fields(Kinematics))
jax.tree_util.register_pytree_node(Kinematics, _flatten, _unflatten)


@full_matmul_precision
def forward_pass(K: Kinematics, q: Float[Array, "*batch nq"]) -> ForwardPass:
    """Return the poses of all frames and the twists of all dofs."""
    (R, p), twists = forward_pass_nodes(K, q)
    R_node = R[..., K.frame_nodes, :, :]
    frames = FramePoses(
        compose(R_node, _cast_like(q, K.frame_R)),
        p[..., K.frame_nodes, :] + rotate(R_node, _cast_like(q, K.frame_p)),
    )
    return ForwardPass(frames, twists)


class FrameAttachment(NamedTuple):
    """Selected frames of a batch of configurations, with the nodes that carry them."""

    node_rows: Int[jax.Array, " some"]
    """Index of each frame's node among all nodes of all rows of the batch."""
    R: Float[jax.Array, "some 3 3"]
    """Orientation relative to the node."""
    p: Float[jax.Array, "some 3"]
    """Position relative to the node [m]."""


def attach_to_nodes(
    K: Kinematics, rows: Int[jax.Array, " some"], frames: Int[jax.Array, " some"]
) -> FrameAttachment:
    """Attach frames to the nodes of a batch, as `forward_pass_nodes` returns them.

    Args:
        K: The kinematics.
        rows: Row of the batch of each frame.
        frames: Index of each frame.
    """
    node_rows = rows * (len(K.tree.parents) + 1) + gather(K.frame_nodes, frames)
    return FrameAttachment(
        node_rows, *(gather(x, frames) for x in (K.frame_R, K.frame_p))
    )


def attached_poses(nodes: FramePoses, attachment: FrameAttachment) -> FramePoses:
    """Return the world poses of attached frames, given the poses of nodes."""

    # One axis for all rows, because XLA for CPUs copies arrays with axes of length one.
    def node_of(x: Array) -> Array:
        return gather(x.reshape(-1, *x.shape[2:]), attachment.node_rows)

    R, p = materialize(partial(jax.tree.map, node_of), nodes)

    def attach(R: Array, p: Array, R_offset: Array, p_offset: Array) -> FramePoses:
        return FramePoses(compose(R, R_offset), p + rotate(R, p_offset))

    offset = _cast_like(p, attachment.R), _cast_like(p, attachment.p)
    return FramePoses(*materialize(attach, R, p, *offset))


@full_matmul_precision
def forward_pass_nodes(
    K: Kinematics, q: Float[Array, "*batch nq"]
) -> tuple[FramePoses, Array]:
    """Return the world poses of all nodes and, last, of the world; and dofs' twists."""
    indices = K.tree.indices
    xp = q.__array_namespace__()
    batch = q.shape[:-1]
    R, p = _node_poses(K, q)
    eye = xp.broadcast_to(xp.eye(3, dtype=q.dtype), (*batch, 1, 3, 3))
    zero = xp.zeros((*batch, 1, 3), q.dtype)
    R, p = xp.concatenate([R, eye], -3), xp.concatenate([p, zero], -2)
    axes = rotate(R[..., indices.axis_nodes, :, :], _cast_like(q, K.dof_axis))
    # A rotation about an axis a through p moves the point at the origin by p × a.
    moments = cross(p[..., indices.dof_nodes, :], axes)
    if not indices.is_all_rotation:
        moments = xp.where(indices.is_rotation[:, None], moments, axes)
        axes = xp.where(indices.is_rotation[:, None], axes, 0.0)
    return FramePoses(R, p), xp.concatenate([moments, axes], -1)


def _node_poses(K: Kinematics, q: Array) -> tuple[Array, Array]:
    """Compute the world poses of all nodes, level by level."""
    tree, indices = K.tree, K.tree.indices
    xp = q.__array_namespace__()
    batch = q.shape[:-1]
    if not tree.parents:
        return xp.zeros((*batch, 0, 3, 3), q.dtype), xp.zeros((*batch, 0, 3), q.dtype)
    padded = xp.concatenate([q, xp.zeros((*batch, 1), q.dtype)], -1)
    angle = _rotation_angles(K, padded)[..., None, None]
    fixed, cosine, sine = _cast_like(q, K.rotation_basis)

    def cos_and_sin(a: Array) -> tuple[Array, Array]:
        return xp.cos(a), xp.sin(a)

    # Materialized, because XLA would compute them again for each entry of a matrix.
    c, s = materialize(cos_and_sin, angle) if xp is jnp else cos_and_sin(angle)
    R_loc = fixed + c * cosine + s * sine
    if tree.ball_nodes:
        ball_R = quat_to_matrix(quat_normalize(q[..., indices.ball_coordinates]))
        ball_R = compose(_cast_like(q, K.ball_R), ball_R)
        R_loc = xp.concatenate([R_loc, ball_R], -3)[..., indices.ball_rows, :, :]
    p_loc = _cast_like(q, K.node_p)
    p_all = xp.broadcast_to(p_loc, (*batch, *p_loc.shape))
    if tree.slide_nodes:
        amount = padded[..., indices.slide_coordinates] * _cast_like(
            q, K.slide_multiplier
        )
        amount = (amount + _cast_like(q, K.slide_offset))[..., None]
        shift = p_loc[indices.slide_nodes] + xp.sum(
            amount * _cast_like(q, K.slide_axis), -2
        )
        p_all = xp.concatenate([p_all, shift], -2)[..., indices.slide_rows, :]

    R_levels: list[Array] = []
    p_levels: list[Array] = []
    for (first, last), up in zip(tree.levels, indices.parent_rows, strict=True):
        R, p = R_loc[..., first:last, :, :], p_all[..., first:last, :]
        if R_levels:
            R_up, p_up = R_levels[-1], p_levels[-1]
            if up is not None:
                R_up, p_up = R_up[..., up, :, :], p_up[..., up, :]
            R, p = compose(R_up, R), p_up + rotate(R_up, p)
        R_levels.append(R)
        p_levels.append(p)
    return xp.concatenate(R_levels, -3), xp.concatenate(p_levels, -2)


def _rotation_angles(K: Kinematics, padded: Array) -> Array:
    """Return the angle by which each node rotates about its axis."""
    angle = padded[..., K.tree.indices.rotation_coordinates] * _cast_like(
        padded, K.angle_multiplier
    )
    return angle + _cast_like(padded, K.angle_offset)


def frame_quaternions(
    K: Kinematics, q: Float[Array, "*batch nq"]
) -> Float[Array, "*batch frames 4"]:
    """Return the world orientations of all frames and, last, of the world."""
    nodes = node_quaternions(K, q)
    return quat_multiply(nodes[..., K.frame_nodes, :], _cast_like(q, K.frame_quat))


def node_quaternions(
    K: Kinematics, q: Float[Array, "*batch nq"]
) -> Float[Array, "*batch nodes 4"]:
    """Return the world orientations of all nodes and, last, of the world.

    They are products along the tree, whose sign is never normalised, so that they are
    smooth in q.
    """
    tree, indices = K.tree, K.tree.indices
    xp = q.__array_namespace__()
    batch = q.shape[:-1]
    unit = xp.broadcast_to(xp.asarray([1.0, 0, 0, 0], dtype=q.dtype), (*batch, 1, 4))
    padded = xp.concatenate([q, xp.zeros((*batch, 1), q.dtype)], -1)
    half = _rotation_angles(K, padded)[..., None] / 2
    cosine, sine = _cast_like(q, K.rotation_quat_basis)
    local = xp.cos(half) * cosine + xp.sin(half) * sine
    if tree.ball_nodes:
        turned = quat_normalize(q[..., indices.ball_coordinates])
        turned = quat_multiply(_cast_like(q, K.ball_quat), turned)
        local = xp.concatenate([local, turned], -2)[..., indices.ball_rows, :]
    nodes = xp.concatenate([local, unit], -2)
    # Prefix products by pointer doubling: the k-th step multiplies paths of 2^k nodes.
    for up in indices.ancestors:
        nodes = quat_multiply(nodes[..., up, :], nodes)
    return nodes


def geometric_jacobians(
    K: Kinematics, motion: ForwardPass, mask: Bool[Array, "frames dofs"]
) -> Float[Array, "*batch frames 6 nv"]:
    """Return the Jacobians of the frames' origins from the twists of a forward pass.

    Args:
        K: The kinematics.
        motion: Poses of the frames, and twists of all dofs.
        mask: Whether a dof moves a frame.
    """
    p, m, a = motion.frames.p, motion.twists[..., :3], motion.twists[..., 3:]
    xp = p.__array_namespace__()
    # velocity of the frame's origin p: v(p) = m + a × p
    ax, ay, az = (a[..., None, :, i] for i in range(3))
    px, py, pz = (p[..., :, i, None] for i in range(3))
    rows = [
        m[..., None, :, 0] + ay * pz - az * py,
        m[..., None, :, 1] + az * px - ax * pz,
        m[..., None, :, 2] + ax * py - ay * px,
    ]
    rows += [xp.broadcast_to(row, rows[0].shape) for row in (ax, ay, az)]
    J = xp.stack(rows, -2) * mask[:, None, :]
    return fold_dofs(K, J)


@full_matmul_precision
def fold_dofs(
    K: Kinematics, J: Float[Array, "*batch dofs"]
) -> Float[Array, "*batch nv"]:
    """Add the columns of elementary dofs to the tangent columns that drive them."""
    if K.tree.columns_are_dofs:
        return J
    J = J * _cast_like(J, K.dof_multiplier)
    mimic_columns = _cast_like(J, K.tree.indices.mimic_columns)
    return J[..., : K.nv] + J[..., K.nv :] @ mimic_columns


def _cast_like(reference: Array, data: Array) -> Array:
    """Return data in the dtype of a reference."""
    return data if data.dtype == reference.dtype else data.astype(reference.dtype)

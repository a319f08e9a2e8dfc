"""Batched forward kinematics and analytic Jacobians of any tree of frames.

One walk over the levels of moving joints gives all frame poses and each dof's world
twist; Jacobians are twists moved to the frame's origin and masked by "dof j moves
frame f". The same code runs on NumPy arrays (single evaluations, no compilation) and
on JAX arrays. Twists and Jacobians put linear before angular parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from posewise.compilation.compaction import gather
from posewise.compilation.materialize import materialize
from posewise.compilation.precision import full_matmul_precision

from ..errors import ConfigError, unknown_name
from ..typing import Array
from .manifold import integrate
from .transforms import quat_multiply, quat_normalize, quat_to_matrix, rotate
from .tree import KinematicTree


class FramePoses(NamedTuple):
    """Rotation matrices and positions in the world, one per frame."""

    R: Float[Array, "*batch frames 3 3"]
    p: Float[Array, "*batch frames 3"]


class ForwardPass(NamedTuple):
    """What one forward pass gives."""

    frames: FramePoses
    """All frames, and the world (identity) as the last one."""
    twists: Float[Array, "*batch dofs 6"]
    """Of each elementary dof at unit speed: velocity of the point at the world's
    origin, then angular velocity."""


def frame_index(frame: Any, names: Sequence[str], count: int) -> int:
    """Which of `count` frames it is; the world is the last index, `count`.

    Raises:
        ConfigError: for an unknown name, with near matches.
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


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Kinematics:
    """A frozen snapshot of a world's kinematics; a pytree whose leaves may be traced.

    Jacobians are with respect to the tangent space (length nv): for a quaternion, the
    angular velocity in the joint's own (moved) frame.
    """

    tree: KinematicTree = field(metadata=dict(static=True))
    names: tuple[str, ...] = field(metadata=dict(static=True))
    node_p: Float[Array, "nodes 3"]
    """Origin of each node in its parent node."""
    rotation_basis: Float[Array, "3 nodes 3 3"]
    """Rotation in the parent node: first + cos · second + sin · third."""
    rotation_quat_basis: Float[Array, "2 nodes 4"]
    """The same as a quaternion: cos of the half angle · first + sin · second."""
    angle_multiplier: Float[Array, " nodes"]
    angle_offset: Float[Array, " nodes"]
    ball_R: Float[Array, "balls 3 3"]
    ball_quat: Float[Array, "balls 4"]
    slide_axis: Float[Array, "slides 3 3"]
    slide_multiplier: Float[Array, "slides 3"]
    slide_offset: Float[Array, "slides 3"]
    dof_axis: Float[Array, "dofs 3"]
    dof_multiplier: Float[Array, " dofs"]
    frame_R: Float[Array, "rigid 3 3"]
    frame_p: Float[Array, "rigid 3"]
    frame_quat: Float[Array, "rigid 4"]
    limits: Float[Array, "2 nq"]
    """Lower and upper bound of each coordinate, ±inf where none."""
    home: Float[Array, " nq"]
    """Value of each coordinate at definition."""
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

    def index(self, frame: Any) -> int:
        """Index of a frame; the world is the last index, `len(names)`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        return frame_index(frame, self.names, self.tree.n_frames)

    def without_names(self) -> "Kinematics":
        """Without names: programs that take indices do not depend on them."""
        return replace(self, names=())

    def forward_pass(self, q: Float[Array, "*batch nq"]) -> ForwardPass:
        """Frame poses, and the world twist of each elementary dof."""
        return forward_pass(self, q)

    def poses(self, q: Float[Array, "*batch nq"]) -> Float[Array, "*batch frames 7"]:
        """World poses `(px, py, pz, w, x, y, z)` of all frames."""
        p = forward_pass(self, q).frames.p
        xp = p.__array_namespace__()
        return xp.concatenate([p, frame_quaternions(self, q)], -1)[..., :-1, :]

    def pose(
        self, q: Float[Array, "*batch nq"], frame: str | int
    ) -> Float[Array, "*batch 7"]:
        """World pose of one frame."""
        return self.poses(q)[..., self.index(frame), :]

    def jacobian(
        self, q: Float[Array, "*batch nq"], frame: str | int
    ) -> Float[Array, "*batch 6 nv"]:
        """Geometric Jacobian of one frame's origin, world axes, linear rows first."""
        w = forward_pass(self, q)
        i = self.index(frame)
        R, p = w.frames.R[..., i : i + 1, :, :], w.frames.p[..., i : i + 1, :]
        mask = self.tree.dof_mask[i : i + 1]
        part = ForwardPass(FramePoses(R, p), w.twists)
        return geometric_jacobians(self, part, mask)[..., 0, :, :]

    def jacobians(
        self, q: Float[Array, "*batch nq"]
    ) -> Float[Array, "*batch frames 6 nv"]:
        """Geometric Jacobians of all frames' origins."""
        w = forward_pass(self, q)
        R, p = w.frames.R[..., :-1, :, :], w.frames.p[..., :-1, :]
        part = ForwardPass(FramePoses(R, p), w.twists)
        return geometric_jacobians(self, part, self.tree.dof_mask[:-1])

    def integrate(
        self, q: Float[Array, "*batch nq"], v: Float[Array, "*batch nv"]
    ) -> Float[Array, "*batch nq"]:
        """Move along a tangent vector for unit time; quaternions stay unit."""
        return integrate(self.tree, q, v)


@full_matmul_precision
def forward_pass(K: Kinematics, q: Float[Array, "*batch nq"]) -> ForwardPass:
    """One forward pass over the tree; see `ForwardPass`."""
    at = K.tree.indices
    (R, p), twists = forward_pass_nodes(K, q)
    R_on, p_on = _frame_offsets(K, q)
    R_carrier = R[..., at.frame_nodes, :, :]
    frames = FramePoses(
        R_carrier @ R_on[at.offset_rows],
        p[..., at.frame_nodes, :] + rotate(R_carrier, p_on[at.offset_rows]),
    )
    return ForwardPass(frames, twists)


class FrameAttachment(NamedTuple):
    """Some frames, each in a row of a batch, on the nodes that carry them."""

    node_rows: Int[jax.Array, " some"]
    """Of the node, among all nodes of all rows."""
    R: Float[jax.Array, "some 3 3"]
    """Orientation on the node."""
    p: Float[jax.Array, "some 3"]


def attach_to_nodes(
    K: Kinematics, rows: Int[jax.Array, " some"], frames: Int[jax.Array, " some"]
) -> FrameAttachment:
    """Frames in rows of a batch of what `forward_pass_nodes` gives."""
    at, count = K.tree.indices, len(K.tree.parents) + 1
    place = rows * count + gather(at.frame_nodes % count, frames)
    offsets = gather(at.offset_rows, frames)
    return FrameAttachment(
        place, *(gather(x, offsets) for x in _frame_offsets(K, K.node_p))
    )


def attached_poses(nodes: FramePoses, on: FrameAttachment) -> FramePoses:
    """Poses of frames, where nodes are as `forward_pass_nodes` gave."""
    # one axis of all: XLA for CPUs copies what has axes of length one
    of = lambda x: gather(x.reshape(-1, *x.shape[2:]), on.node_rows)
    R, p = materialize(partial(jax.tree.map, of), nodes)

    def product(R: Array, p: Array, R_on: Array, p_on: Array) -> FramePoses:
        turned = sum(R[..., k, None] * R_on[..., k, None, :] for k in range(3))
        moved = sum(R[..., k] * p_on[..., k, None] for k in range(3))
        return FramePoses(turned, p + moved)

    like = lambda x: _cast_like(p, x)
    return FramePoses(*materialize(product, R, p, like(on.R), like(on.p)))


@full_matmul_precision
def forward_pass_nodes(
    K: Kinematics, q: Float[Array, "*batch nq"]
) -> tuple[FramePoses, Array]:
    """World poses of all nodes and, last, of the world; and the twists of dofs."""
    at = K.tree.indices
    xp = q.__array_namespace__()
    batch = q.shape[:-1]
    R, p = _node_poses(K, q)
    eye = xp.broadcast_to(xp.eye(3, dtype=q.dtype), (*batch, 1, 3, 3))
    zero = xp.zeros((*batch, 1, 3), q.dtype)
    R, p = xp.concatenate([R, eye], -3), xp.concatenate([p, zero], -2)
    axes = rotate(R[..., at.axis_nodes, :, :], _cast_like(q, K.dof_axis))
    moments = _cross(p[..., at.dof_nodes, :], axes)
    if not at.is_all_rotation:
        moments = xp.where(at.is_rotation[:, None], moments, axes)
        axes = xp.where(at.is_rotation[:, None], axes, 0.0)
    return FramePoses(R, p), xp.concatenate([moments, axes], -1)


def _frame_offsets(K: Kinematics, like: Array) -> FramePoses:
    """Of the frames that are rigidly on nodes, there; last, of the nodes themselves."""
    xp = like.__array_namespace__()
    R = xp.concatenate([_cast_like(like, K.frame_R), xp.eye(3, dtype=like.dtype)[None]])
    return FramePoses(
        R, xp.concatenate([_cast_like(like, K.frame_p), xp.zeros((1, 3), like.dtype)])
    )


def _node_poses(K: Kinematics, q: Array) -> tuple[Array, Array]:
    """World poses of all nodes, level by level."""
    tree, at = K.tree, K.tree.indices
    xp = q.__array_namespace__()
    batch = q.shape[:-1]
    if not tree.parents:
        return xp.zeros((*batch, 0, 3, 3), q.dtype), xp.zeros((*batch, 0, 3), q.dtype)
    padded = xp.concatenate([q, xp.zeros((*batch, 1), q.dtype)], -1)
    angle = _rotation_angles(K, padded)[..., None, None]
    fixed, cosine, sine = _cast_like(q, K.rotation_basis)
    waves = lambda a: (xp.cos(a), xp.sin(a))
    c, s = materialize(waves, angle) if xp is jnp else waves(angle)
    R_loc = fixed + c * cosine + s * sine
    if tree.ball_nodes:
        turned = quat_to_matrix(quat_normalize(q[..., at.ball_coordinates]))
        turned = _cast_like(q, K.ball_R) @ turned
        R_loc = xp.concatenate([R_loc, turned], -3)[..., at.ball_rows, :, :]
    p_loc = _cast_like(q, K.node_p)
    p_all = xp.broadcast_to(p_loc, (*batch, *p_loc.shape))
    if tree.slide_nodes:
        amount = padded[..., at.slide_coordinates] * _cast_like(q, K.slide_multiplier)
        amount = (amount + _cast_like(q, K.slide_offset))[..., None]
        shift = p_loc[at.slide_nodes] + xp.sum(amount * _cast_like(q, K.slide_axis), -2)
        p_all = xp.concatenate([p_all, shift], -2)[..., at.slide_rows, :]

    R_levels: list[Array] = []
    p_levels: list[Array] = []
    for (first, last), up in zip(tree.levels, at.parent_rows, strict=True):
        R, p = R_loc[..., first:last, :, :], p_all[..., first:last, :]
        if R_levels:
            R_up, p_up = R_levels[-1], p_levels[-1]
            if up is not None:
                R_up, p_up = R_up[..., up, :, :], p_up[..., up, :]
            R, p = R_up @ R, p_up + rotate(R_up, p)
        R_levels.append(R)
        p_levels.append(p)
    return xp.concatenate(R_levels, -3), xp.concatenate(p_levels, -2)


def _rotation_angles(K: Kinematics, padded: Array) -> Array:
    """The angle by which each node turns about its axis."""
    angle = padded[..., K.tree.indices.rotation_coordinates] * _cast_like(
        padded, K.angle_multiplier
    )
    return angle + _cast_like(padded, K.angle_offset)


def frame_quaternions(
    K: Kinematics, q: Float[Array, "*batch nq"]
) -> Float[Array, "*batch frames 4"]:
    """World orientations of all frames and, last, of the world.

    Products along the tree, never brought to one side: smooth in q.
    """
    tree, at = K.tree, K.tree.indices
    xp = q.__array_namespace__()
    batch = q.shape[:-1]
    unit = xp.broadcast_to(xp.asarray([1.0, 0, 0, 0], dtype=q.dtype), (*batch, 1, 4))
    padded = xp.concatenate([q, xp.zeros((*batch, 1), q.dtype)], -1)
    half = _rotation_angles(K, padded)[..., None] / 2
    cosine, sine = _cast_like(q, K.rotation_quat_basis)
    local = xp.cos(half) * cosine + xp.sin(half) * sine
    if tree.ball_nodes:
        turned = quat_normalize(q[..., at.ball_coordinates])
        turned = quat_multiply(_cast_like(q, K.ball_quat), turned)
        local = xp.concatenate([local, turned], -2)[..., at.ball_rows, :]
    nodes = xp.concatenate([local, unit], -2)
    for up in at.ancestors:
        nodes = quat_multiply(nodes[..., up, :], nodes)
    on = xp.concatenate([_cast_like(q, K.frame_quat), unit.reshape(-1, 4)[:1]])[
        at.offset_rows
    ]
    return quat_multiply(nodes[..., at.frame_nodes, :], on)


def geometric_jacobians(
    K: Kinematics, walk: ForwardPass, mask: Bool[Array, "frames dofs"]
) -> Float[Array, "*batch frames 6 nv"]:
    """Jacobians of the frames' origins from the twists of a walk."""
    p, m, a = walk.frames.p, walk.twists[..., :3], walk.twists[..., 3:]
    xp = p.__array_namespace__()
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
    """Sum the columns of elementary dofs into the tangent columns that drive them."""
    if K.tree.columns_are_dofs:
        return J
    J = J * _cast_like(J, K.dof_multiplier)
    onto = _cast_like(J, K.tree.indices.mimic_columns)
    return J[..., : K.nv] + J[..., K.nv :] @ onto


def _cast_like(like: Array, data: Array) -> Array:
    """Data in the dtype of `like`."""
    return data if data.dtype == like.dtype else data.astype(like.dtype)


def _cross(a: Array, b: Array) -> Array:
    xp = b.__array_namespace__()
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1)

"""Bounds of how far bodies move between two configurations.

A joint that turns by an angle moves no point farther than the angle times the point's
distance from the axis. That distance changes only by the joints between the axis and
the body, so that bounds follow from the tips of the tree to its root. They hold for all
configurations of a straight motion, without sampling (Schwarzer, Saha and Latombe 2005,
"Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments"). Those of the second derivative tell how far points leave a
straight line (Zhang, Redon, Lee and Kim 2007, "Continuous collision detection for
articulated models using Taylor models and temporal culling").
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.compilation.precision import full_matmul_precision

from ..typing import Array
from .forward import Kinematics
from .tree import KinematicTree


class MotionBounds(NamedTuple):
    """Largest motion of points of bodies along tangent vectors, for each dof.

    What moves two bodies relative to each other are the dofs that move only one of
    them: sums over these bound the relative motion.
    """

    displacement: Float[jax.Array, "n bodies dofs"]
    """Bound of the length of the path of any point [m]."""
    curvature: Float[jax.Array, "n bodies dofs"]
    """Bound of the second derivative of any point's position by the fraction of the
    tangent vector [m]: half of it bounds the distance from a straight line."""


@full_matmul_precision
def motion_bounds(
    K: Kinematics,
    twists: Float[jax.Array, "n dofs 6"],
    rates: Float[jax.Array, "n dofs"],
    centers: Float[jax.Array, "n bodies 3"],
    radii: Float[Array, "#n bodies"],
    moves: Bool[Array, "bodies dofs"],
) -> MotionBounds:
    """Return bounds for motions from configurations along tangent vectors.

    They hold for motions forward or back by any part of the tangent vectors.

    Args:
        K: the kinematics.
        twists: of the dofs at the configurations, see `forward_pass_nodes`.
        rates: of the dofs along the tangent vectors, see `dof_rates`.
        centers: origins of the bodies at the configurations, in the world.
        radii: of balls about the origins that enclose the bodies [m]; a ball, which
            turns into itself, has radius 0. One row, or one for each configuration.
        moves: which dofs move each body.
    """
    tree = K.tree
    speed = _unit_speeds(tree.balls, twists, centers)
    is_rotation, dof_nodes = tree.indices.is_rotation, tree.indices.dof_nodes
    # The rotation that carries the axis of a dof is that of the dofs of other nodes
    # that move its node.
    carries = _carrying_dofs(tree) & is_rotation[:, None]
    size = jnp.abs(rates)
    turn = size @ carries.astype(size.dtype)
    columns: list[tuple[jax.Array, jax.Array]] = [(turn, turn)] * len(dof_nodes)
    # How far dofs nearer to the body move it relative to the axis in question.
    below = jnp.zeros(centers.shape[:2], centers.dtype)
    for first, last in reversed(tree.levels):
        dofs = np.flatnonzero((first <= dof_nodes) & (dof_nodes < last)).tolist()
        arm = below + radii
        moved = {}
        for dof in dofs:
            distance = speed[:, :, dof] + (arm if is_rotation[dof] else 0.0)
            moved[dof] = moves[:, dof] * size[:, None, dof] * distance
        below = below + sum(moved.values())
        for dof in dofs:
            # With the axis e, the rotation Ω that carries it, and the velocity u of the
            # point relative to it, e × r changes by Ω × (e × r) + e × u.
            bend = turn[:, None, dof] * moved[dof]
            if is_rotation[dof]:
                bend += moves[:, dof] * size[:, None, dof] * below
            columns[dof] = moved[dof], bend
    return MotionBounds(*(jnp.stack(x, -1) for x in zip(*columns, strict=True)))


def dof_rates(K: Kinematics, step: Float[jax.Array, "n nv"]) -> jax.Array:
    """Return by how much each dof moves along tangent vectors, (n, dofs)."""
    columns = np.array(K.tree.dof_columns, int)
    return step[:, columns] * jnp.asarray(K.dof_multiplier, step.dtype)


def _carrying_dofs(tree: KinematicTree) -> Bool[np.ndarray, "dofs dofs"]:
    """Return whether the first dof carries the axis of the second one."""
    nodes = tree.indices.dof_nodes
    above = np.eye(len(tree.parents), dtype=bool)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            above[node] |= above[parent]
    # above[i, j]: node j is node i or one of its ancestors.
    return above[nodes][:, nodes].T & (nodes[:, None] != nodes)


def _unit_speeds(
    balls: tuple[tuple[int, int], ...],
    twists: Float[jax.Array, "n dofs 6"],
    centers: Float[jax.Array, "n bodies 3"],
) -> Float[jax.Array, "n bodies dofs"]:
    """Return the speed of each body's origin at unit speed of each dof.

    For a rotation that is the distance from its axis, which the rotation itself does
    not change. The three dofs of a quaternion have axes that change with the rotation,
    and get the distance from their common point.
    """
    moment, axis = twists[:, None, :, :3], twists[:, None, :, 3:]
    velocity = moment + jnp.cross(axis, centers[:, :, None])
    square = jnp.sum(velocity**2, -1)
    if balls:
        # Of three orthonormal axes e, Σ |e × r|² = 2 |r|².
        mean = np.eye(square.shape[-1])
        for _, column in balls:
            mean[column : column + 3, column : column + 3] = 0.5
        square = square @ mean.astype(square.dtype)
    # The root of the constant 1 has a derivative where speeds are zero.
    moves = square > 0
    return jnp.where(moves, jnp.sqrt(jnp.where(moves, square, 1.0)), 0.0)

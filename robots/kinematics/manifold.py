"""The tangent space of joint coordinates: Jacobians to and from it, steps in it.

The three tangent columns of a quaternion are the angular velocity in the joint's moved
frame (body velocity; Lynch and Park, Modern Robotics, 3.2).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision

from ..typing import Array
from .transforms import (
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_multiply,
    quat_normalize,
)
from .tree import KinematicTree


@full_matmul_precision
def tangent_to_coordinates(
    tree: KinematicTree,
    q: Float[Array, "*#batch nq"],
    J: Float[Array, "*#batch rows nv"],
) -> Float[Array, "*batch rows nq"]:
    """Convert a Jacobian with respect to the tangent space to one with respect to q."""
    if not tree.balls:
        return J
    xp = J.__array_namespace__() if not isinstance(J, np.ndarray) else np
    parts, columns = (
        tree.indices.quaternion_coordinates,
        tree.indices.quaternion_columns,
    )
    raw = q[..., parts]
    norm = xp.sqrt(xp.sum(raw * raw, -1, keepdims=True))
    norm = xp.where(norm == 0, 1.0, norm)
    w, x, y, z = (raw[..., i] / norm[..., 0] for i in range(4))
    # body angular velocity ω = 2 Im(conj(q) dq) / |q|, as kinematics normalises q
    G = xp.stack(
        [
            xp.stack([-x, w, z, -y], -1),
            xp.stack([-y, -z, w, x], -1),
            xp.stack([-z, y, -x, w], -1),
        ],
        -2,
    )
    G = 2 * G / norm[..., None]
    turned = J[..., :, columns][..., None, :]  # rows, balls, 1, 3
    turned = (turned @ G[..., None, :, :, :])[..., 0, :]
    wide = xp.concatenate([J, _flatten_last_two(turned)], -1)
    source = np.zeros(tree.nq, int)
    for column, coordinate in enumerate(tree.column_coordinate):
        if coordinate >= 0:
            source[coordinate] = column
    for k in range(len(tree.balls)):
        source[parts[k]] = tree.nv + 4 * k + np.arange(4)
    return wide[..., source]


@full_matmul_precision
def coordinates_to_tangent(
    tree: KinematicTree,
    q: Float[Array, "*#batch nq"],
    J: Float[Array, "*#batch rows nq"],
) -> Float[Array, "*batch rows nv"]:
    """Convert a Jacobian with respect to q to one with respect to the tangent space."""
    if not tree.balls:
        return J
    xp = J.__array_namespace__() if not isinstance(J, np.ndarray) else np
    single = [c for c in tree.column_coordinate if c >= 0]
    parts = tree.indices.quaternion_coordinates
    raw = q[..., parts]
    w, x, y, z = (raw[..., i] for i in range(4))
    # dq = ½ q ⊗ (0, ω)
    half = 0.5 * xp.stack(
        [
            xp.stack([-x, -y, -z], -1),
            xp.stack([w, -z, y], -1),
            xp.stack([z, w, -x], -1),
            xp.stack([-y, x, w], -1),
        ],
        -2,
    )
    turned = (J[..., :, parts][..., None, :] @ half[..., None, :, :, :])[..., 0, :]
    singles = J[..., :, np.array(single, int)]
    wide = xp.concatenate([singles, _flatten_last_two(turned)], -1)
    source = np.zeros(tree.nv, int)
    position = {c: i for i, c in enumerate(single)}
    for column, coordinate in enumerate(tree.column_coordinate):
        if coordinate >= 0:
            source[column] = position[coordinate]
    for k, (_, column) in enumerate(tree.balls):
        source[column : column + 3] = len(single) + 3 * k + np.arange(3)
    return wide[..., source]


def difference(
    tree: KinematicTree, a: Float[Array, "*batch nq"], b: Float[Array, "*batch nq"]
) -> Float[Array, "*batch nv"]:
    """Return the tangent step from a to b: b is a ⊕ v, by the smaller angles."""
    xp = a.__array_namespace__()
    if not tree.balls:
        return b - a
    parts = tree.indices.quaternion_coordinates
    turn = quat_multiply(
        quat_conjugate(quat_normalize(a[..., parts])), quat_normalize(b[..., parts])
    )
    turned = _flatten_last_two(quat_log(turn))
    source = np.array(tree.column_coordinate, int)
    for k, (_, column) in enumerate(tree.balls):
        source[column : column + 3] = tree.nq + 3 * k + np.arange(3)
    return xp.concatenate([b - a, turned], -1)[..., source]


def integrate(
    tree: KinematicTree, q: Float[Array, "*batch nq"], v: Float[Array, "*batch nv"]
) -> Float[Array, "*batch nq"]:
    """Return q ⊕ v: coordinates add, quaternions rotate by v in their moved frame."""
    xp = q.__array_namespace__()
    if not tree.balls:
        return q + v
    parts, columns = (
        tree.indices.quaternion_coordinates,
        tree.indices.quaternion_columns,
    )
    turned = _flatten_last_two(
        quat_multiply(quat_normalize(q[..., parts]), quat_exp(v[..., columns]))
    )
    source = np.zeros(tree.nq, int)
    single = np.zeros(tree.nq)
    for column, coordinate in enumerate(tree.column_coordinate):
        if coordinate >= 0:
            source[coordinate] = column
            single[coordinate] = 1.0
    moved = q + v[..., source] * single
    # Replace the entries of quaternions by the rotated ones.
    rows = np.arange(tree.nq)
    for k in range(len(tree.balls)):
        rows[parts[k]] = tree.nq + 4 * k + np.arange(4)
    return xp.concatenate([moved, turned], -1)[..., rows]


def _flatten_last_two(x: Float[Array, "*batch n k"]) -> Float[Array, "*batch nk"]:
    """Return an array, which may be empty, with its last two axes in one."""
    return x.reshape((*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def interpolate(
    tree: KinematicTree,
    q: Float[Array, "*batch nq"],
    other: Float[Array, "*batch nq"],
    fraction: Float[Array, "*batch"],
) -> Float[Array, "*batch nq"]:
    """Return coordinates on the straight motion from q to others.

    Quaternions rotate about a constant axis at constant speed (Shoemake 1985).
    """
    return integrate(tree, q, fraction[..., None] * difference(tree, q, other))


def interpolation_jacobian(
    tree: KinematicTree,
    q: Float[jax.Array, " nq"],
    other: Float[jax.Array, " nq"],
    fraction: Float[jax.Array, ""],
) -> Float[jax.Array, "2 nv nv"]:
    """Return the derivative of `interpolate` by both its ends, in tangent spaces.

    The second index is that of the end, the last one that of the result.
    """
    middle = interpolate(tree, q, other, fraction)

    def moved(steps: jax.Array) -> jax.Array:
        ends = integrate(tree, q, steps[0]), integrate(tree, other, steps[1])
        return difference(tree, middle, interpolate(tree, *ends, fraction))

    J = jax.jacfwd(moved)(jnp.zeros((2, tree.nv), q.dtype))
    return jnp.moveaxis(J, 0, -1)

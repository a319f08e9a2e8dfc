"""Rotations and poses, for NumPy and JAX arrays.

A pose is `(px, py, pz, w, x, y, z)`; a quaternion is `(w, x, y, z)`, Hamilton
product, mapping body to world. Every function works on NumPy arrays and on JAX
arrays, traced or not, and keeps leading batch axes. Quaternions are
those of Lynch and Park (Modern Robotics, 2017), appendix B.3.
"""

import numpy as np
from jaxtyping import Float

from posewise.compilation.precision import full_matmul_precision

from ..typing import Array, VectorLike

IDENTITY = np.array([0.0, 0, 0, 1, 0, 0, 0])
"""The identity pose."""


def _hamilton_table() -> Float[np.ndarray, "16 4"]:
    """Return the products of the units 1, i, j, k as the rows of a bilinear table."""
    table = np.zeros((4, 4, 4))
    table[0] = table[:, 0] = np.eye(4)
    for i, j, k in [(1, 2, 3), (2, 3, 1), (3, 1, 2)]:
        table[i, i, 0] = table[j, i, k] = -1.0
        table[i, j, k] = 1.0
    return table.reshape(16, 4)


_HAMILTON_TABLE = _hamilton_table()


def skew(v: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3 3"]:
    """Return the skew-symmetric matrix of v: `skew(v) @ u = v × u`."""
    xp = v.__array_namespace__()
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    o = xp.zeros_like(x)
    rows = xp.stack([o, -z, y, z, o, -x, -y, x, o], -1)
    return rows.reshape((*v.shape[:-1], 3, 3))


def cross(
    a: Float[Array, "*#batch 3"], b: Float[Array, "*#batch 3"]
) -> Float[Array, "*batch 3"]:
    """Return the cross product `a × b`."""
    xp = b.__array_namespace__()
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1)


@full_matmul_precision
def rotate(
    R: Float[Array, "*#batch 3 3"], v: Float[Array, "*#batch 3"]
) -> Float[Array, "*batch 3"]:
    """Return the matrix-vector product `R v`."""
    if isinstance(R, np.ndarray) and isinstance(v, np.ndarray):
        return (R @ v[..., None])[..., 0]
    # Sums of products, as in `compose`.
    x, y, z = (R[..., :, k] * v[..., None, k] for k in range(3))
    return x + y + z


@full_matmul_precision
def compose(
    R: Float[Array, "*#batch 3 3"], S: Float[Array, "*#batch 3 3"]
) -> Float[Array, "*batch 3 3"]:
    """Return the matrix product `R S`."""
    if isinstance(R, np.ndarray) and isinstance(S, np.ndarray):
        return R @ S
    # Sums of products: element-wise operations fuse and vectorise over batches, where
    # XLA for CPUs would call one multiplication of small matrices after the other.
    x, y, z = (R[..., :, k, None] * S[..., None, k, :] for k in range(3))
    return x + y + z


def quat_normalize(q: Float[Array, "*batch 4"]) -> Float[Array, "*batch 4"]:
    """Return the unit quaternion; the zero quaternion becomes the identity."""
    xp = q.__array_namespace__()
    square = xp.sum(q * q, -1, keepdims=True)
    zero = square == 0
    # The inner `where` keeps the derivative of the square root finite at zero.
    unit = q / xp.sqrt(xp.where(zero, 1.0, square))
    return xp.where(zero, xp.asarray([1.0, 0, 0, 0], dtype=q.dtype), unit)


@full_matmul_precision
def quat_multiply(
    a: Float[Array, "*#batch 4"], b: Float[Array, "*#batch 4"]
) -> Float[Array, "*batch 4"]:
    """Return the Hamilton product `a ⊗ b`."""
    # One matrix product traces to fewer operations than sixteen products by hand.
    products = a[..., :, None] * b[..., None, :]
    table = _HAMILTON_TABLE.astype(products.dtype)
    return products.reshape(*products.shape[:-2], 16) @ table


def quat_conjugate(q: Float[Array, "*batch 4"]) -> Float[Array, "*batch 4"]:
    """Return the conjugate, which is the inverse of a unit quaternion."""
    return q * np.array([1.0, -1, -1, -1], dtype=q.dtype)


def quat_to_matrix(q: Float[Array, "*batch 4"]) -> Float[Array, "*batch 3 3"]:
    """Return the rotation matrix of a unit quaternion."""
    xp = q.__array_namespace__()
    w, x, y, z = (q[..., i] for i in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return xp.stack([xp.stack(row, -1) for row in rows], -2)


def matrix_to_quat(R: Float[Array, "*batch 3 3"]) -> Float[Array, "*batch 4"]:
    """Return the unit quaternion of a rotation matrix, its largest entry positive.

    The four candidates `4 q_i q` are the columns of a symmetric matrix; the one with
    the largest `q_i` is normalised, which avoids cancellation (Shepperd 1978).
    """
    xp = R.__array_namespace__()
    a, b, c = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    wx, wy, wz = (
        R[..., 2, 1] - R[..., 1, 2],
        R[..., 0, 2] - R[..., 2, 0],
        R[..., 1, 0] - R[..., 0, 1],
    )
    xy, xz, yz = (
        R[..., 1, 0] + R[..., 0, 1],
        R[..., 0, 2] + R[..., 2, 0],
        R[..., 2, 1] + R[..., 1, 2],
    )
    table = [
        [1 + a + b + c, wx, wy, wz],
        [wx, 1 + a - b - c, xy, xz],
        [wy, xy, 1 - a + b - c, yz],
        [wz, xz, yz, 1 - a - b + c],
    ]
    rows = xp.stack([xp.stack(row, -1) for row in table], -2)
    diagonal = xp.stack([table[i][i] for i in range(4)], -1)
    best = xp.argmax(diagonal, -1)[..., None]
    column = sum(xp.where(best == i, rows[..., i, :], 0.0) for i in range(4))
    return column / xp.sqrt(xp.sum(column * column, -1, keepdims=True))


def quat_log(q: Float[Array, "*batch 4"]) -> Float[Array, "*batch 3"]:
    """Return the rotation vector, axis times angle in [0, π], of a unit quaternion."""
    xp = q.__array_namespace__()
    # q and -q are the same rotation; the one with w >= 0 has the smaller angle.
    q = xp.where(q[..., :1] < 0, -q, q)
    w, v = q[..., 0], q[..., 1:]
    square = xp.sum(v * v, -1)
    small = square < 1e-12
    norm = xp.sqrt(xp.where(small, 1.0, square))
    angle = 2 * xp.arctan2(norm, w)
    # angle / |v| near zero, with |q| = 1 to first order in the rounding of w
    series = 2 - 2 * square / 3 + 2 * (1 - w)
    return v * xp.where(small, series, angle / norm)[..., None]


def quat_exp(v: Float[Array, "*batch 3"]) -> Float[Array, "*batch 4"]:
    """Return the unit quaternion of a rotation vector."""
    xp = v.__array_namespace__()
    square = xp.sum(v * v, -1, keepdims=True)
    small = square < 1e-12
    angle = xp.sqrt(xp.where(small, 1.0, square))
    # Taylor series of sin(θ/2)/θ and cos(θ/2), exact to rounding below |v| = 1e-6
    factor = xp.where(small, 0.5 - square / 48, xp.sin(angle / 2) / angle)
    real = xp.where(small, 1 - square / 8, xp.cos(angle / 2))
    return quat_normalize(xp.concatenate([real, factor * v], -1))


def axis_angle_to_quat(
    axis: Float[Array, "*#batch 3"], angle: float | Float[Array, "*#batch"]
) -> Float[Array, "*batch 4"]:
    """Return the quaternion of a rotation by `angle` [rad] about `axis`.

    A zero axis gives the identity.
    """
    axis, angle = np.asarray(axis, float), np.asarray(angle, float)
    norm = np.linalg.norm(axis, axis=-1, keepdims=True)
    return quat_exp(axis / np.where(norm == 0, 1.0, norm) * angle[..., None])


def rpy_to_quat(roll: float, pitch: float, yaw: float) -> Float[np.ndarray, "4"]:
    """Return the quaternion of URDF's `rpy` [rad], `Rz(yaw) Ry(pitch) Rx(roll)`."""
    x, y, z = np.eye(3)
    yaw_pitch = quat_multiply(axis_angle_to_quat(z, yaw), axis_angle_to_quat(y, pitch))
    return quat_multiply(yaw_pitch, axis_angle_to_quat(x, roll))


def make_pose(
    position: VectorLike = (0.0, 0.0, 0.0), quaternion: VectorLike = (1.0, 0, 0, 0)
) -> Float[np.ndarray, "7"]:
    """Return the pose of a position [m] and a quaternion, which is normalised."""
    q = quat_normalize(np.asarray(quaternion, float))
    return np.concatenate([np.asarray(position, float), q])


def pose_multiply(
    a: Float[Array, "*#batch 7"], b: Float[Array, "*#batch 7"]
) -> Float[Array, "*batch 7"]:
    """Return `X_AC = X_AB X_BC`."""
    xp = _namespace(a, b)
    p = a[..., :3] + rotate(quat_to_matrix(a[..., 3:]), b[..., :3])
    return xp.concatenate([p, quat_multiply(a[..., 3:], b[..., 3:])], -1)


def pose_inverse(a: Float[Array, "*batch 7"]) -> Float[Array, "*batch 7"]:
    """Return `X_BA` of `X_AB`."""
    xp = a.__array_namespace__()
    q = quat_conjugate(a[..., 3:])
    return xp.concatenate([-rotate(quat_to_matrix(q), a[..., :3]), q], -1)


def _namespace(*arrays):
    for a in arrays:
        if not isinstance(a, np.ndarray):
            return a.__array_namespace__()
    return np

"""Quaternions, poses, and the logarithm of a pose error.

A quaternion and its negative are the same rotation. So quaternions are continuous over
slices, two quaternions are compared with the signs that bring them closer, and a target
is met by either sign. rai differs: it negates `quaternionRel`, flips quaternion
velocities at order 2, and never flips the quaternion of a pose.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Float

from posewise.robots.kinematics.transforms import (
    quat_conjugate,
    quat_log,
    quat_multiply,
    skew,
)

from . import safe_math
from .positions import position, position_diff, position_rel
from .symbol import Pose

Quaternion = Float[jax.Array, "4"]
PoseVector = Float[jax.Array, "7"]


def quaternion(a: Pose) -> Quaternion:
    """Orientation of the frame in the world."""
    return a.quaternion


def quaternion_diff(a: Pose, b: Pose) -> Quaternion:
    """Quaternion of `a` minus that of `b`, taken with the nearer sign."""
    # |q_a - s q_b|² = 2 - 2 s q_a·q_b for unit quaternions and a sign s, so that s is
    # the sign of the product.
    q_a, q_b = a.quaternion, b.quaternion
    return q_a - jnp.where(jnp.sum(q_a * q_b) < 0, -1.0, 1.0) * q_b


def quaternion_rel(a: Pose, b: Pose) -> Quaternion:
    """Orientation of `a` expressed in `b`."""
    relative: Quaternion = quat_multiply(quat_conjugate(b.quaternion), a.quaternion)
    return relative


def euler_xyz(a: Pose, b: Pose) -> Float[jax.Array, "3"]:
    """Euler angles of `a` in `b`: turns about x, then the new y, then the new z.

    The second is within ±π/2, the others are within ±π. Where the second is ±π/2 only
    the sum or difference of the others is unique, which then stands for each of them.
    """
    R = b.R.T @ a.R
    squares = R[0, 0] ** 2 + R[0, 1] ** 2 + R[1, 2] ** 2 + R[2, 2] ** 2
    cosine = safe_math.sqrt(squares / 2)
    locked = cosine <= 4 * jnp.finfo(R.dtype).eps
    sign = jnp.where(R[0, 2] > 0, 1.0, -1.0)
    sine_of_sum, cosine_of_sum = R[2, 1] + sign * R[1, 0], R[1, 1] - sign * R[2, 0]

    def angle(y: jax.Array, x: jax.Array) -> jax.Array:
        return safe_math.arctan2(
            jnp.where(locked, sine_of_sum, y), jnp.where(locked, cosine_of_sum, x)
        )

    return jnp.stack(
        [
            angle(-R[1, 2], R[2, 2]),
            jnp.arctan2(R[0, 2], cosine),
            angle(-R[0, 1], R[0, 0]),
        ]
    )


def pose(a: Pose) -> PoseVector:
    """Position and quaternion of the frame in the world."""
    return jnp.concatenate([position(a), quaternion(a)])


def pose_diff(a: Pose, b: Pose) -> PoseVector:
    """Position difference and quaternion difference in the world."""
    return jnp.concatenate([position_diff(a, b), quaternion_diff(a, b)])


def pose_rel(a: Pose, b: Pose) -> PoseVector:
    """Pose of `a` expressed in `b`."""
    return jnp.concatenate([position_rel(a, b), quaternion_rel(a, b)])


def pose_log(a: Pose, b: Pose) -> Float[jax.Array, "6"]:
    """Twist (linear [m], angular [rad]) that carries `b` into `a` in unit time.

    log of `X_BA` in SE(3), expressed in `b`; exact, with the inverse left Jacobian
    (Barfoot, State Estimation for Robotics, eq. 7.95).
    """
    # log X = (V⁻¹ p, w) for X = (exp [w]×, p). It is not unique at an angle of π, where
    # `quat_log` jumps from axis w to -w, and V⁻¹ exists up to 2π.
    w = quat_log(quaternion_rel(a, b))
    p = b.R.T @ (a.p - b.p)
    # V⁻¹ = I - ½ W + c W² with c = (1 - ½θ cot ½θ) / θ², by its series near θ = 0; the
    # inner `where` keeps the derivative of the branch not taken finite.
    square = jnp.sum(w * w)
    small = square < 1e-4
    angle = jnp.sqrt(jnp.where(small, 1.0, square))
    half = angle / 2
    exact = (1 - half * jnp.cos(half) / jnp.sin(half)) / angle**2
    series = 1 / 12 + square / 720 + square**2 / 30240
    W = skew(w)
    V_inverse = (
        jnp.eye(3, dtype=w.dtype) - W / 2 + jnp.where(small, series, exact) * (W @ W)
    )
    return jnp.concatenate([V_inverse @ p, w])

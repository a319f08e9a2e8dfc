"""Velocities and energy: features of poses in two neighbouring slices."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.transforms import quat_conjugate, quat_multiply
from posewise.robots.typing import FrameName

from .safe_math import norm
from .symbol import Pose

GRAVITY = 9.81
"""Standard gravity [m/s²]; a larger one makes links heavier."""
PoseTuple = tuple[Pose, ...]
Vector = Float[jax.Array, "3"]


def angular_velocity(
    old: tuple[Pose], new: tuple[Pose], *, tau: Float[jax.Array, ""]
) -> Vector:
    """Angular velocity in the world [rad/s].

    It is computed from the quaternion difference: 2 sin(θ/2) / tau along the axis of a
    rotation by θ.
    """
    # 2 q̇ ⊗ q* is (0, ω); a difference takes the place of q̇, so signs are continuous.
    # Unlike the logarithm, this is linear in each quaternion, so its derivatives have
    # no singularity at rest; it differs from θ / tau by θ³ / 24 tau.
    a, b = old[0].quaternion, new[0].quaternion
    velocity: Vector = 2 * quat_multiply(b - a, quat_conjugate(a))[1:] / tau
    return velocity


def linear_angular_velocity(
    old: tuple[Pose], new: tuple[Pose], *, tau: Float[jax.Array, ""]
) -> Float[jax.Array, "6"]:
    """Velocity of the frame's origin [m/s], then its angular velocity [rad/s]."""
    linear = (new[0].p - old[0].p) / tau
    return jnp.concatenate([linear, angular_velocity(old, new, tau=tau)])


def linear_speed(
    old: tuple[Pose], new: tuple[Pose], *, tau: Float[jax.Array, ""]
) -> Float[jax.Array, "1"]:
    """Speed of the frame's origin: the length of its velocity [m/s]."""
    return norm(new[0].p - old[0].p)[None] / tau


def angular_speed(
    old: tuple[Pose], new: tuple[Pose], *, tau: Float[jax.Array, ""]
) -> Float[jax.Array, "1"]:
    """Speed of rotation: the angle between two slices over tau [rad/s]."""
    turn = quat_multiply(new[0].quaternion, quat_conjugate(old[0].quaternion))
    # The sign of quaternions is continuous, so that w = cos(θ/2) is not negative.
    return 2 * jnp.arctan2(norm(turn[1:]), turn[0])[None] / tau


def body_velocity(
    old: tuple[Pose], new: tuple[Pose], *, tau: Float[jax.Array, ""]
) -> Vector:
    """Velocity of the frame's origin, in the frame of the newer slice [m/s]."""
    return new[0].R.T @ (new[0].p - old[0].p) / tau


def align_with_motion(axis: int) -> Callable[..., Vector]:
    """Return the feature: direction of motion of `b` minus an axis of `a`.

    The axis is that of the older slice. The direction is d / (|d| + 1e-4 m), so that
    the derivative stays finite without motion.
    """

    def difference(
        old: tuple[Pose, Pose], new: tuple[Pose, Pose], *, tau: Float[jax.Array, ""]
    ) -> Vector:
        d = new[1].p - old[1].p
        # `norm`, because |d| has no derivative at rest, whatever is added to it.
        return d / (norm(d) + 1e-4) - old[0].R[:, axis]

    difference.__doc__ = (
        f"Direction of motion of `b` minus the {'xyz'[axis]} axis of `a`, in the world."
    )
    return difference


def energy(
    old: PoseTuple,
    new: PoseTuple,
    *,
    tau: Float[jax.Array, ""],
    mass: Float[jax.Array, " m"],
) -> Float[jax.Array, "1"]:
    """Kinetic energy of translation plus potential energy m g z [J].

    Bodies count as points at their frames' origins. At order 2 the value is the change
    of energy over one slice [J], not divided by time.
    """
    total = jnp.zeros((), mass.dtype)
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        v = (b.p - a.p) / tau
        total += mass[i] * (0.5 * jnp.sum(v * v) + GRAVITY * b.p[2])
    return total[None]


def mass_params(
    C: Config, frames: Sequence[FrameName], **_: float
) -> dict[str, np.ndarray]:
    """Return the frames' masses [kg].

    Raises:
        ConfigError: for a frame without mass.
    """
    masses = [C.frame(f).mass for f in frames]
    if None in masses:
        raise ConfigError(
            f"Frame {frames[masses.index(None)]!r} has no mass; give it one with"
            " C.set_mass(frame, kg)."
        )
    return {"mass": np.array(masses, float)}

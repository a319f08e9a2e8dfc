"""Features of joint coordinates: values, limits, speeds, distance from home."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.typing import Array

from .errors import FeatureError
from .safe_math import amin

JointValues = Float[jax.Array, " n"]


def joint_values(q: JointValues) -> JointValues:
    """Joint coordinates, with the four entries of quaternions [rad, m]."""
    return q


def joint_limits(q: JointValues, *, limits: Float[jax.Array, "2 n"]) -> jax.Array:
    """For each coordinate with limits, lower - q and q - upper; <= 0 within limits."""
    # The two rows of a coordinate are neighbours, as `Symbol.rows_per_coordinate` asks:
    # row r depends on coordinate r // 2 only.
    return jnp.stack([limits[0] - q, q - limits[1]], -1).reshape(-1)


def velocity_limits(
    old: JointValues,
    new: JointValues,
    *,
    tau: Float[jax.Array, ""],
    max_velocity: JointValues,
) -> jax.Array:
    """For each coordinate with a speed limit, -v - max and v - max; <= 0 within limits.

    Rows of -v and v alternate, like those of jointLimits [rad/s, m/s].
    """
    # Speed limits are symmetric, so that both rows have the same maximum.
    v = (new - old) / tau
    return jnp.stack([-v - max_velocity, v - max_velocity], -1).reshape(-1)


def velocity_bounds(
    old: JointValues,
    new: JointValues,
    *,
    tau: Float[jax.Array, ""],
    limits: JointValues,
) -> jax.Array:
    """For each coordinate by how far its step exceeds ±limit · tau.

    Rows are at most 0 where |v| is at most the limit; see `KOMO.add_motion_limits`.
    """
    # Not the velocity itself: where tau is a variable, these rows are linear in it.
    return _beyond(new - old, limits * tau)


def acceleration_bounds(
    oldest: JointValues,
    old: JointValues,
    new: JointValues,
    *,
    tau: Float[jax.Array, "2"],
    limits: JointValues,
) -> jax.Array:
    """For each coordinate by how far its change of step exceeds ±limit · tau².

    Where steps differ, the change of velocity is that over the shorter one, as where
    corners are rounded; see `Solution.resample`.
    """
    change = (new - old) / tau[1] - (old - oldest) / tau[0]
    mean = tau.mean()
    return _beyond(change * mean, limits * amin(tau) * mean)


def jerk_bounds(
    oldest: JointValues,
    older: JointValues,
    old: JointValues,
    new: JointValues,
    *,
    tau: Float[jax.Array, "3"],
    limits: JointValues,
) -> jax.Array:
    """For each coordinate by how far its third difference exceeds ±limit · tau³."""
    first = transition_acceleration(oldest, older, old, tau=tau[:2])
    second = transition_acceleration(older, old, new, tau=tau[1:])
    # Accelerations lie in the middle between the middles of two steps.
    time = (tau[0] + 2 * tau[1] + tau[2]) / 4
    square = tau[1] ** 2
    return _beyond((second - first) * square, limits * time * square)


def _beyond(change: JointValues, largest: JointValues) -> jax.Array:
    """Return by how far -x and x of each change exceed the largest one."""
    # A row depends on one coordinate only, as `Symbol.rows_per_coordinate` asks.
    return jnp.stack([-change - largest, change - largest], -1).reshape(-1)


def motion_bound_params(
    C: Config, frames: Sequence[str], limits: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the limit of each coordinate of the named joints, or of all joints.

    Raises:
        FeatureError: for another number of limits.
    """
    names = frames or C.joint_names
    n = C.joints.coordinates(names).size
    if np.size(limits) not in (1, n):
        raise FeatureError(
            f"limits has {np.size(limits)} numbers, expected 1 or {n}, one for each"
            f" coordinate of {', '.join(names)}."
        )
    return {"limits": np.array(np.broadcast_to(limits, n), float)}


def transition_velocity(
    old: JointValues, new: JointValues, *, tau: Float[jax.Array, ""]
) -> JointValues:
    """Velocity of the coordinates between two slices [rad/s, m/s]."""
    return (new - old) / tau


def transition_acceleration(
    oldest: JointValues,
    old: JointValues,
    new: JointValues,
    *,
    tau: Float[jax.Array, "2"],
) -> JointValues:
    """Acceleration of the coordinates over three slices [rad/s², m/s²]."""
    # The two velocities are those in the middles of their steps, which are the mean of
    # both steps apart; so steps may have different lengths.
    return ((new - old) / tau[1] - (old - oldest) / tau[0]) / tau.mean()


def home_difference(
    q: JointValues, *, home: JointValues, block: Bool[Array, "n n"]
) -> JointValues:
    """Joint coordinates minus their home values; quaternions with the nearer sign.

    A vector scale gives each coordinate its own weight.
    """
    # q·home of the quaternion that a coordinate belongs to tells the nearer sign; it is
    # piecewise constant, so no derivative passes through.
    side = jnp.where(block, home * q, 0.0).sum(-1)
    sign = jnp.where(block.any(-1) & (side < 0), -1.0, 1.0)
    return q - jax.lax.stop_gradient(sign) * home


def quaternion_norms(q: JointValues) -> jax.Array:
    """|q|² - 1 for the quaternion of each quatBall and free joint.

    It is there for programs written for rai; this solver moves in the tangent space,
    where quaternions stay normalised.
    """
    return jnp.sum(q.reshape(-1, 4) ** 2, -1) - 1


def limited_coordinates(C: Config, frames: Sequence[str]) -> np.ndarray:
    """Return the coordinates with limits, of the named joints or of all joints."""
    chosen = C.joints.coordinates(frames or C.joint_names)
    limited: np.ndarray = chosen[np.isfinite(C.limits[:, chosen]).any(0)]
    return limited


def joint_limit_params(
    C: Config, frames: Sequence[str], **_: float
) -> dict[str, np.ndarray]:
    """Return the limits of `limited_coordinates`; open ones are ±1e6."""
    # Infinite rows would be NaN after a scale of 0.
    return {"limits": np.clip(C.limits[:, limited_coordinates(C, frames)], -1e6, 1e6)}


def speed_limited_coordinates(C: Config, frames: Sequence[str]) -> np.ndarray:
    """Return the coordinates with a speed limit, of the named joints or of all."""
    chosen = C.joints.coordinates(frames or C.joint_names)
    limited: np.ndarray = chosen[np.isfinite(C.joints.max_velocity[chosen])]
    return limited


def velocity_limit_params(
    C: Config, frames: Sequence[str], **_: float
) -> dict[str, np.ndarray]:
    """Return the speed limits of `speed_limited_coordinates`."""
    return {"max_velocity": C.joints.max_velocity[speed_limited_coordinates(C, frames)]}


def home_params(C: Config, frames: Sequence[str], **_: float) -> dict[str, np.ndarray]:
    """Return home values, and which coordinates form a quaternion together."""
    chosen = C.joints.coordinates(frames or C.joint_names)
    # Coordinates outside of quaternions are in group -1, which is no block: their sign
    # has a meaning.
    group = np.full(C.nq, -1)
    for first in C.joints.quaternions:
        group[first : first + 4] = first
    g = group[chosen]
    return {"home": C.home[chosen], "block": (g[:, None] == g) & (g >= 0)[:, None]}


def quaternion_coordinates(C: Config, frames: Sequence[str]) -> np.ndarray:
    """Return the coordinates of quaternions of quatBall, free and floating joints."""
    chosen = C.joints.coordinates(frames or C.joint_names)
    kinds = dict(zip(C.joint_names, C.joints.types, strict=True))
    names = [n for n in C.joint_names if kinds[n] in ("quatBall", "free", "floating")]
    in_quaternions = C.joints.coordinates(names)
    first = [s for s in C.joints.quaternions if s in in_quaternions and s in chosen]
    return (np.array(first, int)[:, None] + np.arange(4)).reshape(-1)

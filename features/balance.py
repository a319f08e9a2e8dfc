"""Centre of mass and manipulability."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.forward import (
    ForwardPass,
    FramePoses,
    Kinematics,
    geometric_jacobians,
)
from posewise.robots.typing import Array, FrameName

from .motions import mass_params
from .safe_math import sqrt
from .symbol import Pose


def equal_center_of_mass(
    a: Pose,
    *bodies: Pose,
    mass: Float[jax.Array, " m"],
    com: Float[jax.Array, "m 3"],
) -> Float[jax.Array, "3"]:
    """Position of `a` minus the centre of mass of the bodies, in the world [m].

    The centre of a body is `Frame.com`, or without one its frame's origin, as in rai.
    """
    moments = (mass[i] * (b.R @ com[i] + b.p) for i, b in enumerate(bodies))
    return a.p - sum(moments) / jnp.sum(mass)


def body_mass_params(
    C: Config, frames: Sequence[FrameName], **_: float
) -> dict[str, np.ndarray]:
    """Return masses and their centres of all frames except the first.

    Raises:
        ConfigError: for a frame without mass, and masses that are all zero.
    """
    params = mass_params(C, frames[1:])
    if params["mass"].sum() <= 0:
        raise ConfigError(f"EqCenterOfMass: the masses of {list(frames[1:])} sum to 0.")
    coms = (C.frame(f).com for f in frames[1:])
    centres = [np.zeros(3) if com is None else com for com in coms]
    return params | {"com": np.array(centres, float)}


def manipulability(
    q: Float[jax.Array, " nq"],
    *,
    frame: Int[Array, ""],
    linear: Int[Array, ""],
    K: Kinematics,
) -> Float[jax.Array, "1"]:
    """sqrt(det(J Jᵀ)) of the frame's Jacobian, or of its linear rows; 0 if singular.

    After Yoshikawa, "Manipulability of robotic mechanisms" (1985).
    """
    # The kinematics are evaluated inside of the feature, because its derivative is the
    # second derivative of poses, which wrenches do not have.
    w = K.forward_pass(q)
    # The frame is an index in an array and not a static number, so that features on
    # different frames share a program.
    frame_poses = FramePoses(w.frames.R[frame][None], w.frames.p[frame][None])
    one = ForwardPass(frame_poses, w.twists)
    mask = K.dof_mask[frame][None]
    J = geometric_jacobians(K, one, mask)[0]
    translation = jnp.arange(6) < 3
    gram = J @ J.T
    # Without the angular rows their block becomes the identity, which leaves the
    # determinant to the linear rows.
    keep = translation | (linear == 0)
    gram = jnp.where(keep[:, None] & keep[None, :], gram, 0.0)
    gram = gram + jnp.diag(jnp.where(keep, 0.0, 1.0))
    # Rounding makes the determinant of a singular Gram matrix negative at times, and
    # the root has no derivative at 0: `safe_math.sqrt` returns 0 with slope 0 for both.
    return sqrt(jnp.linalg.det(gram))[None]

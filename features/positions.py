"""Positions, axes and their products.

Vectors are in world coordinates unless stated otherwise; `a` is the first frame, `b`
the second.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .symbol import Pose

Vector = Float[jax.Array, "3"]
AXES = "xyz"


def position(a: Pose) -> Vector:
    """Position of the frame [m]."""
    return a.p


def position_diff(a: Pose, b: Pose) -> Vector:
    """Position of `a` minus position of `b` [m]."""
    return a.p - b.p


def position_rel(a: Pose, b: Pose) -> Vector:
    """Position of `a` expressed in `b` [m]."""
    return b.R.T @ (a.p - b.p)


def gaze_at(a: Pose, b: Pose) -> Float[jax.Array, "2"]:
    """Offset of `a` from the z axis of camera `b` [m]; zero on both sides of `b`.

    Its rows are along the camera's x and y. A camera looks along z, but as in rai the
    value is zero behind it, too: an inequality of `FS.positionRel` with the scale [0,
    0, -1] and the target [0, 0, 0.1] keeps `a` 10 cm in front. A `camera_link` of URDF
    looks along x and needs an optical frame. A scale or target of three numbers
    addresses the 3-D form; rai drops the projection inside KOMO.
    """
    # Without the division by depth of a pinhole camera, rows are linear in the position
    # in b, and have no pole in the camera's plane z = 0.
    return position_rel(a, b)[:2]


def axis(i: int) -> Callable[[Pose], Vector]:
    """Return the feature: axis `i` of a frame, in the world."""

    def vector(a: Pose) -> Vector:
        return a.R[:, i]

    vector.__doc__ = f"The frame's {AXES[i]} axis in the world."
    return vector


def axis_diff(i: int) -> Callable[[Pose, Pose], Vector]:
    """Return the feature: axis `i` of `a` minus axis `i` of `b`, in the world."""

    def vector_diff(a: Pose, b: Pose) -> Vector:
        return a.R[:, i] - b.R[:, i]

    x = AXES[i]
    vector_diff.__doc__ = f"{x} axis of `a` minus {x} axis of `b`, in the world."
    return vector_diff


def axis_rel(i: int) -> Callable[[Pose, Pose], Vector]:
    """Return the feature: axis `i` of `a` expressed in `b`."""

    def vector_rel(a: Pose, b: Pose) -> Vector:
        return b.R.T @ a.R[:, i]

    vector_rel.__doc__ = f"{AXES[i]} axis of `a` expressed in `b`."
    return vector_rel


def scalar_product(i: int, j: int) -> Callable[[Pose, Pose], Float[jax.Array, "1"]]:
    """Return the feature: scalar product of axis `i` of `a` and axis `j` of `b`."""

    def product(a: Pose, b: Pose) -> Float[jax.Array, "1"]:
        return jnp.sum(a.R[:, i] * b.R[:, j])[None]

    product.__doc__ = (
        f"Scalar product of the {AXES[i]} axis of `a` and the {AXES[j]} axis of `b`."
    )
    return product

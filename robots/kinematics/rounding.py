"""Lengths and angles that are too large for the digits of JAX's numbers.

Kinematics are computed in the world, so that a frame far from its origin is rounded as
its coordinates are: a float32 at 4.5e6 m is a multiple of half a metre.
"""

import jax.numpy as jnp
import numpy as np

TOLERANCE = 1e-3
"""Error from which coordinates count as too large, where no tolerance is asked
for [m, rad]; a smaller one warns of worlds that are nearer to the origin."""


def float_type() -> type[np.floating]:
    """Return the type of JAX's floating-point numbers."""
    return np.float64 if jnp.result_type(float) == jnp.float64 else np.float32


def rounding_step(value: float) -> float:
    """Return the distance of a number to its neighbours in that type."""
    return float(np.spacing(float_type()(abs(value))))


def is_coarse(value: float, tolerance: float = TOLERANCE) -> bool:
    """Return whether a number is rounded by more than a tolerance."""
    # Some of these steps add up along a chain of joints.
    return 2 * rounding_step(value) > tolerance


def rounding_sentence(parts: str, step: float, tolerance: float) -> str:
    """Return the sentence on numbers that are too large.

    Args:
        parts: the numbers and what they are of.
        step: distance of the largest to its neighbours.
        tolerance: the error that would be small enough.
    """
    is_double = float_type() is np.float64
    name = "float64" if is_double else "float32"
    x64 = 'Call jax.config.update("jax_enable_x64", True) first, or give'
    return (
        f"Coordinates are too large for {name}: {parts}. Errors are about {step:.2g} m"
        f" (or rad), more than {tolerance:.0e}. {'Give' if is_double else x64} all"
        " positions relative to a point near the robot."
    )

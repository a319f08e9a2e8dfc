"""What falls from a point goes into a cavity of a thing, as rows."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.world.regions import Region

from ..exact.regions import CAVITY_MARGIN
from ..smooth_extrema import largest
from .contact import STRICT_MARGIN
from .object_features import ObjectPair, PairRows, mass_centre
from .parts import gather_rows
from .rays import DEFAULT_HIT_RANGE, RAY_CLEARANCE, UP, ray_miss_rows
from .regions import frame_position

RIM_SLOPE = 10.0
"""Rows of the way down yield by so much per metre that it is off the cavity."""


def pour_into_rows(region: Region, upright: float) -> PairRows:
    """At most 0 only where what falls from a's centre goes through a cavity of b
    before it meets b.

    Straight below, as high as the middle of the cavity, is a place in the cavity with
    nothing of b above it. While that place is beside the cavity, what is above it does
    not matter: a wall keeps nobody from the way in.

    Args:
        region: the cavity.
        upright: least z of the z axis of the cavity's frame.
    """

    def build(pair: ObjectPair) -> Any:
        free, arrays, dim = ray_miss_rows(UP, DEFAULT_HIT_RANGE, _level_with_middle)(
            pair
        )
        arrays |= {"region": frame_position(pair, region), "planes": region.planes}
        arrays |= {"middle": region.corners.mean(0), "upright": np.array(upright)}
        return _pours(free), arrays, dim + len(region.planes) + 2

    return build


def _frame(R: Any, p: Any, arrays: dict) -> tuple[jax.Array, jax.Array]:
    """Pose of the cavity's frame."""
    at = arrays["region"][None]
    return gather_rows(R, at)[0], gather_rows(p, at)[0]


def _level_with_middle(R: Any, p: Any, arrays: dict) -> Float[jax.Array, "3"]:
    """Straight below (or above) a's centre, as high as the middle of the cavity."""
    turn, place = _frame(R, p, arrays)
    height = turn[2] @ arrays["middle"] + place[2]
    return jnp.append(mass_centre(R, p, arrays)[:2], height)


@lru_cache(maxsize=256)
def _pours(free: Any) -> Any:
    def pours_into_cavity(R: Any, p: Any, **arrays: Any) -> Any:
        (turn, place), planes = _frame(R, p, arrays), arrays["planes"]
        here = _level_with_middle(R, p, arrays)
        inside = (
            planes[:, :3] @ (turn.T @ (here - place)) - planes[:, 3] + CAVITY_MARGIN
        )
        below = here[2] - mass_centre(R, p, arrays)[2] + RAY_CLEARANCE
        facing = arrays["upright"] - turn[2, 2] + STRICT_MARGIN
        above = free(R, p, **arrays) - RIM_SLOPE * jnp.maximum(largest(inside), 0.0)
        return jnp.concatenate([inside, jnp.stack([below, facing]), above])

    return pours_into_cavity

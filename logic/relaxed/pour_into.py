"""Relaxation of pouring: what falls from a point goes into a cavity of an object."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features.parts import gather_rows
from posewise.features.symbol import TracedArrays
from posewise.robots.annotations.regions import Region

from ..margins import CAVITY_MARGIN, RAY_CLEARANCE, STRICT_MARGIN
from ..smooth_extrema import largest
from .object_features import (
    ObjectPair,
    PairRows,
    RowFunction,
    frame_position,
    mass_centre,
)
from .rays import DEFAULT_HIT_RANGE, UP, ray_miss_rows

ENTRY_SLOPE = 10.0
"""Relaxation of the rows above the cavity per metre beside the cavity [m/m]."""


def pour_into_rows(region: Region, upright: float) -> PairRows:
    """Return rows at most 0 only where what falls from a's centre enters a cavity of b.

    Straight below a's centre, at the height of the middle of the cavity, there must be
    a point in the cavity with nothing of b above.

    Args:
        region: the cavity.
        upright: least z component of the z axis of the cavity's frame.
    """

    def build(pair: ObjectPair) -> RowFunction:
        miss, arrays, dim = ray_miss_rows(UP, DEFAULT_HIT_RANGE, _entry_point)(pair)
        arrays |= {"region": frame_position(pair, region), "planes": region.planes}
        arrays |= {"middle": region.corners.mean(0), "upright": np.array(upright)}
        return RowFunction(_pours_into(miss), arrays, dim + len(region.planes) + 2)

    return build


def _region_pose(
    R: Any, p: Any, arrays: TracedArrays
) -> tuple[Float[jax.Array, "3 3"], Float[jax.Array, "3"]]:
    """Return orientation and origin of the cavity's frame."""
    position = arrays["region"][None]
    return gather_rows(R, position)[0], gather_rows(p, position)[0]


def _entry_point(R: Any, p: Any, arrays: TracedArrays) -> Float[jax.Array, "3"]:
    """Return the point on a's vertical at the height of the middle of the cavity."""
    R_region, p_region = _region_pose(R, p, arrays)
    height = R_region[2] @ arrays["middle"] + p_region[2]
    return jnp.append(mass_centre(R, p, arrays)[:2], height)


@lru_cache(maxsize=256)
def _pours_into(miss: Callable[..., Any]) -> Callable[..., Any]:
    def pours_into_cavity(R: Any, p: Any, **arrays: Any) -> Any:
        # Sound: the rows `inside` put the entry point into the convex cavity; `below`
        # puts it below a's centre; and the ray up from it is clear of b.
        (R_region, p_region), planes = _region_pose(R, p, arrays), arrays["planes"]
        entry = _entry_point(R, p, arrays)
        inside = planes[:, :3] @ (R_region.T @ (entry - p_region)) - planes[:, 3]
        inside = inside + CAVITY_MARGIN
        below = entry[2] - mass_centre(R, p, arrays)[2] + RAY_CLEARANCE
        tilted = arrays["upright"] - R_region[2, 2] + STRICT_MARGIN
        # While the point is beside the cavity, walls above it do not count, because
        # they would repel the object from the way in. Inside, the term is 0.
        beside = jnp.maximum(largest(inside), 0.0)
        blocked = miss(R, p, **arrays) - ENTRY_SLOPE * beside
        return jnp.concatenate([inside, jnp.stack([below, tilted]), blocked])

    return pours_into_cavity

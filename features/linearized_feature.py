"""Inputs of features, and their values with derivatives by these inputs."""

from typing import NamedTuple

import jax
from jaxtyping import Float

from posewise.robots.typing import Array


class FeatureInputs(NamedTuple):
    """Inputs of one bound feature: `k + 1` slices, oldest first."""

    R: Float[Array, "slices m 3 3"]
    p: Float[Array, "slices m 3"]
    quaternion: Float[Array, "slices m 4"]
    """Zeros if the symbol does not use quaternions."""
    q: Float[Array, "slices n"]
    tau: Float[Array, " steps"]
    """Time from each slice to the next one [s]."""


class LinearizedFeature(NamedTuple):
    """Value and derivatives of a feature."""

    y: Float[jax.Array, " rows"]
    moment: Float[jax.Array, "rows slices m 3"]
    force: Float[jax.Array, "rows slices m 3"]
    dq: Float[jax.Array, "rows slices n"]

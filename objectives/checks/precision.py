"""Worlds, targets and paths with coordinates that are too large for JAX's numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.contact.world_scale import least_extent
from posewise.robots.errors import first_few
from posewise.robots.geometry.local_bounds import local_bounds
from posewise.robots.kinematics.rounding import (
    is_coarse,
    rounding_sentence,
    rounding_step,
)
from posewise.robots.world.frame import Geometry

from ..terms.objective import Objective

METRIC_UNITS = ("m", "rad", "rad, m", "m, rad", "m, 1")
"""Units of features whose targets are coordinates."""


def coarse_coordinates(
    C: Config,
    tolerance: float,
    objectives: Sequence[Objective] = (),
    others: Mapping[str, Float[np.ndarray, "..."]] | None = None,
) -> Iterator[str]:
    """Yield a sentence if coordinates are rounded by more than a tolerance.

    Args:
        C: the world in its state.
        tolerance: the error that is small enough [m, rad].
        objectives: those whose targets count, too.
        others: more numbers, by what they are of.
    """
    sizes: dict[str, float] = {}
    distances = np.abs(C.poses()[:, :3]).max(1, initial=0.0)
    for frame, distance in zip(C.frames, distances, strict=True):
        sizes[f"{frame.name!r} in the world"] = float(distance)
        sizes[f"the shape of {frame.name!r}"] = _extent(frame.geometries)
    for name, value in zip(C.joints.coordinate_names, C.q, strict=True):
        sizes[f"joint {name!r}"] = abs(float(value))
    for objective in objectives:
        feature = objective.feature
        is_metric = feature.symbol.unit in METRIC_UNITS and not feature.order
        if feature.target is not None and is_metric:
            sizes[f"the target of {objective.name}"] = _largest(feature.target)
    sizes |= {name: _largest(values) for name, values in (others or {}).items()}
    coarse = {name: x for name, x in sizes.items() if is_coarse(x, tolerance)}
    if coarse:
        parts = [f"{name} at {x:.4g}" for name, x in coarse.items()]
        step = rounding_step(max(coarse.values()))
        yield rounding_sentence(first_few(parts), step, tolerance)


def _extent(geometries: Iterable[Geometry]) -> float:
    """Return the largest coordinate of shapes in their frame [m].

    Shapes without a size, and meshes, whose files would have to be read, count by
    their poses.
    """
    largest = 0.0
    for geometry in geometries:
        size = 0.0
        if least_extent(geometry.shape) > 0:
            size = _largest(np.array(local_bounds(geometry.shape)))
        largest = max(largest, size + _largest(geometry.pose[:3]))
    return largest


def _largest(values: Float[np.ndarray, "..."]) -> float:
    finite = np.asarray(values, float)
    return float(np.abs(finite[np.isfinite(finite)]).max(initial=0.0))

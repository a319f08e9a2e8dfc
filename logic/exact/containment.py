"""Containment: a centre of mass that another object surrounds."""

import warnings
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName

from ..geometry.frame_groups import (
    FrameGroup,
    bounding_box,
    centre_of_mass,
    find_object,
    require_shapes,
)
from ..geometry.hollows import filled_hollow
from ..geometry.messages import length
from ..geometry.ray_axes import AXES, IGIBSON_RANGE, hits_along_axes, is_surrounded
from ..geometry.regions import checked_cavities
from .verdict import Semantics, Verdict


def containment_verdict(
    C: Config, a: FrameName, b: FrameName, semantics: Semantics
) -> Verdict:
    """Return whether b surrounds a's centre of mass; see `InsideOf`."""
    group_a = find_object(C, a, b)
    group_b = require_shapes(find_object(C, b, a))
    igibson = semantics == "igibson"
    centre = centre_of_mass(group_a, root_only=igibson)
    R_axes = np.eye(3) if igibson else group_b.pose(group_b.frames[0])[0]
    low, high = bounding_box(group_b, R_axes)
    local_centre = R_axes.T @ centre
    outside = np.maximum(low - local_centre, local_centre - high)
    if semantics != "document" and outside.max() > 0:
        return Verdict(False, lambda: _outside_reason(a, b, outside))
    reach = IGIBSON_RANGE if igibson else np.inf
    distance = hits_along_axes(group_b, centre, AXES @ R_axes.T, reach)
    is_between = np.isfinite(distance).all(-1)
    truth = bool(is_surrounded(is_between))
    sides = f"{b} is on both sides of {a}'s centre of mass along"
    if truth:
        axes = "z and an axis across it" if is_between[8] else "two axes across z"
        text = f"{sides} {axes}, within {length(distance[is_between].max())}."
    else:
        text = f"{sides} {_count_axes(is_between)}, not along two orthogonal axes."
        for impediment in containment_impediments(C, a, b, semantics):
            text = f"{text} {impediment}"
            warnings.warn(impediment, ProblemWarning, stacklevel=5)
    return Verdict(truth, lambda: text)


def containment_impediments(
    C: Config, a: FrameName, b: FrameName, semantics: Semantics
) -> Iterator[str]:
    """Yield a sentence if the hollow of b is filled by the hull of its mesh."""
    group = find_object(C, b, a)
    if not cavities(group, semantics) and (text := filled_hollow(group)):
        yield f"InsideOf({a}, {b}): {text}"


def cavities(b: FrameGroup, semantics: Semantics) -> list[Region]:
    """Return the annotated cavities, whose points are inside by these semantics."""
    if semantics == "igibson":
        return []
    return checked_cavities(b, _contains_points_posewise)


def contains_points(
    b: FrameGroup, centres: Float[np.ndarray, "n 3"], igibson: bool = True
) -> Bool[np.ndarray, " n"]:
    """Return which centres of mass are inside of b, for many at once.

    Args:
        b: an object.
        centres: points in the world [m].
        igibson: whether `InsideOf` is that of "igibson", otherwise of "posewise".
    """
    R_axes = np.eye(3) if igibson else b.pose(b.frames[0])[0]
    low, high = bounding_box(require_shapes(b), R_axes)
    local_centres = centres @ R_axes
    inside = np.asarray(((low <= local_centres) & (local_centres <= high)).all(-1))
    if inside.any():
        reach = IGIBSON_RANGE if igibson else np.inf
        distance = hits_along_axes(b, centres[inside], AXES @ R_axes.T, reach)
        inside[inside] = is_surrounded(np.isfinite(distance).all(-1))
    return inside


def _contains_points_posewise(
    b: FrameGroup, centres: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    return contains_points(b, centres, igibson=False)


def _outside_reason(a: FrameName, b: FrameName, outside: np.ndarray) -> str:
    axis = int(outside.argmax())
    where = f"{length(outside[axis])} outside {b}'s bounding box"
    return f"{a}'s centre of mass lies {where} in {'xyz'[axis]}."


def _count_axes(is_between: np.ndarray) -> str:
    across = int(is_between[:8].sum())
    names = [f"{across} of 8 axes across z"] if across else []
    names += ["z"] if is_between[8] else []
    return " and ".join(names) or "0 of 9 axes"

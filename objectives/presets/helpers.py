"""Features that several presets are made of, and their arguments' checks."""

from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.features.regions import centered_shape
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.shapes import Box, Cylinder
from posewise.robots.validation import number

from ..objective import ObjectiveError

AXES = "xyz"


def projection(axes: str) -> Float[np.ndarray, "rows 3"]:
    """The matrix that picks these axes ("xz") of a vector."""
    return np.eye(3)[[AXES.index(a) for a in axes]]


def other_axes(axes: str) -> str:
    """The axes ("yz") that are not among these ("x")."""
    return "".join(a for a in AXES if a not in axes)


def orthogonal_axes(a: Any, axis: str, b: Any, axes: str) -> Feature:
    """Products of an axis of `a` with axes of `b`: zero where they are orthogonal.

    One kind of feature for all axes of `b`, so that another choice compiles nothing.
    """
    symbol = FS[f"vector{axis.upper()}Rel"]
    return Feature(symbol, (a, b), scale=projection(axes))


def inside_box(
    a: Any, b: Any, axes: str, half: Float[np.ndarray, "3"], scale: float = 10.0
) -> tuple[Feature, Feature]:
    """Origin of `a` at most `half` [m] from that of `b` along axes of `b`, both ways.

    Two inequalities, scaled by `scale`.
    """
    rows = scale * projection(axes)
    upper = Feature(FS.positionRel, (a, b), scale=rows, target=half)
    lower = Feature(FS.positionRel, (a, b), scale=-rows, target=-half)
    return upper, lower


def min_clearance(a: Any, b: Any, margin: float) -> Feature:
    """Distance of the shapes of `a` and `b` at least a margin [m]: 10 · (m - d)."""
    return Feature(FS.negDistance, (a, b), scale=10.0, target=-margin)


def outer_size(
    C: Config, what: str, frame: Any, kinds: tuple[type, ...] = (Box, Cylinder)
) -> Float[np.ndarray, "3"]:
    """Full extents [m] of a frame's box or cylinder along its axes.

    Raises:
        ConfigError: for another shape, or one off the frame's origin.
    """
    name = " or ".join(kind.__name__ for kind in kinds)
    try:
        shape = centered_shape(C, frame, kinds, name)
    except ConfigError as error:
        raise ConfigError(f"{what}: {error}") from None
    if isinstance(shape, Box):
        return shape.size
    return np.array([2 * shape.radius, 2 * shape.radius, shape.length])


def check_choice(what: str, given: Any, choices: tuple[str, ...]) -> None:
    """Raise an ObjectiveError unless `given` is one of the choices."""
    if given not in choices:
        raise ObjectiveError(
            f"{what} is {given!r}, expected one of {', '.join(map(repr, choices))}."
        )


def check_length(what: str, given: Any) -> None:
    """Raise an ObjectiveError unless `given` is a number of metres >= 0."""
    number(what, given, "a number >= 0 (metres)", lambda x: x >= 0, ObjectiveError)

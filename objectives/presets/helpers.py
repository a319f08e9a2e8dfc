"""Features that several presets share, and checks of their arguments."""

import numpy as np
from jaxtyping import Float

from posewise.features import FS, Feature
from posewise.features.regions import centered_shape
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.shapes import Box, Capsule, Cylinder
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..terms.objective import ObjectiveError
from ..terms.typing import Slices

AXES = "xyz"
"""Axes of a frame, in order."""


def projection(axes: str) -> Float[np.ndarray, "rows 3"]:
    """Return the matrix that selects axes ("xz") of a vector."""
    return np.eye(3)[[AXES.index(a) for a in axes]]


def other_axes(axes: str) -> str:
    """Return the axes ("yz") that are not among the given ones ("x")."""
    return "".join(a for a in AXES if a not in axes)


def orthogonal_axes(a: FrameName, axis: str, b: FrameName, axes: str) -> Feature:
    """Return inner products of an axis of `a` with axes of `b`: zero if orthogonal."""
    # The axes of b are selected by the scale, which is data: with one symbol for each
    # axis of b, every other choice of axes would compile another program.
    symbol = FS[f"vector{axis.upper()}Rel"]
    return Feature(symbol, (a, b), scale=projection(axes))


def inside_box(
    a: FrameName,
    b: FrameName,
    axes: str,
    half: Float[np.ndarray, "3"],
    scale: float = 10.0,
) -> tuple[Feature, Feature]:
    """Return two inequalities that bound the offset of `a` along axes of `b`.

    Args:
        a: frame whose origin is bounded.
        b: frame in which the offset from its origin is measured.
        axes: axes of `b` along which it is bounded, such as "xy".
        half: largest offset to either side along x, y and z (3,) [m].
        scale: of the rows.
    """
    rows = scale * projection(axes)
    upper = Feature(FS.positionRel, (a, b), scale=rows, target=half)
    lower = Feature(FS.positionRel, (a, b), scale=-rows, target=-half)
    return upper, lower


def min_clearance(a: FrameName, b: FrameName, margin: float) -> Feature:
    """Return the inequality 10 · (margin - d) <= 0 for the signed distance d [m]."""
    return Feature(FS.negDistance, (a, b), scale=10.0, target=-margin)


def middle_steps(steps: Slices) -> Slices:
    """Return the middle half of the steps of a motion; all, if there are one or two.

    The outer quarters may be slower, so that the motion can start and end at rest.
    """
    quarter = max(len(steps) // 4, 1) if len(steps) > 2 else 0
    return steps[quarter : len(steps) - quarter]


def outer_size(
    C: Config,
    argument: str,
    frame: FrameName,
    kinds: tuple[type[Box | Cylinder | Capsule], ...] = (Box, Cylinder),
) -> Float[np.ndarray, "3"]:
    """Return the full extents (3,) [m] of a frame's box or cylinder along its axes.

    The extent of a capsule along its axis is that of its straight part.

    Raises:
        ConfigError: for another shape, or one off the frame's origin.
    """
    name = " or ".join(kind.__name__ for kind in kinds)
    try:
        shape = centered_shape(C, frame, kinds, name)
    except ConfigError as error:
        raise ConfigError(f"{argument}: {error}") from None
    if isinstance(shape, Box):
        return shape.size
    return np.array([2 * shape.radius, 2 * shape.radius, shape.length])


def check_choice(argument: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise an ObjectiveError unless the value is one of the choices."""
    if value not in choices:
        raise ObjectiveError(
            f"{argument} is {value!r}, expected one of {', '.join(map(repr, choices))}."
        )


def check_length(argument: str, value: object) -> None:
    """Raise an ObjectiveError unless the value is a number of metres >= 0."""
    number(argument, value, "a number >= 0 (metres)", lambda x: x >= 0, ObjectiveError)

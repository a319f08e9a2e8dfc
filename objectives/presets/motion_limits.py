"""Limits of the velocity, acceleration and jerk of joints as inequalities."""

import warnings
from collections.abc import Iterator

import numpy as np

from posewise.features import FS, Feature
from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning, first_few
from posewise.robots.typing import Frames, VectorLike
from posewise.robots.validation import number

from ..terms.objective import ObjectiveError
from ..trajectory.limits import parse_limits

LIMIT_MARGIN = 1e-3
"""Part of a limit that is kept free, in scaled units: the default tolerance, so that
rows within it are within the limit."""
MAX_TURN_RATIO = 10.0
"""Ratio of a rotation's speed to the model's from which it may be in degrees."""
MAX_SLIDE_RATIO = 100.0
"""Ratio of a slide's speed to the model's from which it may be in millimetres."""


def motion_limits(
    C: Config,
    velocity: float | VectorLike | None,
    acceleration: float | VectorLike | None,
    jerk: float | VectorLike | None,
    joints: Frames,
    scale: float,
    k_order: int,
) -> Iterator[tuple[str, Feature]]:
    """Yield a name and a feature, at most 0 within the limits, for each kind of limit.

    See `KOMO.add_motion_limits`. Limits of the model that k_order does not reach are
    left out. A row times tau^-k, for order k, is the excess as a fraction of the limit,
    times the scale.

    Raises:
        ConfigError: for unknown joints.
        ObjectiveError: for limits that are not positive, or no limit at all.
    """
    expected = "a number > 0"
    scale = number("scale", scale, expected, lambda x: x > 0, ObjectiveError)
    chosen = [joints] if isinstance(joints, str) else list(joints or C.joint_names)
    kinds = (
        ("velocity", FS.velocityBounds, velocity, C.joints.max_velocity),
        (
            "acceleration",
            FS.accelerationBounds,
            acceleration,
            C.joints.max_acceleration,
        ),
        ("jerk", FS.jerkBounds, jerk, C.joints.max_jerk),
    )
    is_limited = False
    for order, (label, symbol, argument, of_model) in enumerate(kinds, 1):
        if argument is not None:
            limits = parse_limits(label, argument, C.joints.coordinate_names)
            if label == "velocity":
                _warn_of_high_speeds(C, limits)
        else:
            # A velocity beyond k_order is refused later, since it is always asked for.
            is_reached = order <= max(k_order, 1)
            limits = of_model if is_reached else np.full(C.nq, np.inf)
        # Entries of quaternions are no motion by themselves.
        for first in C.joints.quaternions:
            limits[first : first + 4] = np.inf
        limited = [
            n for n in chosen if np.isfinite(limits[C.joints.coordinates(n)]).all()
        ]
        if not limited:
            continue
        is_limited = True
        values = limits[C.joints.coordinates(limited)]
        per_row = scale / np.repeat(values, 2)
        within = values * (1 - LIMIT_MARGIN / scale)
        yield f"{label} limits", Feature(symbol, limited, scale=per_row, limits=within)
    if not is_limited:
        raise ObjectiveError(
            f"No limit of {', '.join(chosen[:4])}{', …' * (len(chosen) > 4)} is known:"
            " the model has no speed limits there; give velocity=, acceleration= or"
            " jerk=."
        )


def _warn_of_high_speeds(C: Config, limits: np.ndarray) -> None:
    """Warn of finite speed limits (nq,) that the model's own are far below."""
    model_limits = C.joints.max_velocity
    is_angle = C.kinematics().tree.is_angle
    highest = np.where(is_angle, MAX_TURN_RATIO, MAX_SLIDE_RATIO) * model_limits
    indices = np.flatnonzero(np.isfinite(limits) & (limits > highest))
    if len(indices):
        names = C.joints.coordinate_names
        parts = [
            f"{limits[i]:.4g} of {names[i]} ({model_limits[i]:.4g})" for i in indices
        ]
        warnings.warn(
            "velocity is far above what the model allows (in parentheses):"
            f" {first_few(parts)}. Speeds are in rad/s and m/s, not in degrees or"
            " millimetres.",
            ProblemWarning,
            stacklevel=4,
        )

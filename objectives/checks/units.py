"""Numbers that are very likely in another unit than rad, m and the tolerance's own.

Each check is narrow on purpose: a warning of a problem that is right is worse than none
of a mistake, which the report of the failed solve may still tell.
"""

from collections.abc import Iterator

import numpy as np

from posewise.robots.config import Config
from posewise.robots.contact.world_scale import WorldScale, least_extent
from posewise.robots.errors import first_few
from posewise.robots.kinematics.rounding import float_type

from ..problem.spec import ProblemSpec

METRES = "Lengths are in metres: divide millimetres by 1000."
"""Remedy for millimetres, a sentence."""
FULL_TURN = 2 * np.pi
MIN_DEGREE_RANGE = 2 * FULL_TURN
"""Range of limits from which they may be degrees [rad]: real joints turn less, or have
odd limits."""
TYPICAL_DEGREES = 90, 120, 135, 150, 180, 270, 360
"""Limits that data sheets give in degrees; one of them must be among the joints'."""
MIN_DISTANCE = 100.0
"""Distance from all robots from which a frame may be in millimetres [m]."""
MIN_DISTANCE_RATIO = 100.0
"""The same as a ratio to the reach of the robots; a frame must be beyond both."""
MAX_METRES = 20.0
"""Size of an object, or distance, from which it may be in millimetres where a problem
was not solved [m]."""
ROUNDING_FACTOR = 10.0
"""Rounding error of numbers near 1, in a row of a feature, as a multiple of epsilon. A
larger one reports more tolerances as too small."""


def likely_degrees(C: Config) -> Iterator[str]:
    """Yield sentences on angles of joints that are very likely degrees.

    Of joints without limits these are whole numbers beyond a full turn: wheels that
    have turned so far are at no whole number. Starts outside of limits are told apart.
    """
    names, (low, high) = C.joints.coordinate_names, C.limits
    is_angle = C.kinematics().tree.is_angle
    is_endless = is_angle & ~np.isfinite(low) & ~np.isfinite(high)
    is_likely = is_endless & (np.abs(C.q) > FULL_TURN) & (C.q == np.round(C.q))
    if is_likely.any():
        parts = [f"{names[i]} is {C.q[i]:g} rad" for i in np.flatnonzero(is_likely)]
        yield (
            f"The start turns joints by more than a full turn: {first_few(parts)}."
            " Angles are in radians: give np.deg2rad of degrees."
        )
    is_whole = (low == np.round(low)) & (high == np.round(high))
    wide = is_angle & np.isfinite(high - low) & (high - low > MIN_DEGREE_RANGE)
    wide &= is_whole & (np.maximum(np.abs(low), np.abs(high)) <= 2 * 360)
    if np.isin(np.abs([low[wide], high[wide]]), TYPICAL_DEGREES).any():
        parts = [
            f"{names[i]} from {low[i]:g} to {high[i]:g} rad"
            for i in np.flatnonzero(wide)
        ]
        yield (
            f"The limits of joints look like degrees: {first_few(parts)}. Limits of"
            " rotations are in radians: give np.deg2rad of them."
        )


def likely_millimetres(spec: ProblemSpec) -> Iterator[str]:
    """Yield sentences on objects and places that are very likely in millimetres."""
    C = spec.config
    scale = spec.cache.scale.get((C.structure_key,), lambda: WorldScale.of(C.frames))
    yield from lengths_in_millimetres(C, scale)


def lengths_in_millimetres(C: Config, scale: WorldScale) -> Iterator[str]:
    """Yield sentences on what is far too large or too far away for the robots.

    Args:
        C: the world.
        scale: its scale; without robots nothing is told.
    """
    if not len(scale.bases):
        return
    reach = f"all joints of the robot are within {scale.reach:.2g} m"
    if scale.huge:
        yield (
            f"Objects are far larger than the robot: {first_few(scale.huge)}, but"
            f" {reach}. {METRES}"
        )
    farthest = max(MIN_DISTANCE, MIN_DISTANCE_RATIO * scale.reach)
    # No frame is farther than all origins and slides together: poses take longer.
    origins = np.linalg.norm([frame.origin[:3] for frame in C.frames], axis=1)
    if 2 * (origins.sum() + np.abs(C.q).sum()) < farthest:
        return
    places = C.poses()[:, :3]
    gaps = np.linalg.norm(places[:, None] - places[scale.bases], axis=-1).min(1)
    far = gaps > farthest
    if far.any():
        parts = [f"{C.frames[i].name!r} ({gaps[i]:.4g} m)" for i in np.flatnonzero(far)]
        yield f"Frames are very far from the robot: {first_few(parts)}. {METRES}"


def lengths_beyond_metres(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence on large lengths of a problem that was not solved.

    These may be right, so that it is no finding before.
    """
    C, parts = spec.config, []
    for frame in C.frames:
        size = max((least_extent(g.shape) for g in frame.geometries), default=0.0)
        if size > MAX_METRES:
            parts.append(f"{frame.name!r} is {size:.4g} m across")
    distances = np.linalg.norm(C.poses()[:, :3], axis=1)
    parts += [
        f"{C.frames[i].name!r} is {distances[i]:.4g} m from the origin"
        for i in np.flatnonzero(distances > MAX_METRES)
    ]
    for objective in spec.objectives:
        feature = objective.feature
        is_length = feature.symbol.unit == "m" and not feature.order
        if feature.target is None or not is_length:
            continue
        largest = float(np.abs(feature.target).max(initial=0.0))
        if largest > MAX_METRES:
            parts.append(f"{objective.name} has a target of {largest:.4g} m")
    if parts:
        yield f"Large lengths: {first_few(parts)}. {METRES}"


def tolerance_below_precision(tolerance: float) -> Iterator[str]:
    """Yield a sentence if rounding errors exceed the tolerance.

    Args:
        tolerance: largest violation that counts as satisfied, in scaled units.
    """
    is_double = float_type() is np.float64
    error = ROUNDING_FACTOR * np.finfo(float_type()).eps
    if tolerance >= error:
        return
    kind = "float64" if is_double else "float32"
    sentence = (
        f"tolerance is {tolerance:.0e}, below the rounding errors of {kind}, about"
        f" {error:.0e}: whether constraints hold to that is not known."
    )
    if is_double:
        yield f"{sentence} Give a larger one."
    else:
        yield (
            f'{sentence} Call jax.config.update("jax_enable_x64", True) first, or give'
            " a larger one."
        )

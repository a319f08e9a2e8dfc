"""Objectives that a solution meets, but very likely not as they were meant."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from posewise.features.bound_feature import BoundFeature
from posewise.features.table import FS
from posewise.robots.errors import first_few
from posewise.robots.kinematics.forward import ForwardPass

from ..chain.modes import ModeSequence, original_name
from ..terms.loose import loose_frames
from ..terms.objective import OT, Objective

MAX_TOUCH_DEPTH = 1.5e-3
"""Depth of an overlap from which it is told [m]; solves that avoid it reach 1 mm."""
MAX_PAIRS = 3
"""Number of overlapping pairs that are named (count); more make the sentence longer."""
MAX_FOOT_HEIGHT = 0.03
"""Height above the lowest foot from which a foot may be in the air [m]; less takes
floors that are not quite level for air."""


def path_doubts(
    modes: ModeSequence, x: Float[np.ndarray, "T nq"], objectives: Sequence[Objective]
) -> Iterator[str]:
    """Yield a sentence for each objective that a path meets by another way than meant.

    Args:
        modes: the world of the path.
        x: coordinates in that world.
        objectives: those that hold on the path.
    """
    for objective in objectives:
        symbol, order = objective.feature.symbol, objective.feature.order
        if order or objective.type is OT.ineq and symbol is FS.gazeAt.symbol:
            continue
        if symbol is FS.gazeAt.symbol:
            yield from _seen_from_behind(modes, x, objective)
        elif symbol is FS.supportPolygon.symbol:
            yield from _feet_in_the_air(modes, x, objective)


def overlap_doubts(modes: ModeSequence, x: Float[np.ndarray, "T nq"]) -> Iterator[str]:
    """Yield a sentence if loose objects overlap something on a path.

    Pairs that are ignored do not count, nor do parts of one object or robot.

    Args:
        modes: the world of the path.
        x: coordinates in that world.
    """
    loose = loose_frames(modes.base)
    deepest: dict[tuple[str, ...], tuple[float, int]] = {}
    for t, q in enumerate(x):
        C = modes.at(t).config.copy()
        C.q = q
        names = [original_name(name) for name in C.frame_names]
        pairs = C.pairs.indices()
        is_loose = np.array([name in loose for name in names], bool)
        pairs = pairs[is_loose[pairs].any(1)]
        pairs = pairs[~C.pairs.own_links(pairs)]
        for k, contact in C.contacts(pairs, 0.0).items():
            pair = tuple(names[i] for i in pairs[k])
            overlap = (float(contact.distance), t)
            deepest[pair] = min(deepest.get(pair, overlap), overlap)
    overlaps = [
        f"{a!r} and {b!r} by {-1e3 * depth:.1f} mm in slice {t}"
        for (a, b), (depth, t) in sorted(deepest.items(), key=lambda item: item[1])
        if depth < -MAX_TOUCH_DEPTH
    ]
    if overlaps:
        yield (
            f"Objects overlap: {first_few(overlaps, '; ', MAX_PAIRS)}. Nothing in the"
            " problem keeps them apart: leave out collisions=False, or call"
            " komo.avoid_collisions(); or exclude pairs by C.ignore_collisions."
        )


def _seen_from_behind(
    modes: ModeSequence, x: np.ndarray, objective: Objective
) -> Iterator[str]:
    """Yield a sentence if a target is behind the camera that is to look at it."""
    # A cost along the path need not have brought the camera round before its end.
    is_cost = objective.type is OT.sos
    slices = objective.slices[-1:] if is_cost else objective.slices
    depth = {t: _depth(*_placed(modes, x, objective, t)) for t in slices}
    t = min(depth, key=depth.__getitem__)
    if depth[t] < 0:
        target, camera = objective.feature.frames
        yield (
            f"{objective.name}: in slice {t} {target!r} is {-depth[t]:.3g} m behind"
            f" {camera!r}, which looks along its z axis; gazeAt is zero on both sides"
            f" of it. To keep it in front, add an objective FS.positionRel of"
            f" [{target!r}, {camera!r}], OT.ineq, scale=[0, 0, -1], target=[0, 0, 0.1]."
        )


def _feet_in_the_air(
    modes: ModeSequence, x: np.ndarray, objective: Objective
) -> Iterator[str]:
    """Yield a sentence if feet that are to stand are at different heights."""
    heights = {}
    for t in objective.slices:
        bound, state = _placed(modes, x, objective, t)
        heights[t] = _foot_heights(bound, state)
    t = max(heights, key=lambda t: float(np.ptp(heights[t])))
    low, high = int(np.argmin(heights[t])), int(np.argmax(heights[t]))
    if (rise := heights[t][high] - heights[t][low]) > MAX_FOOT_HEIGHT:
        feet = objective.feature.frames
        yield (
            f"{objective.name}: in slice {t} {feet[high]!r} is {rise:.3g} m higher than"
            f" {feet[low]!r}, and counts as standing, too. If nothing carries it there,"
            " leave it out of the feet."
        )


def _placed(
    modes: ModeSequence, x: np.ndarray, objective: Objective, t: int
) -> tuple[BoundFeature, ForwardPass]:
    mode = modes.at(t)
    return mode.bind(objective.feature), mode.config.forward_pass(x[t])


def _depth(bound: BoundFeature, state: ForwardPass) -> float:
    """Return how far a target is in front of a camera, along its z axis [m]."""
    target, camera = bound.frames
    p = state.frames.p
    return float(state.frames.R[camera][:, 2] @ (p[target] - p[camera]))


def _foot_heights(
    bound: BoundFeature, state: ForwardPass
) -> Float[np.ndarray, " feet"]:
    """Return the height of the lowest point of each foot [m]."""
    params, foot = bound.params, bound.params["foot"]
    frames = bound.frames[foot]
    up = state.frames.R[frames][:, 2]
    z = state.frames.p[frames][:, 2] + np.sum(up * params["points"], 1)
    lowest = np.full(int(foot.max()) + 1, np.inf)
    np.minimum.at(lowest, foot, z - params["radius"])
    return lowest

"""Starts in collision, and clearances that no path can keep."""

from collections.abc import Iterator

import numpy as np

from posewise.robots.errors import first_few

from ..problem_spec import ProblemSpec, mode_sequence
from .demands import clearance_demands
from .situation import Situation, in_words, never_move


def collision_at_start(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence if the start collides where the first slice must not.

    Problems of order 0 have no start: the state of the world is a guess only.
    """
    if not spec.k_order:
        return
    demands = [
        demand
        for demand in clearance_demands(spec.objectives, tolerance)
        if 0 in demand.objective.slices
    ]
    if not demands:
        return
    modes = mode_sequence(spec)
    mode, q = modes.at(0), modes.from_base(spec.config.q)
    known = np.append(modes.coordinates[0], modes.course_coordinates)
    start = Situation.of(mode.config, q, known)
    found: dict[tuple[int, int], float] = {}
    for demand in demands:
        feature = mode.on_active_frames(demand.objective.feature)
        pairs, required = demand.pairs(start.world, feature)
        touching = np.minimum(required, 0.0) - demand.slack
        for k, distance in start.near(pairs, touching):
            a, b = pairs[k].tolist()
            found[a, b] = distance
    if found:
        overlaps = [*sorted(found.items(), key=lambda item: item[1])]
        yield (
            f"The start is in collision: {first_few(in_words(start.world, overlaps))};"
            " negative: they overlap. The path begins there; move the start, or exclude"
            " pairs that may touch (C.ignore_collisions)."
        )


def clearances_at_fixed_distance(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence for each clearance of frames that no joint moves apart."""
    for demand in clearance_demands(spec.objectives, tolerance):
        if demand.pair is None:
            # Pairs without a joint between them are none that can collide.
            continue
        mode = mode_sequence(spec).at(demand.objective.slices[-1])
        feature = mode.on_active_frames(demand.objective.feature)
        pairs, required = demand.pairs(mode.config, feature)
        pairs, required = (x[never_move(mode.config, pairs)] for x in (pairs, required))
        there = Situation.of(mode.config, mode.config.q, np.zeros(0, int))
        for k, distance in there.near(pairs, required - demand.slack)[:1]:
            a, b = pairs[k].tolist()
            (pair,) = in_words(mode.config, [((a, b), distance)])
            yield (
                f"{demand.objective.name}: {pair}"
                f" must be {1e3 * required[k]:.1f} mm apart, but no joint is between"
                " them, so that their distance is fixed. Lower the margin, or leave"
                " the pair out."
            )

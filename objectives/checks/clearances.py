"""Starts in collision, doubtful margins, and clearances that no path can keep."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from posewise.robots.config import Config
from posewise.robots.errors import first_few

from ..clearance.avoidance import TOUCH_DEPTH, accepted_distances
from ..clearance.certificate import amount_of_required
from ..problem.spec import ProblemSpec, mode_sequence, required_distances
from .demands import PAIR_SYMBOLS, clearance_demands
from .signs import MAX_OVERLAP
from .situation import Situation, in_words, never_move

SAMPLES = 12
"""Random states in which distances are compared (count); more take longer."""
MAX_DISTANCE_CHANGE = 1e-6
"""Largest difference of distances that are the same [m]; more takes small motions for
none."""

MAX_MARGIN = 5.0
"""Margin from which it is taken for millimetres [m]; fewer miss mistakes."""


def doubtful_margins(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence for each margin that lets bodies overlap, or is enormous."""
    margins = {
        o.name: float(np.asarray(o.feature.options["margin"]))
        for o in spec.objectives
        if o.feature.symbol.name in PAIR_SYMBOLS and "margin" in o.feature.options
    }
    if spec.avoidance is not None:
        margins["avoid_collisions"] = spec.avoidance.margin
    for name, margin in margins.items():
        if margin < -MAX_OVERLAP:
            yield (
                f"{name}: margin is {1e3 * margin:.4g} mm, so that bodies may overlap"
                f" by {-1e3 * margin:.4g} mm. Give the distance to keep, which is"
                " positive, in metres."
            )
        elif margin > MAX_MARGIN:
            yield (
                f"{name}: margin is {margin:.4g} m. Margins are in metres: divide"
                " millimetres by 1000."
            )


def collision_at_start(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence if the start collides where the first slice must not.

    Problems of order 0 have no start: the state of the world is a guess only. Of
    `avoid_collisions`, which is about the start too, `start_within_margins` tells more.
    """
    if not spec.k_order:
        return
    demands = [
        demand
        for demand in clearance_demands(spec, tolerance)
        if 0 in demand.objective.slices
        and not (spec.needs_certificate and demand.objective.is_avoidance)
    ]
    if not demands:
        return
    mode = mode_sequence(spec).at(0)
    start = _start(spec, mode.config)
    distances: dict[tuple[int, ...], float] = {}
    for demand in demands:
        feature = mode.on_active_frames(demand.objective.feature)
        pairs, required = demand.pairs(start.world, feature)
        touching = np.minimum(required, 0.0) - demand.slack
        for k, distance in start.near(pairs, touching):
            distances[tuple(pairs[k].tolist())] = distance
    if distances:
        overlaps = [*sorted(distances.items(), key=lambda item: item[1])]
        yield (
            f"The start is in collision: {first_few(in_words(start.world, overlaps))};"
            " negative: they overlap. The path begins there; move the start, or exclude"
            " pairs that may touch (C.ignore_collisions)."
        )


def start_within_margins(spec: ProblemSpec) -> Iterator[str]:
    """Yield a sentence if the start is nearer to anything than any path may be."""
    if not spec.needs_certificate:
        return
    parts = [part for part in required_distances(spec) if part.segments[0] == 0]
    for part in parts:
        start, pairs = _start(spec, part.config), part.pairs.pairs
        required = part.required[0]
        near = start.near(pairs, accepted_distances(required))
        if not near:
            continue
        distances = [
            (
                tuple(pairs[k].tolist()),
                d if d < -TOUCH_DEPTH else amount_of_required(d, required[k]),
            )
            for k, d in near
        ]
        close_pairs = first_few(in_words(start.world, distances))
        kind = "in collision" if near[0][1] < 0 else "nearer to something than allowed"
        yield (
            f"The start is {kind}: {close_pairs}; negative: they overlap."
            " The path into slice 0 begins there, so that none keeps the"
            " margins of avoid_collisions. Move the start away, lower the margin"
            " (self_margin for parts of one robot), or name pairs that may touch"
            " (`allow`, or C.ignore_collisions)."
        )


def _start(spec: ProblemSpec, C: Config) -> Situation:
    """Return the world of a mode at the start of a path."""
    modes = mode_sequence(spec)
    known = np.append(modes.coordinates[0], modes.course_coordinates)
    return Situation.of(C, modes.from_base(spec.config.q), known)


def clearances_at_fixed_distance(spec: ProblemSpec, tolerance: float) -> Iterator[str]:
    """Yield a sentence for each demand on pairs whose distance no joint changes.

    No joint is between them, or those between them turn round shapes: there the
    distance is the same in all of `SAMPLES` random states.
    """
    for demand in clearance_demands(spec, tolerance):
        mode = mode_sequence(spec).at(demand.objective.slices[-1])
        C = mode.config
        feature = mode.on_active_frames(demand.objective.feature)
        pairs, required = demand.pairs(C, feature)
        every = Situation.of(C, C.q, np.arange(C.nq))
        near = [k for k, _ in every.near(pairs, demand.accepted(required))]
        constant = _fixed_distances(C, pairs[near])
        if constant:
            fixed = [(pair, distance) for pair, (distance, _) in constant.items()]
            is_rigid = all(rigid for _, rigid in constant.values())
            why = "no joint is between them" if is_rigid else "no joint changes it"
            yield (
                f"{demand.objective.name}: {first_few(in_words(C, fixed))}: their"
                f" distance is fixed, since {why}, but must be"
                f" {1e3 * required[near].max():.1f} mm. Lower the margin (self_margin"
                " for parts of one robot), or leave the pairs out: C.ignore_collisions."
            )


def _fixed_distances(
    C: Config, pairs: Int[np.ndarray, "n 2"]
) -> dict[tuple[int, int], tuple[float, bool]]:
    """Return pairs of constant distance [m], and whether no joint is between them."""
    if not len(pairs):
        return {}
    low, high = (np.nan_to_num(x, posinf=np.pi, neginf=-np.pi) for x in C.limits)
    rng, distances = np.random.default_rng(0), []
    for _ in range(SAMPLES):
        X = C.copy()
        X.q = rng.uniform(low, np.maximum(low, high))
        contacts = X.contacts(pairs)
        distances.append([float(contacts[k].distance) for k in range(len(pairs))])
    is_fixed = np.ptp(distances, axis=0) < MAX_DISTANCE_CHANGE
    rigid = never_move(C, pairs)
    return {
        (int(a), int(b)): (distances[0][k], bool(rigid[k]))
        for k, (a, b) in enumerate(pairs)
        if is_fixed[k]
    }

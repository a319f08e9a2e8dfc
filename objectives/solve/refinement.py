"""Problems with more slices, where constraints deviate too much between them."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.manifold import difference, integrate

from ..clearance.avoidance import CollisionAvoidance
from ..problem.deviations import Deviation
from ..problem.spec import ProblemCache, ProblemSpec, mode_sequence, whole_path
from ..terms.objective import OT, Objective
from ..terms.typing import Slices


@dataclass(frozen=True, slots=True)
class SliceRefinement:
    """Choices of solves with more slices, varied in docs/evidence.md."""

    spare_factor: float = 1.3
    """Factor by which a deviation is taken to be larger when slices are chosen, since
    the path changes. A larger one takes more slices; with a smaller one, deviations
    stay too large."""
    max_factor: int = 8
    """Largest number of slices in place of one (count). More take longer than a bound
    of ordinary size is worth."""


SLICE_REFINEMENT = SliceRefinement()
MAX_SLICES = 1024
"""Largest number of slices of a refined path (count), which bounds time and memory of a
solve; longer paths get no more."""


def refinement_factor(spec: ProblemSpec, deviations: tuple[Deviation, ...]) -> int:
    """Return by how many slices each is replaced, so that no deviation is too large.

    Deviations fall as the square of the steps. 1: all are small enough, or no number of
    slices is known to do.
    """
    ratio = max((d.ratio for d in deviations), default=0.0)
    if ratio <= 1 or not np.isfinite(ratio) or spec.contacts or spec.courses:
        return 1
    choices = SLICE_REFINEMENT
    largest = min(choices.max_factor, MAX_SLICES // spec.T)
    return max(min(int(np.ceil(np.sqrt(choices.spare_factor * ratio))), largest), 1)


def refined_problem(spec: ProblemSpec, factor: int) -> ProblemSpec:
    """Return a problem with a multiple of its slices, in the same time."""
    avoidance = spec.avoidance
    if avoidance is not None:
        allowed = tuple(
            replace(c, slices=_refined(c.slices, factor)) for c in avoidance.allowed
        )
        avoidance = replace(avoidance, allowed=allowed)
    T = factor * spec.T
    return replace(
        spec,
        T=T,
        slices_per_phase=factor * spec.slices_per_phase,
        tau=np.repeat(spec.tau / factor, factor),
        objectives=_refined_objectives(spec, avoidance, factor),
        room=(),
        switches=tuple(replace(s, start=_last(s.start, factor)) for s in spec.switches),
        avoidance=avoidance,
        initial=None,
        cache=ProblemCache(),
    )


def refined_path(
    spec: ProblemSpec, x: Float[np.ndarray, "T nq"], factor: int
) -> Float[np.ndarray, "slices nq"]:
    """Return a path of the solved world with a multiple of its slices."""
    tree, points = mode_sequence(spec).world.kinematics().tree, whole_path(spec, x)
    begin = np.repeat(points[:-1], factor, 0)
    step = np.repeat(difference(tree, points[:-1], points[1:]), factor, 0)
    fractions = np.tile(np.arange(1, factor + 1) / factor, spec.T)
    return integrate(tree, begin, fractions[:, None] * step)


def _refined_objectives(
    spec: ProblemSpec, avoidance: CollisionAvoidance | None, factor: int
) -> tuple[Objective, ...]:
    """Return the objectives on more slices, those of avoidance at the place of theirs.

    Costs over several slices keep their sum, and limits of motion their size.
    """
    result: list[Objective] = []
    is_added = False
    for o in spec.objectives:
        if o.is_avoidance:
            if avoidance is not None and not is_added:
                result += avoidance.objectives(factor * spec.T)
            is_added = True
            continue
        slices = _refined(o.slices, factor)
        weights = o.weights
        if o.type is OT.sos and len(slices) > 1:
            old = np.ones(len(o.slices)) if weights is None else np.array(weights)
            index = np.searchsorted(o.slices, np.array(slices) // factor)
            index = np.minimum(index, len(old) - 1)
            weights = tuple((old[index] / np.sqrt(factor)).tolist())
        elif weights is not None:
            scaled = np.array(weights) * float(factor) ** o.feature.order
            index = np.searchsorted(o.slices, np.array(slices) // factor)
            weights = tuple(scaled[np.minimum(index, len(scaled) - 1)].tolist())
        source = o.source or o
        result.append(replace(o, slices=slices, weights=weights, source=source))
    return tuple(result)


def _refined(slices: Slices, factor: int) -> Slices:
    """Return the slices in place of some: the last of each, and those between two."""
    chosen = set(slices)
    refined: list[int] = []
    for t in slices:
        is_whole = t - 1 in chosen or (t == 0 and len(slices) > 1)
        first = factor * t if is_whole else _last(t, factor)
        refined += range(first, _last(t, factor) + 1)
    return tuple(refined)


def _last(t: int, factor: int) -> int:
    """Return the slice at the time of a slice."""
    return factor * (t + 1) - 1

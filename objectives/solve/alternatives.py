"""Constraints with several alternatives: which are tried, and in which order.

Alternatives differ in the slices on which rows hold, and in numbers. Both are data, so
that trying another alternative seldom recompiles.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np

from posewise.features import Feature

from ..chain.courses import set_courses
from ..problem.spec import (
    ProblemSpec,
    initial_path,
    mode_sequence,
    states_before,
)
from ..terms.interval import ResolvedAlternative
from ..terms.objective import OT, Objective

GOLDEN_RATIO = (5**0.5 - 1) / 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AlternativeSearch:
    """Choices of which alternatives are solved, varied in docs/evidence.md."""

    max_count: int = 8
    """Largest number of combinations of alternatives that are solved (count); more find
    better solutions but take proportionally longer."""


ALTERNATIVE_SEARCH = AlternativeSearch()


def resolve_alternatives(spec: ProblemSpec) -> list[ProblemSpec]:
    """Return some problems, with one alternative of each choice.

    If there are more combinations, those that the initial path violates least come
    first, if one was given; among equals the first alternative comes first, then some
    that are spread evenly over all.
    """
    if not spec.choices:
        return [spec]
    count = math.prod(map(len, spec.choices))
    violation: Callable[[ResolvedAlternative], float] | None = None
    if count > ALTERNATIVE_SEARCH.max_count and spec.initial is not None:
        violation = _InitialPathViolation(spec)
    ranked: list[tuple[float, tuple[ResolvedAlternative, ...]]] = [(0.0, ())]
    for choice in spec.choices:
        rated = [(violation(a) if violation else 0.0, a) for a in choice]
        combined = product(ranked, rated)
        ranked = _lowest_rated([(x + y, (*a, b)) for (x, a), (y, b) in combined])
    return spec.with_each_of([chosen for _, chosen in ranked])


def _lowest_rated(rated: Sequence[tuple[float, T]]) -> list[tuple[float, T]]:
    """Return as many of the lowest-rated items as are solved, best first.

    Equal ones are in an order that begins with the first item, and of which each
    beginning is spread evenly over all.
    """
    n = len(rated)
    # A low-discrepancy sequence; 2 n of its terms come near each item, seldom to all.
    terms = ((np.arange(2 * n) * GOLDEN_RATIO) % 1 * n).astype(int)
    spread = list(dict.fromkeys([*terms.tolist(), *range(n)]))
    order = sorted(spread, key=lambda i: round(rated[i][0], 6))
    return [rated[i] for i in order[: ALTERNATIVE_SEARCH.max_count]]


class _InitialPathViolation:
    """Violation of alternatives by the initial path: the sum over objectives."""

    def __init__(self, spec: ProblemSpec) -> None:
        self.modes = mode_sequence(spec)
        path = np.concatenate([states_before(spec), initial_path(spec)])
        self.path, self.first = self.modes.from_base(path), spec.k_order
        set_courses(self.modes.world, spec.courses, self.path[self.first :])
        self.known: dict[tuple[Feature, int], float] = {}

    def __call__(self, alternative: ResolvedAlternative) -> float:
        return sum(self._worst(o) for o in alternative.objectives)

    def _worst(self, objective: Objective) -> float:
        return max(
            self._violation(objective.feature, objective.type, t)
            for t in objective.slices
        )

    def _violation(self, feature: Feature, type: OT, t: int) -> float:
        if (feature, t) not in self.known:
            mode, last = self.modes.at(t), self.first + t
            q = self.path[last - feature.order : last + 1]
            y, _ = mode.on_active_frames(feature).eval(mode.config, q)
            size = np.abs(y) if type is OT.eq else np.maximum(y, 0.0)
            self.known[feature, t] = 0.0 if type is OT.sos else float(size.max())
        return self.known[feature, t]

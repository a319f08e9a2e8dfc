"""Statements that can be met in several ways: which ways are tried, in what order.

Ways differ in which slices rows stand on, and in their numbers: data, so that trying
another one seldom compiles anything.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..objective import OT, Objective

if TYPE_CHECKING:
    from ..path_problem import PathProblem
    from ..solution import Solution

MAX_ALTERNATIVES = 8
"""So many ways are tried at most."""
GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class ResolvedAlternative:
    """One way to meet a statement of a problem."""

    name: str
    objectives: tuple[Objective, ...]


Choice = tuple[ResolvedAlternative, ...]
"""Of these, one has to be met."""


def resolve_alternatives(problem: "PathProblem") -> "list[PathProblem]":
    """The problem with one way of each choice: up to `MAX_ALTERNATIVES` of them.

    Where there are more, those that the initial path violates least, if one was given;
    among equals the statement's first one, then some spread evenly over all.
    """
    if not problem.choices:
        return [problem]
    many = math.prod(map(len, problem.choices)) > MAX_ALTERNATIVES
    near = _Nearness(problem) if many and problem.initialized else lambda way: 0.0
    ranked: list[tuple[float, tuple[ResolvedAlternative, ...]]] = [(0.0, ())]
    for choice in problem.choices:
        rated = _first([(near(way), (way,)) for way in choice])
        both = product(ranked, rated)
        ranked = _first([(x + y, a + b) for (x, a), (y, b) in both])
    return [_with(problem, ways) for _, ways in ranked]


def solve_alternatives(
    problem: "PathProblem", solve: "Callable[[PathProblem], list[Solution]]"
) -> "list[Solution]":
    """Solutions of all ways that are tried; without costs, up to a feasible one."""
    found: list[Solution] = []
    for way in resolve_alternatives(problem):
        found += solve(way)
        costs = any(o.type is OT.sos for o in way.objectives)
        stopped = any(s.status.name == "INTERRUPTED" for s in found)
        if stopped or (not costs and any(s.feasible for s in found)):
            break
    return found


def _first(rated: Sequence[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """The least of them; of equals the first one, and some far from each other."""
    spread = (np.arange(len(rated)) * GOLDEN_RATIO) % 1
    order = np.lexsort((spread, np.round([v for v, _ in rated], 6)))
    return [rated[i] for i in order[:MAX_ALTERNATIVES]]


def _with(
    problem: "PathProblem", ways: tuple[ResolvedAlternative, ...]
) -> "PathProblem":
    other = copy.copy(problem)
    other._objectives = [*problem._objectives, *(o for w in ways for o in w.objectives)]
    other.choices, other.alternatives = (), tuple(way.name for way in ways)
    other._chain = None
    return other


class _Nearness:
    """How much the initial path violates ways: the sum over objectives."""

    def __init__(self, problem: "PathProblem") -> None:
        self.modes = problem.modes()
        before = np.tile(problem.config.q, (problem.k_order, 1))
        path = np.concatenate([before, problem.initial])
        self.path, self.first = self.modes.widen(path), problem.k_order
        self.known: dict[tuple[Any, int], float] = {}

    def __call__(self, way: ResolvedAlternative) -> float:
        return sum(self._worst(o) for o in way.objectives)

    def _worst(self, objective: Objective) -> float:
        feature = objective.feature
        return max(
            self._violation(feature, objective.type, t) for t in objective.slices
        )

    def _violation(self, feature: Any, type: OT, t: int) -> float:
        if (feature, t) not in self.known:
            mode, last = self.modes.at(t), self.first + t
            q = self.path[last - feature.order : last + 1]
            y, _ = mode.named(feature).eval(mode.config, q)
            size = np.abs(y) if type is OT.eq else np.maximum(y, 0.0)
            self.known[feature, t] = 0.0 if type is OT.sos else float(size.max())
        return self.known[feature, t]

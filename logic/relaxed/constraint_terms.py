"""What a predicate demands, as rows: all of them, or any of some.

A row is a feature whose entries are at most 0 only where what it stands for is true:
it is exact, or lies above the exact one by no more than a stated error.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posewise.features import Feature
from posewise.objectives.interval import ObjectiveSpecs, SliceInterval
from posewise.objectives.objective import OT
from posewise.robots.config import Config

from .disjunction import disjunction_feature

SOLVER_MARGIN = 1.2e-3
"""In scaled units: a little more than what a solver leaves of a row."""


@dataclass(frozen=True)
class Inequality:
    """A feature of which every entry shall be at most 0."""

    feature: Feature
    scale: float = 10.0
    """What the solver multiplies entries by."""
    error: float = 0.0
    """By how much entries may lie above what is exact."""


@dataclass(frozen=True)
class Conjunction:
    """Every one of the terms."""

    terms: "tuple[ConstraintTerm, ...]"


@dataclass(frozen=True)
class Disjunction:
    """At least one of the terms; as one row, the smooth minimum of their worst rows."""

    terms: "tuple[ConstraintTerm, ...]"
    error: float
    """How far the smooth minimum may be above the least."""


ConstraintTerm = Inequality | Conjunction | Disjunction


def inequalities(term: ConstraintTerm, C: Config) -> Iterator[Inequality]:
    """Rows that together are the term."""
    match term:
        case Inequality():
            yield term
        case Conjunction(terms):
            for part in terms:
                yield from inequalities(part, C)
        case Disjunction((single,)):
            yield from inequalities(single, C)
        case Disjunction(terms, error):
            rows = [list(inequalities(part, C)) for part in terms]
            features = tuple(tuple(r.feature for r in part) for part in rows)
            worst = max((r.error for part in rows for r in part), default=0.0)
            scale = min((r.scale for part in rows for r in part), default=10.0)
            yield Inequality(disjunction_feature(features, error), scale, error + worst)


def violation(term: ConstraintTerm, C: Config) -> float:
    """The largest entry of all rows: at most 0 only where the term is true."""
    return max(
        (float(np.max(r.feature.eval(C)[0])) for r in inequalities(term, C)),
        default=-np.inf,
    )


def error_bound(term: ConstraintTerm, C: Config) -> float:
    """By how much a violation may lie above what is exact."""
    return max((r.error for r in inequalities(term, C)), default=0.0)


def objectives(
    term: ConstraintTerm, C: Config, interval: SliceInterval
) -> ObjectiveSpecs:
    """The rows as inequalities on all slices, with room for what a solver leaves."""
    for r in inequalities(term, C):
        yield _scaled(r), OT.ineq, interval.slices


def _scaled(r: Inequality) -> Feature:
    """scale · (φ + safe) as a feature; φ may have a scale and a target itself."""
    f = r.feature
    own: Any = 1.0 if f.scale is None else f.scale
    target: Any = 0.0 if f.target is None else f.target
    if np.ndim(own) == 2 or not np.all(own):
        raise ValueError("Rows take features with one scale for each entry, not 0.")
    moved = target - SOLVER_MARGIN / (r.scale * np.asarray(own, float))
    return Feature(
        f.symbol,
        f.frames,
        order=f.order,
        scale=r.scale * np.asarray(own, float),
        target=moved,
        **f.options,
    )

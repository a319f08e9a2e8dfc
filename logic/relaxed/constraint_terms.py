"""Constraint terms: inequalities, their conjunctions, and their disjunctions.

The rows of an inequality are at most 0 only where its statement holds. A row is exact,
or above the exact value by no more than a stated error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.features import Feature
from posewise.objectives.terms.interval import ObjectiveSpecs, SliceInterval
from posewise.objectives.terms.objective import OT
from posewise.robots.config import Config

from .disjunction import disjunction_feature

SOLVER_MARGIN = 1.2e-3
"""Margin of scaled rows in a solver [1].

It exceeds the feasibility tolerance of 1e-3, so that a feasible solution has rows below
0, and so makes the predicate true exactly.
"""


@dataclass(frozen=True)
class Inequality:
    """A feature whose rows must be at most 0."""

    feature: Feature
    scale: float = 10.0
    """Factor of the rows in a solver; larger for statements of high precision."""
    error: float = 0.0
    """Bound on how far a row may be above the exact value."""


@dataclass(frozen=True)
class Conjunction:
    """All of some terms."""

    terms: "tuple[ConstraintTerm, ...]"


@dataclass(frozen=True)
class Disjunction:
    """At least one of some terms; one row, the smooth minimum of their largest rows."""

    terms: "tuple[ConstraintTerm, ...]"
    error: float
    """Bound on how far the smooth minimum may be above the minimum."""


ConstraintTerm: TypeAlias = Inequality | Conjunction | Disjunction


def inequalities(term: ConstraintTerm, C: Config) -> Iterator[Inequality]:
    """Yield inequalities whose conjunction implies the term.

    Conjunctions remain separate rows, which loses nothing. A disjunction of rows φᵢⱼ
    becomes mellowmin over i of max over j of φᵢⱼ. The mellowmin is at least the
    minimum, so if it is at most 0, so are all rows of one alternative: it is sound.
    """
    match term:
        case Inequality():
            yield term
        case Conjunction(terms):
            for part in terms:
                yield from inequalities(part, C)
        case Disjunction((single,)):
            yield from inequalities(single, C)
        case Disjunction(terms, error):
            # Alternatives are compared unscaled, so that the error keeps its unit. The
            # least scale and the largest error are safe for all of them.
            rows = [list(inequalities(part, C)) for part in terms]
            features = tuple(tuple(r.feature for r in part) for part in rows)
            worst = max((r.error for part in rows for r in part), default=0.0)
            scale = min((r.scale for part in rows for r in part), default=10.0)
            feature = disjunction_feature(features, error)
            yield Inequality(feature, scale, error + worst)


def violation(term: ConstraintTerm, C: Config) -> float:
    """Return the largest row, at most 0 only where the term is true."""
    return max(
        (float(np.max(r.feature.eval(C)[0])) for r in inequalities(term, C)),
        default=-np.inf,
    )


def row_function(
    term: ConstraintTerm, C: Config
) -> Callable[[Float[jax.Array, " nq"]], Float[jax.Array, " rows"]]:
    """Return all rows as a pure JAX function of q, whose largest is the violation."""
    functions = [r.feature.function(C) for r in inequalities(term, C)]

    def rows(q: Float[jax.Array, " nq"]) -> Float[jax.Array, " rows"]:
        return jnp.concatenate([jnp.zeros(0, q.dtype), *(fn(q) for fn in functions)])

    return rows


def objectives(
    term: ConstraintTerm, C: Config, interval: SliceInterval
) -> ObjectiveSpecs:
    """Yield the rows as inequality objectives on all slices, with `SOLVER_MARGIN`."""
    for r in inequalities(term, C):
        yield _with_solver_margin(r), OT.ineq, interval.slices


# One feature gives one objective, which a problem does not state twice.
@lru_cache(maxsize=256)
def _with_solver_margin(r: Inequality) -> Feature:
    """Return scale · φ + margin as a feature; φ may have a scale and a target."""
    f = r.feature
    own_scale: Any = 1.0 if f.scale is None else f.scale
    target: Any = 0.0 if f.target is None else f.target
    if np.ndim(own_scale) == 2 or not np.all(own_scale):
        raise ValueError(
            f"Inequality: the scale of {f.symbol.name!r} is {own_scale!r}, expected"
            " one number per row, none of them 0."
        )
    scale = r.scale * np.asarray(own_scale, float)
    # scale · (φ - (target - margin / scale)) = scale · (φ - target) + margin
    return Feature(
        f.symbol,
        f.frames,
        order=f.order,
        scale=scale,
        target=target - SOLVER_MARGIN / scale,
        **f.options,
    )

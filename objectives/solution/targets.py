"""Targets as the part of a problem's data that derivatives are by."""

from typing import Any

import jax
import jax.numpy as jnp

from ..chain.builder import RowLocation
from ..chain.groups import ChainData, FeatureBatch
from ..problem.spec import ProblemSpec
from ..terms.objective import Objective, ObjectiveError


def objective_index(spec: ProblemSpec, wrt: Objective) -> int:
    """Return the index of an objective among those of a problem."""
    for i, objective in enumerate(spec.objectives):
        if objective is wrt or objective.source is wrt:
            return i
    raise ObjectiveError(
        f"wrt is {wrt!r}, expected one of this problem's objectives, as add_objective"
        " returned it."
    )


def with_target(
    data: ChainData, parts: list[RowLocation], target: jax.Array | None
) -> ChainData:
    """Return the targets of the batches with one objective, and None for all else.

    Args:
        data: numbers of the problem.
        parts: where the rows of the objective are.
        target: its new target (D,); None: its present one.
    """
    targets = {p.batch: jnp.asarray(data.batches[p.batch].target) for p in parts}
    if target is not None:
        for part in parts:
            rows = targets[part.batch].at[part.rows]
            targets[part.batch] = rows.set(target)
    nothing: Any = None
    no_leaves = FeatureBatch(*[nothing] * len(FeatureBatch._fields))
    batches: Any = [None] * len(data.batches)
    for i, changed in targets.items():
        batches[i] = no_leaves._replace(target=changed)
    return ChainData(nothing, nothing, nothing, nothing, tuple(batches))

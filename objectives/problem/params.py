"""Params of users' functions in a path problem: new values, and where they are data."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import PyTree

from posewise.features.symbol import TracedArrays

from ..chain.builder import RowLocation
from ..chain.groups import FeatureBatch
from ..terms.objective import Objective, ObjectiveError
from .spec import ProblemSpec


def objective_index(spec: ProblemSpec, objective: Objective, argument: str) -> int:
    """Return the index of an objective among those of a problem.

    Args:
        spec: the problem.
        objective: as `add_objective` returned it.
        argument: name of the argument that it was given as, for messages.

    Raises:
        ObjectiveError: for an objective of another problem.
    """
    for i, known in enumerate(spec.objectives):
        if known is objective or known.source is objective:
            return i
    raise ObjectiveError(
        f"{argument} is {objective!r}, expected one of this problem's objectives: use"
        " what add_objective returned."
    )


def with_params(spec: ProblemSpec, objective: Objective, params: PyTree) -> ProblemSpec:
    """Return a problem in which the function of an objective has other params."""
    index = objective_index(spec, objective, "objective")
    old = spec.objectives[index]
    feature = old.feature.with_params(params)
    new = replace(old, feature=feature, source=old.source or old)
    objectives = (*spec.objectives[:index], new, *spec.objectives[index + 1 :])
    return replace(spec, objectives=objectives)


def param_rows(batch: FeatureBatch, location: RowLocation) -> np.ndarray:
    """Return the rows of a batch's params that are those of an objective.

    Instances with the same params share one row; see `FeatureGroup.num_param_sets`.
    """
    sets = np.asarray(batch.param_set)
    count = {np.shape(v)[0] for v in batch.params.values()}.pop()
    is_shared = count != len(sets)
    return np.unique(sets[location.rows]) if is_shared else np.asarray(location.rows)


def set_params(
    params: Mapping[str, Any], rows: np.ndarray, leaves: TracedArrays
) -> dict[str, Any]:
    """Return the leaves among a batch's params, with other values in some rows."""
    return {k: params[k].at[rows].set(v) for k, v in leaves.items()}

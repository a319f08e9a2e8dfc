"""Parts of a problem's data that derivatives are by: targets, params, kinematics."""

from typing import Any

import jax
import jax.numpy as jnp

from posewise.features.symbol import TracedArrays
from posewise.robots.kinematics.forward import Kinematics

from ..chain.builder import RowLocation
from ..chain.groups import ChainData, FeatureBatch
from ..problem.params import param_rows, set_params

_NOTHING: Any = None
NO_LEAVES = FeatureBatch(*[_NOTHING] * len(FeatureBatch._fields))
"""A batch of None for all that does not vary."""


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
    return _with_batches(
        data, {i: NO_LEAVES._replace(target=array) for i, array in targets.items()}
    )


def with_params(
    data: ChainData, parts: list[RowLocation], leaves: TracedArrays
) -> ChainData:
    """Return the params of the batches with one objective, and None for all else.

    Args:
        data: numbers of the problem.
        parts: where the rows of the objective are.
        leaves: of the params of its function.
    """
    batches: dict[int, FeatureBatch] = {}
    for part in parts:
        batch = data.batches[part.batch]
        params = batches.get(part.batch, batch).params
        arrays = {k: jnp.asarray(params[k]) for k in leaves}
        changed = set_params(arrays, param_rows(batch, part), leaves)
        others = dict.fromkeys(batch.params)
        batches[part.batch] = NO_LEAVES._replace(params={**others, **changed})
    return _with_batches(data, batches)


def with_kinematics(data: ChainData, K: Kinematics) -> ChainData:
    """Return kinematics, and None for all else.

    Args:
        data: numbers of the problem.
        K: new kinematics, or some arrays of them.
    """
    return _with_batches(data, {})._replace(K=K)


def _with_batches(data: ChainData, batches: dict[int, FeatureBatch]) -> ChainData:
    """Return some batches, and None for all else."""
    nothing: Any = None
    every = tuple(batches.get(i, nothing) for i in range(len(data.batches)))
    return ChainData(nothing, nothing, nothing, nothing, every)

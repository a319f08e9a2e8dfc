"""Rows of a problem of which only some count: the others have the scale 0.

They are data, so that the program of the whole problem serves any selection.
"""

import numpy as np
from jaxtyping import Bool, Int

from posewise.robots.typing import Array

from .groups import ChainData
from .problem import Chain


def row_types(chain: Chain, data: ChainData) -> Int[np.ndarray, " rows"]:
    """Return the type of each row: EQ, INEQ or SOS."""
    pairs = zip(data.batches, chain.groups, strict=True)
    return np.concatenate([np.repeat(b.types, g.num_rows) for b, g in pairs])


def select_rows(
    chain: Chain, data: ChainData, counts: Bool[np.ndarray, " rows"]
) -> ChainData:
    """Return the data with scale 0 for rows that do not count."""
    batches, first = [], 0
    for batch, group in zip(data.batches, chain.groups, strict=True):
        size = group.capacity * group.num_rows
        mask = counts[first : first + size].reshape(group.capacity, group.num_rows)
        first += size
        params = batch.params
        if group.symbol.vector_form:
            # Directions and shifts of rows have the scale in them.
            params = {k: _masked(params[k], mask) for k in params}
        scale = _masked(batch.scale, mask)
        batches.append(batch._replace(scale=scale, params=params))
    return data._replace(batches=tuple(batches))


def _masked(array: Array, mask: Bool[np.ndarray, "n rows"]) -> np.ndarray:
    """Return an array (n, rows, ...) with zeros in some rows."""
    masked: np.ndarray = np.asarray(array)
    return masked * mask.reshape(*mask.shape, *(1,) * (masked.ndim - 2))

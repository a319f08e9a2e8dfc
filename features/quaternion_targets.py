"""Targets of features that are quaternions: normalised, as everywhere in posewise."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .errors import FeatureError
from .symbol import Symbol

MIN_NORM = 1e-9
"""Norm below which a quaternion is zero and has no direction [1]; a larger one refuses
more."""


def quaternion_rows_of_target(
    symbol: Symbol, order: int, scale: Float[np.ndarray, "*scale"] | None
) -> slice | None:
    """Return the rows of a target that are a quaternion; None: there are none.

    Where the scale leaves components out, the target gives values of single components
    and is no rotation. Targets of velocities are none either.
    """
    rows = symbol.quaternion_rows
    if rows is None or order:
        return None
    if scale is None or scale.shape[-1] == 1:
        return rows
    columns = scale[:, rows] if scale.ndim == 2 else np.diag(scale[rows])
    return rows if np.linalg.matrix_rank(columns) == 4 else None


def unit_target(
    symbol: Symbol,
    order: int,
    scale: Float[np.ndarray, "*scale"] | None,
    target: Float[np.ndarray, "*batch n"],
) -> Float[np.ndarray, "*batch n"]:
    """Return a target, or several, with quaternions of length 1.

    Raises:
        FeatureError: for a quaternion of zeros.
    """
    rows = quaternion_rows_of_target(symbol, order, scale)
    if rows is None or symbol.dim is None or target.shape[-1] not in (1, symbol.dim):
        return target
    full = np.array(np.broadcast_to(target, (*target.shape[:-1], symbol.dim)))
    norm = np.linalg.norm(full[..., rows], axis=-1, keepdims=True)
    if (norm < MIN_NORM).any():
        raise FeatureError(
            f"{symbol.name}: target is {target.tolist()}, whose quaternion is zero;"
            " expected (w, x, y, z) of any length but 0, or a scale that leaves the"
            " quaternion out."
        )
    full[..., rows] /= norm
    return full


def traced_unit_target(
    symbol: Symbol,
    order: int,
    scale: Float[np.ndarray, "*scale"] | None,
    target: Float[jax.Array, " D"],
) -> Float[jax.Array, " D"]:
    """Return a traced target (D,) as `unit_target` does, or a quaternion of zeros."""
    rows = quaternion_rows_of_target(symbol, order, scale)
    if rows is None:
        return target
    square = jnp.sum(target[rows] ** 2)
    length = jnp.sqrt(jnp.where(square > MIN_NORM**2, square, 1.0))
    return target.at[rows].divide(length)

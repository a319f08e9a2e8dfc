"""Quantities that enter the numbers of a problem affinely: options, sizes, predicates'.

See `affine_data`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from posewise.robots.typing import VectorLike
from posewise.solvers.sensitivity import replace_leaves

from ..chain.groups import ChainData
from ..problem.spec import ProblemSpec, compile_chain
from ..terms.objective import ObjectiveError
from .affine_data import AffineData, affine_data, exact_steps, require_sum
from .stated_quantities import StatedQuantity


@dataclass(frozen=True)
class AffineQuantity:
    """Numbers as an affine function of a few values, whose shape is checked."""

    stated: StatedQuantity
    data: AffineData

    @property
    def label(self) -> str:
        """The quantity in words, for messages."""
        return self.stated.label

    @property
    def present(self) -> Float[np.ndarray, "..."]:
        """The values in the problem."""
        return self.stated.present

    def __call__(self, data: ChainData, value: VectorLike) -> ChainData:
        x, expected = jnp.asarray(value, float), self.data.shape
        if x.size == 1 and expected in ((), (1,)):
            x = x.reshape(expected)
        if x.shape != expected:
            raise ObjectiveError(
                f"The {self.label} has shape {x.shape}, expected {expected}; for"
                " several values use jax.vmap."
            )
        if not isinstance(x, jax.core.Tracer):
            self.stated.check(np.asarray(x))
        return self.data.at(data, x)


def affine_quantity(spec: ProblemSpec, stated: StatedQuantity) -> AffineQuantity:
    """Return numbers as a function of values, by building the problem with others.

    Raises:
        ObjectiveError: see `affine_data`.
    """
    data = affine_data(
        spec,
        stated.present,
        lambda value: stated.changed(spec, value),
        stated.label,
    )
    return AffineQuantity(stated, data)


def require_independent(spec: ProblemSpec, parts: Sequence[AffineQuantity]) -> None:
    """Raise an ObjectiveError if numbers depend on products of quantities."""
    data: ChainData = compile_chain(spec).data
    every = spec
    # Other changes of an objective would be lost if it were made again after them.
    for part in sorted(parts, key=lambda part: not part.stated.restates):
        value = part.present + exact_steps(part.present)
        data = replace_leaves(data, part(data, value))
        every = part.stated.changed(every, value)
    label = " and the ".join(part.label for part in parts)
    require_sum(data, compile_chain(every).data, label)

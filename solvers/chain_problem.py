"""Protocol of a problem over a chain of slices, which the solver solves."""

from typing import Any, Protocol, runtime_checkable

import jax
from jaxtyping import Float, PyTree

from posewise.compilation import Array
from posewise.compilation.packed_pytree import Packed

from .bounds import StepBounds
from .residuals import ResidualBlock


@runtime_checkable
class ChainProblem(Protocol):
    """A problem over T slices: hashable structure, with its numbers in `data`."""

    def __hash__(self) -> int: ...

    @property
    def slices(self) -> int:
        """T."""
        ...

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of a slice."""
        ...

    @property
    def order(self) -> int:
        """Number of older slices in the longest window."""
        ...

    @property
    def shared(self) -> tuple[int, ...]:
        """Tangent columns that are one variable for all slices; x agrees there."""
        ...

    @property
    def is_large(self) -> bool:
        """Whether the code of `evaluate` is long enough to compile sooner in parts."""
        ...

    def evaluate(self, data: PyTree, x: Float[jax.Array, "T nq"] | Packed) -> Any:
        """Return all `ResidualBlock`s with Jacobians at x; in parts, as `defer` has it.

        Blocks of one column each have only columns that are not shared.
        """
        ...

    def shapes(
        self, data: PyTree, x: Float[Array, "T nq"]
    ) -> tuple[ResidualBlock, ...]:
        """Return shapes and dtypes of all blocks, without tracing `evaluate`."""
        ...

    def retract(
        self, data: PyTree, x: Float[jax.Array, "T nq"], step: Float[jax.Array, "T nv"]
    ) -> Float[jax.Array, "T nq"]:
        """Return x moved along a tangent step, and clipped to the bounds."""
        ...

    def step_bounds(self, data: PyTree, x: Float[jax.Array, "T nq"]) -> StepBounds:
        """Return the least and the largest tangent step within the bounds."""
        ...

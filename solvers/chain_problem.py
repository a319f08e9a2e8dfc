"""What the solver asks of a problem over a chain of slices."""

from typing import Any, Protocol, runtime_checkable

from .residuals import ResidualBlock


@runtime_checkable
class ChainProblem(Protocol):
    """A problem over T slices; hashable by its structure, its numbers are in `data`."""

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
        """How many slices back a window reaches."""
        ...

    @property
    def shared(self) -> tuple[int, ...]:
        """Tangent columns that are one variable for all slices; x agrees there."""
        ...

    @property
    def is_large(self) -> bool:
        """Whether evaluation is so much code that it is better compiled in parts."""
        ...

    def evaluate(self, data: Any, x: Any) -> Any:
        """Return all `ResidualBlock`s with Jacobians at x; in parts, as `defer` has it.

        Rows of one column each only of columns that are not shared.
        """
        ...

    def shapes(self, data: Any, x: Any) -> tuple[ResidualBlock, ...]:
        """Shapes and dtypes of the rows; `evaluate` need not be traced for them."""
        ...

    def retract(self, data: Any, x: Any, step: Any) -> Any:
        """x moved along a tangent step, within the bounds."""
        ...

    def max_step_fraction(self, data: Any, x: Any, step: Any) -> Any:
        """How much of a step, at most all, is within the bounds that x is not at."""
        ...

    def active_bounds(self, data: Any, x: Any, gradient: Any) -> Any:
        """Which tangent directions are held by a bound against the descent."""
        ...

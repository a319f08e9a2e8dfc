"""Protocol of the methods that choose the steps of the solver's loop."""

from typing import Any, Protocol, runtime_checkable

import jax
from jaxtyping import Float, PyTree

from .chain_problem import ChainProblem
from .options import Options
from .residuals import ResidualBlock
from .state import Linearization, SolverState


@runtime_checkable
class StepMethod(Protocol):
    """A method that judges the last step and chooses the next one; hashable."""

    def __hash__(self) -> int: ...

    def begin(
        self,
        problem: ChainProblem,
        options: Options,
        x: Float[jax.Array, "T nq"],
        blocks: tuple[ResidualBlock, ...],
    ) -> tuple[tuple[Linearization, ...], Any, Any]:
        """Return linearization, trial and search before the first iteration.

        Args:
            problem: the structure of the problem.
            options: of the solver.
            x: the initial path.
            blocks: zeros of the shapes of all blocks.
        """
        ...

    def step(
        self,
        problem: ChainProblem,
        data: PyTree,
        options: Options,
        s: SolverState,
        blocks: tuple[ResidualBlock, ...],
    ) -> SolverState:
        """Return the state after an iteration.

        Args:
            problem: the structure of the problem.
            data: its numbers.
            options: of the solver.
            s: the state with the trial point.
            blocks: all residuals at the trial point.
        """
        ...

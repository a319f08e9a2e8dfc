"""Status of a solve that has ended."""

from enum import IntEnum


class Status(IntEnum):
    """Status of a solve that has ended; `message` explains it in a sentence."""

    CONVERGED = 0
    FEASIBLE = 1
    ITERATION_LIMIT = 2
    INFEASIBLE = 3
    BAD_INPUT = 4
    INTERRUPTED = 5
    TIME_LIMIT = 6
    NOT_FOUND = 7

    def __str__(self) -> str:
        return self.name

    @property
    def message(self) -> str:
        """Return an explanation in a sentence or two.

        >>> Status.CONVERGED.message
        'Converged: all constraints hold and the cost is stationary.'
        """
        return _MESSAGES[self]

    @property
    def is_stopped(self) -> bool:
        """Whether an interrupt or a time limit ended the solve before its own end."""
        return self in (Status.INTERRUPTED, Status.TIME_LIMIT)


TO_CONTINUE = "To continue, initialize with this path and solve again."
_MESSAGES = {
    Status.CONVERGED: "Converged: all constraints hold and the cost is stationary.",
    Status.FEASIBLE: (
        "All constraints hold, but the cost has not converged: progress stalled or the"
        " iteration limit was reached. Lower `progress_tolerance` or raise"
        " `max_iterations`."
    ),
    Status.ITERATION_LIMIT: (
        "The iteration limit was reached before all constraints held. Raise"
        " `max_iterations`, use more starts, or provide a better initial path."
    ),
    Status.INFEASIBLE: (
        "Stationary with violated constraints: the objectives conflict near this point."
        " Use more starts or relax one of the objectives."
    ),
    Status.BAD_INPUT: (
        "The objectives are not finite at the initial path, so nothing was solved."
    ),
    Status.INTERRUPTED: f"Interrupted before the end. {TO_CONTINUE}",
    Status.NOT_FOUND: (
        "No way was found to a configuration that meets the goal; the path ends at the"
        " nearest place to one. Another seed may find a way, or `solve` with more"
        " starts."
    ),
    Status.TIME_LIMIT: f"The time limit was reached before the end. {TO_CONTINUE}",
}

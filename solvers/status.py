"""How a solve ended."""

from enum import IntEnum


class Status(IntEnum):
    """How a solve ended; `message` says it in a sentence."""

    CONVERGED = 0
    FEASIBLE = 1
    ITERATION_LIMIT = 2
    INFEASIBLE = 3
    BAD_INPUT = 4
    INTERRUPTED = 5

    @property
    def message(self) -> str:
        """One sentence."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.CONVERGED: "Converged: all constraints hold and the cost is stationary.",
    Status.FEASIBLE: (
        "All constraints hold, but the cost is not stationary: it had become slow to"
        " fall, or the iteration limit came; lower progress_tolerance, or allow more"
        " iterations, for a better one."
    ),
    Status.ITERATION_LIMIT: (
        "The iteration limit came before all constraints held; allow more iterations,"
        " more starts or a better initial path."
    ),
    Status.INFEASIBLE: (
        "Stationary with violated constraints: the objectives are in conflict near"
        " here; try more starts or relax one of them."
    ),
    Status.BAD_INPUT: (
        "The objectives are not finite at the initial path; nothing was solved."
    ),
    Status.INTERRUPTED: (
        "Interrupted: this is how far it had come; initialize with this path to go on."
    ),
}

"""Statuses and messages of solves that a time limit or an interrupt ended."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posewise.robots.validation import number
from posewise.solvers import Status
from posewise.solvers.deadline import check_deadline, passed_deadline

from ..solution.solution import Solution
from ..terms.objective import ObjectiveError


def check_max_time(
    max_time: object, error: type[ValueError] = ObjectiveError
) -> float | None:
    """Return a checked time limit [s]; None: there is none.

    Args:
        max_time: anything.
        error: class of the error.

    Raises:
        ObjectiveError: (or `error`) for anything but None and finite numbers above 0.
    """
    if max_time is None:
        return None
    expected = "a number of seconds > 0, or None for no limit"
    # Python counts True as 1.
    if isinstance(max_time, bool | np.bool_):
        raise error(f"max_time is {max_time!r}, expected {expected}.")
    return number("max_time", max_time, expected, lambda s: s > 0, error)


def stopped_status() -> Status:
    """Return the status of a solve that has been stopped just now."""
    return Status.TIME_LIMIT if passed_deadline() else Status.INTERRUPTED


def stop_sentence(ended: int, count: int, what: str = "starts") -> str:
    """Return a sentence on what stopped a solve just now, and how far it had come.

    Args:
        ended: number of parts that have ended.
        count: number of all parts; if there is one only, the sentence has no numbers.
        what: the parts, in plural.
    """
    extent = f" after {ended} of {count} {what}" if count > 1 else ""
    return f"{stop_cause()}{extent}."


def stop_cause() -> str:
    """Return the beginning of a sentence: what stopped a solve just now."""
    deadline = passed_deadline()
    if deadline is None:
        return "Interrupted"
    return f"Time limit of {deadline.max_time:g} s reached"


def mark_stopped(solutions: Iterable[Solution], sentence: str) -> list[Solution]:
    """Return solutions of a call that has been stopped just now."""
    status = stopped_status()
    return [marked_as_stopped(s, sentence, status) for s in solutions]


def marked_as_stopped(solution: Solution, sentence: str, status: Status) -> Solution:
    """Return a solution of a call that has been stopped.

    A feasible one that had ended keeps its status; others might have given way to what
    was still to come.

    Args:
        solution: of the call.
        sentence: what stopped it.
        status: see `stopped_status`.
    """
    is_good = solution.feasible and not solution.status.is_stopped
    is_fixed = is_good or solution.status is Status.BAD_INPUT
    new_status = solution.status if is_fixed else status
    return replace(solution, status=new_status, stopped=sentence)


class Stop(NamedTuple):
    """Reason why a problem of a batch has no end."""

    sentence: str
    status: Status
    """Status of its solution if it is not feasible."""


OF_OTHER_SHARE = Stop(
    "Not solved, since it is a problem of another share: a call with that share, or"
    " without any, solves it.",
    Status.INTERRUPTED,
)


def stops_of_problems(
    without_end: Iterable[int], share: range, count: int
) -> dict[int, Stop]:
    """Return why problems of a batch have no end, by their indices.

    Args:
        without_end: those that were stopped just now, or that no share has solved yet.
        share: indices of those that were to be solved.
        count: number of all problems.
    """
    stops = dict.fromkeys(without_end, OF_OTHER_SHARE)
    stopped = stops.keys() & set(share)
    if stopped:
        sentence = stop_sentence(len(share) - len(stopped), len(share), "problems")
        stops |= dict.fromkeys(stopped, Stop(sentence, stopped_status()))
    return stops


def pass_on_stop(solutions: Sequence[Solution]) -> None:
    """Raise the interrupt again that has ended a solve within a larger search.

    Raises:
        KeyboardInterrupt: if a solution was stopped; TimeLimitReached for a time limit.
    """
    if any(s.stopped for s in solutions):
        check_deadline()
        raise KeyboardInterrupt

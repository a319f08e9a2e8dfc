"""Time limits: an interrupt that comes by itself once a solve's time is over.

Loops ask for it where they have a result, so that whatever hears Ctrl-C hears the end
of the time too. The deadline is that of the whole call, and of all solves within it.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf


class TimeLimitReached(KeyboardInterrupt):
    """An interrupt by a time limit instead of Ctrl-C."""


@dataclass(frozen=True)
class Deadline:
    """The time at which a call is to end with the best that it has come to."""

    max_time: float
    """Time from the beginning of the call [s]."""
    end: float
    """Time on the clock of `time.perf_counter` [s]."""


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def time_limit(max_time: float | None) -> AbstractContextManager[None]:
    """Limit the time from now until the end of a block.

    Of nested limits the one that ends first counts.

    Args:
        max_time: time [s]; None: no limit but that of the caller.
    """
    outer = _deadline.get()
    if max_time is None:
        return _until(outer)
    inner = Deadline(max_time, time.perf_counter() + max_time)
    return _until(inner if outer is None or inner.end < outer.end else outer)


@contextmanager
def _until(deadline: Deadline | None) -> Iterator[None]:
    """Set the deadline of a block."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def no_time_limit() -> AbstractContextManager[None]:
    """Give what decides about a result, instead of searching for it, all its time."""
    return _until(None)


def passed_deadline() -> Deadline | None:
    """Return the deadline if it has passed; None: there is time, or no limit."""
    deadline = _deadline.get()
    has_passed = deadline is not None and time.perf_counter() >= deadline.end
    return deadline if has_passed else None


def remaining_seconds() -> float:
    """Return the time until the deadline [s], at least 0; infinity: no limit."""
    deadline = _deadline.get()
    if deadline is None:
        return inf
    return max(deadline.end - time.perf_counter(), 0.0)


def check_deadline() -> None:
    """Raise TimeLimitReached, an interrupt, if the deadline has passed.

    It is called where a result is at hand and the caller hears interrupts.
    """
    deadline = passed_deadline()
    if deadline is not None:
        raise TimeLimitReached(f"time limit of {deadline.max_time:g} s reached")

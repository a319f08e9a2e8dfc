"""Interrupts, and a clock for time limits that does not depend on the machine."""

import signal
from types import SimpleNamespace

import pytest

from posewise.solvers import deadline, interruptible, multistart


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


def make_rounds_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make short solves take many rounds, of few lanes by one worker."""
    monkeypatch.setattr(interruptible, "MAX_UNINTERRUPTED_VARIABLES", 1)
    monkeypatch.setattr(interruptible, "FIRST_ROUND_VARIABLE_ITERATIONS", 1)
    monkeypatch.setattr(interruptible, "MIN_ROUND_SECONDS", 0.0)
    monkeypatch.setattr(multistart, "MIN_ROUND_SECONDS", 0.0)
    monkeypatch.setattr(multistart, "MAX_VARIABLES_PER_CALL", 12)
    monkeypatch.setattr(multistart, "count_cores", lambda: 1)


class TickingClock:
    """A clock on which a second passes each time that a solve looks at it.

    With a limit of n seconds, the deadline has passed when it is asked for n times.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        clock = SimpleNamespace(perf_counter=self.look)
        monkeypatch.setattr(deadline, "time", clock)

    def look(self) -> float:
        """Return the time [s]."""
        self.seconds += 1.0
        return self.seconds

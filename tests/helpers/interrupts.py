"""Interrupts, and a clock for time limits that does not depend on the machine."""

import signal
from types import SimpleNamespace

import pytest

from posewise.solvers import deadline


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


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

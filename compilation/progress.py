"""Lines on stderr while something takes long, such as compiling a program."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread, Timer

SLOW_AFTER = 0.5
"""Time after which a step counts as slow [s]: shorter ones need no explanation."""
MAX_SILENCE = 10.0
"""Time without a line after which one says that a long step goes on [s]."""

_last_line = -MAX_SILENCE


def write_line(text: str) -> None:
    """Write a line on stderr, at once."""
    global _last_line
    print(text, file=sys.stderr, flush=True)
    _last_line = time.perf_counter()


@contextmanager
def announce_if_slow(what: str) -> Iterator[None]:
    """Write on stderr what is being done, if the block takes longer than a moment.

    Args:
        what: the step, for example "compiling distances of hulls".
    """
    timer = Timer(SLOW_AFTER, write_line, [f"posewise: {what} …"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def break_silence(what: str, is_wanted: bool = True) -> Iterator[None]:
    """Write on stderr that a long step goes on, whenever no line came for a while.

    Args:
        what: the step, for example "solving".
        is_wanted: whether anything is written.
    """
    if not is_wanted:
        yield
        return
    began, is_over = time.perf_counter(), Event()

    def watch() -> None:
        while not is_over.wait(max(0.1, _due(began) - time.perf_counter())):
            now = time.perf_counter()
            if now >= _due(began):
                write_line(f"posewise: {what}, {now - began:.0f} s so far …")

    Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _due(began: float) -> float:
    """Return when the next line is due that a step goes on."""
    return max(began, _last_line) + MAX_SILENCE

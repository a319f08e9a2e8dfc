"""Lines on stderr while something takes long, such as compiling a program."""

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock, Thread, Timer

SLOW_AFTER = 0.5
"""Time after which a step counts as slow [s]: shorter ones need no explanation."""
MAX_SILENCE = 10.0
"""Time without a line after which one says that a long step goes on [s]."""

WATCH_INTERVAL = 0.5
"""Time between two looks at whether a line is due [s]."""

_last_line = -MAX_SILENCE
_steps: dict[object, tuple[str, float]] = {}
"""Long steps that go on, each with when it began."""
_watcher: Thread | None = None
"""Thread that watches them: it ends a moment after the last of them."""
_changing = Lock()
"""Held while a step is added, or the thread is started or ends."""


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
    global _watcher
    step = object()
    with _changing:
        _steps[step] = what, time.perf_counter()
        # One thread watches all steps: to start one takes longer than many a solve.
        if _watcher is None or not _watcher.is_alive():
            _watcher = Thread(target=_watch, daemon=True)
            _watcher.start()
    try:
        yield
    finally:
        del _steps[step]


def tell_part(what: str) -> AbstractContextManager[None]:
    """Name a part of the long step that goes on, if one does, in its lines.

    Args:
        what: the part, for example "compiling".
    """
    return break_silence(what, bool(_steps))


def _watch() -> None:
    """Write a line whenever a step goes on and none came for a while."""
    global _watcher
    while True:
        time.sleep(WATCH_INTERVAL)
        with _changing:
            if not _steps:
                _watcher = None
                return
        now = time.perf_counter()
        # The innermost step, which began last, tells most.
        for what, began in list(_steps.values())[-1:]:
            if now >= max(began, _last_line) + MAX_SILENCE:
                write_line(f"posewise: {what}, {now - began:.0f} s so far …")

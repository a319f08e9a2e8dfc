"""A line on stderr while something takes long, such as compiling a program."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

SLOW_AFTER = 0.5
"""Time after which a step counts as slow [s]: shorter ones need no explanation."""


@contextmanager
def announce_if_slow(what: str) -> Iterator[None]:
    """Write on stderr what is being done, if the block takes longer than a moment.

    Args:
        what: the step, for example "compiling distances of hulls".
    """

    def announce() -> None:
        print(f"posewise: {what} …", file=sys.stderr, flush=True)

    timer = Timer(SLOW_AFTER, announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

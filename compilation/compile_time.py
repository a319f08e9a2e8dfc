"""Time that programs take to compile, and reasons why they have to be."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

from .progress import tell_part

COMPILING = "compiling, once for problems of this kind (XLA may call it very slow)"
"""Text of the lines that say what goes on; after two minutes XLA asks on stderr whether
the compilation is very slow, which cannot be turned off once JAX is loaded."""

_total = 0.0
_active = 0
_began = 0.0
"""Time at which the compilations that go on, several at a time, have begun [s]."""
_counting = Lock()


class ProgramKey(Protocol):
    """A static argument of programs that can say what is new about it."""

    def novelty(self, others: Iterable[object]) -> str:
        """Return what no key that was compiled for has, as words; empty: nothing.

        Args:
            others: static arguments that have been compiled for in this process.
        """
        ...


def total_compile_seconds() -> float:
    """Return the wall time that this process has spent on compiling programs [s].

    Programs that compile beside each other count once.
    """
    return _total


@contextmanager
def compiling(reason: str) -> Iterator[None]:
    """Count the time of a block that compiles a program, and tell that it does.

    Args:
        reason: why there is no program yet; empty: it is not known.
    """
    global _total, _active, _began
    with _counting:
        if not _active:
            _began = time.perf_counter()
        _active += 1
    try:
        with tell_part(f"{COMPILING}: {reason}" if reason else COMPILING):
            yield
    finally:
        with _counting:
            _active -= 1
            if not _active:
                _total += time.perf_counter() - _began


def novelty(key: object, others: Iterable[object]) -> str:
    """Return what is new about a key of programs, if it can say that."""
    describe = getattr(key, "novelty", None)
    return "" if describe is None else str(describe(others))

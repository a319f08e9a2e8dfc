"""Ctrl-C while a function runs that may hear it and return."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from threading import Event, current_thread, main_thread
from types import FrameType


@contextmanager
def interrupts_heard() -> Iterator[Event]:
    """Yield an event that is set when Ctrl-C is pressed, besides what it does."""
    heard = Event()
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield heard
        return
    handle_before = before

    def handle(number: int, frame: FrameType | None) -> None:
        heard.set()
        handle_before(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ignored_in_workers() -> Iterator[None]:
    """Ignore Ctrl-C in a process of a pool: the terminal sends it to all of them.

    A solve would end with what it has come to, which is not to be stored.
    """
    if parent_process() is None or current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

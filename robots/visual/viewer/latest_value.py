"""A worker thread that handles the latest value put to it, and drops older ones."""

import traceback
from collections.abc import Callable
from threading import Condition, Thread
from typing import Generic, TypeVar

Value = TypeVar("Value")


class LatestValueWorker(Generic[Value]):
    """Calls `handle` with the latest value, one call at a time, in its own thread."""

    def __init__(self, name: str, handle: Callable[[Value], None]) -> None:
        self._handle = handle
        self._pending: list[Value] = []
        self._changed, self._ended = Condition(), False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, value: Value) -> None:
        """Hand over a value; one that still waits is dropped."""
        with self._changed:
            self._pending = [value]
            self._changed.notify()

    def stop(self) -> None:
        """End the thread after the current call."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._ended)
                if self._ended:
                    return
                value = self._pending.pop()
            try:
                self._handle(value)
            except Exception:
                # An error of the user's callback must not end the thread.
                traceback.print_exc()

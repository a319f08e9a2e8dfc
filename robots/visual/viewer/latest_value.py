"""A thread that handles the newest of what comes in, and skips what it has missed."""

import traceback
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any


class LatestValueWorker:
    """Calls `handle` with the newest item, one at a time, in a thread of its own."""

    def __init__(self, name: str, handle: Callable[[Any], None]) -> None:
        self._handle = handle
        self._items: list[Any] = []
        self._changed, self._ended = Condition(), False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Any) -> None:
        """Hand over an item; one that still waits is dropped."""
        with self._changed:
            self._items = [item]
            self._changed.notify()

    def stop(self) -> None:
        """End after the item at hand."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items or self._ended)
                if self._ended:
                    return
                item = self._items.pop()
            try:
                self._handle(item)
            except Exception:  # of the user's: shown, and the next item is handled
                traceback.print_exc()

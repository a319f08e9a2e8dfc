"""Values that are computed once for each of the keys used last."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    """A mapping that computes what it lacks, and drops what was used longest ago.

    `functools.lru_cache` needs all that a value is computed from in its key; this takes
    a function beside the key, for what follows from the key but is not part of it.

    Args:
        size: largest number of values.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return the value of a key, computed if it is not there.

        Threads that ask for a key at once may both compute it; one value stays.
        """
        value = self.find(key)
        if value is None:
            # Not within the lock: computing may take seconds, or ask for other keys.
            value = compute()
            with self._lock:
                value = self._values.setdefault(key, value)
                if len(self._values) > self._size:
                    self._values.popitem(last=False)
        return value

    def find(self, key: Hashable) -> V | None:
        """Return the value of a key, or None if it is not there."""
        with self._lock:
            if key in self._values:
                # The order is that of the last use.
                self._values.move_to_end(key)
            return self._values.get(key)

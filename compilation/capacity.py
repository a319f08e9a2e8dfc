"""Classes of capacity, so that programs do not depend on numbers of bodies.

A count is rounded up to a class, and places that nothing takes are masked. A program
that is at hand also serves what would fit into a smaller one, in this process and in
later ones: what has been compiled for is kept beside the programs.
"""

import pickle
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

from .program_cache import read_entry, write_entry

GROWTH = 4
"""Ratio of one class of capacity to the one below. Larger values compile fewer programs
and compute more unused entries."""


def capacity_class(count: int, least: int) -> int:
    """Return the smallest class of capacity that holds a number of bodies, or others.

    Args:
        count: the number.
        least: smallest class; the others are its multiples by powers of `GROWTH`.

    >>> [capacity_class(n, 4) for n in (0, 4, 5, 17)]
    [4, 4, 16, 64]
    """
    capacity = least
    while capacity < count:
        capacity *= GROWTH
    return capacity


@dataclass(frozen=True)
class Capacity:
    """Kinds and numbers that programs are compiled for."""

    kinds: frozenset[int]
    """Kinds, each of which adds code."""
    counts: tuple[int, ...]
    """Classes of numbers."""

    def holds(self, need: "Capacity") -> bool:
        """Return whether a program for this capacity serves another one."""
        counts = zip(self.counts, need.counts, strict=True)
        return self.kinds >= need.kinds and all(a >= b for a, b in counts)

    def joined(self, other: "Capacity") -> "Capacity":
        """Return the least capacity that holds both."""
        counts = map(max, zip(self.counts, other.counts, strict=True))
        return Capacity(self.kinds | other.kinds, tuple(counts))


_compiled: dict[Hashable, list[Capacity]] = {}
"""Capacities that programs have been compiled for, by what they depend on besides."""


_common: ContextVar[dict[Hashable, Capacity] | None] = ContextVar(
    "common", default=None
)
"""Capacities that have been looked up within `common_capacities`, by their keys."""
_purpose: ContextVar[Hashable] = ContextVar("purpose", default=None)
"""Purpose of the programs that are looked up for; see `capacities_for`."""


@contextmanager
def capacities_for(purpose: Hashable) -> Iterator[None]:
    """Let all that is looked up within be for one kind of program.

    What one program has been compiled for is not at hand for another.

    Args:
        purpose: what the program computes, without numbers of bodies and their kinds;
            a value with a fingerprint.
    """
    token = _purpose.set(purpose)
    try:
        yield
    finally:
        _purpose.reset(token)


@contextmanager
def common_capacities() -> Iterator[None]:
    """Let all that is looked up within hold what was looked up before it, too.

    What is looked up a second time then has one capacity, so that problems of several
    worlds are a batch of one program.
    """
    token = _common.set({})
    try:
        yield
    finally:
        _common.reset(token)


def capacity_at_hand(key: Hashable, need: Capacity) -> Capacity:
    """Return the least capacity that has been compiled for and holds what is needed.

    If there is none, it is what is needed, with all kinds that there have been: after a
    few worlds all kinds are there, and nothing new is compiled.

    Args:
        key: what programs depend on besides.
        need: classes that are needed.
    """
    key = key, _purpose.get()
    common = _common.get()
    if common is not None:
        need = common[key] = need.joined(common.get(key, need))
    known = _compiled.get(key)
    if known is None:
        known = _compiled[key] = _read(key)
    fitting = [capacity for capacity in known if capacity.holds(need)]
    if fitting:
        return min(fitting, key=lambda c: (c.counts, len(c.kinds)))
    kinds = need.kinds.union(*(capacity.kinds for capacity in known))
    new = replace(need, kinds=kinds)
    known.append(new)
    write_entry(("capacities", key), pickle.dumps(known))
    return new


def _read(key: Hashable) -> list[Capacity]:
    """Return the capacities that other processes have compiled for."""
    with suppress(Exception):
        known = pickle.loads(read_entry(("capacities", key)) or b"")
        if all(isinstance(capacity, Capacity) for capacity in known):
            return list(known)
    return []

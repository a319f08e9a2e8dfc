"""Classes of capacity, so that programs do not depend on numbers of bodies.

A count is rounded up to a class, and places that nothing takes are masked. A program
that is at hand also serves what would fit into a smaller one, in this process and in
later ones: what has been compiled for is kept beside the programs.
"""

import pickle
from collections.abc import Callable, Hashable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from .fingerprint import NotFingerprintable, fingerprint
from .program_cache import read_entry, write_entry

T = TypeVar("T")

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


class Program:
    """A program whose tables are being made, and the sizes it has been compiled for.

    Each time it is compiled its tables become as large as is needed and as they have
    been before, so that after a few worlds nothing new is compiled. The least sizes
    that suffice for all tables are taken.
    """

    def __init__(self, purpose: Hashable) -> None:
        self.purpose = purpose
        if purpose not in _compiled:
            _compiled[purpose] = _read(purpose)
        self.compiled = _compiled[purpose]
        self.index = 0
        self.is_new = False
        """If the sizes at the index are new ones, of this program."""
        self.answers: list[tuple[Hashable, Capacity]] = []
        self.attempt = object()
        """Changes with each attempt to make the tables."""

    def capacity_of(
        self, key: Hashable, need: Capacity, is_shared: bool = False
    ) -> Capacity:
        """Return the capacity of a table; see `capacity_at_hand`."""
        name = _name(key)
        while not self._suffices(name, need):
            if self.is_new:
                sizes = self.compiled[self.index]
                sizes[name] = need.joined(sizes.get(name, need))
                if is_shared:
                    sizes[name] = sizes[name].joined(_largest(name, need))
                continue
            self.index = min(self.index + 1, len(self.compiled))
            if self.index == len(self.compiled):
                self.compiled.append(dict(self.compiled[-1]) if self.compiled else {})
                self.is_new = True
        answer = self.compiled[self.index][name]
        self.answers.append((name, answer))
        return answer

    def _suffices(self, name: Hashable, need: Capacity) -> bool:
        if self.index == len(self.compiled):
            return False
        known = self.compiled[self.index].get(name)
        return known is not None and known.holds(need)

    @property
    def is_settled(self) -> bool:
        """Whether all tables were made for the same sizes."""
        return all(
            self.compiled[self.index][name] == answer for name, answer in self.answers
        )

    def try_again(self) -> None:
        """Begin another attempt to make the tables."""
        self.answers, self.attempt = [], object()

    def keep(self) -> None:
        """Keep what it is compiled for beside the programs, for other processes."""
        if self.is_new:
            with suppress(NotFingerprintable, pickle.PicklingError):
                write_entry(("capacities", self.purpose), pickle.dumps(self.compiled))


_compiled: dict[Hashable, list[dict[Hashable, Capacity]]] = {}
"""By the purpose of programs, the sizes of tables that they have been compiled for, the
least first."""
_program: ContextVar[Program | None] = ContextVar("program", default=None)
"""The program whose tables are being made; None: each table is one's only one."""


def make_tables(purpose: Hashable, make: Callable[[], T]) -> T:
    """Return what a function makes, with all tables for one program.

    Within the making of tables for the same purpose they are for that program, so that
    problems of several worlds are a batch.

    Args:
        purpose: what the program computes, without numbers of bodies and their kinds;
            a value with a fingerprint.
        make: looks up capacities; it is called again when a table needs another program
            than the tables before it.
    """
    outer = _program.get()
    if outer is not None and outer.purpose == purpose:
        return make()
    program = Program(purpose)
    token = _program.set(program)
    try:
        while True:
            tables = make()
            if program.is_settled:
                program.keep()
                return tables
            program.try_again()
    finally:
        _program.reset(token)


def table_attempt() -> object | None:
    """Return what changes with each attempt to make the tables of a program.

    Tables of another attempt may be of another size. Outside of `make_tables` it is
    None.
    """
    program = _program.get()
    return None if program is None else program.attempt


def capacity_at_hand(
    key: Hashable, need: Capacity, is_shared: bool = False
) -> Capacity:
    """Return the capacity of a table, of a program that is at hand if one suffices.

    Args:
        key: name of the table in its program.
        need: classes that are needed.
        is_shared: whether the same worlds come to all programs that have this table, so
            that a new one is compiled for what there has been in others.
    """
    program = _program.get()
    if program is not None:
        return program.capacity_of(key, need, is_shared)
    return make_tables(("table", key), lambda: capacity_at_hand(key, need, is_shared))


def _largest(name: Hashable, need: Capacity) -> Capacity:
    """Return the capacity of a table that serves all programs of this process."""
    for compiled in filter(None, _compiled.values()):
        need = need.joined(compiled[-1].get(name, need))
    return need


def pad_rows(x: np.ndarray, count: int, value: float = 0) -> np.ndarray:
    """Return an array with copies of a value after its rows, `count` rows in all."""
    padding = np.full((count - len(x), *x.shape[1:]), value)
    return np.concatenate([x, padding.astype(x.dtype)])


@lru_cache(maxsize=4096)
def _name(key: Hashable) -> Hashable:
    """Return a key that other processes know; itself if it has no fingerprint."""
    try:
        return fingerprint(key)
    except NotFingerprintable:
        return key


def _read(purpose: Hashable) -> list[dict[Hashable, Capacity]]:
    """Return what other processes have compiled a program for."""
    with suppress(Exception):
        compiled = pickle.loads(read_entry(("capacities", purpose)) or b"")
        if all(isinstance(sizes, dict) for sizes in compiled):
            return list(compiled)
    return []

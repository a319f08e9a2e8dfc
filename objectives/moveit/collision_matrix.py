"""MoveIt's matrix of allowed collisions: which bodies may touch.

A pair has an entry, or the defaults of its bodies count: both must allow it where both
have one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from .messages import Message


@dataclass(frozen=True)
class CollisionMatrix:
    """Verdicts on which bodies may touch."""

    entries: Mapping[frozenset[str], bool] = field(default_factory=dict)
    """By the names of the pair."""
    defaults: Mapping[str, bool] = field(default_factory=dict)
    """By name: for pairs without an entry."""

    def allows(self, a: str, b: str) -> bool | None:
        """Return whether two bodies may touch; None if the matrix does not say so."""
        pair = frozenset((a, b))
        if pair in self.entries:
            return self.entries[pair]
        stated = [self.defaults[name] for name in (a, b) if name in self.defaults]
        return all(stated) if stated else None

    def without(self, name: str) -> "CollisionMatrix":
        """Return the matrix without entries of a body that is gone; defaults stay."""
        entries = {pair: v for pair, v in self.entries.items() if name not in pair}
        return replace(self, entries=entries)

    @property
    def names(self) -> set[str]:
        """Names of the bodies that the matrix speaks of."""
        return {*self.defaults, *(name for pair in self.entries for name in pair)}


def read_matrix(message: Message) -> CollisionMatrix:
    """Return the matrix of an `AllowedCollisionMatrix`.

    Raises:
        LoadError: for lists of different lengths, and values that are no booleans.
    """
    names = message.names("entry_names")
    rows = [
        row.get("enabled", []) if isinstance(row, dict) else row
        for row in _list(message, "entry_values")
    ]
    if len(rows) != len(names) or any(
        not isinstance(row, list) or len(row) != len(names) for row in rows
    ):
        raise message.fail("entry_values", f"{len(names)} rows of {len(names)} entries")
    default_names = message.names("default_entry_names")
    values = _list(message, "default_entry_values")
    if len(values) != len(default_names):
        raise message.fail("default_entry_values", f"{len(default_names)} booleans")
    defaults = {
        name: _boolean(message, "default_entry_values", value)
        for name, value in zip(default_names, values, strict=True)
    }
    # MoveIt reads the upper triangle.
    entries = {
        frozenset((names[i], names[j])): _boolean(message, "entry_values", rows[i][j])
        for i, j in combinations(range(len(names)), 2)
    }
    return CollisionMatrix(entries, defaults)


def _list(message: Message, key: str) -> list[Any]:
    values = message.value(key, [])
    if not isinstance(values, list):
        raise message.fail(key, "a list")
    return values


def _boolean(message: Message, key: str, value: Any) -> bool:
    if isinstance(value, bool | int) and value in (0, 1):
        return bool(value)
    raise message.fail(key, "booleans")

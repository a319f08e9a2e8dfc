"""Verdicts: the truth of a statement, with the reason."""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

Semantics: TypeAlias = Literal["posewise", "igibson", "document"]
"""Name of a definition of a predicate; see `SemanticPredicate`."""


class Verdict(NamedTuple):
    """The truth of a statement in a world, and the reason."""

    truth: bool
    reason: Callable[[], str]
    """Returns a sentence; its numbers may take longer to compute than the truth."""

"""Types of pairs of bodies: what is static of them."""

from typing import NamedTuple

from posewise.robots.contact.body_table import PairKind


class PairTypes(NamedTuple):
    """Static properties of pairs of bodies, which programs depend on."""

    kinds: tuple[PairKind, ...]
    """Kinds of pairs that are measured."""
    has_unions: bool
    """Whether a pair of frames may have several pairs of bodies."""

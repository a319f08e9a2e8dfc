"""Errors of predicates, formulas and queries."""

from posewise.robots.errors import PosewiseError


class PredicateError(PosewiseError):
    """A predicate, formula or query that has no meaning, in general or in a world."""

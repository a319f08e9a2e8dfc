"""What goes wrong with statements."""

from posewise.robots.errors import PosewiseError


class PredicateError(PosewiseError):
    """A predicate that makes no statement, or none of this world."""

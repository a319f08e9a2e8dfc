"""Predicates as rows for the solver: smooth, and true wherever a row is at most 0."""

from .constraint_terms import AllOf as AllOf
from .constraint_terms import AnyOf as AnyOf
from .constraint_terms import Rows as Rows
from .constraint_terms import Term as Term

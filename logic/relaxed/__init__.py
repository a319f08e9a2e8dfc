"""Predicates as rows for the solver: smooth, and true wherever a row is at most 0."""

from .terms import AllOf as AllOf
from .terms import AnyOf as AnyOf
from .terms import Rows as Rows
from .terms import Term as Term

"""Predicates as rows for the solver: smooth, and true wherever a row is at most 0."""

from .constraint_terms import Conjunction as Conjunction
from .constraint_terms import ConstraintTerm as ConstraintTerm
from .constraint_terms import Disjunction as Disjunction
from .constraint_terms import Inequality as Inequality

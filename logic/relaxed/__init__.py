"""Relaxations of predicates: smooth rows for the solver that imply the exact truth.

Every row is sound: it is at most 0 only where the statement holds. The exact check of a
predicate is in the module of the same name in `logic.exact`.
"""

from .constraint_terms import Conjunction as Conjunction
from .constraint_terms import ConstraintTerm as ConstraintTerm
from .constraint_terms import Disjunction as Disjunction
from .constraint_terms import Inequality as Inequality

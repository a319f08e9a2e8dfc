"""Predicates, states, queries and criteria: each exact, and relaxed for the solver."""

from .predicate import Predicate as Predicate
